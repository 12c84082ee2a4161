"""Checks of arrays of elements: points, edges, triangles, and pairs of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def elements(name: str, value: Any, corners: int) -> npt.NDArray[np.float64]:
    """Check an (n, corners, 3) array that is used in place; the compiled core looks for values that are not finite."""
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{name} must be a NumPy array, not {type(value).__name__}")
    if value.dtype != np.float64:
        raise TypeError(f"{name} must be of dtype float64, not {value.dtype}")
    if value.ndim != 3 or value.shape[1:] != (corners, 3):
        raise ValueError(f"{name} must have shape (n, {corners}, 3), not {value.shape}")
    if not value.flags.c_contiguous:
        raise TypeError(f"{name} must be C-contiguous; pass np.ascontiguousarray({name})")
    return value


def same_length(name: str, value: npt.NDArray[Any], other_name: str, other: npt.NDArray[Any]) -> None:
    """Raise ValueError unless two arrays have the same number of rows."""
    if len(value) != len(other):
        raise ValueError(f"{name} must have as many rows as {other_name}, which has {len(other)}, not {len(value)}")
