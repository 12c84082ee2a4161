"""Correction of the spacing of liquid particles: a displacement whose divergence removes the excess of particles in each cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus.core import Workspace
from meniscus.fluids.particles.transfer import particle_density
from meniscus.fluids.pressure.projection import PressureSolver, ProjectionInfo, project
from meniscus.grid.boundary import Open, Wall
from meniscus.grid.fields import CellField, MacField, component_shapes
from meniscus.grid.particles.storage import Particles
from meniscus.grid.transport.extrapolation import extrapolate
from meniscus.grid.transport.points import trace
from meniscus.surface import LevelSet, SolidBoundary

Bools = npt.NDArray[np.bool_]

LARGEST_CHANGE = 0.5
"""Of the density of a cell in one correction, relative."""
TOLERANCE = 1e-4
"""Of the solve: the next step corrects what this one leaves."""


class ParticleSpacing:
    """Correction that displaces particles so that their density becomes uniform.

    Source: Kugelstadt et al., "Implicit density projection for volume conserving liquids", 2019.
    """

    def __init__(self, velocity: MacField) -> None:
        grid, dtype = velocity.grid, velocity.dtype
        sides = {s: Wall() if isinstance(c, Wall) else Open() for s, c in velocity.boundary.items()}
        self._shift = MacField(grid, dtype, {s: c for s, c in sides.items() if not grid.periodic["xyz".index(s[0])]})
        self._density = CellField(grid, dtype)
        self._target = CellField(grid, dtype)
        self._wet: list[Bools] = [np.zeros(s, bool) for s in component_shapes(grid)]
        self._solver = PressureSolver(grid)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        total = sum(self._shift.component_with_ghosts(d).nbytes for d in range(self._shift.grid.dimension))
        total += self._density.with_ghosts.nbytes + self._target.with_ghosts.nbytes + sum(m.nbytes for m in self._wet)
        return total + self._solver.nbytes

    def correct(
        self,
        particles: Particles,
        per_cell: int,
        levelset: LevelSet,
        solid: SolidBoundary | None,
        band: int,
        max_iterations: int,
        workspace: Workspace,
    ) -> ProjectionInfo:
        """Move the particles; those that a displacement brings beyond sides or into the solid stay there until their next boundary
        treatment."""
        grid = levelset.grid
        particle_density(particles, grid, out=self._density, workspace=workspace)
        excess = np.clip(self._density.array / per_cell - 1.0, -LARGEST_CHANGE, LARGEST_CHANGE)
        # Beside air and solids a cell need not be full.
        wet = levelset.array <= 0
        inner = _all_neighbors(wet, grid.periodic)
        if solid is not None:
            outside = solid.levelset.array > 0
            for d in range(grid.dimension):
                n = outside.shape[d]
                outside = outside.take(range(n - 1), axis=d) & outside.take(range(1, n), axis=d)
            inner &= outside
        self._target.array[...] = np.where(wet, np.where(inner, excess, np.maximum(excess, 0.0)), 0.0)
        for d in range(grid.dimension):
            self._shift.component(d)[...] = 0.0
        info = project(
            self._shift,
            1.0,
            None if solid is None else solid.levelset,
            1.0,
            TOLERANCE,
            liquid=levelset,
            target_divergence=self._target,
            max_iterations=max_iterations,
            solver=self._solver,
        )
        core: Any = _fluids  # overloaded over dimension and scalar
        for d, mask in enumerate(self._wet):
            core.liquid_faces(levelset.field._core, d, mask)
            if solid is not None:
                np.logical_and(mask, solid.open_faces[d], out=mask)
        known = extrapolate(self._shift, self._wet, layers=band, workspace=workspace)
        for d, k in enumerate(known):
            np.copyto(self._shift.component(d), 0.0, where=~k)
        trace(particles, self._shift, 1.0, method="euler", outside="keep", workspace=workspace)
        return info


def _all_neighbors(wet: Bools, periodic: tuple[bool, ...]) -> Bools:
    """Return a mask of cells that are liquid together with all their face neighbours; walls count as liquid."""
    result: Bools = wet.copy()
    for d in range(wet.ndim):
        pad = [(0, 0)] * wet.ndim
        pad[d] = (1, 1)
        wide = np.pad(wet, pad, mode="wrap" if periodic[d] else "edge")
        n = wet.shape[d]
        result &= wide.take(range(n), axis=d) & wide.take(range(2, n + 2), axis=d)
    return result
