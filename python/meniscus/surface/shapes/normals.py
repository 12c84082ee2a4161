"""Outward normals of solids: gradients of their signed distances."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def difference_normals(distance: Callable[[Floats], Floats], points: Floats, step: float | None = None) -> Floats:
    """Return the unit gradients (n, dim) of a distance at points (n, dim), m, by central differences.

    Where the gradient is zero, as in the middle of a ball, the last axis stands in for it.

    Args:
        distance: phi(points (k, dim)) -> (k,), m.
        points: m.
        step: of the differences, m; default: 1e-5 of the largest coordinate, which balances rounding errors and curvature.
    """
    n, dim = points.shape
    if n == 0:
        return np.empty((0, dim))
    h = 1e-5 * max(float(np.abs(points).max()), 1e-3) if step is None else step
    shifts = h * np.concatenate([np.eye(dim), -np.eye(dim)])
    values = distance(np.ascontiguousarray((points[None] + shifts[:, None]).reshape(-1, dim))).reshape(2, dim, n)
    return unit_rows((values[0] - values[1]).T)


def unit_rows(vectors: Floats) -> Floats:
    """Return rows of length 1; the last axis for rows of zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: Floats = np.ascontiguousarray(vectors / np.where(lengths > 0, lengths, 1.0))
    result[lengths[:, 0] == 0, -1] = 1.0
    return result
