"""Whether points on straight ways meet triangles that move: by subdivision of time, exact at the end, without code of the collision room.

In the frame of a point, a moving triangle meets it where the determinant of its corners vanishes, a cubic in time, and the point is inside
of its three edges, which are quartics; in the plane, for segments, a quadratic and two more. Where the Bernstein coefficients of one of
these have one sign over an interval of time, there is no contact in it; where those of the edges are positive and the determinant changes
its sign, there is one; else the interval is halved. That is done in floating point with a margin for rounding, and what is left by it in
whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]

_HALVINGS = 10
_DEEPEST = 48
"""Halvings in whole numbers: what is not told apart in 1e-14 of the step counts as a contact."""
_ROUNDING = 1e-12


def paths_that_meet(before: Floats, after: Floats, elements: Ints, begins: Floats, ends: Floats) -> Ints:
    """Return the numbers of points that meet elements on their straight ways, while the vertices move straight; none is missed.

    Args:
        before, after: (n, dim), m, vertices at the start and at the end.
        elements: triangles (m, 3), in 2-D segments (m, 2).
        begins, ends: (k, dim), m, of the ways.
    """
    low, high = np.minimum(begins, ends), np.maximum(begins, ends)
    points, numbers = [], []
    # Points in ascending order along the first axis: each element looks at those near it alone.
    order = np.argsort(low[:, 0], kind="stable")
    sorted_low, widest = low[order, 0], float((high[:, 0] - low[:, 0]).max(initial=0.0))
    corners = np.concatenate([before[elements], after[elements]], axis=1)
    least, most = corners.min(axis=1), corners.max(axis=1)
    first = np.searchsorted(sorted_low, least[:, 0] - widest, side="left")
    last = np.searchsorted(sorted_low, most[:, 0], side="right")
    for e in np.flatnonzero(last > first):
        rows = order[first[e] : last[e]]
        near = rows[((low[rows] <= most[e]) & (high[rows] >= least[e])).all(axis=1)]
        if len(near):
            points.append(near)
            numbers.append(np.full(len(near), e))
    if not points:
        return np.zeros(0, np.int32)
    p, element = np.concatenate(points), np.concatenate(numbers)
    met = _contacts(before[elements[element]], after[elements[element]], begins[p], ends[p])
    return np.unique(p[met]).astype(np.int32)


def _contacts(x0: Floats, x1: Floats, p0: Floats, p1: Floats) -> Bools:
    """Return which pairs touch: corners (k, dim, dim) and points (k, dim) at both ends."""
    at = np.stack([x0 - p0[:, None], x1 - p1[:, None]])
    size = np.abs(at).max(axis=(0, 2, 3))
    error = size + np.abs(p0).max(axis=1) + np.abs(p1).max(axis=1)
    rows = np.arange(len(p0))
    met = np.zeros(len(p0), bool)
    for _ in range(_HALVINGS):
        free, sure = _told(at, [_ROUNDING * error[rows] * size[rows] ** (d - 1) for d in (at.shape[-1], 4 if at.shape[-1] == 3 else 2)])
        met[rows[sure]] = True
        open_ = ~free & ~met[rows]
        at, rows = at[:, open_], rows[open_]
        middle = 0.5 * (at[0] + at[1])
        at = np.concatenate([np.stack([at[0], middle]), np.stack([middle, at[1]])], axis=1)
        rows = np.concatenate([rows, rows])
    for k in np.unique(rows[~met[rows]]):
        met[k] = _touches(_whole(np.stack([x0[k], x1[k]]), np.stack([p0[k], p1[k]])), _DEEPEST)
    return met


def _told(at: Array, margins: Sequence[Any]) -> tuple[Bools, Bools]:
    """Return which pairs certainly do not touch, and which certainly do."""
    level, *sides = _conditions(at)
    first, other = margins
    free = (level > first).all(axis=0) | (level < -first).all(axis=0)
    sure = ((level[0] < -first) & (level[-1] > first)) | ((level[0] > first) & (level[-1] < -first))
    for side in sides:
        free = free | (side < -other).all(axis=0)
        sure = sure & (side > other).all(axis=0)
    return free.astype(bool), sure.astype(bool)


def _whole(corners: Floats, points: Floats) -> Array:
    """Return corners (2, 1, dim, dim) relative to the points (2, dim) as whole numbers, all scaled alike."""
    exact = [
        [[Fraction(float(v)) - Fraction(float(q)) for v, q in zip(x, p, strict=True)] for x in c]
        for c, p in zip(corners, points, strict=True)
    ]
    scale = max(v.denominator for c in exact for x in c for v in x)
    return np.array([[[int(v * scale) for v in x] for x in c] for c in exact], object)[:, None]


def _touches(at: Array, depth: int) -> bool:
    """Return whether one pair, in whole numbers, may touch: false only where it does not."""
    free, sure = _told(at, (0, 0))
    if free[0] or sure[0] or depth == 0:
        return not free[0]
    # Twice the places: only signs matter.
    middle = at[0] + at[1]
    return _touches(np.stack([2 * at[0], middle]), depth - 1) or _touches(np.stack([middle, 2 * at[1]]), depth - 1)


def _conditions(at: Array) -> list[Array]:
    """Return what must vanish, of degree dim in lengths, and what must not be negative: Bernstein coefficients times binomial ones.

    Args:
        at: corners (2, k, dim, dim), relative to the point, at both ends of an interval of time.
    """
    corners = [at[:, :, i] for i in range(at.shape[2])]
    if len(corners) == 2:
        a, b = corners
        along = b - a
        return [_times(a[..., 0], b[..., 1]) - _times(a[..., 1], b[..., 0]), -_dot(a, along), _dot(b, along)]
    a, b, c = corners
    ab, bc, ca = _cross(a, b), _cross(b, c), _cross(c, a)
    normal = ab + bc + ca
    return [_dot(ab, c), *(_dot(side, normal) for side in (ab, bc, ca))]


def _times(p: Array, q: Array) -> Array:
    """Return the product of polynomials by their scaled Bernstein coefficients along the first axis, of which it is the convolution."""
    out: list[Any] = [0] * (len(p) + len(q) - 1)
    for i in range(len(p)):
        for j in range(len(q)):
            out[i + j] = out[i + j] + p[i] * q[j]
    return np.stack(out)


def _dot(p: Array, q: Array) -> Array:
    parts = [_times(p[..., d], q[..., d]) for d in range(p.shape[-1])]
    total = parts[0]
    for x in parts[1:]:
        total = total + x
    return total


def _cross(p: Array, q: Array) -> Array:
    return np.stack([_times(p[..., i], q[..., j]) - _times(p[..., j], q[..., i]) for i, j in ((1, 2), (2, 0), (0, 1))], axis=-1)
