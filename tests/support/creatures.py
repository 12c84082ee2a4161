"""Small creatures whose builds take a fraction of a second."""

from __future__ import annotations

import numpy as np

import meniscus as ms
from meniscus.coupling import KDSM

TIMES = np.arange(6) / 24.0
BALL = ms.mesh.icosphere(2, radius=0.5, center=(0.1, 0.2, -0.3))


def turn(angle: float, axis: tuple[float, float, float] = (1.0, 2.0, -0.5)) -> np.ndarray:
    """Return the matrix of a rotation."""
    n = np.asarray(axis) / np.linalg.norm(axis)
    c = np.array([[0.0, -n[2], n[1]], [n[2], 0.0, -n[0]], [-n[1], n[0], 0.0]])
    return np.eye(3) + np.sin(angle) * c + (1.0 - np.cos(angle)) * c @ c


def squirm(t: float) -> np.ndarray:
    """The ball stretches, turns and moves."""
    x = BALL.vertices
    bent = x + np.stack([0.3 * t * x[:, 1] ** 2, 0.4 * np.sin(8.0 * t) * x[:, 0], 0.2 * t * x[:, 0] * x[:, 2]], axis=1)
    return bent @ turn(2.0 * t).T + np.array([1.0, -0.5, 0.3]) * t


def built(frames=squirm, times=TIMES, **options) -> KDSM:
    """A mesh around the ball."""
    return KDSM.build(BALL, frames, times, **{"cell_size": 0.25, "layers": 1, **options})
