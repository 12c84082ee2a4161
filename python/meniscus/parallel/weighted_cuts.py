"""Cuts of a domain by the work in its cells.

A cut goes through the whole domain, so that the places of those along one axis are best found with those along the others held, in turn
(Nicol 1994, "Rectilinear partitioning of irregular data parallel computations"). Along one axis, the smallest bound of the work of a block
that some places keep is found by bisection.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Cells = tuple[tuple[int, ...], ...]

_SWEEPS = 8
"""Rounds over the axes at most; each but the last has made the largest work smaller."""
_BISECTIONS = 60


class Work:
    """Work in the cells of a domain.

    Args:
        shape: cells per axis.
        weights: of boxes of equally many cells along an axis, of which the last may have fewer; the work of a box is even in it.

    Raises:
        TypeError, ValueError: not an array of numbers with an axis for each of the domain; negative or not finite ones; no work at all;
            boxes that do not make up the domain.
    """

    def __init__(self, shape: tuple[int, ...], weights: Any) -> None:
        try:
            of_boxes = np.asarray(weights, np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError("weights must be an array of numbers") from error
        if of_boxes.ndim != len(shape):
            raise ValueError(f"weights must have {len(shape)} axes, as the domain, not {of_boxes.ndim}")
        self._ends: list[Floats] = []
        for axis, (n, boxes) in enumerate(zip(shape, of_boxes.shape, strict=True)):
            cells = -(-n // boxes) if boxes else 0
            if not cells or -(-n // cells) != boxes:
                raise ValueError(f"weights has {boxes} boxes along axis {axis}, into which {n} cells cannot be divided alike")
            self._ends.append(np.minimum(cells * np.arange(boxes + 1), n).astype(np.float64))
        if not np.isfinite(of_boxes).all() or (of_boxes < 0).any() or not of_boxes.any():
            raise ValueError("weights must be finite, not negative, and not all zero")
        # The work below each corner of a box along all axes.
        self._below = np.pad(of_boxes, [(1, 0)] * of_boxes.ndim)
        for axis in range(of_boxes.ndim):
            np.cumsum(self._below, axis, out=self._below)

    def up_to_cells(self, axis: int, cells: Cells) -> Floats:
        """Return the work below each side of the cells along an axis, (cells + 1, blocks), by block of the cuts along the others."""
        work = self._of_parts(cells, axis)
        return np.ascontiguousarray(np.moveaxis(work, axis, 0).reshape(work.shape[axis], -1))

    def of_blocks(self, cells: Cells) -> Floats:
        """Return the work of each block, with an axis for each of the domain."""
        return self._of_parts(cells, None)

    def _of_parts(self, cells: Cells, open_axis: int | None) -> Floats:
        """Return the work between the cuts along all axes but one, and below each side of the cells along that one."""
        work = self._below
        for axis, parts in enumerate(cells):
            places = np.arange(sum(parts) + 1) if axis == open_axis else np.cumsum((0, *parts))
            ends = self._ends[axis]
            box = np.minimum(np.searchsorted(ends, places, side="right") - 1, len(ends) - 2)
            part = ((places - ends[box]) / (ends[box + 1] - ends[box])).reshape([-1 if d == axis else 1 for d in range(work.ndim)])
            low: Floats = work.take(box, axis)
            work = low + part * (work.take(box + 1, axis) - low)
        for axis in range(work.ndim):
            work = work if axis == open_axis else np.diff(work, axis=axis)
        return work


def cut_by_work(work: Work, even: Cells, least: int) -> Cells:
    """Return the cells of as many blocks per axis as `even` has, whose largest work is small; along one axis the smallest there is.

    Blocks along an axis that is cut have at least `least` cells.
    """
    best, cells = np.inf, even
    for _ in range(_SWEEPS):
        for axis, parts in enumerate(cells):
            if len(parts) > 1:
                found = _divide(work.up_to_cells(axis, cells), len(parts), least)
                cells = (*cells[:axis], found, *cells[axis + 1 :])
        largest = float(work.of_blocks(cells).max())
        if largest >= best * (1 - 1e-12):
            break
        best = largest
    return cells


def _divide(below: Floats, count: int, least: int) -> tuple[int, ...]:
    """Return the cells of `count` parts whose largest work is the smallest there is, from the work below each side of the cells."""
    low, high = float((below[-1] - below[0]).max()) / count, float((below[-1] - below[0]).max())
    chosen = _division(below, count, least, high)
    assert chosen is not None
    for _ in range(_BISECTIONS):
        bound = 0.5 * (low + high)
        found = _division(below, count, least, bound)
        if found is None:
            low = bound
        else:
            # What was found may need less than what was allowed.
            places = np.cumsum((0, *found))
            chosen, high = found, min(bound, float(np.diff(below[places], axis=0).max()))
        if high - low <= 1e-13 * high:
            break
    return chosen


def _division(below: Floats, count: int, least: int, bound: float) -> tuple[int, ...] | None:
    """Return the cells of parts that have no more work than the bound, or None."""
    sides = len(below)
    reached = np.zeros(sides, bool)
    reached[0] = True
    before: list[npt.NDArray[np.int_]] = []
    place = np.arange(sides)
    for _ in range(count):
        # From the last place that was reached, so that the part is the smallest there is; the others have more work.
        last = np.maximum.accumulate(np.where(reached, place, -1))
        start = np.concatenate([np.full(least, -1), last[:-least]]) if least < sides else np.full(sides, -1)
        reached = (start >= 0) & ((below - below[start]).max(axis=1) <= bound)
        before.append(start)
    if not reached[-1]:
        return None
    places = [sides - 1]
    for start in reversed(before):
        places.append(int(start[places[-1]]))
    return tuple(int(n) for n in np.diff(places[::-1]))
