"""Rigid bodies for tests."""

from __future__ import annotations

import numpy as np


def random_rotation(rng, axis=None):
    """A rotation as rows; about an axis, or any."""
    a = rng.normal(size=3) if axis is None else np.array(axis, float)
    a /= np.linalg.norm(a)
    angle = rng.uniform(-np.pi, np.pi)
    k = np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
    return (np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k).tolist()
