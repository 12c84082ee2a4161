"""Faces of a grid that sheets cut: where cells of fluid meet a sheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.grid import Grid
from meniscus.grid.face_arrays import cells_beside_faces, faces_within

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

_ON_EDGE = 1e-10
"""A ray this far beyond an edge, in parts of the element, still hits: no ray passes between two elements."""


@dataclass(frozen=True)
class SheetFaces:
    """Both sides of all faces between two cell centres that a sheet keeps apart; the two sides of a face lie one after the other.

    A face that several layers cut has on each side the layer that its cell sees first.

    Attributes:
        axis: (n,) of the face.
        face: (n, dimension) index of the face: it lies below the cell of this index along its axis.
        upper: (n,) whether this is the side of the cell above the face.
        nodes: (n, 3) corners of the element that is hit, numbered over all solids; of segments the last one counts nothing.
        weights: (n, 3) their barycentric weights at the hit.
        distance: (n,) from the centre of the cell to the hit, m.
        normal: (n, 3) unit normal of the element.
        open: (n,) the part of the face that the sheet leaves open, next to a free rim; the same on both sides.
    """

    axis: Ints
    face: npt.NDArray[np.int64]
    upper: npt.NDArray[np.bool_]
    nodes: Ints
    weights: Floats
    distance: Floats
    normal: Floats
    open: Floats

    def __len__(self) -> int:
        """Return the number of sides."""
        return len(self.axis)

    @property
    def sign(self) -> Floats:
        """(n,) 1 where velocities along the axis leave the cell, -1 above the face."""
        return np.where(self.upper, -1.0, 1.0)

    def cells(self, grid: Grid) -> npt.NDArray[np.int64]:
        """Return the number in C order of the cell of each side, -1 beyond sides of the domain."""
        return cells_beside_faces(grid, self.axis, self.face, self.upper)

    def of_faces(self, values: Sequence[Floats]) -> Floats:
        """Return (n,) values of the faces, which are given per axis for all faces of the grid."""
        out = np.empty(len(self))
        for k, component in enumerate(values):
            on = self.axis == k
            out[on] = component[tuple(self.face[on].T)]
        return out

    @classmethod
    def of_mesh(cls, grid: Grid, positions: npt.ArrayLike, elements: npt.ArrayLike) -> SheetFaces:
        """Find the faces between neighbouring cell centres whose connecting line meets an element.

        Args:
            grid: 2-D or 3-D.
            positions: (n, 3) of the nodes, m; on a 2-D grid the third coordinate is ignored. Elements are not repeated across periodic
                sides.
            elements: (m, 3) triangles, or on a 2-D grid (m, 2) segments.

        Raises:
            TypeError, ValueError: wrong types or shapes, positions that are not finite.
        """
        x = np.array(positions, dtype=np.float64)
        _checks.require_finite("positions", x)
        if x.ndim != 2 or x.shape[1] != 3:
            raise ValueError(f"positions must have shape (n, 3), not {x.shape}")
        d = grid.dimension
        corners = np.array(elements, dtype=np.int32).reshape(-1, d)
        place = (x[:, :d] - np.array(grid.origin)) / grid.spacing - 0.5
        hits = [_crossings(grid, place, corners, axis) for axis in range(d)]
        return _collected(grid, x, corners, _Hits(*(np.concatenate(parts) for parts in zip(*hits, strict=True))))


class _Hits(NamedTuple):
    """Where lines of cell centres meet elements."""

    axis: npt.NDArray[np.int64]
    face: npt.NDArray[np.int64]
    """(n, dimension) index of the face that lies between the two centres."""
    share: Floats
    """Of the way between the centres, from the lower one."""
    element: npt.NDArray[np.int64]
    weights: Floats
    """(n, dimension)."""


def _crossings(grid: Grid, place: Floats, corners: Ints, axis: int) -> _Hits:
    """Return the hits of lines along an axis; places are in cells from the centre of the first one."""
    d = place.shape[1]
    others = [k for k in range(d) if k != axis]
    flat = place[corners][:, :, others]
    edges = flat[:, 1:] - flat[:, :1]
    size = edges[:, 0, 0] if d == 2 else edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0]
    low = np.ceil(flat.min(axis=1) - _ON_EDGE).astype(np.int64)
    spans = np.maximum(np.floor(flat.max(axis=1) + _ON_EDGE).astype(np.int64) - low + 1, 0)
    spans[size == 0.0] = 0
    count = spans.prod(axis=1)
    element = np.repeat(np.arange(len(corners)), count)
    number = np.arange(len(element)) - np.repeat(np.cumsum(count) - count, count)
    lines = low[element]
    if d == 2:
        lines[:, 0] += number
    else:
        lines[:, 0] += number // spans[element, 1]
        lines[:, 1] += number % spans[element, 1]
    way = lines - flat[element, 0]
    if d == 2:
        inner = way / size[element, None]
    else:
        one, two = edges[element, 0], edges[element, 1]
        inner = np.stack([way[:, 0] * two[:, 1] - way[:, 1] * two[:, 0], one[:, 0] * way[:, 1] - one[:, 1] * way[:, 0]], axis=1)
        inner /= size[element, None]
    weights = np.concatenate([1.0 - inner.sum(axis=1, keepdims=True), inner], axis=1)
    along = (weights * place[corners[element], axis]).sum(axis=1)
    cell = np.floor(along)
    face = np.insert(lines, axis, cell.astype(np.int64) + 1, axis=1)
    inside = (weights >= -_ON_EDGE).all(axis=1)
    face, within = faces_within(grid, axis, face)
    keep = inside & within
    return _Hits(np.full(int(keep.sum()), axis), face[keep], (along - cell)[keep], element[keep], weights[keep])


def _collected(grid: Grid, x: Floats, corners: Ints, hits: _Hits) -> SheetFaces:
    """Return the first hit from either side of each face."""
    d = grid.dimension
    order = np.lexsort((hits.element, hits.share, *hits.face.T[::-1], hits.axis))
    keys = np.column_stack([hits.axis, hits.face])[order]
    fresh = np.ones(len(keys), dtype=bool)
    fresh[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], len(keys))[: len(first)] - 1
    chosen = order[np.column_stack([first, last]).ravel()]
    upper = np.tile([False, True], len(first))
    nodes, weights = np.empty((len(chosen), 3), np.int32), np.zeros((len(chosen), 3))
    element = corners[hits.element[chosen]]
    nodes[:, :d], weights[:, :d] = element, hits.weights[chosen]
    nodes[:, d:] = element[:, :1]
    share = hits.share[chosen]
    return SheetFaces(
        axis=hits.axis[chosen].astype(np.int32),
        face=hits.face[chosen],
        upper=upper,
        nodes=nodes,
        weights=weights,
        distance=grid.spacing * np.where(upper, 1.0 - share, share),
        normal=_normals(x, element),
        open=np.zeros(len(chosen)),
    )


def _normals(x: Floats, corners: Ints) -> Floats:
    """Return unit normals of elements; zero for those without area."""
    along = x[corners[:, 1]] - x[corners[:, 0]]
    if corners.shape[1] == 3:
        normals = np.cross(along, x[corners[:, 2]] - x[corners[:, 0]])
    else:
        normals = np.stack([along[:, 1], -along[:, 0], np.zeros(len(along))], axis=1)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    unit: Floats = normals / np.where(length > 0, length, 1.0)
    return unit
