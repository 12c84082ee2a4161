"""Liquid that enters through sides whose normal velocity is given, as particles."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import core
from meniscus._meniscus import fluids as _fluids
from meniscus.core import Workspace
from meniscus.core.memory import MemoryOwner
from meniscus.fluids.particles.options import LiquidParticles
from meniscus.fluids.particles.seeding import append_of_all_ranks
from meniscus.fluids.particles.transfer import grid_to_particles
from meniscus.grid.boundary import Prescribed, SideCondition, Wall, ZeroGradient
from meniscus.grid.fields import GHOST_WIDTH, MacField
from meniscus.grid.particles.storage import Particles
from meniscus.surface import LevelSet

_AT_SIDE = 1e-3  # cells: particles enter by this at least, so that rounding puts none outside
_EVEN = (((5.0**0.5 - 1.0) / 2.0,), (0.7548776662466927, 0.5698402909980532))  # steps of sequences that fill [0, 1) evenly
_NEAR = 2  # cells within which open air has a depth of a cell, and holes between particles do not
_ROW = 1 << 20  # faces in a row along an axis, at most; part of the names of faces

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


class ParticleInflow(MemoryOwner):
    """Seeds the particles of one solver that enter through `Prescribed` sides, and walls that move along their normal.

    Each face counts the volume that has come through it, in particles; the n-th enters when that passes n and a part of one, and has moved
    on for the rest of the step. So their number does not depend on how the time is cut into steps. The parts are spread evenly over the
    faces, so that sums over them are exact to few particles. Where a face is beside air, air enters; holes between
    particles are none.

    Args:
        velocity: of the grid.
        per_cell: particles in a full cell.
        options: jitter and seed.
    """

    borrowed = ("_grid",)

    def __init__(self, velocity: MacField, per_cell: int, options: LiquidParticles) -> None:
        self._grid = grid = velocity.grid
        self._per_cell, self._jitter, self._seed = per_cell, options.jitter, options.seed
        sides = velocity.boundary
        self._sides = [
            (axis, sign == "+")
            for axis, name in enumerate("xyz"[: grid.dimension])
            for sign in "-+"
            if name + sign in grid.sides and _is_given(sides[name + sign])
        ]
        strata = round(per_cell ** (1.0 / grid.dimension))
        even = strata**grid.dimension == per_cell
        self._strata = strata if even else 1
        self._spread = options.jitter if even else 1.0

    def new_counts(self) -> MacField | None:
        """Return zeros for the volumes that have come through the faces, in particles; None if no side lets any in."""
        return MacField(self._grid, boundary=ZeroGradient()) if self._sides else None

    def add(
        self, particles: Particles, velocity: MacField, counts: MacField, levelset: LevelSet, dt: float, time: float, workspace: Workspace
    ) -> int:
        """Add the particles that enter in the step of dt that ends at a time, s; return their number. Collective.

        Args:
            particles: get the new ones.
            velocity: with the given ones on the sides, m/s.
            counts: what has come through the faces.
            levelset: the liquid before the step.
            dt: s.
            time: s.
            workspace: scratch memory to reuse.
        """
        levelset.field.fill_ghosts(time)
        entering = [self._entering(axis, upper, velocity, counts, levelset, dt) for axis, upper in self._sides if self._has(axis, upper)]
        if not entering:
            entering = [_Entering.none(self._grid.dimension)]
        names, points, inward, speeds, ages, airy = (np.concatenate(parts) for parts in zip(*entering, strict=True))
        kind = particles.positions.dtype
        columns: dict[str, Any] = {name: np.zeros((len(points), *particles[name].shape[1:]), kind) for name in particles.columns}
        new = Particles(points.astype(kind), **columns)
        _fluids.set_distances(new._core, levelset.field._core, None)
        grid_to_particles(velocity, new, time=time, workspace=workspace)
        # Across the side a particle has the velocity of its own face; interpolation would mix that of the wall beside an inlet.
        v = np.where(inward != 0.0, inward * speeds[:, None], new["velocity"])
        least = _AT_SIDE * self._grid.spacing
        moved = points + np.where(inward != 0.0, inward * np.maximum(speeds * ages, least)[:, None], v * ages[:, None])
        new.positions[...], new["velocity"][...] = moved, v
        wet = (np.array(new["distance"]) < 0.0) | ~airy
        new.remove(~wet, workspace=workspace)
        return append_of_all_ranks(particles, new, names[wet], self._grid)

    def keep(self, particles: Particles, velocity: MacField) -> None:
        """Put particles that are beyond a side back into it where its velocity is not outward: they were moved there by errors of the
        trace, or apart from each other. Collective."""
        grid = self._grid
        x = particles.positions
        for axis, upper in self._sides:
            end = grid.origin[axis] + (grid.spacing * grid.shape[axis] if upper else 0.0)
            beyond = np.flatnonzero(x[:, axis] >= end if upper else x[:, axis] <= end)
            outward = self._outward(axis, upper, velocity)
            others = [d for d in range(grid.dimension) if d != axis]
            cells = [np.clip((x[beyond, d] - grid.origin[d]) / grid.spacing, 0, grid.shape[d] - 1).astype(np.int64) for d in others]
            back = beyond[~outward[tuple(cells)]]
            x[back, axis] = end - (_AT_SIDE if upper else -_AT_SIDE) * grid.spacing

    def _outward(self, axis: int, upper: bool, velocity: MacField) -> Bools:
        """Return which faces of a whole side let particles out, on all ranks."""
        grid = self._grid
        mine = None
        if self._has(axis, upper):
            speed = velocity.component(axis)[_slab(grid.dimension, axis, upper)]
            mine = [f for d, f in enumerate(grid.first_cell) if d != axis], np.array(speed > 0 if upper else speed < 0)
        outward = np.zeros([n for d, n in enumerate(grid.shape) if d != axis], bool)
        for part in grid.comm.gather(mine):
            if part is not None:
                outward[tuple(slice(f, f + n) for f, n in zip(part[0], part[1].shape, strict=True))] = part[1]
        return outward

    def _has(self, axis: int, upper: bool) -> bool:
        """Return whether the own block is at a side."""
        first, cells = self._grid.first_cell[axis], self._grid.local_shape[axis]
        return first + cells == self._grid.shape[axis] if upper else first == 0

    def _entering(self, axis: int, upper: bool, velocity: MacField, counts: MacField, levelset: LevelSet, dt: float) -> _Entering:
        """Count what comes through a side in dt, and return the particles that enter."""
        grid, dimension = self._grid, self._grid.dimension
        slab = _slab(dimension, axis, upper)
        sign = -1.0 if upper else 1.0
        speed = np.maximum(sign * np.asarray(velocity.component(axis)[slab], np.float64), 0.0)
        through = dt / grid.spacing * self._per_cell * speed
        others = [d for d in range(dimension) if d != axis]
        waits = np.full(speed.shape, 0.5)
        for k, d in enumerate(others):
            line = (grid.first_cell[d] + np.arange(speed.shape[k])) * _EVEN[dimension - 2][k]
            waits = waits + line.reshape([-1 if i == k else 1 for i in range(dimension - 1)])
        waits %= 1.0
        count = counts.component(axis)
        before = count[slab] + (1.0 - waits)
        after = before + through
        count[slab] += through
        first = np.floor(before)
        entered = (np.floor(after) - first).astype(np.int64).ravel()
        face = np.repeat(np.arange(entered.size), entered)
        number = np.arange(len(face)) - np.repeat(np.cumsum(entered) - entered, entered) + first.ravel()[face].astype(np.int64)
        ages = dt * (after.ravel()[face] - (number + 1)) / through.ravel()[face]
        # One face after the other, over the whole side, and those of a face in the order in which they enter.
        cells = np.unravel_index(face, speed.shape)
        index = [grid.first_cell[d] + c for d, c in zip(others, cells, strict=True)]
        name = np.full(len(face), 2 * axis + upper, np.int64)
        for i in index:
            name = name * _ROW + i
        chance = core.uniform(self._seed, np.ascontiguousarray(name * _ROW + number % _ROW), 0)
        points, inward = np.empty((len(face), dimension)), np.zeros((len(face), dimension))
        points[:, axis] = grid.origin[axis] + (grid.spacing * grid.shape[axis] if upper else 0.0)
        inward[:, axis] = sign
        part = number
        for k, (d, i) in enumerate(zip(others, index, strict=True)):
            along = (part % self._strata + 0.5 + self._spread * (chance[:, k] - 0.5)) / self._strata
            points[:, d] = grid.origin[d] + grid.spacing * (i + along)
            part = part // self._strata
        airy = self._beside_air(axis, upper, levelset)
        return _Entering(name, points, inward, speed.ravel()[face], ages, airy.ravel()[face])

    def _beside_air(self, axis: int, upper: bool, levelset: LevelSet) -> Bools:
        """Return which faces of a side have air within two cells that is deeper than a cell. A level set whose ghosts are filled."""
        phi = np.moveaxis(levelset.field.with_ghosts, axis, 0)
        rows = phi[-1 - GHOST_WIDTH : -1 - GHOST_WIDTH - _NEAR - 1 : -1] if upper else phi[GHOST_WIDTH : GHOST_WIDTH + _NEAR + 1]
        largest = rows.max(axis=0)
        for d in range(largest.ndim):
            first, end = GHOST_WIDTH, largest.shape[d] - GHOST_WIDTH
            shifts = [np.take(largest, np.arange(first + k, end + k), axis=d) for k in range(-_NEAR, _NEAR + 1)]
            largest = np.maximum.reduce(shifts)
        return np.asarray(largest > self._grid.spacing)


class _Entering(NamedTuple):
    """Particles that enter: names of their faces, where, the directions in which, how fast (m/s), how long ago (s), and
    whether air is near."""

    names: npt.NDArray[np.int64]
    points: Floats
    inward: Floats
    speeds: Floats
    ages: Floats
    airy: Bools

    @staticmethod
    def none(dimension: int) -> _Entering:
        """Return no particles."""
        none, rows = np.empty(0), np.empty((0, dimension))
        return _Entering(np.empty(0, np.int64), rows, rows, none, none, np.empty(0, bool))


def _slab(dimension: int, axis: int, upper: bool) -> tuple[Any, ...]:
    """Return the index of the faces on a side in the component across it."""
    return tuple((-1 if upper else 0) if d == axis else slice(None) for d in range(dimension))


def _is_given(side: SideCondition) -> bool:
    return isinstance(side, Prescribed) or (isinstance(side, Wall) and side.velocity is not None)
