"""Intersections of the segments of a curve in the plane."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.numerics import orient2d

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
_BLOCK = 1 << 20


def crossing_segments(vertices: Floats, segments: Ints) -> Ints:
    """Return the pairs (k, 2) of segments (m, 2) without a common vertex that meet, exactly, in lexicographic order.

    Args:
        vertices: (n, 2), m.
        segments: pairs of vertices.
    """
    low = np.minimum(vertices[segments[:, 0]], vertices[segments[:, 1]])
    high = np.maximum(vertices[segments[:, 0]], vertices[segments[:, 1]])
    found = [np.zeros((0, 2), np.int32)]
    step = max(1, _BLOCK // max(len(segments), 1))
    for first in range(0, len(segments), step):
        rows = slice(first, first + step)
        boxes = ((low[rows, None] <= high[None]) & (low[None] <= high[rows, None])).all(axis=2)
        i, j = np.nonzero(boxes)
        i = i + first
        keep = i < j
        i, j = i[keep], j[keep]
        s, t = segments[i], segments[j]
        apart = ((s[:, :, None] != t[:, None, :]).all(axis=(1, 2))) if len(i) else np.zeros(0, bool)
        i, j, s, t = i[apart], j[apart], s[apart], t[apart]
        if not len(i):
            continue
        a, b, c, d = (np.ascontiguousarray(vertices[k]) for k in (s[:, 0], s[:, 1], t[:, 0], t[:, 1]))
        sides = [np.asarray(orient2d(*p), np.int64) for p in ((a, b, c), (a, b, d), (c, d, a), (c, d, b))]
        # Boxes that overlap decide for segments on one line.
        meet = (sides[0] * sides[1] <= 0) & (sides[2] * sides[3] <= 0)
        found.append(np.stack([i[meet], j[meet]], axis=1).astype(np.int32))
    return np.concatenate(found)
