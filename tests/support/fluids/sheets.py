"""Sheets in fluid on small grids: what tests of shells and fluid share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from meniscus.coupling.shell_pressure import SheetFaces, SheetSolid, ShellMode, ShellPressure, face_masses, side_masses
from meniscus.grid import Grid


def faces_of(grid: Grid, velocity: Sequence[float] | None = None) -> tuple[np.ndarray, ...]:
    """One velocity on all faces, default zero."""
    v = (0.0,) * grid.dimension if velocity is None else velocity
    return tuple(np.full(tuple(n + (k == j) for j, n in enumerate(grid.shape)), float(v[k])) for k in range(grid.dimension))


def within_walls(velocities: Sequence[np.ndarray], masses: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """The same with zero on walls."""
    return tuple(np.where(np.isfinite(m), v, 0.0) for v, m in zip(velocities, masses, strict=True))


def polyline(start: Sequence[float], end: Sequence[float], pieces: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and segments of a straight sheet in 2-D."""
    x = np.zeros((pieces + 1, 3))
    x[:, :2] = np.linspace(start, end, pieces + 1)
    return x, np.stack([np.arange(pieces), np.arange(1, pieces + 1)], axis=1)


def closed_line(grid: Grid, height: float, pieces: int) -> SheetFaces:
    """A level sheet across a domain that is periodic along x, with as many nodes as segments."""
    x, e = polyline((0.0, height), (grid.extent[0], height), pieces)
    s = SheetFaces.of_mesh(grid, x, e)
    return replace(s, nodes=(s.nodes % pieces).astype(np.int32))


def patch(cells: int, bump: float = 0.06) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes, triangles and corners of a wavy square in the unit cube."""
    at = np.linspace(0.1, 0.9, cells + 1)
    X, Y = np.meshgrid(at, at, indexing="ij")
    x = np.stack([X, Y, 0.5 + bump * np.sin(5 * X) * np.cos(4 * Y)], axis=-1).reshape(-1, 3)
    i = np.arange((cells + 1) ** 2).reshape(cells + 1, cells + 1)
    a, b, c, d = (part.ravel() for part in (i[:-1, :-1], i[1:, :-1], i[1:, 1:], i[:-1, 1:]))
    triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return x.copy(), triangles.astype(np.int32), i[[0, -1, 0, -1], [0, 0, -1, -1]]


def full_box(
    grid: Grid,
    density: float,
    sides: SheetFaces,
    solids: Sequence[SheetSolid],
    *,
    open_sides: Sequence[str] = (),
    mode: ShellMode = "monolithic",
) -> tuple[ShellPressure, tuple[np.ndarray, ...]]:
    """A box full of fluid with sheets in it, prepared, and the masses of its faces."""
    areas, masses = face_masses(grid, density, open_sides=open_sides)
    pressure = ShellPressure(grid)
    pressure.prepare(areas, masses, np.ones(grid.shape, bool), sides, solids, side_masses(grid, density, sides), mode)
    return pressure, masses
