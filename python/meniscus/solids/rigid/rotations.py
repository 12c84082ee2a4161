"""Rotations as matrices and unit quaternions (w, x, y, z)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def require_turns(states: Floats, name: Callable[[int], str]) -> None:
    """Raise ValueError where an orientation of states (n, 13) is no unit quaternion; `name` tells whose."""
    wrong = ~(np.abs((states[:, 3:7] ** 2).sum(axis=1) - 1) < 1e-3)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"the orientation of {name(i)} must be a unit quaternion, not {states[i, 3:7].tolist()}")


def skew_of(v: Floats) -> Floats:
    """Return matrices (n, 3, 3) of the cross products with vectors (n, 3)."""
    result = np.zeros((len(v), 3, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        result[:, k, j], result[:, j, k] = v[:, i], -v[:, i]
    return result


def rotation_of(q: Floats) -> Floats:
    """Return the rotation (3, 3) of a unit quaternion (w, x, y, z)."""
    w, v = q[0], q[1:]
    result: Floats = (w * w - v @ v) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * skew_of(v[None])[0]
    return result


def rotations_of(q: Floats) -> Floats:
    """Return the rotations (n, 3, 3) of unit quaternions (n, 4), bit by bit those of `rotation_of`."""
    w, v = q[:, 0], q[:, 1:]
    outer = v[:, :, None] * v[:, None, :]
    length = (v[:, None, :] @ v[:, :, None])[:, 0, 0]
    result: Floats = (w * w - length)[:, None, None] * np.eye(3) + 2 * outer + (2 * w)[:, None, None] * skew_of(v)
    return result


def turn_of(omega: Floats) -> Floats:
    """Return the unit quaternion of a turn about a vector, rad."""
    angle = float(np.linalg.norm(omega))
    return np.array([math.cos(angle / 2), *(0.5 * np.sinc(angle / (2 * math.pi)) * omega)])


def turned(place: Floats, way: Floats, turn: Floats) -> Floats:
    """Return centre and orientation (7,) after a way (3,), m, and a turn about a vector (3,), rad, in axes of the world."""
    a, b = turn_of(turn), place[3:7]
    q = np.array([a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])
    return np.concatenate([place[:3] + way, q / np.linalg.norm(q)])


def quaternion_of(r: Floats) -> Floats:
    """Return the unit quaternion (w, x, y, z), w >= 0, of a rotation (3, 3)."""
    # Four times the outer product of the quaternion with itself; its row with the largest diagonal keeps the digits.
    d = r.diagonal()
    k = np.empty((4, 4))
    k[0, 0] = 1 + d.sum()
    k[0, 1:] = k[1:, 0] = [r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]
    k[1:, 1:] = r + r.T + (1 - d.sum()) * np.eye(3)
    row = k[k.diagonal().argmax()]
    row = row / np.linalg.norm(row)
    result: Floats = row if row[0] >= 0 else -row
    return result
