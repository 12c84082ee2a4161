"""Water poured on one side of thin shells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.particles.solver import ParticleLiquidSolver
from meniscus.grid.transport.one_side import connected_cells, with_cells_beside
from meniscus.surface import LevelSet, Shape

Bools = npt.NDArray[np.bool_]
_SURFACE_LAYERS = 12
"""Of cells, steps from those of a region: as far as its distances are taken as they are."""


def fill_side(solver: LiquidSolver, walls: ShellWalls, region: Shape | LevelSet, side_of: Sequence[float]) -> None:
    """Add the part of a region that cells are connected to, and restart with the resulting surface; see `ShellCoupling.fill`."""
    wanted, here = cells_of_side(solver, walls, region, side_of)
    # Beyond the shells there is nothing of it, nor of the air above it; around it there is what the region says.
    around, h, layers = here, solver.grid.spacing, solver.options.band + 1
    for steps in range(layers):
        # Not around a rim to what is near, but beyond: ways there are longer than these distances.
        nearest = max(0.0, (steps - 1) * h / np.sqrt(solver.grid.dimension))
        around = around | (with_cells_beside(around, walls) & (wanted > nearest))
    # Along a wall of a solid ways are longer, too.
    solid = solver.sampled_solid.at(solver.time)
    faces = None if solid is None else solid.open_faces
    side = connected_cells(wanted <= layers * h, walls, tuple(int(i[0]) for i in np.nonzero(here)), faces)
    around = around | (side & (wanted > 0) & (solver.levelset.array > solver.options.band * h))
    phi = np.where(around, wanted, layers * h)
    solver.levelset.array[...] = np.minimum(solver.levelset.array, phi)
    solver.set_surface()


def cells_of_side(
    solver: LiquidSolver | ParticleLiquidSolver, walls: ShellWalls, region: Shape | LevelSet, side_of: Sequence[float]
) -> tuple[npt.NDArray[Any], Bools]:
    """Return a region as a level set on cells, and which of its cells are connected to the one that holds a point."""
    grid = solver.grid
    _checks.one_of_type("region", region, (Shape, LevelSet))
    x = _checks.vector("side_of", side_of, grid.dimension)
    start = tuple(int(i) for i in np.floor((np.array(x) - np.array(grid.origin)) / grid.spacing))
    if not all(0 <= i < n for i, n in zip(start, grid.shape, strict=True)):
        raise ValueError(f"side_of must be a point of the domain, not {tuple(map(float, x))}")
    wanted = LevelSet(grid, "cells", solver.velocity.dtype)
    wanted.array[...] = (solver.options.band + 1) * grid.spacing
    wanted.unite(region)
    if wanted.array[start] > 0:
        raise ValueError(f"side_of must be a point of the region, not {tuple(map(float, x))}")
    solid = solver.sampled_solid.at(solver.time)
    if solid is not None and not solid.outside_cells[start]:
        raise ValueError(f"side_of must be a point outside of the solid, not {tuple(map(float, x))}")
    # Cells that are open to each other are connected, wherever their centres are.
    return wanted.array, connected_cells(wanted.array <= 0, walls, start, None if solid is None else solid.open_faces)
