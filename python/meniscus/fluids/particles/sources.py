"""Sources, drains and initial regions of a particle liquid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core import Workspace
from meniscus.core.memory import MemoryOwner
from meniscus.fluids.flows.region import RegionCells
from meniscus.fluids.liquid.sources import Drain, LiquidSource
from meniscus.fluids.particles.distance import CARRIED_BAND
from meniscus.fluids.particles.emission import ParticleEmission
from meniscus.fluids.particles.options import LiquidParticles
from meniscus.fluids.particles.seeding import ParticleSeeder, liquid_region
from meniscus.grid.fields import CellField, MacField, NodeField
from meniscus.grid.particles.storage import Particles
from meniscus.surface import LevelSet
from meniscus.surface.shapes.sampled import as_shape


class ParticleSources(MemoryOwner):
    """Adds and removes the particles of one solver."""

    def __init__(
        self, velocity: MacField, per_cell: int, options: LiquidParticles, sources: Sequence[LiquidSource], drains: Sequence[Drain]
    ) -> None:
        self._grid = grid = velocity.grid
        self._dtype = dtype = velocity.dtype
        self._seeder = ParticleSeeder(grid, per_cell, options.jitter, options.seed)
        self._workspace = Workspace()
        reach = 2 * grid.spacing
        given = _checks.items("sources", sources, LiquidSource)
        self._sources = [RegionCells(s, CellField(grid, dtype), reach) for s in given if s.rate is None]
        rated = [s for s in given if s.rate is not None]
        each = grid.spacing**grid.dimension / per_cell
        self.emission = ParticleEmission(velocity, rated, reach, each, options.seed) if rated else None
        self._drains = [RegionCells(d, CellField(grid, dtype), reach) for d in _checks.items("drains", drains, Drain)]

    def speed(self, time: float) -> float:
        """Return the largest velocity component of a source that is on, m/s."""
        owners = [r.owner for r in self._sources + ([] if self.emission is None else self.emission.regions)]
        given = [s.velocity for s in owners if isinstance(s, LiquidSource) and s.velocity is not None and s.is_on(time)]
        largest = max((float(np.abs(v).max()) for v in given), default=0.0)
        return largest if self.emission is None else max(largest, self.emission.speed(time))

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

    def emit(
        self, particles: Particles, dt: float, time: float, levelset: LevelSet | None, solid: NodeField | None, shells: Any = None
    ) -> int:
        """Fill the regions of the sources, set the velocity of the particles in them, and return the number of new ones.

        Beside shells a source is the largest of the parts into which they cut its region. `levelset`: the liquid, for sources with a rate;
        `dt`: of the step, s.
        """
        added = 0
        for region in self._sources:
            owner = region.owner
            if not isinstance(owner, LiquidSource) or not owner.is_on(time):
                continue
            inside, v = self._region(region, time), owner.velocity
            offset = None if v is None else [(time - owner.start) * float(c) for c in v]
            phi, part = region.at(time, self._workspace), self._part(region, time, shells)
            before = len(particles)
            new = self._seeder.fill(particles, phi, inside, solid, self._workspace, offset=offset, velocity=v)
            if part is not None:
                beyond = ~_seeing(part, shells, particles)
                beyond[:before] = False
                new -= int(beyond.sum())
                particles.remove(beyond, workspace=self._workspace)
            added += new
            self._set_velocity(particles, region, time, None if part is None else partial(_seeing, part, shells, particles))
        if self.emission is None or levelset is None:
            return added
        self.emission.accrue(dt, time)
        added += self.emission.seed_air(particles, self._seeder, time, levelset, solid, None if shells is None else shells.walls)
        for region in self.emission.regions:
            if region.owner.is_on(time):
                part = self._part(region, time, shells)
                seen = None if part is None else partial(_seeing, part, shells, particles)
                self._set_velocity(particles, region, time, seen)
        return added

    def _set_velocity(
        self, particles: Particles, region: RegionCells, time: float, seen: Callable[[], npt.NDArray[np.bool_]] | None
    ) -> None:
        """Give the particles in a region the velocity of its source, if it has one; `seen`: which particles shells do not hide from it."""
        v = region.owner.velocity
        if v is None:
            return
        inside = self._region(region, time)
        if seen is None:
            inside.set_velocity(particles._core, v, self._workspace)
            return
        here = self._inside(inside, particles) & seen()
        particles["velocity"][here] = v
        if "affine" in particles.columns:
            particles["affine"][here] = 0.0

    def drain(self, particles: Particles, time: float, shells: Any = None) -> int:
        """Remove the particles in the regions of the drains; return their number. Beside shells as `emit`."""
        active = [r for r in self._drains if r.owner.is_on(time)]
        removed = 0
        for r in active:
            part, region = self._part(r, time, shells), self._region(r, time)
            if part is None:
                removed += int(region.remove(particles._core, self._workspace))
                continue
            here = self._inside(region, particles) & _seeing(part, shells, particles)
            removed += int(here.sum())
            particles.remove(here, workspace=self._workspace)
        return self._grid.comm.total(removed) if active else 0

    def _part(self, region: RegionCells, time: float, shells: Any) -> LevelSet | None:
        """Return the cells of the largest part of a region (1, others 0), or None if no shell cuts it."""
        if shells is None:
            return None
        whole, part = region.at(time, self._workspace), region.at(time, self._workspace, shells.walls)
        if part is whole:
            return None
        cells = LevelSet(self._grid, "cells", self._dtype)
        cells.array[...] = part.array <= 0
        return cells

    def _inside(self, region: Any, particles: Particles) -> npt.NDArray[np.bool_]:
        found = np.zeros(len(particles), bool)
        region.mark_inside(np.array(particles.positions, np.float64), found)
        return found

    def _region(self, region: RegionCells, time: float) -> Any:
        motion = region.owner.motion
        return liquid_region(region.region, self._grid, None if motion is None else motion(time))


def _seeing(part: LevelSet, shells: Any, particles: Particles) -> npt.NDArray[np.bool_]:
    """Return which particles see one of some cells around them."""
    result: npt.NDArray[np.bool_] = shells.levels(part, particles.positions) > 0
    return result
