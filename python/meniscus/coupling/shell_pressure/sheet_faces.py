"""Faces of a grid that sheets cut: where cells of fluid meet a sheet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.grid import Grid
from meniscus.grid.face_arrays import cells_beside_faces, face_within

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

    @classmethod
    def of_mesh(cls, grid: Grid, positions: npt.ArrayLike, elements: npt.ArrayLike) -> SheetFaces:
        """Find the faces between neighbouring cell centres whose connecting line meets an element. One element after the other.

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
        found: dict[tuple[int, ...], list[tuple[float, int, Floats]]] = {}
        place = (x[:, :d] - np.array(grid.origin)) / grid.spacing - 0.5
        for number, element in enumerate(corners):
            for axis in range(d):
                for cross, along, weights in _crossings(place[element], axis):
                    _note(found, grid, axis, cross, along, (number, weights))
        return _collected(found, grid, x, corners)


def _crossings(corners: Floats, axis: int) -> list[tuple[tuple[int, ...], float, Floats]]:
    """Return where lines of cell centres along an axis cross an element: the other coordinates, the place on the line, the weights."""
    others = [k for k in range(corners.shape[1]) if k != axis]
    flat = corners[:, others]
    edges = flat[1:] - flat[0]
    size = float(edges[0, 0]) if len(others) == 1 else float(edges[0, 0] * edges[1, 1] - edges[0, 1] * edges[1, 0])
    if size == 0.0:
        return []
    first, last = np.ceil(flat.min(axis=0) - _ON_EDGE).astype(int), np.floor(flat.max(axis=0) + _ON_EDGE).astype(int)
    lines = np.stack(np.meshgrid(*(np.arange(a, b + 1) for a, b in zip(first, last, strict=True)), indexing="ij"), axis=-1).reshape(
        -1, len(others)
    )
    from_first = lines - flat[0]
    if len(others) == 1:
        inner = from_first / size
    else:
        inner = (
            np.stack(
                [
                    from_first[:, 0] * edges[1, 1] - from_first[:, 1] * edges[1, 0],
                    edges[0, 0] * from_first[:, 1] - edges[0, 1] * from_first[:, 0],
                ],
                axis=1,
            )
            / size
        )
    weights = np.concatenate([1.0 - inner.sum(axis=1, keepdims=True), inner], axis=1)
    inside = (weights >= -_ON_EDGE).all(axis=1)
    return [(tuple(line), float(w @ corners[:, axis]), w) for line, w in zip(lines[inside], weights[inside], strict=True)]


def _note(
    found: dict[tuple[int, ...], list[tuple[float, int, Floats]]],
    grid: Grid,
    axis: int,
    cross: tuple[int, ...],
    along: float,
    hit: tuple[int, Floats],
) -> None:
    cell = int(np.floor(along))
    at = face_within(grid, axis, [*cross[:axis], cell + 1, *cross[axis:]])
    if at is None:
        return
    found.setdefault((axis, *at), []).append((along - cell, *hit))


def _collected(found: dict[tuple[int, ...], list[tuple[float, int, Floats]]], grid: Grid, x: Floats, corners: Ints) -> SheetFaces:
    d = grid.dimension
    n = 2 * len(found)
    out = SheetFaces(
        np.zeros(n, np.int32),
        np.zeros((n, d), np.int64),
        np.zeros(n, bool),
        np.zeros((n, 3), np.int32),
        np.zeros((n, 3)),
        np.zeros(n),
        np.zeros((n, 3)),
        np.zeros(n),
    )
    if d == 3:
        normals = np.cross(x[corners[:, 1]] - x[corners[:, 0]], x[corners[:, 2]] - x[corners[:, 0]])
    else:
        along = x[corners[:, 1]] - x[corners[:, 0]]
        normals = np.stack([along[:, 1], -along[:, 0], np.zeros(len(along))], axis=1)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    normals /= np.where(length > 0, length, 1.0)
    for k, key in enumerate(sorted(found)):
        hits = sorted(found[key], key=lambda hit: (hit[0], hit[1]))
        for upper in (0, 1):
            share, element, weights = hits[-upper]
            row = 2 * k + upper
            out.axis[row], out.face[row], out.upper[row] = key[0], key[1:], bool(upper)
            out.nodes[row, :d], out.nodes[row, d:] = corners[element], corners[element][0]
            out.weights[row, :d] = weights
            out.distance[row] = grid.spacing * (1.0 - share if upper else share)
            out.normal[row] = normals[element]
    return out
