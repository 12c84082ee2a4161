"""Correction of the spacing of liquid particles: a displacement whose divergence removes the excess of particles in each cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus._meniscus import grid as _grid
from meniscus.core import Workspace
from meniscus.core.memory import MemoryOwner
from meniscus.fluids.particles.faces import mark_open_faces
from meniscus.fluids.particles.transfer import particle_density
from meniscus.fluids.pressure.projection import PressureSolver, ProjectionInfo, project
from meniscus.fluids.stages import extend_into_solid
from meniscus.grid.boundary import Open, Wall
from meniscus.grid.fields import CellField, MacField, component_shapes
from meniscus.grid.particles.storage import Particles
from meniscus.grid.transport.extrapolation import extrapolate
from meniscus.grid.transport.points import trace
from meniscus.surface import LevelSet, SolidBoundary

Bools = npt.NDArray[np.bool_]

TOLERANCE = 1e-4
"""Of the solve: the next step corrects what this one leaves."""
Strain = tuple[Any, float, float, float | None]
"""The core of a velocity, a step (s), the time (s), and the rate at which corrections follow the strain of that velocity over that
step; None: they do not."""


class ParticleSpacing(MemoryOwner):
    """Correction that displaces particles so that their density becomes uniform.

    Source: Kugelstadt et al., "Implicit density projection for volume conserving liquids", 2019.
    """

    def __init__(self, velocity: MacField) -> None:
        grid, dtype = velocity.grid, velocity.dtype
        sides = {s: Wall() if isinstance(velocity.boundary[s], Wall) else Open() for s in grid.sides}
        self._shift = MacField(grid, dtype, sides)
        self._density = CellField(grid, dtype)
        self._target = CellField(grid, dtype)
        self._known: list[Bools] = [np.zeros(s, bool) for s in component_shapes(grid)]
        self._solver = PressureSolver(grid)

    def correct(
        self,
        particles: Particles,
        per_cell: int,
        levelset: LevelSet,
        solid: SolidBoundary | None,
        band: int,
        max_iterations: int,
        strain: Strain,
        workspace: Workspace,
        shells: Any = None,
    ) -> ProjectionInfo:
        """Move the particles; those that a displacement brings beyond sides or into the solid stay there until their next boundary
        treatment. `shells`: what counts and moves particles beside thin walls, which no displacement crosses."""
        grid = levelset.grid
        particle_density(particles, grid, out=self._density, workspace=workspace)
        if solid is not None:
            _fluids.divide_by_open_space(self._density._core, solid.levelset._core, workspace)
        if shells is not None:
            shells.count_particles(particles, self._density, float(per_cell), workspace)
        outside = None if solid is None else solid.levelset._core
        _fluids.density_excess(self._density._core, float(per_cell), levelset.field._core, outside, *strain, self._target._core)
        _grid.assign_faces(self._shift._core, 0.0, None, True)
        info = project(
            self._shift,
            1.0,
            None if solid is None else solid.levelset,
            1.0,
            TOLERANCE,
            liquid=levelset,
            given_faces=None if shells is None else shells.walls.blocked_faces,
            target_divergence=self._target,
            max_iterations=max_iterations,
            solver=self._solver,
        )
        known = mark_open_faces(levelset, solid, self._known)
        sources = None if shells is None else [np.array(mask) for mask in known]
        extrapolate(self._shift, known, layers=band, out=known, workspace=workspace)
        if sources is not None:
            shells.extend(self._shift, levelset, sources, known, band)
            shells.set_blocked(self._shift, [0.0] * grid.dimension)
        extend_into_solid(self._shift, known, None, workspace)
        near = None if shells is None else shells.shifts(particles, self._shift)
        trace(particles, self._shift, 1.0, method="euler", outside="keep", workspace=workspace)
        if near is not None:
            shells.go(particles, near)
        return info
