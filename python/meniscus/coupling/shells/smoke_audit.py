"""Smoke in and around closed shells, found without code of the step."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.coupling.shells.parity import inside_cells, is_closed
from meniscus.coupling.shells.reports import ClosedShellAudit
from meniscus.coupling.shells.shells import Shells
from meniscus.fluids.gas.solver import SmokeSolver
from meniscus.grid.face_arrays import domain_images


def audit_smoke(solver: SmokeSolver, shells: Shells, counted: npt.NDArray[np.bool_]) -> list[ClosedShellAudit]:
    """Return the smoke of the counted cells inside of and around every closed shell, by crossings of its mesh below their centres."""
    grid, density = solver.grid, solver.density.array
    volume = grid.spacing**grid.dimension
    low = np.array(grid.origin, np.float64)
    x = shells.positions
    x = x + shells.shifts(x)
    found = []
    for i, part in enumerate(shells.parts):
        if not is_closed(part.elements):
            continue
        inside = np.zeros(grid.shape, bool)
        for shift in domain_images(grid):
            inside |= inside_cells(x[shells.rows(i)] + shift, part.elements, low, grid.spacing, tuple(grid.shape))
        within, around = (density[cells & counted].astype(np.float64) for cells in (inside, ~inside))
        found.append(
            ClosedShellAudit(
                body=i,
                cells=len(within),
                smoke=float(within.sum()) * volume,
                least=float(within.min(initial=np.inf)),
                most=float(within.max(initial=-np.inf)),
                outside=float(around.sum()) * volume,
                least_outside=float(around.min(initial=np.inf)),
                most_outside=float(around.max(initial=-np.inf)),
            )
        )
    return found
