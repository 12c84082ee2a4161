"""Boxes of nodes around something on a grid, with the places of nodes and faces in its fields."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from meniscus.grid.uniform import Grid

Floats = npt.NDArray[np.float64]
Places = tuple[npt.NDArray[np.int64], ...]


class NodeWindow:
    """The nodes of a box, which follows what lies across the end of an axis that closes to its images.

    Args:
        grid: the grid.
        lower, upper: (dim,) corners of the box, m.

    Attributes:
        points: (..., dim) all nodes of the box, m, also those beyond sides of the domain.
        is_empty: whether no cell of it lies in the domain.
        coordinates: per axis those of the nodes in the domain, m, that of a box across an end without a jump.
    """

    def __init__(self, grid: Grid, lower: Floats, upper: Floats) -> None:
        h, origin = grid.spacing, np.array(grid.origin)
        first = np.floor((lower - origin) / h).astype(int)
        last = np.ceil((upper - origin) / h).astype(int)
        self._grid = grid
        self._ranges: list[npt.NDArray[np.int64]] = []
        self._inside: list[slice] = []
        for d, n in enumerate(grid.shape):
            if grid.periodic[d]:
                last[d] = min(last[d], first[d] + n)
            whole = np.arange(first[d], last[d] + 1)
            begin, end = (0, len(whole)) if grid.periodic[d] else np.searchsorted(whole, (0, n + 1)).tolist()
            self._inside.append(slice(begin, end))
            self._ranges.append(whole[begin:end])
        axes = [o + h * np.arange(a, b + 1) for o, a, b in zip(origin, first, last, strict=True)]
        self.points: Floats = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        self.is_empty = any(len(r) < 2 for r in self._ranges)
        self.coordinates = [o + h * r for o, r in zip(origin, self._ranges, strict=True)]

    def in_domain(self, values: Floats) -> Floats:
        """Return those of values at all nodes that lie in the domain."""
        return values[tuple(self._inside)]

    def nodes(self) -> Places:
        """Return the places of its nodes in a field; on an axis that closes, the last of a field is the first and is not among them."""
        return self._places(self._ranges)

    def faces(self, axis: int) -> Places:
        """Return the places of its faces across an axis, likewise."""
        return self._places([r if d == axis else r[:-1] for d, r in enumerate(self._ranges)])

    def _places(self, ranges: Sequence[npt.NDArray[np.int64]]) -> Places:
        return np.ix_(*[r % n if closes else r for r, n, closes in zip(ranges, self._grid.shape, self._grid.periodic, strict=True)])
