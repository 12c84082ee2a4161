"""Crossing parity: which points of a grid a closed surface holds, by counting, without rays against thickened triangles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


def is_closed(elements: Ints) -> bool:
    """Return whether every side of a triangle (m, 3) belongs to two of them, or every end of a segment (m, 2)."""
    if elements.shape[1] == 2:
        return bool(np.all(np.bincount(elements.ravel())[np.unique(elements)] == 2))
    sides = np.sort(np.concatenate([elements[:, [0, 1]], elements[:, [1, 2]], elements[:, [2, 0]]]), axis=1)
    return bool(np.all(np.unique(sides, axis=0, return_counts=True)[1] == 2))


def inside_cells(vertices: Floats, elements: Ints, low: Floats, spacing: float, shape: tuple[int, ...]) -> Bools:
    """Return which cell centres of a grid a closed surface holds: those with an odd number of crossings below them along the last axis.

    Lines of centres are moved by a hundred millionth of a cell along the other axes, so that none meets an edge of a regular mesh.

    Args:
        vertices: (n, dim), m.
        elements: triangles (m, 3) or segments (m, 2).
        low: lowest corner of the grid, m.
        spacing: m.
        shape: cells.
    """
    x = (vertices - low) / spacing - 0.5
    x[:, 0] -= 1.2345e-8
    if len(shape) == 3:
        x[:, 1] -= 0.9876e-8
    crossings = np.zeros((*shape[:-1], shape[-1] + 1), np.int64)
    for corners in x[elements]:
        base = corners[:, :-1]
        first = np.maximum(np.ceil(base.min(axis=0)).astype(int), 0)
        last = np.minimum(np.floor(base.max(axis=0)).astype(int), np.array(shape[:-1]) - 1)
        if np.any(last < first):
            continue
        lines = np.stack(np.meshgrid(*(np.arange(a, b + 1) for a, b in zip(first, last, strict=True)), indexing="ij"), axis=-1)
        lines = lines.reshape(-1, len(shape) - 1)
        weights = _weights(lines.astype(float), base)
        met = (weights > 0).all(axis=1)
        height = weights[met] @ corners[:, -1]
        above = np.clip(np.ceil(height).astype(int), 0, shape[-1])
        np.add.at(crossings, (*lines[met].T, above), 1)
    odd: Bools = np.cumsum(crossings, axis=-1)[..., :-1] % 2 == 1
    return odd


def inside_points(vertices: Floats, elements: Ints, points: Floats) -> Bools:
    """Return which points (n, dim), m, a closed surface holds: those with an odd number of crossings below them along the last axis.

    Args:
        vertices: (n, dim), m.
        elements: triangles (m, 3) or segments (m, 2).
        points: m; of one whose line meets an edge the answer may be wrong.
    """
    order = np.argsort(points[:, 0], kind="stable")
    ordered, odd = points[order], np.zeros(len(points), bool)
    corners = vertices[elements]
    low, high = corners[..., :-1].min(axis=1), corners[..., :-1].max(axis=1)
    first, last = np.searchsorted(ordered[:, 0], low[:, 0], "left"), np.searchsorted(ordered[:, 0], high[:, 0], "right")
    for i in np.flatnonzero(first < last):
        near = np.arange(first[i], last[i])
        if points.shape[1] == 3:
            across = ordered[near, 1]
            near = near[(across >= low[i, 1]) & (across <= high[i, 1])]
        if len(near) == 0:
            continue
        weights = _weights(ordered[near, :-1], corners[i, :, :-1])
        met = (weights > 0).all(axis=1)
        odd[near[met]] ^= weights[met] @ corners[i, :, -1] < ordered[near[met], -1]
    result = np.zeros_like(odd)
    result[order] = odd
    return result


def _weights(points: Floats, base: Floats) -> Floats:
    """Return the barycentric weights of points in the projection of an element; negative ones where it has no area."""
    if base.shape[1] == 1:
        length = base[1, 0] - base[0, 0]
        if length == 0:
            return np.full((len(points), 2), -1.0)
        t = (points[:, 0] - base[0, 0]) / length
        return np.stack([1 - t, t], axis=1)
    a, b, c = base
    area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    if area == 0:
        return np.full((len(points), 3), -1.0)
    v, w = points - a, points - b
    third = ((b[0] - a[0]) * v[:, 1] - (b[1] - a[1]) * v[:, 0]) / area
    first = ((c[0] - b[0]) * w[:, 1] - (c[1] - b[1]) * w[:, 0]) / area
    return np.stack([first, 1 - first - third, third], axis=1)
