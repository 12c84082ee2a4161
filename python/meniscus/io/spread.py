"""Parts of a state that are spread over ranks: samples of a cut grid, and particles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from meniscus.core.stateful import Stateful
from meniscus.grid import Grid, Particles
from meniscus.grid.particles.global_order import Cells, sorted_cells


@dataclass(frozen=True)
class Samples:
    """Arrays with the samples of the own block of a grid: its cells, nodes or faces; further axes come last."""

    grid: Grid


@dataclass(frozen=True)
class Rows:
    """Particles of the own block of a grid; `cells` by which they are ordered, None if they have no order."""

    grid: Grid
    cells: Cells | None


@dataclass(frozen=True)
class CellRows:
    """Arrays with a row for each of some cells of the own block, which the array of a name lists (C-ordered in the domain, ascending)."""

    grid: Grid
    cells: str


Spread = dict[str, Samples | Rows | CellRows]
"""What is spread over ranks, by its path in the state, such as 'solver/velocity'. All else is the same on all ranks."""


def spread_of(owner: Stateful) -> Spread:
    """Return what of the declared state is spread over ranks, nothing on one rank.

    Fields and level sets are spread where their grid is cut, and arrays that were declared as samples of such a grid. Particles are spread
    if their owner, or the owner of that, has a grid of their dimension that is cut: its `grid`, or that of its first part with one.
    """
    found: Spread = {}
    _add(found, "", owner, None, None)
    return found


def _add(found: Spread, path: str, part: Any, around: Grid | None, samples_of: Any) -> None:
    if isinstance(part, Particles):
        if around is not None and around.dimension == part.dimension:
            found[path] = Rows(around, sorted_cells(part))
    elif isinstance(part, Stateful) and part.rows_of_cells is not None:
        if around is not None:
            found[path] = CellRows(around, part.rows_of_cells)
    elif isinstance(part, Stateful):
        inner = _grid_of(part)
        around = around if inner is None else inner if inner.comm.size > 1 else None
        for name, item in part.state.items():
            _add(found, f"{path}/{name}" if path else name, item, around, part.declared(name).samples_of)
    elif isinstance(part, (tuple, list, dict)):
        for key, item in part.items() if isinstance(part, dict) else enumerate(part):
            _add(found, f"{path}/{key}", item, around, samples_of)
    else:
        grid = samples_of if isinstance(part, np.ndarray) else getattr(part, "grid", None)
        if isinstance(grid, Grid) and grid.comm.size > 1:
            found[path] = Samples(grid)


def _grid_of(part: Any) -> Grid | None:
    """Return the grid of an object, or of its first part that has one."""
    grid = getattr(part, "grid", None)
    if isinstance(grid, Grid):
        return grid
    if isinstance(part, Stateful):
        return next((g for g in map(_grid_of, part.state.values()) if g is not None), None)
    if isinstance(part, (tuple, list, dict)):
        return next((g for g in map(_grid_of, part.values() if isinstance(part, dict) else part) if g is not None), None)
    return None


def window(grid: Grid, shape: tuple[int, ...], rank: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Return where the samples that a rank owns are in the array of its block, and in that of the domain.

    `shape` is that of the array of the domain. Samples on a side between two blocks belong to the lower one.
    """
    number = np.unravel_index(rank, tuple(len(cells) for cells in grid.blocks))
    mine, whole = [], []
    for d, cells in enumerate(grid.blocks):
        first, n = sum(cells[: number[d]]), cells[number[d]]
        on_side = shape[d] - grid.shape[d]
        skipped = on_side if first > 0 else 0
        mine.append(slice(skipped, n + on_side))
        whole.append(slice(first + skipped, first + n + on_side))
    return tuple(mine), tuple(whole)


def domain_shape(name: str, shape: tuple[int, ...], grid: Grid) -> tuple[int, ...]:
    """Return the shape of the array of the domain for that of the own block. Raises ValueError if it has no samples of the block."""
    local, dimension = grid.local_shape, grid.dimension
    if len(shape) < dimension or any(n - m not in (0, 1) for n, m in zip(shape, local, strict=False)):
        raise ValueError(f"{name} must have the samples of a block of {local} cells, not the shape {shape}")
    return (*(m + n - c for m, n, c in zip(grid.shape, shape, local, strict=False)), *shape[dimension:])
