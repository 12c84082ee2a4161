"""Rows of particles of all ranks in the order of (global cell, id), a contiguous part of it on each rank."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.grid.particles.storage import Particles
from meniscus.grid.uniform import Grid

Columns = dict[str, npt.NDArray[Any]]
Cells = npt.NDArray[np.int64]

_PIECES = 16  # per rank, of the cells that are counted together


def sorted_cells(particles: Particles) -> Cells | None:
    """Return the cell (linear, C-ordered in the domain) of each particle as of the last sort or migration, by which they are ordered.

    None if particles were added or removed since.
    """
    starts = particles.cell_starts
    if len(particles) == 0:
        return np.empty(0, np.int64)
    if len(starts) < 2 or starts[-1] != len(particles):
        return None
    return np.repeat(particles.cells, np.diff(starts))


def cells_of(positions: npt.NDArray[Any], grid: Grid) -> Cells:
    """Return the cell (linear, C-ordered in the domain) of each position (n, dim), m: the nearest one of positions outside."""
    result = np.zeros(len(positions), np.int64)
    for d, n in enumerate(grid.shape):
        whole = np.floor((positions[:, d].astype(np.float64) - grid.origin[d]) / grid.spacing)
        if grid.periodic[d]:
            whole -= n * np.floor(whole / n)
        result = result * n + np.clip(whole, 0, n - 1).astype(np.int64)
    return result


def in_global_order(columns: Mapping[str, npt.NDArray[Any]], cells: Cells | None, grid: Grid) -> Columns:
    """Return as many rows on each rank as on others, nearly, in the order of (cell, id) of all ranks together; collective.

    One after the other, the parts of the ranks are the rows that one rank alone would have. Those of one cell are on one rank.

    Args:
        columns: `id` and others, one row per particle of this rank.
        cells: of the particles, by which they are ordered; None on any rank: those of the column `position` on all ranks.
        grid: whose ranks take part.

    Raises:
        ValueError: an id is there twice in a cell, because several ranks have added the same particles.
    """
    comm = grid.comm
    if not all(comm.gather(cells is not None)) or cells is None:
        cells = cells_of(columns["position"], grid)
    count = int(np.prod(grid.shape, dtype=np.int64))
    pieces = min(count, _PIECES * comm.size)
    piece = cells * pieces // count
    held = np.sum(comm.gather(np.bincount(piece, minlength=pieces)), axis=0)
    share = max(int(held.sum()), 1)
    receiver = np.minimum((np.cumsum(held) - held) * comm.size // share, comm.size - 1)[piece]
    order = np.argsort(receiver, kind="stable")
    ends = np.searchsorted(receiver[order], np.arange(comm.size + 1))
    parcels = [
        None if low == high else [cells[order[low:high]], *(values[order[low:high]] for values in columns.values())]
        for low, high in pairwise(ends)
    ]
    parts = [p for p in comm.exchange(parcels) if p is not None]
    empty = [cells[:0], *(values[:0] for values in columns.values())]
    cells, *values = (np.concatenate(rows) for rows in zip(*(parts or [empty]), strict=True))
    rows = dict(zip(columns, values, strict=True))
    ids = rows["id"]
    order = np.lexsort((ids, cells))
    twice = np.flatnonzero((np.diff(cells[order]) == 0) & (np.diff(ids[order]) == 0))
    # Told by all, because only one rank sees it.
    found = next((i for i in comm.gather(int(ids[order[twice[0]]]) if len(twice) else None) if i is not None), None)
    if found is not None:
        raise ValueError(
            f"the id {found} belongs to particles of several ranks; what all ranks add alike needs append(..., replicated=True)"
        )
    return {name: column[order] for name, column in rows.items()}
