"""Cells on one side of thin walls."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.grid.fields import CellField
from meniscus.grid.transport.walls import ThinWalls

Bools = npt.NDArray[np.bool_]


def connected_cells(cells: Bools, walls: ThinWalls, start: tuple[int, ...]) -> Bools:
    """Return those of some cells that are connected to one of them through faces that no wall blocks.

    Args:
        cells: of the grid of the walls.
        walls: where they are.
        start: index of one of the cells.
    """
    box = tuple(slice(int(i.min()), int(i.max()) + 1) for i in np.nonzero(cells))
    wanted = cells[box]
    open_faces, around = [], []
    for d, blocked in enumerate(walls.blocked_faces):
        part = box[d]
        faces = tuple(slice(p.start, p.stop + (a == d)) for a, p in enumerate(box))
        free = np.moveaxis(~blocked[faces], d, 0)
        around.append(walls.grid.periodic[d] and part == slice(0, cells.shape[d]))
        open_faces.append(free)
    found = np.zeros_like(wanted)
    found[tuple(i - p.start for i, p in zip(start, box, strict=True))] = True
    reached, before = found, 0
    while before != (before := int(reached.sum())):
        for d, free in enumerate(open_faces):
            here = np.moveaxis(reached, d, 0)  # a view: what is reached along one axis goes on along the next
            here[1:] |= here[:-1] & free[1:-1]
            here[:-1] |= here[1:] & free[1:-1]
            if around[d]:
                here[0] |= here[-1] & free[0]
                here[-1] |= here[0] & free[-1]
            reached &= wanted
    result = np.zeros_like(cells)
    result[box] = reached
    return result


def with_cells_beside(cells: Bools, walls: ThinWalls) -> Bools:
    """Return some cells and those beside them, through faces that no wall blocks.

    Args:
        cells: of the grid of the walls.
        walls: where they are.
    """
    result: Bools = cells.copy()
    for d, blocked in enumerate(walls.blocked_faces):
        free, here, to = (np.moveaxis(a, d, 0) for a in (~blocked, cells, result))
        to[1:] |= here[:-1] & free[1:-1]
        to[:-1] |= here[1:] & free[1:-1]
        if walls.grid.periodic[d]:
            to[0] |= here[-1] & free[0]
            to[-1] |= here[0] & free[-1]
    return result


def keep_largest_part(region: CellField, walls: ThinWalls) -> bool:
    """Leave out of a region, in place, all but the largest of the parts into which walls cut it; return whether they do.

    Args:
        region: its level set, m; cells that are left out get one cell size.
        walls: where they are.
    """
    phi: Any = region.array
    cells = phi <= 0
    if not any((_between(cells, d) & blocked).any() for d, blocked in enumerate(walls.blocked_faces)):
        return False
    left, largest = cells.copy(), np.zeros_like(cells)
    # What is left is never larger than the largest part for long: parts are few.
    while int(left.sum()) > int(largest.sum()):
        start = np.unravel_index(int(np.argmax(left)), left.shape)
        part = connected_cells(left, walls, tuple(int(i) for i in start))
        left &= ~part
        if part.sum() > largest.sum():
            largest = part
    phi[cells & ~largest] = walls.grid.spacing
    return True


def _between(cells: Bools, axis: int) -> Bools:
    """Return the faces across an axis that lie between two of some cells; with those at ends, where an axis may close."""
    ends = [(0, 0)] * cells.ndim
    ends[axis] = (1, 1)
    padded = np.pad(cells, ends, mode="wrap")
    n = padded.shape[axis]
    result: Bools = padded.take(range(n - 1), axis=axis) & padded.take(range(1, n), axis=axis)
    return result
