"""Rotations in three dimensions by an axis and an angle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_SMALL_SINE = 1e-6  # below it, the antisymmetric part of a matrix does not tell the axis


def rotation_about(axis: Sequence[float] | Floats, angle: float) -> Floats:
    """Return the matrix (3, 3) of a rotation by an angle (rad) about an axis of any length but zero.

    Source: Rodrigues' formula.
    """
    x, y, z = np.asarray(axis, float) / np.linalg.norm(axis)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    result: Floats = np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross
    return result


def axis_and_angle(matrix: Floats) -> tuple[Floats, float]:
    """Return the axis (3,), of length 1, and the angle, 0 to pi, of a rotation matrix (3, 3); the x axis where it turns nothing."""
    v = np.array([matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]])
    sine, cosine = float(np.linalg.norm(v)), float(np.trace(matrix)) - 1.0
    angle = float(np.arctan2(sine, cosine))
    if sine > _SMALL_SINE:
        return v / sine, angle
    if cosine > 0:
        return np.array([1.0, 0.0, 0.0]), 0.0
    # A half turn: the axis is the column of (1 + R) / 2 that is farthest from 0.
    columns = 0.5 * (matrix + np.eye(3))
    axis = columns[:, int(np.argmax(np.diag(columns)))]
    return axis / np.linalg.norm(axis), np.pi
