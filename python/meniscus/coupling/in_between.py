"""Generated animations that lead from one pose of a surface to another."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def in_between(start: Floats, end: Floats, frames: int) -> list[Floats]:
    """Return positions (n, 3), m, of a surface on its way from one pose to another, the last of which is `end`.

    The rigid motion that fits best turns at a smoothly changing rate about a fixed axis; what it leaves is added in a straight line in the
    turning frame.

    Args:
        start, end: (n, 3), m.
        frames: at least 1.

    Source: Lee 2018, section 2.3.1, which leaves the motion open; Kabsch 1976 (rigid motion of best fit).
    """
    a, b = start.mean(axis=0), end.mean(axis=0)
    u, _, vt = np.linalg.svd((start - a).T @ (end - b))
    flip = np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt)) or 1.0])
    turn = (u @ flip @ vt).T  # end - b is about turn (start - a)
    remainder = (end - b) @ turn - (start - a)
    axis, angle = _axis_and_angle(turn)
    result = []
    for k in range(1, frames + 1):
        s = k / frames
        if k == frames:
            result.append(np.array(end))
            continue
        s = s * s * (3.0 - 2.0 * s)
        result.append(a + s * (b - a) + (start - a + s * remainder) @ _rotation(axis, s * angle).T)
    return result


def _axis_and_angle(matrix: Floats) -> tuple[Floats, float]:
    """Return the axis and the angle, 0 to pi, of a rotation."""
    v = np.array([matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]])
    sine, cosine = float(np.linalg.norm(v)), float(np.trace(matrix)) - 1.0
    angle = float(np.arctan2(sine, cosine))
    if sine > 1e-6:
        return v / sine, angle
    if cosine > 0:
        return np.array([1.0, 0.0, 0.0]), 0.0
    # A half turn: the axis is the column of (1 + R) / 2 that is farthest from 0.
    columns = 0.5 * (matrix + np.eye(3))
    axis = columns[:, int(np.argmax(np.diag(columns)))]
    return axis / np.linalg.norm(axis), np.pi


def _rotation(axis: Floats, angle: float) -> Floats:
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    result: Floats = np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross
    return result
