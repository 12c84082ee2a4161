"""Cells on one side of thin walls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from meniscus.grid.transport.walls import ThinWalls

Bools = npt.NDArray[np.bool_]
_Box = tuple[slice, ...]


def connected_cells(cells: Bools, walls: ThinWalls, start: tuple[int, ...], open_faces: Sequence[Bools] | None = None) -> Bools:
    """Return those of some cells that are connected to one of them through faces that no wall blocks.

    Args:
        cells: of the grid of the walls.
        walls: where they are.
        start: index of one of the cells.
        open_faces: per axis, the faces that a solid does not close; default all.
    """
    box = _box_of(cells)
    around, free = _ways(box, walls)
    if open_faces is not None:
        for d, faces in enumerate(open_faces):
            free[d] &= faces[_faces_of(box, d)]
    result = np.zeros_like(cells)
    result[box] = _reached(cells[box], free, around, tuple(i - p.start for i, p in zip(start, box, strict=True)))
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


def beyond_largest_parts(cells: Bools, walls: ThinWalls) -> Bools | None:
    """Return all but the largest of the parts into which walls cut each connected piece of some cells; None where they cut none.

    Args:
        cells: of the grid of the walls.
        walls: where they are.
    """
    if not cells.any():
        return None
    box = _box_of(cells)
    around, free = _ways(box, walls)
    wanted = cells[box]
    if not any((~way & _between(wanted, d, around[d])).any() for d, way in enumerate(free)):
        return None
    kept = np.zeros_like(wanted)
    for piece in _parts(wanted, [np.ones_like(way) for way in free], around):
        kept |= max(_parts(piece, free, around), key=lambda part: int(part.sum()))
    result = np.zeros_like(cells)
    result[box] = wanted & ~kept
    return result if result.any() else None


def _box_of(cells: Bools) -> _Box:
    """Return the smallest box that holds some cells."""
    box = []
    for d in range(cells.ndim):
        there = np.flatnonzero(cells.any(axis=tuple(a for a in range(cells.ndim) if a != d)))
        box.append(slice(int(there[0]), int(there[-1]) + 1))
    return tuple(box)


def _ways(box: _Box, walls: ThinWalls) -> tuple[list[bool], list[Bools]]:
    """Return along which axes a box closes, and per axis which of its faces are open."""
    around = [closes and part == slice(0, n) for closes, part, n in zip(walls.grid.periodic, box, walls.grid.shape, strict=True)]
    free = []
    for d, blocked in enumerate(walls.blocked_faces):
        free.append(~blocked[_faces_of(box, d)])
    return around, free


def _faces_of(box: _Box, axis: int) -> _Box:
    """Return the faces across an axis of the cells of a box."""
    return tuple(slice(p.start, p.stop + (a == axis)) for a, p in enumerate(box))


def _parts(cells: Bools, free: Sequence[Bools], around: Sequence[bool]) -> Iterator[Bools]:
    """Yield the connected parts of cells of a box, in the order of their first cells."""
    left = cells.copy()
    while left.any():
        start = np.unravel_index(int(np.argmax(left)), left.shape)
        part = _reached(left, free, around, tuple(int(i) for i in start))
        left &= ~part
        yield part


def _reached(cells: Bools, free: Sequence[Bools], around: Sequence[bool], start: tuple[int, ...]) -> Bools:
    """Return the cells of a box that are connected to one of them through open faces."""
    reached, before = np.zeros_like(cells), 0
    reached[start] = True
    while before != (before := int(reached.sum())):
        for d, way in enumerate(free):
            here, open_ = np.moveaxis(reached, d, 0), np.moveaxis(way, d, 0)
            here[1:] |= here[:-1] & open_[1:-1]
            here[:-1] |= here[1:] & open_[1:-1]
            if around[d]:
                here[0] |= here[-1] & open_[0]
                here[-1] |= here[0] & open_[0]
            reached &= cells
    return reached


def _between(cells: Bools, axis: int, closes: bool) -> Bools:
    """Return the faces of a box across an axis that lie between two of its cells."""
    ends = [(0, 0)] * cells.ndim
    ends[axis] = (1, 1)
    padded = np.pad(cells, ends, mode="wrap") if closes else np.pad(cells, ends)
    n = padded.shape[axis]
    result: Bools = padded.take(range(n - 1), axis=axis) & padded.take(range(1, n), axis=axis)
    return result
