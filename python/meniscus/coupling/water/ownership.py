"""Ownership of water between a grid and tetrahedra: what is too thin for the grid passes to them."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import coupling as _coupling
from meniscus.grid import CellField, Grid
from meniscus.surface import LevelSet

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int32]
Owners = npt.NDArray[np.uint8]

TETS, GRID = 0, 1
"""Owners of the water in a tetrahedron."""
_HOLD = 0.25  # cells by which water must leave what the grid keeps before its tetrahedra are free again, so that owners change rarely
_FAR = 1e9  # cells


class GridBlock:
    """The cells of a grid around a mesh, with its liquid, and what of it the grid keeps.

    Args:
        grid: of the liquid.
        low: least coordinates of the mesh, m.
        high: largest.
        pad: cells added on each side.

    Attributes:
        cells: slices of the grid.
        grid: of these cells alone.
    """

    def __init__(self, grid: Grid, low: Floats, high: Floats, pad: int) -> None:
        h, origin = grid.spacing, np.array(grid.origin)
        first = np.clip(np.floor((low - origin) / h).astype(int) - pad, 0, grid.shape)
        last = np.clip(np.ceil((high - origin) / h).astype(int) + pad, 0, grid.shape)
        self.empty = bool((last - first < 2).any())
        self.cells = tuple(slice(int(a), int(b)) for a, b in zip(first, last, strict=True))
        self.first = first
        if not self.empty:
            self.grid = Grid((last - first).tolist(), h, (origin + first * h).tolist())

    @cached_property
    def fields(self) -> tuple[CellField, CellField, LevelSet]:
        """Memory for what is kept: the liquid, how far cells are beyond, and the level set of where a ball fits in."""
        return CellField(self.grid), CellField(self.grid), LevelSet(self.grid, "cells")

    def centres(self, where: Bools) -> Floats:
        """Return the centres (k, dim) of cells, m."""
        index = np.argwhere(where)
        result: Floats = np.ascontiguousarray(np.array(self.grid.origin) + (index + 0.5) * self.grid.spacing)
        return result


class Kept:
    """What the grid keeps of its liquid, on a block of cells: the part that a ball of some radius fits in, and what is near it.

    Args:
        block: the cells; its fields are overwritten.
        levelset: of the liquid on the whole grid.
        outside: cells (of the whole grid) whose centres are not in the solid; None: all.
        radius: of the ball, cells.

    Attributes:
        liquid: the level set on the block, a copy.
        outside: on the block.
        distance: (cells of the block) how far beyond what the grid keeps, m; negative within.
    """

    def __init__(self, block: GridBlock, levelset: LevelSet, outside: Bools | None, radius: float) -> None:
        h = block.grid.spacing
        self.block = block
        self.liquid, self._distance, core = block.fields
        self.liquid.array[...] = levelset.array[block.cells]
        self.outside = np.ones(block.grid.shape, bool) if outside is None else outside[block.cells]
        self.wet = (self.liquid.array <= 0) & self.outside
        if not self.wet.any() or radius == 0:
            self._distance.array[...] = _FAR * h if radius > 0 else -_FAR * h
            return
        core.array[...] = self.liquid.array + radius * h
        core.array[~self.outside & (core.array < 0.5 * h)] = 0.5 * h
        if (core.array <= 0).any():
            core.redistance(band=(2 * radius + 2) * h)
            self._distance.array[...] = core.array - 2 * radius * h
        else:
            self._distance.array[...] = _FAR * h

    @property
    def distance(self) -> Floats:
        """How far each cell is beyond what the grid keeps, m; negative within."""
        return self._distance.array

    def update_owners(self, positions: Floats, tets: Ints, owners: Owners, whole: Grid) -> bool:
        """Set who owns the water in tetrahedra (m, 4), now the present `owners` (m,); return whether that has changed for any.

        Those beyond the whole grid hold none.
        """
        hold, low = _HOLD * self.block.grid.spacing, whole.origin
        high = tuple(a + b for a, b in zip(low, whole.extent, strict=True))
        return bool(_coupling.update_owners(positions, tets, self._distance._core, self.liquid._core, hold, low, high, owners))

    def any_kept(self) -> bool:
        """Return whether the grid keeps any liquid here."""
        return bool((self.wet & (self.distance <= 0)).any())

    def thin(self) -> Bools:
        """Return the cells (of the block) with liquid that the grid does not keep."""
        result: Bools = self.wet & (self.distance > 0)
        return result

    def region(self, marked: Bools) -> LevelSet:
        """Return a level set around marked cells of the block, whose surface is on their faces."""
        h = self.block.grid.spacing
        around = LevelSet(self.block.grid, "cells")
        around.array[...] = np.where(marked, -0.5 * h, 0.5 * h)
        around.redistance(band=3 * h)
        return around


def around(cells: Bools, *, any_of: bool) -> Bools:
    """Return where any, or else all, of a cell and its neighbours, also across edges and corners, are among these."""
    result: Bools = cells.copy()
    for d in range(cells.ndim):
        low, high = ([slice(None)] * cells.ndim for _ in range(2))
        low[d], high[d] = slice(None, -1), slice(1, None)
        last = result.copy()
        for a, b in ((tuple(low), tuple(high)), (tuple(high), tuple(low))):
            result[a] = result[a] | last[b] if any_of else result[a] & last[b]
        if not any_of:
            for end in (0, -1):
                side: list[Any] = [slice(None)] * cells.ndim
                side[d] = end
                result[tuple(side)] = False
    return result


def spread_points(cells: Floats, spacing: float, count: int, draws: Floats) -> Floats:
    """Return count^dim points in each cell, one in each part of it, moved within that by draws (k, dim) in [0, 1).

    Args:
        cells: (n, dim) centres, m.
        spacing: edge of a cell, m.
        count: parts along an axis.
        draws: one row per point, cell by cell.
    """
    dim = cells.shape[1]
    parts = np.stack(np.meshgrid(*(np.arange(count),) * dim, indexing="ij"), axis=-1).reshape(-1, dim)
    corner = np.repeat(cells - 0.5 * spacing, len(parts), axis=0)
    result: Floats = np.ascontiguousarray(corner + (np.tile(parts, (len(cells), 1)) + draws) * (spacing / count))
    return result


def parts_of(spacing: float, edge: float) -> int:
    """Return into how many parts along an axis a cell is divided, so that there is about a point for each tetrahedron of these edges, m."""
    return int(min(max(math.ceil(1.5 * spacing / edge), 2), 10))


def centroids_of(positions: Floats, tets: Ints, chosen: npt.NDArray[np.integer[Any]]) -> Floats:
    """Return the centroids (k, 3) of tetrahedra with these numbers (k,), m."""
    result = np.empty((len(chosen), 3))
    _coupling.centroids(positions, tets, np.ascontiguousarray(chosen, np.int32), result)
    return result
