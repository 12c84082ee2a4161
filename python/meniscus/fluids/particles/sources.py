"""Sources, drains and initial regions of a particle liquid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core import Workspace
from meniscus.fluids.liquid.sources import Drain, LiquidSource, RegionCells
from meniscus.fluids.particles.seeding import Inside, ParticleSeeder, shape_inside
from meniscus.grid.fields import CellField, NodeField
from meniscus.grid.particles.storage import Particles
from meniscus.grid.transport.points import sample
from meniscus.grid.uniform import Grid
from meniscus.surface import LevelSet, Shape


class ParticleSources:
    """Adds and removes the particles of one solver.

    Attributes:
        seeder: gives the positions of particles in a region.
    """

    def __init__(
        self, grid: Grid, seeder: ParticleSeeder, dtype: np.dtype[Any], sources: Sequence[LiquidSource], drains: Sequence[Drain]
    ) -> None:
        self._grid = grid
        self._dtype = dtype
        self.seeder = seeder
        self._workspace = Workspace()
        reach = 2 * grid.spacing
        self._sources = [RegionCells(_checks.one_of_type("sources", s, LiquidSource), CellField(grid, dtype), reach) for s in sources]
        self._drains = [RegionCells(_checks.one_of_type("drains", s, Drain), CellField(grid, dtype), reach) for s in drains]

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._workspace.bytes + sum(r.phi.with_ghosts.nbytes for r in (*self._sources, *self._drains))

    def speed(self, time: float) -> float:
        """Return the largest velocity component of a source that is on, m/s."""
        owners = (r.owner for r in self._sources)
        given = [s.velocity for s in owners if isinstance(s, LiquidSource) and s.velocity is not None and s.is_on(time)]
        return max((float(np.abs(v).max()) for v in given), default=0.0)

    def fill(self, particles: Particles, region: Shape | LevelSet, velocity: Sequence[float] | None, solid: NodeField | None) -> int:
        """Fill a region outside of a solid with particles; return the number of new ones."""
        dimension = self._grid.dimension
        given = None if velocity is None else _checks.vector("velocity", velocity, dimension)
        if isinstance(region, LevelSet):
            levelset = region
            if levelset.grid != self._grid or levelset.location != "cells":
                raise ValueError("region must be a level set on the cells of the grid of the solver")
            phi: Any = levelset.field

            def in_levelset(x: Any) -> Any:
                return levelset.sample(np.ascontiguousarray(x, levelset.dtype)) <= 0

            inside: Inside = in_levelset
        else:
            _checks.one_of_type("region", region, Shape)
            if region.dimension != dimension:
                raise ValueError(f"region must be {dimension}-D like the grid, not {region.dimension}-D")
            phi = CellField(self._grid, self._dtype)
            region.sample(phi, band=2 * self._grid.spacing, workspace=self._workspace)
            inside = shape_inside(region, self._grid)
        return self._add(particles, self.seeder.missing(particles, phi, inside), given, solid)

    def emit(self, particles: Particles, time: float, solid: NodeField | None) -> int:
        """Fill the regions of the sources, set the velocity of the particles in them, and return the number of new ones."""
        added = 0
        for region in self._sources:
            owner = region.owner
            if not isinstance(owner, LiquidSource) or not owner.is_on(time):
                continue
            inside = self._inside(region, time)
            offset = None if owner.velocity is None else (time - owner.start) * np.array(owner.velocity)
            x = self.seeder.missing(particles, region.at(time, self._workspace), inside, offset)
            added += self._add(particles, x, owner.velocity, solid)
            if owner.velocity is not None:
                where = inside(np.ascontiguousarray(particles.positions, np.float64))
                particles["velocity"][where] = owner.velocity
                if "affine" in particles.columns:
                    particles["affine"][where] = 0.0
        return added

    def drain(self, particles: Particles, time: float) -> int:
        """Remove the particles in the regions of the drains; return their number."""
        removed = 0
        for region in self._drains:
            if region.owner.is_on(time) and len(particles):
                where = self._inside(region, time)(np.ascontiguousarray(particles.positions, np.float64))
                removed += particles.remove(where, workspace=self._workspace)
        return removed

    def _inside(self, region: RegionCells, time: float) -> Inside:
        motion = region.owner.motion
        return shape_inside(region.owner.region, self._grid, None if motion is None else motion(time))

    def _add(self, particles: Particles, x: npt.NDArray[np.float64], velocity: Sequence[float] | None, solid: NodeField | None) -> int:
        if solid is not None and len(x):
            x = x[sample(solid, np.ascontiguousarray(x)) > 0]
        if len(x):
            v = np.zeros(x.shape, self._dtype)
            if velocity is not None:
                v[...] = velocity
            particles.append(x.astype(self._dtype), velocity=v)
        return len(x)
