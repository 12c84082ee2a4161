"""Masses of the fluid of faces, and between cell centres and sheets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import coupling as _coupling
from meniscus.coupling.shell_pressure.sheet_faces import SheetFaces
from meniscus.grid import Grid
from meniscus.grid.face_arrays import with_neighbours
from meniscus.grid.uniform import AXES

Floats = npt.NDArray[np.float64]
_SHALLOWEST = 1e-9
"""Of the way between two centres: less liquid than this counts as so much."""


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
    _require_sides(grid, open_sides)
    h, d = grid.spacing, grid.dimension
    half = 0.5 * h**d * values
    masses = []
    for k in range(d):
        padded = with_neighbours(grid, half, k)
        n = grid.shape[k]
        mass = padded.take(range(n + 1), axis=k) + padded.take(range(1, n + 2), axis=k)
        for end, side in ((0, AXES[k] + "-"), (n, AXES[k] + "+")):
            if side in grid.sides and side not in open_sides:
                mass[(slice(None),) * k + (end,)] = np.inf
        masses.append(mass)
    return _areas(grid), tuple(masses)


def liquid_face_masses(
    grid: Grid, density: float, levels: npt.ArrayLike, *, open_sides: Sequence[str] = ()
) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
    """Return areas and masses of the faces of a liquid with a free surface, on which the pressure is zero (ghost fluid).

    A face between liquid and air has the mass of the liquid up to the surface; air has neither mass nor pressure.

    Args:
        grid: the grid, not cut into blocks.
        density: kg/m^3.
        levels: level set at cell centres, m; liquid is where it is not above 0.
        open_sides: as for `face_masses`.

    Returns:
        Areas and masses per axis; faces without liquid on either side, and walls, have infinite masses.

    Raises:
        ValueError: an unknown side, wrong shapes, levels that are not finite.

    Source: Guendelman, Selle, Losasso and Fedkiw 2005, section 4.3 (zero pressure in air); the part of the way up to the surface is not in
    the document.
    """
    _require_sides(grid, open_sides)
    d = grid.dimension
    phi = np.ascontiguousarray(levels, dtype=np.float64)
    if phi.shape != grid.shape:
        raise ValueError(f"levels must have shape {grid.shape}, not {phi.shape}")
    _checks.require_finite("levels", phi)
    areas = _areas(grid)
    masses = tuple(np.empty_like(a) for a in areas)
    is_open = [AXES[k] + end in open_sides for k in range(d) for end in "-+"]
    _coupling.find_liquid_face_masses(grid._core, phi, 0.5 * grid.spacing**d * density, _SHALLOWEST, is_open, masses)
    return areas, masses


def _areas(grid: Grid) -> tuple[Floats, ...]:
    shapes = (tuple(n + (a == k) for a, n in enumerate(grid.shape)) for k in range(grid.dimension))
    return tuple(np.full(shape, grid.spacing ** (grid.dimension - 1)) for shape in shapes)


def _require_sides(grid: Grid, open_sides: Sequence[str]) -> None:
    for side in open_sides:
        if side not in grid.sides:
            raise ValueError(f"open_sides must be among {', '.join(grid.sides)}, not {side!r}")


def side_masses(grid: Grid, density: npt.ArrayLike, sides: SheetFaces) -> Floats:
    """Return the mass of the fluid between cell centre and sheet of each side, kg: `density` (kg/m^3) of the cell over the distance."""
    values = np.broadcast_to(np.asarray(density, dtype=np.float64), grid.shape).ravel()
    cells = sides.cells(grid)
    covered = (1.0 - sides.open) * grid.spacing ** (grid.dimension - 1)
    result: Floats = np.where(cells >= 0, values[cells], 0.0) * sides.distance * covered
    return result
