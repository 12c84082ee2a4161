"""Rotation matrices from the forms in which rotations are given."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks

Floats = npt.NDArray[np.float64]
Rows = tuple[tuple[float, ...], ...]

# Largest deviation of a matrix from a rotation (rounding to float32, or a product of many) that is corrected and not refused.
_TOLERANCE = 1e-6
# Below this a matrix is kept as it is, so that one that has been corrected does not change again.
_ROUNDING = 1e-14


def rotation_matrix(name: str, value: Any, dimension: int) -> Rows:
    """Return the rows of a rotation matrix.

    Args:
        name: of the argument, for errors.
        value: None (no rotation), an angle in rad (2-D), a rotation matrix, or a unit quaternion (w, x, y, z) (3-D).
        dimension: 2 or 3.

    Raises:
        TypeError, ValueError: another shape, NaN or infinity, a matrix that is no rotation, a quaternion not of length 1.
    """
    if value is None:
        return tuple(map(tuple, np.eye(dimension).tolist()))
    if dimension == 2 and np.ndim(value) == 0:
        angle = _checks.number(name, value.item() if isinstance(value, np.ndarray) else value)
        c, s = math.cos(angle), math.sin(angle)
        return ((c, -s), (s, c))
    expected = "an angle or a 2x2 matrix" if dimension == 2 else "a 3x3 matrix or a quaternion (w, x, y, z)"
    try:
        array = np.array(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} must be {expected}, not {value!r}") from None
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, not {array.tolist()}")
    if dimension == 3 and array.shape == (4,):
        return _from_quaternion(name, array)
    if array.shape != (dimension, dimension):
        raise ValueError(f"{name} must be {expected}, not of shape {array.shape}")
    defect = array.T @ array - np.eye(dimension)
    if np.abs(defect).max() > _TOLERANCE or np.linalg.det(array) < 0:
        raise ValueError(f"{name} must be an orthogonal matrix of determinant 1, not {array.tolist()}")
    if np.abs(defect).max() <= _ROUNDING:
        return tuple(map(tuple, array.tolist()))
    # One step of Newton's iteration for the polar factor squares the defect.
    return tuple(map(tuple, (array - 0.5 * array @ defect).tolist()))


def _from_quaternion(name: str, q: Floats) -> Rows:
    length = float(np.linalg.norm(q))
    if abs(length - 1.0) > _TOLERANCE:
        raise ValueError(f"{name} must be a quaternion (w, x, y, z) of length 1, not {length:g}")
    w, x, y, z = (q / length).tolist()
    return (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
