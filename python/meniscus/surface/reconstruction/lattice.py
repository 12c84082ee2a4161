"""Boxes of a lattice of fine cells, and fields of a coarser grid on them. Lengths are in fine cells, from the grid's origin on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meniscus.grid import Grid
from meniscus.parallel.communicator import one_rank

Floats = npt.NDArray[np.float64]
Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Box:
    """The cells from `low` to below `high`. Coordinates are whole numbers of cells, so that no result depends on where a box begins."""

    low: Triple
    high: Triple

    @property
    def shape(self) -> Triple:
        """Cells along each axis; zero or less: it is empty."""
        a, b = self.low, self.high
        return b[0] - a[0], b[1] - a[1], b[2] - a[2]

    @property
    def empty(self) -> bool:
        """Whether it has no cells."""
        return min(self.shape) <= 0

    @property
    def cells(self) -> int:
        """Their number."""
        a, b, c = self.shape
        return 0 if self.empty else a * b * c

    def grid(self) -> Grid:
        """Return the grid of the cells, with the spacing 1."""
        return Grid(self.shape, 1.0, tuple(map(float, self.low)), comm=one_rank())

    def grown(self, layers: int, within: Box) -> Box:
        """Return the box with more layers around it, as far as another one goes."""
        if self.empty:
            return self
        low, high = (np.array(self.low) - layers, np.array(self.high) + layers)
        return box_of(np.maximum(low, within.low), np.minimum(high, within.high))

    def joined(self, other: Box) -> Box:
        """Return the smallest box around both."""
        if self.empty or other.empty:
            return other if self.empty else self
        return box_of(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def slices(self, part: Box, more: npt.ArrayLike = 0) -> tuple[slice, ...]:
        """Return where the cells of a part are in an array of this box; `more` samples than cells along each axis."""
        n = np.array(part.shape) + more
        return tuple(slice(p - q, p - q + k) for p, q, k in zip(part.low, self.low, n.tolist(), strict=True))


NOTHING = Box((0, 0, 0), (0, 0, 0))


def box_of(low: npt.ArrayLike, high: npt.ArrayLike) -> Box:
    """Return a box from arrays."""
    a, b = (np.asarray(v).astype(int).tolist() for v in (low, high))
    return Box((a[0], a[1], a[2]), (b[0], b[1], b[2]))


def box_around(points: Floats, within: Box, radius: Floats | None = None) -> Box:
    """Return the cells that points, or balls, touch."""
    if not len(points):
        return NOTHING
    r = 0.0 if radius is None else radius[:, None]
    low, high = np.floor((points - r).min(axis=0)), np.floor((points + r).max(axis=0)) + 1
    box = box_of(np.clip(low, within.low, within.high), np.clip(high, within.low, within.high))
    return NOTHING if box.empty else box


def moved(values: Floats, old: Box, new: Box, fill: float, faces: int | None = None) -> Floats:
    """Return samples of one box on another one; `faces` is the axis across which they are, else they are on cells."""
    more = np.array([int(d == faces) for d in range(3)])
    result = np.full(tuple(np.array(new.shape) + more), fill)
    common = box_of(np.maximum(old.low, new.low), np.minimum(old.high, new.high))
    if not old.empty and not common.empty:
        result[new.slices(common, more)] = values[old.slices(common, more)]
    return result


def interpolated(values: Floats, refine: int, box: Box, *, faces: tuple[int | None, int | None] = (None, None), cubic: bool) -> Floats:
    """Return samples of the coarse grid at the places of a box; beyond the outermost samples go on.

    Args:
        values: coarse samples.
        refine: fine cells in a coarse one, along an axis.
        box: of fine cells.
        faces: the axis across which the coarse, and the fine, samples are on faces; None: on cells.
        cubic: Catmull and Rom's splines, which have slopes without jumps and pass through the samples; else linear.
    """
    result = values
    for axis in range(3):
        n, on_faces = values.shape[axis], axis == faces[1]
        place = np.arange(box.low[axis], box.high[axis] + on_faces) + (0.0 if on_faces else 0.5)
        at = place / refine - (0.0 if axis == faces[0] else 0.5)
        first = np.floor(at)
        t = at - first
        if cubic:
            weights = [0.5 * t * ((2 - t) * t - 1), 0.5 * (t * t * (3 * t - 5) + 2), 0.5 * t * ((4 - 3 * t) * t + 1), 0.5 * t * t * (t - 1)]
        else:
            weights = [1 - t, t]
        sides = [-1 if d == axis else 1 for d in range(3)]
        start = int(not cubic) - 1
        terms = (np.take(result, np.clip(first.astype(int) + start + k, 0, n - 1), axis) * w.reshape(sides) for k, w in enumerate(weights))
        total = next(terms)
        for term in terms:
            total += term
        result = total
    return result


def linear_at(values: Floats, places: Floats) -> Floats:
    """Return values at places (n, 3) counted in samples from the first one on, linear between samples; beyond them the outermost go on."""
    first = np.floor(places)
    t, base = places - first, first.astype(np.int64)
    total: Floats = np.zeros(len(places))
    for corner in np.ndindex(2, 2, 2):
        index = np.clip(base + corner, 0, np.array(values.shape) - 1)
        total += np.where(np.array(corner) == 1, t, 1 - t).prod(axis=1) * values[tuple(index.T)]
    return total


def on_faces(values: Floats, axis: int) -> Floats:
    """Return means of cells on the faces across an axis; on the sides of the box the cell's value."""
    first, last = (values.take([i], axis) for i in (0, -1))
    padded = np.concatenate([first, values, last], axis)
    n = padded.shape[axis]
    result: Floats = 0.5 * (padded.take(range(n - 1), axis) + padded.take(range(1, n), axis))
    return result
