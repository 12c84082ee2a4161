"""Rotations for the tests of clipping."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def rotation(angle: float) -> npt.NDArray[np.float64]:
    """About an axis along no axis or diagonal of a lattice."""
    x, y, z = np.array([0.36, -0.48, 0.8])
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
