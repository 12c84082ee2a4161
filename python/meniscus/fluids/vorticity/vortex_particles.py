"""Vortex particles: vorticity that moves with the flow and spins up the grid, so that detail survives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus._meniscus import grid as _grid
from meniscus._options import CoreOption
from meniscus.core import Workspace, uniform
from meniscus.grid.fields import MacField
from meniscus.grid.particles.storage import Particles
from meniscus.grid.transport.advection import TRACE, Trace, workspace_or_new
from meniscus.grid.transport.walls import ThinWalls
from meniscus.grid.uniform import Grid
from meniscus.surface.shapes.constructive import Shape
from meniscus.surface.shapes.solid_boundary import SolidLike, solid_core

Stretching = Literal["renormalize", "clamp", "free"]
InSolid = Literal["remove", "push-out"]
LeavingParticles = Literal["remove", "clamp"]
VortexKernel = Literal["gaussian", "tent"]
Direction = Literal["random", "tangent", "axis"]
STRETCHING = CoreOption(Stretching, _fluids.Stretching)
IN_SOLID = CoreOption(InSolid, _grid.InSolid)
LEAVING_PARTICLES = CoreOption(LeavingParticles, _fluids.LeavingParticles)
VORTEX_KERNEL = CoreOption(VortexKernel, _fluids.VortexKernel)
Floats = npt.NDArray[np.float64]

# A region that fills less of its bounding box than a millionth is not worth waiting for: 1e-6 of the particles fail this often.
_MAX_ATTEMPTS = 10_000


class VortexParticles(Particles):
    """Points that carry a vorticity and a radius: `Particles` with the columns 'vorticity' and 'radius'.

    Args:
        positions: (n, dim), m, float64, in 3-D also float32; copied. The other columns have the same dtype.
        vorticity: 1/s; in 3-D vectors (n, 3) or one for all, in 2-D numbers (n,) or one for all (counterclockwise is positive).
        radius: reach of the kernel, m; (n,) or one for all.
        replicated: as for `Particles.append`.
        grid: as for `Particles.append`.
        **columns: further values per particle, as for `Particles`.

    Raises:
        TypeError, ValueError: wrong dtype or shape; values that are not finite; a radius that is not positive.

    Source: Selle 2008, section 3.4.1.
    """

    def __init__(
        self,
        positions: npt.ArrayLike,
        vorticity: npt.ArrayLike,
        radius: npt.ArrayLike,
        *,
        replicated: bool = False,
        grid: Grid | None = None,
        **columns: npt.ArrayLike,
    ) -> None:
        x = np.asarray(positions)
        w, r = _columns(x, vorticity, radius)
        super().__init__(x, replicated=replicated, grid=grid, vorticity=w, radius=r, **columns)

    @property
    def vorticity(self) -> npt.NDArray[Any]:
        """Writable view, 1/s: (n, 3), in 2-D (n,)."""
        return self["vorticity"]

    @property
    def radius(self) -> npt.NDArray[Any]:
        """Writable view (n,), m."""
        return self["radius"]

    def append(self, positions: npt.ArrayLike, *, replicated: bool = False, grid: Grid | None = None, **columns: npt.ArrayLike) -> slice:
        """Add particles, with `vorticity` and `radius` as for the constructor; further columns that are not given are zero. On ranks as for
        `Particles`.

        Raises TypeError or ValueError as the constructor does, and where the vorticity or the radius is missing; then nothing is added.
        """
        missing = [name for name in ("vorticity", "radius") if name not in columns]
        if missing:
            raise ValueError(f"vortex particles need a {missing[0]}")
        x = np.asarray(positions)
        w, r = _columns(x, columns.pop("vorticity"), columns.pop("radius"))
        return super().append(x, replicated=replicated, grid=grid, vorticity=w, radius=r, **columns)


@dataclass(frozen=True)
class VortexInfo:
    """Counts of particles, of all ranks, that left the domain, were removed in a solid, or were pushed out of it."""

    left: int
    in_solid: int
    pushed: int


def advance_vortices(
    particles: VortexParticles,
    velocity: MacField,
    dt: float,
    *,
    method: Trace = "midpoint",
    stretching: Stretching = "renormalize",
    solid: SolidLike | None = None,
    in_solid: InSolid = "remove",
    leaving: LeavingParticles = "remove",
    time: float = 0.0,
    workspace: Workspace | None = None,
) -> VortexInfo:
    """Advect vortex particles along a velocity for dt seconds and turn their vorticities with it, in place.

    A vorticity turns by dw/dt = (w . grad) u, with the gradient from central differences at the cell centres, interpolated linearly.
    In 2-D vorticities do not change.

    Args:
        particles: of the dimension and dtype of the velocity.
        velocity: m/s; frozen during the step.
        dt: s, of either sign.
        method: 'euler', as printed, with one explicit step for the vorticity; 'midpoint' or 'rk3', with the midpoint rule for it.
        stretching: 'renormalize' keeps the magnitude of every vorticity to round-off, 'clamp' lets it shrink but not grow, 'free'
            follows the flow and may grow without bound.
        solid: as in `project`, as of `time`.
        in_solid: 'remove' particles that are in the solid after the step, or 'push-out': put them just outside of it (and remove those
            that are still inside after ten steps along the gradient of the level set).
        leaving: 'remove' particles that leave the domain through a side that is not periodic, or 'clamp' them to it.
        time: s, passed to boundary functions and to the motion of the solid.
        workspace: scratch memory to reuse.

    Raises:
        TypeError, ValueError: wrong types, dtypes or dimensions, unknown options, values that are not finite; nothing changes.

    Source: Selle 2008, sections 3.3 and 3.4.1.
    """
    _fits(particles, velocity)
    t = _checks.number("time", time)
    options = _fluids.VortexAdvance(
        TRACE("method", method),
        STRETCHING("stretching", stretching),
        IN_SOLID("in_solid", in_solid),
        LEAVING_PARTICLES("leaving", leaving),
    )
    counts = _fluids.advance_vortex_particles(
        particles._core,
        velocity._core,
        _checks.number("dt", dt),
        options,
        solid_core(solid, velocity.grid, velocity.dtype, t),
        t,
        workspace_or_new(workspace),
    )
    return VortexInfo(*(sum(c) for c in zip(*velocity.grid.comm.gather(counts), strict=True)))


def add_vortex_forces(
    velocity: MacField,
    particles: VortexParticles,
    dt: float,
    epsilon: float | npt.NDArray[np.float64],
    *,
    kernel: VortexKernel = "gaussian",
    balance: bool = True,
    reduce: bool = False,
    time: float = 0.0,
    workspace: Workspace | None = None,
    walls: ThinWalls | None = None,
) -> None:
    """Add dt times the force of vortex particles to a velocity, in place: F = epsilon (N x kernel * w), N = (x_p - x) / |x_p - x|.

    Every component is evaluated at its own faces; N is taken as zero within 1e-4 cells of a particle. Faces whose normal velocity is
    given keep it. Particles act in the order of their ids, so that neither their order nor the number of threads changes a bit.

    Args:
        velocity: m/s.
        particles: of its dimension and dtype.
        dt: s.
        epsilon: m^(dim + 1)/s, one for all particles or (n,) float64.
        kernel: for a radius r, 'gaussian': exp(-d^2 / (2 r^2)) / (r^dim (2 pi)^(dim / 2)) for d <= r, else zero, as printed; its mass is
            0.199 in 3-D. 'tent': 3 / (pi r^dim) (1 - d / r) for d <= r, else zero, of mass one.
        balance: from what each particle does to each component, subtract its mean, weighted by the kernel, so that there is no net
            force. The exact force has none; sampled on faces it has, unless the particle sits at a centre of symmetry. False: literal.
        reduce: weaken each particle by the vorticity that the grid already has at its place, componentwise; components whose sign would
            flip are zero.
        time: s, passed to boundary functions.
        workspace: scratch memory to reuse.
        walls: past which particles see no face.

    Raises:
        TypeError, ValueError: wrong types, dtypes or dimensions, unknown kernel, values that are not finite, radii that are not
            positive or larger than the domain; the velocity is unchanged.

    Source: Selle 2008, section 3.4.2.
    """
    _fits(particles, velocity)
    each = None
    if isinstance(epsilon, np.ndarray) and epsilon.ndim > 0:
        each = _checks.incoming("epsilon", epsilon, np.dtype(np.float64), (len(particles),))
        each, one = np.ascontiguousarray(each), 0.0
    else:
        one = _checks.number("epsilon", epsilon)
    options = _fluids.VortexForcing(
        VORTEX_KERNEL("kernel", kernel),
        _checks.flag("balance", balance),
        _checks.flag("reduce", reduce),
        _checks.number("time", time),
    )
    seen = None if walls is None else _checks.one_of_type("walls", walls, ThinWalls)._core
    _fluids.add_vortex_forces(
        velocity._core, particles._core, _checks.number("dt", dt), one, each, options, workspace_or_new(workspace), seen
    )


def seed_vortices(
    particles: VortexParticles,
    region: Shape,
    *,
    rate: float,
    dt: float,
    strength: float,
    radius: float,
    direction: Direction = "random",
    axis: tuple[float, float, float] | None = None,
    center: tuple[float, float, float] | None = None,
    time: float = 0.0,
    seed: int = 0,
    step: int = 0,
) -> slice:
    """Add the vortex particles that a source emits from `time` to `time` + dt, uniformly distributed in a region; return their positions.

    There are floor(rate (time + dt)) - floor(rate time) of them, so that steps that follow each other lose none. The random numbers of a
    particle depend on the seed, its id and the step alone. On ranks all draw alike, and each particle is kept once; `migrate` hands it to
    the rank where it lies.

    Args:
        particles: get the new ones.
        region: a bounded shape, such as a `surface.Box`, `Sphere` or `Cylinder`, of the dimension of the particles.
        rate: particles per second.
        dt: s.
        strength: magnitude of each vorticity, 1/s.
        radius: of each particle, m.
        direction: in 3-D 'random', all directions alike; 'tangent' to the circles around the axis, right-handed; 'axis', along it or
            against it at random. In 2-D 'random' only: the sign.
        axis: for 'tangent' and 'axis'; of any length; default along z.
        center: a point on the axis, m, for 'tangent'; default the middle of the bounds of the region.
        time: s, at the start of the step.
        seed: of the experiment.
        step: number of the step.

    Raises:
        TypeError, ValueError: wrong types, an unbounded region or one of another dimension, numbers out of range; nothing is added.

    Source: Selle 2008, sections 3.4.1 and 3.5.
    """
    _checks.one_of_type("particles", particles, VortexParticles)
    _checks.one_of_type("region", region, Shape)
    dimension = particles.dimension
    if region.dimension != dimension:
        raise ValueError(f"region must be {dimension}-D like the particles, not {region.dimension}-D")
    if not np.isfinite(region.bounds).all():
        raise ValueError("region must be bounded")
    per_second, t = _checks.number("rate", rate), _checks.number("time", time)
    if per_second < 0:
        raise ValueError(f"rate must not be negative, but is {per_second:g}")
    magnitude, reach, seconds = _checks.number("strength", strength), _checks.positive("radius", radius), _checks.positive("dt", dt)
    _checks.choice("direction", direction, Direction)
    if dimension == 2 and direction != "random":
        raise ValueError(f"in 2-D direction must be 'random', not {direction!r}")
    along = np.array(_checks.vector("axis", (0.0, 0.0, 1.0) if axis is None else axis, 3))
    if not along.any():
        raise ValueError("axis must not be zero")
    along /= np.linalg.norm(along)
    middle = np.mean(region.bounds, axis=0) if center is None else np.array(_checks.vector("center", center, dimension))
    _checks.integer("seed", seed, 0, 2**64)
    _checks.integer("step", step, 0, 2**32)

    count = math.floor(per_second * (t + seconds)) - math.floor(per_second * t)
    first = particles._core.next_id
    ids = np.arange(first, first + count, dtype=np.int64)
    x = _positions_in(region, ids, seed, step)
    draw = uniform(seed, ids, step, 0)
    sign = np.where(draw[:, 0] < 0.5, -1.0, 1.0)
    if dimension == 2:
        w = magnitude * sign
    elif direction == "axis":
        w = magnitude * sign[:, None] * along
    else:
        w = _on_sphere(draw)
        if direction == "tangent":
            w = _tangents(x - middle, along, w)
        w = magnitude * w
    dtype = particles.positions.dtype
    return particles.append(x.astype(dtype), vorticity=w.astype(dtype), radius=np.full(count, reach, dtype), replicated=True)


def _on_sphere(draw: Floats) -> Floats:
    """Return directions that are uniform on the sphere, from two uniform numbers each (Archimedes)."""
    z, angle = 2 * draw[:, 0] - 1, 2 * math.pi * draw[:, 1]
    across = np.sqrt(1 - z**2)
    return np.stack([across * np.cos(angle), across * np.sin(angle), z], axis=1)


def _tangents(offsets: Floats, axis: Floats, random: Floats) -> Floats:
    """Return unit tangents of circles around an axis; on the axis itself, random directions perpendicular to it."""
    w = np.cross(axis, offsets)
    on_axis = np.linalg.norm(w, axis=1) <= 1e-12 * np.linalg.norm(offsets, axis=1)
    w[on_axis] = np.cross(axis, random[on_axis])
    result: Floats = w / np.linalg.norm(w, axis=1, keepdims=True)
    return result


def _positions_in(region: Shape, ids: npt.NDArray[np.int64], seed: int, step: int) -> Floats:
    """Return uniform positions in a shape, m, by rejection from its bounding box; every particle has its own sequence of attempts."""
    lower, upper = region.bounds
    dimension = region.dimension
    x = np.empty((len(ids), dimension))
    waiting = np.arange(len(ids))
    for attempt in range(_MAX_ATTEMPTS):
        if len(waiting) == 0:
            return x
        own = ids[waiting]
        numbers = np.hstack([uniform(seed, own, step, 1 + 2 * attempt), uniform(seed, own, step, 2 + 2 * attempt)])[:, :dimension]
        trial = np.ascontiguousarray(lower + (upper - lower) * numbers)
        inside = region.signed_distance(trial) <= 0
        x[waiting[inside]] = trial[inside]
        waiting = waiting[~inside]
    if len(waiting):
        raise ValueError(f"region fills too little of its bounds: {_MAX_ATTEMPTS} random points of them were all outside")
    return x


def _columns(positions: npt.NDArray[Any], vorticity: npt.ArrayLike, radius: npt.ArrayLike) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return vorticities and radii for all positions, of their dtype; numbers and single vectors are repeated."""
    dtype = _checks.scalar_type(positions.dtype)
    if positions.ndim != 2 or positions.shape[1] not in (2, 3):
        raise ValueError(f"positions must have shape (n, 2) or (n, 3), not {positions.shape}")
    n, tail = len(positions), (3,) if positions.shape[1] == 3 else ()
    w = np.asarray(vorticity)
    if w.shape == tail:
        w = np.broadcast_to(w.astype(dtype), (n, *tail))
    w = _checks.incoming("vorticity", w, dtype, (n, *tail))
    r = np.asarray(radius)
    if r.ndim == 0:
        r = np.full(n, _checks.positive("radius", radius), dtype)
    r = _checks.incoming("radius", r, dtype, (n,))
    if not (r > 0).all():
        raise ValueError(f"radius must be positive, but [{int(np.argmin(r > 0))}] is {r[np.argmin(r > 0)]:g}")
    return w, r


def _fits(particles: VortexParticles, velocity: MacField) -> None:
    _checks.one_of_type("particles", particles, VortexParticles)
    _checks.one_of_type("velocity", velocity, MacField)
    if particles.dimension != velocity.grid.dimension:
        raise ValueError(f"particles must be {velocity.grid.dimension}-D like the velocity, not {particles.dimension}-D")
    if particles.positions.dtype != velocity.dtype:
        raise TypeError(f"particles must be of dtype {velocity.dtype} like the velocity, not {particles.positions.dtype}")
