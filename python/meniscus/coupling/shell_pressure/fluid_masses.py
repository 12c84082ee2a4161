"""Masses of the fluid of faces, and between cell centres and sheets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.coupling.shell_pressure.sheet_faces import SheetFaces
from meniscus.grid import Grid
from meniscus.grid.face_arrays import with_neighbours
from meniscus.grid.uniform import AXES

Floats = npt.NDArray[np.float64]


def face_masses(grid: Grid, density: npt.ArrayLike, *, open_sides: Sequence[str] = ()) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
    """Return areas and masses of the faces of a box of fluid, as `ShellPressure.prepare` takes them.

    Args:
        grid: the grid.
        density: kg/m^3, a number or one per cell; zero in cells without fluid.
        open_sides: sides of the domain, as in `grid.sides`, on which the pressure is zero; all others are walls, whose faces keep their
            velocity.

    Returns:
        Areas and masses per axis. A face has the fluid of half of either cell; walls have infinite masses.

    Raises:
        ValueError: an unknown side, a density that is negative or not finite.
    """
    values = np.broadcast_to(np.asarray(density, dtype=np.float64), grid.shape)
    _checks.require_finite("density", values)
    if values.min() < 0:
        raise ValueError("density must not be negative")
    for side in open_sides:
        if side not in grid.sides:
            raise ValueError(f"open_sides must be among {', '.join(grid.sides)}, not {side!r}")
    h, d = grid.spacing, grid.dimension
    half = 0.5 * h**d * values
    areas, masses = [], []
    for k in range(d):
        padded = with_neighbours(grid, half, k)
        n = grid.shape[k]
        mass = padded.take(range(n + 1), axis=k) + padded.take(range(1, n + 2), axis=k)
        for end, side in ((0, AXES[k] + "-"), (n, AXES[k] + "+")):
            if side in grid.sides and side not in open_sides:
                mass[(slice(None),) * k + (end,)] = np.inf
        areas.append(np.full(mass.shape, h ** (d - 1)))
        masses.append(mass)
    return tuple(areas), tuple(masses)


def side_masses(grid: Grid, density: npt.ArrayLike, sides: SheetFaces) -> Floats:
    """Return the mass of the fluid between cell centre and sheet of each side, kg: `density` (kg/m^3) of the cell over the distance."""
    values = np.broadcast_to(np.asarray(density, dtype=np.float64), grid.shape).ravel()
    cells = sides.cells(grid)
    covered = (1.0 - sides.open) * grid.spacing ** (grid.dimension - 1)
    result: Floats = np.where(cells >= 0, values[cells], 0.0) * sides.distance * covered
    return result
