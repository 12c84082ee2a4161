"""Distances to the surface that liquid particles carry."""

from __future__ import annotations

from typing import Any

from meniscus._meniscus import fluids as _fluids
from meniscus.core import Workspace
from meniscus.core.memory import MemoryOwner
from meniscus.fluids.particles.surface import density_levelset
from meniscus.grid.fields import CellField, MacField, NodeField
from meniscus.grid.particles.storage import Particles
from meniscus.grid.transport.walls import ThinWalls
from meniscus.surface import LevelSet

CARRIED_BAND = 5.0
"""Cells within which distances and the level set fitted to them have their slope: as deep as the fit of a cell beside air looks."""


class CarriedDistance(MemoryOwner):
    """The surface of a particle liquid, from the distances to it that the particles carry in their column 'distance'.

    Positions tell the surface only up to a part of the spacing of the particles, and nothing of where it lies in a solid. A distance to the
    surface moves with the liquid. So the level set is fitted to those that the particles have had since the liquid was filled in; where the
    flow strains the liquid, they follow the surface of the positions.

    Attributes:
        positions: the level set that the positions alone tell, as of the last `update`.
    """

    def __init__(self, velocity: MacField, per_cell: int) -> None:
        self._velocity = velocity
        self._per_cell = per_cell
        self.positions = LevelSet(velocity.grid, "cells", velocity.dtype)

    def fit(
        self, particles: Particles, solid: NodeField | None, out: LevelSet, workspace: Workspace, walls: ThinWalls | None = None
    ) -> None:
        """Compute the level set of the liquid from the distances, where there are enough; elsewhere from positions."""
        density_levelset(particles, out, self._per_cell, solid, workspace, walls, band=CARRIED_BAND, carried=True)

    def set_region(self, particles: Particles, region: CellField, before: LevelSet | None) -> None:
        """Give the particles of a new region their distances."""
        _fluids.set_distances(particles._core, region._core, None if before is None else before.field._core)

    def update(
        self, particles: Particles, solid: NodeField | None, dt: float, time: float, workspace: Workspace, shells: Any = None
    ) -> None:
        """Let the distances follow the surface of the positions as much as the flow strains the liquid in dt.

        `shells`: what does so for particles beside thin walls.
        """
        walls = None if shells is None else shells.walls
        density_levelset(particles, self.positions, self._per_cell, solid, workspace, walls)
        levelset = self.positions.field
        around = None if solid is None else solid._core
        args = particles._core, levelset._core, self._velocity._core, around
        _fluids.update_distances(*args, dt, time, workspace, None if walls is None else walls._core)
        if shells is not None:
            shells.update_distances(particles, levelset, dt, time)

    def shift(self, particles: Particles, levelset: LevelSet, factor: float, workspace: Workspace, shells: Any = None) -> None:
        """Add the height of a level set above its value in full cells, -1 cell, times a factor, to the distances: -1 before and 1 after a
        displacement that no flow makes.

        `shells`: what does so for particles beside thin walls.
        """
        near = None if shells is None else shells.shifted_distances(particles, levelset, factor)
        _fluids.add_to_distances(particles._core, levelset.field._core, factor, workspace)
        if near is not None:
            mask, distances = near
            particles["distance"][mask] = distances
