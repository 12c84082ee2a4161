"""Control particles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.core import Workspace
from meniscus.fluids.control.control import Control, ControlForce, ControlledFluid, GridControl
from meniscus.grid.fields import MacField
from meniscus.grid.uniform import Grid
from meniscus.surface import KinematicSolid
from meniscus.surface.shapes.kinematic import Motion
from meniscus.surface.shapes.sampled import as_shape

Floats = npt.NDArray[np.float64]
Places = Callable[[float], npt.ArrayLike]

# Largest slope of the kernel (1 - x^2)^3, at x^2 = 1/5.
_STEEPEST_KERNEL = 96 / (25 * math.sqrt(5))
_KERNEL_VOLUME = {2: math.pi / 4, 3: 64 * math.pi / 315}  # integral of the kernel of radius 1
_INSTANT = 1e-3  # s, over which the speed of moving particles is told


@dataclass(frozen=True, eq=False, repr=False)
class ControlParticles(Control):
    """Points that draw a fluid towards them and give it their velocity.

    A particle has the kernel W(d) = weight (1 - d^2 / radius^2)^3 up to its radius. All together they have the potential -attraction sum W,
    whose gradient draws the fluid, and control the part min(1, sum W) of a cell, with their mean velocity by kernel.
    `from_shape` and `from_keyframes` make usual ones.

        ball = ms.surface.Sphere((0.5, 0.5, 0.5), 0.2)
        hold = ms.fluids.ControlForce(attraction=30.0, rate=20.0, detail=0.2)
        water = ms.fluids.LiquidSolver(grid, controls=[ms.fluids.ControlParticles.from_shape(ball, 0.04, hold)])

    On ranks all have the same particles. Particles act across periodic sides, and through solids and shells.

    Attributes:
        positions: (n, dim), m, or a function of time (s) that returns them.
        radius: reach of the kernels, m, at least a cell; one for all, or (n,).
        force: what they do.
        velocities: (n, dim), m/s, or a function of time. Default: zero, or where positions are a function, their mean over the step.
        weight: height of the kernels; one for all, or (n,). It is the part of a cell at the particle's place that the particle controls
            alone.

    Raises:
        TypeError, ValueError: wrong types, shapes or values.

    Source: Thürey, Keiser, Pauly and Rüde 2006, sections 3 and 4.
    """

    positions: npt.ArrayLike | Places
    radius: npt.ArrayLike
    force: ControlForce
    velocities: npt.ArrayLike | Places | None = field(default=None, kw_only=True)
    weight: npt.ArrayLike = field(default=1.0, kw_only=True)
    _radii: Floats = field(init=False)
    _heights: Floats = field(init=False)

    def __post_init__(self) -> None:
        """Check the values."""
        _checks.one_of_type("force", self.force, ControlForce)
        for name, places in (("positions", self.positions), ("velocities", self.velocities)):
            if places is not None and not callable(places):
                object.__setattr__(self, name, _rows(name, places, None))
        first = self.positions_at(self.force.start)
        for name, own, given in (("radius", "_radii", self.radius), ("weight", "_heights", self.weight)):
            value = np.array(_checks.numbers(name, given))
            if value.shape not in ((), (len(first),)):
                raise ValueError(f"{name} must be a number or have shape ({len(first)},) like the particles, not {value.shape}")
            _checks.require_finite(name, np.atleast_1d(value))
            if (value <= 0).any():
                raise ValueError(f"{name} must be positive, but is {value.min():g}")
            object.__setattr__(self, own, np.full(len(first), value))
        self.velocities_at(self.force.start, _INSTANT)

    @classmethod
    def from_shape(
        cls,
        shape: object,
        spacing: float,
        force: ControlForce,
        *,
        radius: float | None = None,
        motion: Motion | None = None,
    ) -> ControlParticles:
        """Return particles on a lattice inside of a shape, whose kernels fill it evenly.

        Args:
            shape: a bounded `Shape`; or a closed surface (a `TriangleMesh` or what it is made from), a `LevelSet`.
            spacing: of the lattice, m.
            force: what they do.
            radius: m; default two spacings.
            motion: a function of time (s) that returns a `Pose` or a translation (m); the particles move with it.

        Raises:
            TypeError, ValueError: something else, a shape that is not bounded or holds no point of the lattice.
        """
        body, step = as_shape("shape", shape), _checks.positive("spacing", spacing)
        reach = 2 * step if radius is None else _checks.positive("radius", radius)
        lower, upper = body.bounds
        if not np.isfinite([lower, upper]).all():
            raise ValueError("shape must be bounded")
        axes = [
            0.5 * (a + b) + step * (np.arange(n) - 0.5 * (n - 1))
            for a, b in zip(lower, upper, strict=True)
            for n in (max(math.ceil((b - a) / step - 1e-9), 1),)
        ]
        lattice = np.stack([x.ravel() for x in np.meshgrid(*axes, indexing="ij")], axis=1)
        inside = np.ascontiguousarray(lattice[body.signed_distance(lattice) <= 0])
        if not len(inside):
            raise ValueError(f"shape must hold a point of a lattice of spacing {step:g} m, but none of {len(lattice)} is inside")
        places = inside if motion is None else _Moved(inside, KinematicSolid(body, motion))
        height = (step / reach) ** body.dimension / _KERNEL_VOLUME[body.dimension]
        return cls(places, reach, force, weight=height)

    @classmethod
    def from_keyframes(
        cls, times: Sequence[float], positions: npt.ArrayLike, radius: npt.ArrayLike, force: ControlForce
    ) -> ControlParticles:
        """Return particles that move in straight lines from frame to frame, and rest before the first and after the last.

        Args:
            times: of the frames (k,), s, increasing.
            positions: (k, n, dim), m.
            radius: m; one for all, or (n,).
            force: what they do.

        Raises:
            TypeError, ValueError: wrong types, shapes or values.
        """
        t, x = np.array(_checks.numbers("times", times)), np.array(_checks.numbers("positions", positions))
        if t.ndim != 1 or len(t) == 0 or x.ndim != 3 or len(x) != len(t):
            raise ValueError(f"positions must have shape (k, n, dim) for times of shape (k,), not {x.shape} for {t.shape}")
        _checks.require_finite("times", t)
        _checks.require_finite("positions", x)
        if (np.diff(t) <= 0).any():
            raise ValueError("times must increase")
        return cls(_Keyframes(t, x), radius, force)

    @property
    def dimension(self) -> int:
        """2 or 3."""
        return int(self.positions_at(self.force.start).shape[1])

    def positions_at(self, time: float) -> Floats:
        """Return the positions (n, dim) at a time (s), m."""
        return _at(time, "positions", self.positions, (len(self._radii), None) if hasattr(self, "_radii") else None)

    def velocities_at(self, time: float, dt: float) -> Floats:
        """Return the velocities (n, dim), m/s, at the end `time` (s) of a step of dt seconds."""
        x = self.positions_at(time)
        if self.velocities is not None:
            return _at(time, "velocities", self.velocities, x.shape)
        return (x - self.positions_at(time - dt)) / dt if callable(self.positions) else np.zeros_like(x)

    @property
    def _steepest(self) -> float:
        together = max(1.0, float(self._heights.max())) if len(self._heights) > 1 else float(self._heights[0])
        return _STEEPEST_KERNEL * abs(self.force.attraction) * together / float(self._radii.min())

    def _fastest(self, time: float) -> float:
        return float(np.abs(self.velocities_at(time + _INSTANT, _INSTANT)).max())

    def _on(self, grid: Grid, dtype: np.dtype[Any]) -> GridControl:
        self._require_lengths(grid)
        h, longest = grid.spacing, grid.spacing * max(grid.shape)
        for i in np.flatnonzero((self._radii < h) | (self._radii > longest))[:1]:
            raise ValueError(
                f"radius must be from the spacing, {h:g} m, to the longest side of the domain, {longest:g} m, but that of particle {i} is "
                f"{self._radii[i]:g} m"
            )
        return _GridParticles(self, self._radii, self._heights)

    def __repr__(self) -> str:
        """Number of particles and strengths."""
        return f"<ControlParticles: {len(self._radii)} in {self.dimension}-D, {self.force!r}>"


class _GridParticles(GridControl):
    borrowed = ("_particles", "_radii", "_heights")

    def __init__(self, particles: ControlParticles, radii: Floats, heights: Floats) -> None:
        super().__init__(particles.force)
        self._particles, self._radii, self._heights = particles, radii, heights

    def act(self, velocity: MacField, dt: float, time: float, fluid: ControlledFluid, workspace: Workspace) -> list[float]:
        p = self._particles
        places = p.positions_at(time), p.velocities_at(time, dt), self._radii, self._heights
        attraction, limited = self.force.attraction, self.force.limited and self.force.attraction > 0
        return _fluids.control_by_particles(velocity._core, *places, attraction, limited, *self._rest(dt, fluid, workspace))


@dataclass(frozen=True, eq=False)
class _Moved:
    """Points of a body that moves."""

    points: Floats
    body: KinematicSolid

    def __call__(self, time: float) -> Floats:
        return self.body.pose(time).apply(self.points)


@dataclass(frozen=True, eq=False)
class _Keyframes:
    """Points that move in straight lines between given times."""

    times: Floats
    positions: Floats

    def __call__(self, time: float) -> Floats:
        t, x = self.times, self.positions
        k = int(np.clip(np.searchsorted(t, time, side="right") - 1, 0, len(t) - 1))
        if k + 1 == len(t) or time <= t[0]:
            return np.array(x[k])
        part = (time - t[k]) / (t[k + 1] - t[k])
        result: Floats = (1 - part) * x[k] + part * x[k + 1]
        return result


def _at(time: float, name: str, places: npt.ArrayLike | Places, shape: tuple[int | None, ...] | None) -> Floats:
    """Return rows at a time (s): given ones, or what a function returns."""
    return _rows(f"what {name} returns", places(time), shape) if callable(places) else _rows(name, places, shape)


def _rows(name: str, value: npt.ArrayLike, shape: tuple[int | None, ...] | None) -> Floats:
    """Return finite rows of 2 or 3 numbers; `shape`: theirs, where it is known."""
    rows = np.array(_checks.numbers(name, value), order="C")
    known = (None, None) if shape is None else shape
    fits = rows.ndim == 2 and rows.shape[1] in (2, 3) and len(rows) > 0
    if not fits or any(k not in (None, n) for k, n in zip(known, rows.shape, strict=True)):
        wanted = ", ".join(str(k) if k is not None else w for k, w in zip(known, ("n", "dim"), strict=True))
        raise ValueError(f"{name} must have shape ({wanted}), with n > 0 and dim 2 or 3, not {rows.shape}")
    _checks.require_finite(name, rows)
    return rows
