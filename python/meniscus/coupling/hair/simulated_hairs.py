"""Single hairs of a coat that are simulated, tied to where the mesh takes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.collision import TetLocator
from meniscus.coupling.hair.columns import columns
from meniscus.coupling.hair.hair_coat import HairCoat
from meniscus.mesh import Embedding
from meniscus.solids import AltitudeSprings, DeformableBody, EdgeSprings, Groom, HairBody, SpringOptions
from meniscus.surface import Solid

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_SMALL = 1e-4  # of its length: a hair that is nearer to its place has returned


@dataclass(frozen=True, kw_only=True)
class HairColumns:
    """Columns of tetrahedra around single hairs, bodies of springs.

    Attributes:
        binding: N/m, of the springs of length zero between points of a hair and their places in its column; 0: no columns.
        boxes: along the hair.
        thickness: least half width, m.
        edges, altitudes: N, moduli of the springs.
        density: kg/m^3.

    Raises:
        TypeError, ValueError: numbers that are not positive.

    Source: Lee 2018, section 2.3.2, with its constants.
    """

    binding: float = 0.0414
    boxes: int = 4
    thickness: float = 2e-3
    edges: float = 0.414
    altitudes: float = 0.0414
    density: float = 50.0

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("thickness", "edges", "altitudes", "density"):
            _checks.positive(name, getattr(self, name))
        if _checks.number("binding", self.binding) < 0:
            raise ValueError(f"binding must not be negative, not {self.binding:g}")
        _checks.integer("boxes", self.boxes, 1)


@dataclass(frozen=True, kw_only=True)
class HairSimulation:
    """How single hairs are simulated.

    Attributes:
        EI, GJ: stiffness of the strands against bending and twist, N m^2.
        density: of the fibres, kg/m^3.
        gravity: m/s^2; the mesh may have it already.
        drag: of the air, 1/s.
        binding: N/m, of the springs of length zero between points and where the mesh takes them.
        columns: around the hairs, which keep their shape.
        return_time: s: errors of hairs that return fall by exp(-5) in this time.
        hold: s: hairs stay active for so long after the last contact.

    Raises:
        TypeError, ValueError: numbers that are not positive, or negative ones.

    Source: Lee 2018, section 2.3.2, with its constants; return: critically damped, Weinstein, Guendelman and Fedkiw 2008.
    """

    EI: float = 8e-9
    GJ: float = 6e-9
    density: float = 1300.0
    gravity: tuple[float, float, float] = (0.0, -9.81, 0.0)
    drag: float = 5.0
    binding: float = 0.0414
    columns: HairColumns = HairColumns()
    return_time: float = 0.3
    hold: float = 0.1

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("EI", "GJ", "density", "return_time"):
            _checks.positive(name, getattr(self, name))
        for name in ("drag", "binding", "hold"):
            if _checks.number(name, getattr(self, name)) < 0:
                raise ValueError(f"{name} must not be negative, not {getattr(self, name):g}")


class SimulatedHairs:
    """Hairs of a coat of which some are active: simulated, while all others go where the mesh takes them.

    Active hairs start with the positions and velocities that they have; those that are let go return to the mesh by themselves.

    Args:
        coat: all hairs.
        options: see `HairSimulation`.
        time: at which it starts, s.

    Attributes:
        positions: (n, 3) of all hairs at `time`, m.
        active, returning: (m,) which strands are simulated, and which go back.
        time: s.
    """

    def __init__(self, coat: HairCoat, options: HairSimulation | None = None, time: float = 0.0) -> None:
        self.coat, self.options, self.time = coat, HairSimulation() if options is None else options, time
        m, n = len(coat.groom), len(coat.groom.points)
        self.active, self.returning = np.zeros(m, np.bool_), np.zeros(m, np.bool_)
        self.positions: Floats = coat.positions(time)
        self._before = self.positions.copy()
        self._velocities = np.zeros((n, 3))
        self._error, self._rate = np.zeros((n, 3)), np.zeros((n, 3))
        self._since, self._touched = np.zeros(m), np.full(m, -np.inf)
        self._of = np.repeat(np.arange(m), np.diff(coat.groom.offsets))
        self._body: HairBody | None = None
        self._columns: _Columns | None = None

    # --- which hairs -----------------------------------------------------------------------------------------------------------

    def activate(self, strands: npt.ArrayLike) -> None:
        """Let strands, numbers (k,) or a mask (m,), be simulated from now on."""
        chosen = self._mask(strands) & ~self.active
        if not chosen.any():
            return
        self.active |= chosen
        self.returning &= ~chosen
        self._rebuild()

    def release(self, strands: npt.ArrayLike) -> None:
        """Let active strands return to where the mesh takes them."""
        chosen = self._mask(strands) & self.active
        if not chosen.any():
            return
        rows = chosen[self._of]
        kinematic = self.coat.positions(self.time)
        self._error[rows] = self.positions[rows] - kinematic[rows]
        self._rate[rows] = self._velocities[rows] - self._kinematic_velocities(kinematic)[rows]
        self._since[chosen] = self.time
        self.active &= ~chosen
        self.returning |= chosen
        self._rebuild()

    def activate_near(self, solid: Solid, margin: float) -> None:
        """Activate strands of which a point is nearer to a solid than `margin`, m; release those that have not been for the time `hold`."""
        _checks.one_of_type("solid", solid, Solid)
        near = np.zeros(len(self.active), np.bool_)
        near[np.unique(self._of[solid.signed_distance(self.positions, self.time) < margin])] = True
        near[np.unique(self._of[solid.signed_distance(self.coat.positions(self.time), self.time) < margin])] = True
        self._touched[near] = self.time
        self.activate(near)
        self.release(self.active & (self.time - self._touched > self.options.hold))

    def _mask(self, strands: npt.ArrayLike) -> Bools:
        given = np.asarray(strands)
        if given.dtype == np.bool_:
            return _checks.mask("strands", given, self.active.shape)
        mask = np.zeros(len(self.active), np.bool_)
        mask[given.astype(np.int64)] = True
        return mask

    # --- time --------------------------------------------------------------------------------------------------------------------

    def step(self, dt: float, solids: tuple[Solid, ...] = ()) -> None:
        """Go on by dt seconds. Active hairs are kept out of the creature and of `solids`.

        Raises:
            TypeError, ValueError: no positive dt; a time beyond the animation.
        """
        h, before = _checks.positive("dt", dt), self._before
        t = self.time + h
        kinematic = self.coat.positions(t)
        x = kinematic.copy()
        w = 5.0 / self.options.return_time
        for s in np.flatnonzero(self.returning):
            a, b = self.coat.groom.offsets[s], self.coat.groom.offsets[s + 1]
            age = t - self._since[s]
            e0, v0 = self._error[a:b], self._rate[a:b]
            e = (e0 + (v0 + w * e0) * age) * np.exp(-w * age)
            if np.abs(e).max() < _SMALL * self.coat.groom.lengths[s] and age > self.options.return_time:
                self.returning[s] = False
                continue
            x[a:b] += e
        if self._body is not None:
            rows = self.active[self._of]
            x[rows] = self._step(kinematic[rows], before[rows], h, solids)
        self._velocities = (x - self.positions) / h
        self.positions, self._before, self.time = x, kinematic, t

    def _step(self, kinematic: Floats, before: Floats, dt: float, solids: tuple[Solid, ...]) -> Floats:
        body, o = self._body, self.options
        assert body is not None
        g = body.groom
        constant, aim = np.full(len(body), o.binding), o.binding * kinematic
        if self._columns is not None:
            constant += o.columns.binding
            aim += o.columns.binding * self._columns.advance(kinematic, dt)
        roots = kinematic[g.offsets[:-1]]
        first = kinematic[g.offsets[:-1] + 1] - roots
        body.follow(roots=(roots, first / np.linalg.norm(first, axis=1)[:, None], g.directors))
        body.advance_strands(dt, drag=o.drag, anchors=(constant, aim / np.maximum(constant, 1e-300)[:, None]))
        x, v = body.positions, body.velocities
        moving = np.ones(len(x), np.bool_)
        moving[g.offsets[:-1]] = False
        for solid in solids:
            keep_out(solid, x, v, moving, self.time + dt, dt)
        end: Floats = x.copy()
        return end

    def _kinematic_velocities(self, kinematic: Floats) -> Floats:
        """Velocities of the mesh's hair at the last step."""
        step = 1e-3
        start = self.coat.kdsm.times[0]
        if self.time - step >= start:
            return (kinematic - self.coat.positions(self.time - step)) / step
        return (self.coat.positions(self.time + step) - kinematic) / step

    def _rebuild(self) -> None:
        """Make the body of the active strands, with the positions and velocities that they have."""
        chosen = np.flatnonzero(self.active)
        self._body = self._columns = None
        if not len(chosen):
            return
        g, o, rows = self.coat.groom, self.options, self.active[self._of]
        counts = np.diff(g.offsets)[chosen]
        part = Groom(g.points[rows], np.append(0, np.cumsum(counts)), radius=g.radius[chosen], directors=g.directors[chosen])
        body = HairBody(part, EI=o.EI, GJ=o.GJ, density=o.density, gravity=o.gravity, sag_free=False, model="rod")
        moved = np.abs(self._velocities[rows]).max() > 0
        kinematic = self.coat.positions(self.time)
        body.positions = self.positions[rows]
        body.velocities = self._velocities[rows] if moved else self._kinematic_velocities(kinematic)[rows]
        body.rods.strands.carry(body.positions)
        body.rods.strands.untwist(body.positions)
        body.targets[...] = body.positions
        self._body = body
        if o.columns.binding > 0:
            self._columns = _Columns(part, kinematic[rows], o)


class _Columns:
    """Columns around hairs, each a body of springs whose lowest box follows the hair's first points."""

    def __init__(self, groom: Groom, points: Floats, options: HairSimulation) -> None:
        shapes = [points[a:b] for a, b in zip(groom.offsets[:-1], groom.offsets[1:], strict=True)]
        mesh, first = columns(shapes, options.columns.boxes, options.columns.thickness)
        self.body = DeformableBody(mesh, density=options.columns.density, gravity=options.gravity)
        self.body.add(EdgeSprings(mesh, SpringOptions(stiffness=options.columns.edges)))
        self.body.add(AltitudeSprings(mesh, SpringOptions(stiffness=options.columns.altitudes)))
        found = TetLocator(mesh).locate(np.ascontiguousarray(points))
        self._places = Embedding(np.ascontiguousarray(mesh.tets[np.maximum(found.tets, 0)]), found.barycentric, len(mesh.vertices))
        # The root's face follows the frame of the first segment.
        self._base = (first[:-1, None] + np.arange(4)).ravel().astype(np.int32)
        self._roots = groom.offsets[:-1]
        self._rest, self._local = points.copy(), mesh.vertices[self._base].copy()
        self.body.pin(self._base)

    def advance(self, kinematic: Floats, dt: float) -> Floats:
        """Bring the bases to the hair's roots at the end of the step; return the places of the hair's points in the columns."""
        turned = []
        for k, r in enumerate(self._roots):
            a = self._rest[r + 1] - self._rest[r]
            b = kinematic[r + 1] - kinematic[r]
            turned.append(kinematic[r] + (self._local[4 * k : 4 * k + 4] - self._rest[r]) @ _turn(a, b).T)
        self.body.positions[self._base] = np.concatenate(turned)
        self.body.step(dt, "implicit-euler", newton=False)
        return self._places.evaluate(self.body.positions)


def _turn(a: Floats, b: Floats) -> Floats:
    """Matrix of the shortest turn from one vector to another."""
    u, v = a / np.linalg.norm(a), b / np.linalg.norm(b)
    c = np.cross(u, v)
    k = np.array([[0.0, -c[2], c[1]], [c[2], 0.0, -c[0]], [-c[1], c[0], 0.0]])
    return np.eye(3) + k + k @ k / max(1 + float(u @ v), 1e-12)  # type: ignore[no-any-return]


def keep_out(solid: Solid, x: Floats, v: Floats, moving: Bools, time: float, dt: float) -> None:
    """Move points (n, 3) that are inside of a solid to its surface, and take away the velocities at which they go in, in place.

    Source: Selle 2008, section 6.5.
    """
    depth = solid.signed_distance(np.ascontiguousarray(x), time)
    inside = moving & (depth < 0)
    if not inside.any():
        return
    at = np.ascontiguousarray(x[inside])
    n = solid.normals(at, time)
    x[inside] = at - depth[inside, None] * n
    relative = v[inside] - solid.velocity(at, time, dt)
    v[inside] -= np.minimum((relative * n).sum(axis=1), 0.0)[:, None] * n
