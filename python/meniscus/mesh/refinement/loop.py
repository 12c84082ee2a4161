"""Loop subdivision: smooth surfaces from triangles."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh.arrays import index_rows, sealed

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
_FLOAT64 = np.dtype(np.float64)


class LoopSubdivision:
    """One level of Loop subdivision of triangles: each is cut into four, and all vertices go to places on a smoother surface.

    The vertices come first, followed by one for each edge, in ascending order of the edges' vertices, the lower first. `linear` leaves the
    surface as it is: vertices stay, and edges are halved. `smooth` has the same triangles: a new vertex is 3/8 of both ends of its edge and
    1/8 of the vertices opposite; a vertex with n neighbours keeps 1 - n b of itself and takes b of each, where b is (5/8 - (3/8 +
    cos(2 pi / n) / 4)^2) / n. The rim is a curve by itself, by 1/2, 1/2 and 1/8, 3/4, 1/8; edges with more than two triangles count as rim,
    and vertices at which other than two edges of the rim meet stay.

    Args:
        triangles: (m, 3) integers.
        vertices: number of vertices.

    Attributes:
        triangles: (4 m, 3) int32; the children of triangle i are 4 i to 4 i + 3, with its orientation.
        vertices: number of vertices after the subdivision.

    Raises:
        TypeError, ValueError: wrong shape, indices out of range, a triangle that has a corner twice.

    Source: Loop, "Smooth subdivision surfaces based on triangles", 1987; Selle 2008, section 4.6.
    """

    def __init__(self, triangles: npt.ArrayLike, vertices: int) -> None:
        t = index_rows("triangles", triangles, 3)
        n = _checks.integer("vertices", vertices, 0)
        if len(t) and int(t.max()) >= n:
            raise ValueError(f"triangles must be numbers of vertices below {n}, not {int(t.max())}")
        if bool((t == t[:, [2, 0, 1]]).any()):
            raise ValueError("triangles must have three different corners")
        sides = np.sort(np.stack([t[:, [0, 1]], t[:, [1, 2]], t[:, [2, 0]]], axis=1).reshape(-1, 2), axis=1)
        edges, of_side = np.unique(sides, axis=0, return_inverse=True)
        of_side = of_side.reshape(-1, 3)
        self._coarse, self._edges = n, edges.astype(np.int32)
        self.vertices = n + len(edges)
        middle = (n + of_side).astype(np.int32)
        children = [
            (t[:, 0], middle[:, 0], middle[:, 2]),
            (middle[:, 0], t[:, 1], middle[:, 1]),
            (middle[:, 2], middle[:, 1], t[:, 2]),
            middle.T,
        ]
        self.triangles: Ints = sealed(np.stack([np.stack(c, axis=1) for c in children], axis=1).reshape(-1, 3).astype(np.int32))
        self._inner = np.bincount(of_side.ravel(), minlength=len(edges)) == 2
        self._of_side, self._opposite = of_side, t[:, [2, 0, 1]]
        rim = edges[~self._inner]
        ends = np.bincount(rim.ravel(), minlength=n)
        neighbours = np.bincount(edges.ravel(), minlength=n)
        around = np.where(ends == 0, neighbours, 1)
        b = (0.625 - (0.375 + 0.25 * np.cos(2 * np.pi / np.maximum(around, 1))) ** 2) / np.maximum(around, 1)
        self._weight = np.where(ends == 0, np.where(neighbours > 0, b, 0.0), np.where(ends == 2, 0.125, 0.0))
        self._own = np.where(ends == 0, 1 - neighbours * self._weight, np.where(ends == 2, 0.75, 1.0))
        # Links over which a vertex takes something: all edges of an inner one, those of the rim of others.
        links = np.concatenate([edges, edges[:, ::-1]])
        on_rim = np.concatenate([~self._inner, ~self._inner])
        self._links = links[(ends[links[:, 0]] == 0) | on_rim]

    def linear(self, positions: Floats) -> Floats:
        """Return the vertices (k, 3), m, of the surface as it is, cut into smaller triangles, from those of the coarse one (n, 3)."""
        x = self._checked(positions)
        return np.concatenate([x, 0.5 * (x[self._edges[:, 0]] + x[self._edges[:, 1]])])

    def smooth(self, positions: Floats) -> Floats:
        """Return the vertices (k, 3), m, of the smoother surface, from those of the coarse one (n, 3)."""
        x = self._checked(positions)
        taken = _sums(self._links[:, 0], x[self._links[:, 1]], len(x))
        old = self._own[:, None] * x + self._weight[:, None] * taken
        ends = x[self._edges[:, 0]] + x[self._edges[:, 1]]
        across = _sums(self._of_side.ravel(), x[self._opposite].reshape(-1, 3), len(self._edges))
        new = np.where(self._inner[:, None], 0.375 * ends + 0.125 * across, 0.5 * ends)
        return np.concatenate([old, new])

    def _checked(self, positions: Floats) -> Floats:
        x: Any = _checks.points("positions", positions, _FLOAT64, 3)
        if len(x) != self._coarse:
            raise ValueError(f"positions must have {self._coarse} rows, not {len(x)}")
        checked: Floats = x
        return checked


def _sums(rows: npt.NDArray[Any], values: Floats, count: int) -> Floats:
    return np.stack([np.bincount(rows, values[:, d], minlength=count) for d in range(3)], axis=1)
