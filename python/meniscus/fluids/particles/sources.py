"""Sources, drains and initial regions of a particle liquid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from meniscus import _checks
from meniscus.core import Workspace
from meniscus.core.memory import MemoryOwner
from meniscus.fluids.liquid.sources import Drain, LiquidSource, RegionCells
from meniscus.fluids.particles.distance import CARRIED_BAND
from meniscus.fluids.particles.seeding import ParticleSeeder, liquid_region
from meniscus.grid.fields import CellField, NodeField
from meniscus.grid.particles.storage import Particles
from meniscus.grid.uniform import Grid
from meniscus.surface import LevelSet
from meniscus.surface.shapes.sampled import as_shape


class ParticleSources(MemoryOwner):
    """Adds and removes the particles of one solver."""

    def __init__(
        self, grid: Grid, seeder: ParticleSeeder, dtype: np.dtype[Any], sources: Sequence[LiquidSource], drains: Sequence[Drain]
    ) -> None:
        self._grid = grid
        self._dtype = dtype
        self._seeder = seeder
        self._workspace = Workspace()
        reach = 2 * grid.spacing
        self._sources = [RegionCells(s, CellField(grid, dtype), reach) for s in _checks.items("sources", sources, LiquidSource)]
        self._drains = [RegionCells(d, CellField(grid, dtype), reach) for d in _checks.items("drains", drains, Drain)]

    def speed(self, time: float) -> float:
        """Return the largest velocity component of a source that is on, m/s."""
        owners = (r.owner for r in self._sources)
        given = [s.velocity for s in owners if isinstance(s, LiquidSource) and s.velocity is not None and s.is_on(time)]
        return max((float(np.abs(v).max()) for v in given), default=0.0)

    def fill(self, particles: Particles, region: Any, velocity: Sequence[float] | None, solid: NodeField | None) -> tuple[int, CellField]:
        """Fill a region outside of a solid with particles; return the number of new ones and the level set of the region on cells."""
        dimension = self._grid.dimension
        given = None if velocity is None else _checks.vector("velocity", velocity, dimension)
        if isinstance(region, LevelSet):
            if region.grid != self._grid or region.location != "cells":
                raise ValueError("region must be a level set on the cells of the grid of the solver")
            phi = CellField(self._grid, self._dtype)
            phi.array[...] = region.array
            return self._seeder.fill(particles, phi, None, solid, self._workspace, velocity=given), phi
        region = as_shape("region", region, dimension)
        phi = CellField(self._grid, self._dtype)
        region.sample(phi, band=(CARRIED_BAND + 1) * self._grid.spacing, workspace=self._workspace)
        return self._seeder.fill(particles, phi, liquid_region(region, self._grid), solid, self._workspace, velocity=given), phi

    def emit(self, particles: Particles, time: float, solid: NodeField | None) -> int:
        """Fill the regions of the sources, set the velocity of the particles in them, and return the number of new ones."""
        added = 0
        for region in self._sources:
            owner = region.owner
            if not isinstance(owner, LiquidSource) or not owner.is_on(time):
                continue
            inside, v = self._region(region, time), owner.velocity
            offset = None if v is None else [(time - owner.start) * float(c) for c in v]
            phi = region.at(time, self._workspace)
            added += self._seeder.fill(particles, phi, inside, solid, self._workspace, offset=offset, velocity=v)
            if v is not None:
                inside.set_velocity(particles._core, v, self._workspace)
        return added

    def drain(self, particles: Particles, time: float) -> int:
        """Remove the particles in the regions of the drains; return their number."""
        active = [r for r in self._drains if r.owner.is_on(time)]
        removed = sum(int(self._region(r, time).remove(particles._core, self._workspace)) for r in active)
        return self._grid.comm.total(removed) if active else 0

    def _region(self, region: RegionCells, time: float) -> Any:
        motion = region.owner.motion
        return liquid_region(region.region, self._grid, None if motion is None else motion(time))
