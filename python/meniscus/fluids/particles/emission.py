"""Sources with a rate in a particle liquid: particles for what they emit, and for what sinks take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import core
from meniscus._meniscus import fluids as _fluids
from meniscus.fluids.liquid.emission import Emission, Index
from meniscus.fluids.liquid.sources import LiquidSource
from meniscus.fluids.particles.seeding import ParticleSeeder, append_of_all_ranks
from meniscus.fluids.particles.transfer import grid_to_particles
from meniscus.grid.fields import CellField, MacField, NodeField
from meniscus.grid.particles.storage import Particles
from meniscus.grid.transport.walls import ThinWalls
from meniscus.surface import LevelSet

Ints = npt.NDArray[np.int64]

_FIRST = 0.618033988749895
# What a source owes when it emits a particle is more than 1 less this; irrational, as rounding would decide where rates are round numbers.
_EVEN = {
    2: (0.8191725133961644, 0.671043606703789, 0.5497004779019701),
    3: (0.8566748838545029, 0.733891856627126, 0.6287067210378086, 0.53859725722361),
}
# Steps of sequences that fill the cells, and each of them, evenly: powers of 1/g, where g^(dim + 2) = g + 1.
# Source: Roberts 2018, "The unreasonable effectiveness of quasirandom sequences".
_BURST = 1.1  # of what goes with the flow: particles that come in one step at most, and one more


class ParticleEmission(Emission):
    """Sources with a rate: their flow, and the particles that come with it, in numbers that depend on the rate and the time alone.

    The n-th particle of a source enters when it has emitted the volume of so many, wherever the n-th place of a sequence is that fills the
    liquid in its region evenly.

    Args:
        velocity: of the grid.
        sources: with rates.
        reach: m, up to which distances from the regions are needed.
        each: volume of a particle, m^dim.
        seed: of the places.
    """

    def __init__(self, velocity: MacField, sources: Sequence[LiquidSource], reach: float, each: float, seed: int) -> None:
        super().__init__(velocity, sources, reach)
        self._each, self._seed = each, seed
        self._air = CellField(velocity.grid, velocity.dtype)

    def flow_of_step(
        self, dt: float, start: float, levelset: LevelSet, solid: NodeField | None, walls: ThinWalls | None
    ) -> CellField | None:
        """Set the flows of the step of dt seconds from a time on; return the divergence, as `spread` does."""
        due = self.due(dt, start)
        owed = self.owed - due
        owed -= np.clip(owed, -self._each, self._each)  # parts of particles
        seen = dt, start + dt, levelset, solid, walls
        return self.spread(self.wanted(due, owed, *seen), *seen)

    def seed_air(
        self,
        particles: Particles,
        seeder: ParticleSeeder,
        time: float,
        levelset: LevelSet,
        solid: NodeField | None,
        walls: ThinWalls | None,
    ) -> int:
        """Fill air in the regions with particles, from the middle, at most with those that are owed; return their number. Collective."""
        added = 0
        for k, region in enumerate(self.regions):
            owed = math.floor(self.owed[k] / self._each + _FIRST)
            self.room[k] = np.finfo(np.float64).max
            cells = self.open_cells(k, time, levelset, solid, walls) if owed > 0 else None
            if cells is None or not cells.air_volume:
                continue
            phi, owner = region.at(time, self._workspace, walls), region.owner
            if walls is None:
                np.maximum(phi.array, -levelset.array, out=self._air.array)
            else:
                self._air.array[...] = self._grid.spacing
                self._air.array[cells.air] = phi.array[cells.air]
            first, v = particles._core.next_id, owner.velocity
            offset = None if v is None else [(time - owner.start) * float(c) for c in v]
            new = seeder.fill(particles, self._air, None, solid, self._workspace, offset=offset, velocity=v)
            if new > owed:
                self._keep_innermost(particles, first, owed, phi)
                new = owed
            elif new < owed:
                self.room[k] = 0.0  # particles too few for a surface are there already: the rest comes by the flow
            self.owed[k] -= new * self._each
            added += new
        return added

    def move(
        self,
        particles: Particles,
        velocity: MacField,
        dt: float,
        time: float,
        levelset: LevelSet,
        solid: NodeField | None,
        walls: ThinWalls | None,
        totals: dict[str, Any],
    ) -> None:
        """Add the particles that enter in the step of dt seconds that ends at a time, and remove those that leave; `totals` counts both."""
        for k in np.flatnonzero(self.flow).tolist():
            wet = self.open_cells(k, time, levelset, solid, walls).wet
            made = float(self.flow[k]) * dt
            sign = math.copysign(1.0, made)
            most = math.floor(_BURST * abs(made) / self._each) + 1
            n = max(min(math.floor(sign * self.owed[k] / self._each + _FIRST), most), 0)
            n = self._add(k, n, wet, particles, velocity, levelset, time) if made > 0 else self._remove(n, wet, particles)
            totals["emitted" if made > 0 else "drained"] += n
            self.owed[k] -= sign * n * self._each
            self.count[k] += n

    def _add(self, k: int, n: int, wet: Index, particles: Particles, velocity: MacField, levelset: LevelSet, time: float) -> int:
        grid, comm = self._grid, self._grid.comm
        own = self._names(wet)
        names = np.sort(np.concatenate(comm.gather(own)))
        if n == 0 or len(names) == 0:
            return 0
        numbers = self.count[k] + np.arange(n)
        start = np.concatenate([core.uniform(self._seed, np.array([k], np.int64), 0, draw)[0] for draw in (0, 1)])
        even = np.array(_EVEN[grid.dimension])
        place = (start[: len(even)] + (numbers[:, None] + 1.0) * even) % 1.0
        chosen = names[np.minimum((place[:, 0] * len(names)).astype(np.int64), len(names) - 1)]
        here = np.isin(chosen, own)
        corner = np.stack(np.unravel_index(chosen[here], grid.shape), axis=1)
        points = np.asarray(grid.origin) + grid.spacing * (corner + place[here, 1:])
        kind = particles.positions.dtype
        columns: dict[str, Any] = {name: np.zeros((len(points), *particles[name].shape[1:]), kind) for name in particles.columns}
        new = Particles(points.astype(kind), **columns)
        levelset.field.fill_ghosts(time)
        _fluids.set_distances(new._core, levelset.field._core, None)
        grid_to_particles(velocity, new, time=time, workspace=self._workspace)
        return append_of_all_ranks(particles, new, numbers[here], grid)

    def _remove(self, n: int, wet: Index, particles: Particles) -> int:
        """Remove n particles of some cells, any of them; return how many there were."""
        inside = np.zeros(self._grid.local_shape, bool)
        inside[wet] = True
        rows = np.flatnonzero(inside[self._cells_of(particles)])
        ids = particles.ids[rows]
        every = np.sort(np.concatenate(self._grid.comm.gather(np.array(ids))))
        chance = core.uniform(self._seed, np.ascontiguousarray(every), 0, 2)[:, 0]
        gone = np.zeros(len(particles), bool)
        gone[rows] = np.isin(ids, every[np.argsort(chance, kind="stable")[:n]])
        particles.remove(gone, workspace=self._workspace)
        return min(n, len(every))

    def _keep_innermost(self, particles: Particles, first: int, count: int, phi: CellField) -> None:
        """Remove particles with ids from the first new one on, but for so many deepest in a region."""
        rows = np.flatnonzero(particles.ids >= first)
        ids, depths = np.array(particles.ids[rows]), np.float64(phi.array[self._cells_of(particles)][rows])
        everywhere = self._grid.comm.gather((ids, depths))
        every, depth = (np.concatenate(parts) for parts in zip(*everywhere, strict=True))
        gone = np.zeros(len(particles), bool)
        gone[rows] = ~np.isin(ids, every[np.lexsort((every, depth))[:count]])
        particles.remove(gone, workspace=self._workspace)

    def _cells_of(self, particles: Particles) -> Index:
        """Return the cells of the block in which particles are."""
        at = (np.float64(particles.positions) - self._grid.origin) / self._grid.spacing
        whole = np.floor(at).astype(np.int64) - np.array(self._grid.first_cell)
        return tuple(np.clip(whole, 0, np.array(self._grid.local_shape) - 1).T)

    def _names(self, cells: Index) -> Ints:
        """Return the C-ordered indices of cells in the domain."""
        shifted = tuple(i + f for i, f in zip(cells, self._grid.first_cell, strict=True))
        return np.ravel_multi_index(shifted, self._grid.shape).astype(np.int64)
