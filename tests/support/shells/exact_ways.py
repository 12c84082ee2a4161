"""Which straight ways meet a mesh, by exact predicates and every pair: without rays, trees and thickness."""

from __future__ import annotations

import numpy as np

from meniscus.numerics import orient2d, orient3d
from support.shells import Floats, Ints


def ways_that_meet(vertices: Floats, elements: Ints, begins: Floats, ends: Floats) -> Ints:
    """Return the numbers of ways (n, dim) that meet a mesh of triangles, or of segments in 2-D."""
    corners = vertices[elements]
    low, high = np.minimum(begins, ends), np.maximum(begins, ends)
    near = (low[:, None] <= corners.max(axis=1)) & (high[:, None] >= corners.min(axis=1))
    way, element = np.nonzero(near.all(axis=2))
    a, b = (np.ascontiguousarray(x[way]) for x in (begins, ends))
    c = [np.ascontiguousarray(corners[element, k]) for k in range(elements.shape[1])]
    if len(c) == 2:
        met = (_signs(orient2d(a, b, c[0])) * _signs(orient2d(a, b, c[1])) <= 0) & (_signs(orient2d(*c, a)) * _signs(orient2d(*c, b)) <= 0)
    else:
        around = np.stack([_signs(orient3d(a, b, c[k], c[(k + 1) % 3])) for k in range(3)])
        met = (_signs(orient3d(*c, a)) * _signs(orient3d(*c, b)) <= 0) & ((around >= 0).all(axis=0) | (around <= 0).all(axis=0))
    return np.unique(way[met]).astype(np.int32)


def _signs(x: object) -> Ints:
    return np.asarray(x, np.int32)
