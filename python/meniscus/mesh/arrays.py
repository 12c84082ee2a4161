"""Arrays of numbers and indices from what users give, and arrays that nobody writes to."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import core as _core

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


def float_rows(name: str, value: Any, columns: int) -> Floats:
    """Return rows of numbers (n, columns) as C-contiguous float64; raise TypeError for what is no number, ValueError for other shapes."""
    array = np.asarray(value)
    if array.size == 0 and array.ndim < 2:
        array = array.reshape(0, columns)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name} must hold numbers, not {array.dtype}")
    if array.ndim != 2 or array.shape[1] != columns:
        raise ValueError(f"{name} must have shape (n, {columns}), not {array.shape}")
    return np.ascontiguousarray(array, dtype=np.float64)


def integers(name: str, value: Any, dimension: int | None = None) -> Ints:
    """Return whole numbers as a C-contiguous int32 array; raise TypeError for what is none, ValueError for other dimensions and for
    numbers that int32 does not hold."""
    array = np.asarray(value)
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers, not {array.dtype}")
    if dimension is not None and array.ndim != dimension:
        raise ValueError(f"{name} must have {dimension} dimension{'s' * (dimension != 1)}, not {array.ndim}")
    limits = np.iinfo(np.int32)
    if array.dtype != np.int32 and array.size and (array.min() < limits.min or array.max() > limits.max):
        wrong = int(np.argmax(((array < limits.min) | (array > limits.max)).ravel()))
        raise ValueError(f"{name} must hold 32-bit integers, but number {wrong} is {array.ravel()[wrong]}")
    return np.ascontiguousarray(array, dtype=np.int32)


def index_rows(name: str, value: Any, columns: int) -> Ints:
    """Return rows of indices (m, columns) as C-contiguous int32; raise TypeError for what is no integer, ValueError for other shapes and
    for indices that int32 does not hold."""
    array = np.asarray(value)
    if array.size == 0 and array.ndim < 2:
        array = np.empty((0, columns), np.int32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers, not {array.dtype}")
    if array.ndim != 2 or array.shape[1] != columns:
        raise ValueError(f"{name} must have shape (m, {columns}), not {array.shape}")
    if array.dtype != np.int32 and array.size and (array.min() < 0 or array.max() > np.iinfo(np.int32).max):
        wrong = np.argwhere((array < 0) | (array > np.iinfo(np.int32).max))[0]
        raise ValueError(f"{name} must hold indices from 0 to 2^31 - 1, but [{wrong[0]}, {wrong[1]}] is {array[tuple(wrong)]}")
    return np.ascontiguousarray(array, dtype=np.int32)


def frozen(array: Any) -> Any:
    """Return the array itself if nobody can write to its memory any more, nor make it writable again, or a read-only copy."""
    return array if _core.never_changes(array) else sealed(array.copy())


def sealed(array: Any) -> Any:
    """Return the memory of an array that nobody else has as an array that cannot be made writable again."""
    return _core.sealed(array)


def owned(array: Any, given: object) -> Any:
    """Return an array that nobody else can write to: a converted copy of what was given as it is."""
    return frozen(array) if array is given or np.may_share_memory(array, np.asarray(given)) else sealed(array)
