"""Checks of user input. The message of each failure is one sentence: what was wrong, and what would be right."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]
Bools = npt.NDArray[np.bool_]

_C = TypeVar("_C")


def choice(name: str, value: object, literal: Any) -> str:
    """Return `value` if it is one of the strings of a `Literal` type; raise ValueError with the choices otherwise."""
    choices = get_args(literal)
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")
    return str(value)


def number(name: str, value: object) -> float:
    """Return a finite float; raise TypeError for what is no number and ValueError for NaN and infinity."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name} must be a number, not {value!r}")
    try:
        result = float(value)
    except OverflowError:
        raise ValueError(f"{name} must be finite, not an integer beyond 1.8e308") from None
    if not math.isfinite(result):
        raise ValueError(f"{name} must be finite, not {result}")
    return result


def positive(name: str, value: object) -> float:
    """Return a finite float above zero."""
    result = number(name, value)
    if result <= 0:
        raise ValueError(f"{name} must be positive, not {result:g}")
    return result


def integer(name: str, value: object, at_least: int | None = None, below: int = 2**63) -> int:
    """Return an int in the range asked for."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if at_least is not None and value < at_least:
        raise ValueError(f"{name} must be at least {at_least}, not {value if value > -(2**64) else 'a number of more digits'}")
    if value >= below:
        raise ValueError(f"{name} must be below {below}, not {value if value < 2**64 else 'a number of more digits'}")
    return int(value)


def flag(name: str, value: object) -> bool:
    """Return a truth value; raise TypeError for what only counts as one."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def dimension(name: str, value: object) -> int:
    """Return 2 or 3."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value not in (2, 3):
        raise ValueError(f"{name} must be 2 or 3, not {value!r}")
    return int(value)


def interval(start: object, end: object) -> None:
    """Check that `end`, which may be infinite, is after `start`."""
    begin = number("start", start)
    if not (isinstance(end, float) and end == math.inf) and not number("end", end) > begin:
        raise ValueError(f"end must be after start, {begin:g}, not {end:g}")


def path(name: str, value: object) -> Path:
    """Return a path; raise TypeError for what is none."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} must be a path, not {value!r}")
    return Path(value)


def items(name: str, value: object, kind: type[_C]) -> list[_C]:
    """Return the items of a sequence, each an instance of a type; raise TypeError otherwise."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(f"{name} must be a sequence of {kind.__name__}, not {value!r}")
    return [one_of_type(name, item, kind) for item in value]


def vector(name: str, value: object, dimension: int) -> tuple[float, ...]:
    """Return `dimension` finite floats."""
    if isinstance(value, (str, bytes)) or not isinstance(value, (Sequence, np.ndarray)) or np.shape(value) == ():
        raise TypeError(f"{name} must hold {dimension} numbers, not {value!r}")
    if len(value) != dimension:
        raise ValueError(f"{name} must hold {dimension} numbers, not {len(value)}")
    return tuple(number(f"{name}[{i}]", v) for i, v in enumerate(value))


def point(name: str, value: Any) -> tuple[float, ...]:
    """Return 2 or 3 finite floats."""
    if isinstance(value, (str, bytes)) or not isinstance(value, (Sequence, np.ndarray)) or len(value) not in (2, 3):
        raise ValueError(f"{name} must hold 2 or 3 numbers, not {value!r}")
    return vector(name, value, len(value))


def scalar_type(dtype: npt.DTypeLike, dimension: int = 3) -> np.dtype[Any]:
    """Return float32 or float64; raise TypeError for anything else, and for float32 in two dimensions."""
    try:
        result = np.dtype(dtype)
    except (TypeError, ValueError):
        raise TypeError(f"dtype must be float32 or float64, not {dtype!r}") from None
    if result not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise TypeError(f"dtype must be float32 or float64, not {result}")
    if dimension == 2 and result != np.float64:
        raise TypeError("float32 is for three dimensions: in two, fields and particles are float64")
    return result


def compact_scalar_type(dtype: npt.DTypeLike | None, dimension: int) -> np.dtype[Any]:
    """Return the type that was asked for; for None the smaller one that the dimension has: float32 in three, float64 in two."""
    smaller = np.float32 if dimension == 3 else np.float64
    return scalar_type(smaller if dtype is None else dtype, dimension)


def numbers(name: str, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return an array of float64; raise TypeError for what holds something else than numbers."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        raise TypeError(f"{name} must be an array of numbers, not {value!r}") from None
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be an array of numbers, not of dtype {array.dtype}")
    return np.asarray(array, np.float64)


def require_finite(name: str, array: Floats) -> None:
    """Raise ValueError with the index of the first value that is NaN or infinite."""
    finite = np.isfinite(array)
    if not finite.all():
        index = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise ValueError(f"{name} must be finite, but [{', '.join(map(str, index))}] is {array[index]}")


def incoming(name: str, value: npt.ArrayLike, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    """Check values that are about to be copied into a field: an array of the field's dtype and shape, or a number; all finite."""
    if isinstance(value, (bool, int, float, np.integer, np.floating)):
        return number(name, value)
    array = np.asarray(value)
    if array.dtype != dtype:
        raise TypeError(f"{name} must be of dtype {dtype}, not {array.dtype}; convert it with .astype({dtype.name!r})")
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, not {array.shape}")
    require_finite(name, array)
    return array


def points(name: str, value: npt.ArrayLike, dtype: np.dtype[Any], dimension: int, *, writable: bool = False) -> Floats:
    """Check an (n, dimension) C-contiguous array that is used in place."""
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{name} must be a NumPy array, not {type(value).__name__}")
    if value.dtype != dtype:
        raise TypeError(f"{name} must be of dtype {dtype}, not {value.dtype}")
    if value.ndim != 2 or value.shape[1] != dimension:
        raise ValueError(f"{name} must have shape (n, {dimension}), not {value.shape}")
    if not value.flags.c_contiguous:
        raise TypeError(f"{name} must be C-contiguous; pass np.ascontiguousarray({name})")
    if writable and not value.flags.writeable:
        raise ValueError(f"{name} must be writable")
    return value


def triangles(name: str, value: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """Check an (m, 3) int32 C-contiguous array that is used in place."""
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{name} must be a NumPy array, not {type(value).__name__}")
    if value.dtype != np.int32:
        raise TypeError(f"{name} must be of dtype int32, not {value.dtype}")
    if value.ndim != 2 or value.shape[1] != 3:
        raise ValueError(f"{name} must have shape (m, 3), not {value.shape}")
    if not value.flags.c_contiguous:
        raise TypeError(f"{name} must be C-contiguous; pass np.ascontiguousarray({name})")
    return value


def function(name: str, value: _C) -> _C:
    """Return `value` if it can be called; raise TypeError otherwise."""
    if not callable(value):
        raise TypeError(f"{name} must be a function, not {value!r}")
    return value


def mask(name: str, value: Any, shape: tuple[int, ...]) -> Bools:
    """Check a boolean array; return it C-contiguous (masks are inputs: a copy is made where it is not)."""
    array = np.asarray(value)
    if array.dtype != np.bool_:
        raise TypeError(f"{name} must be of dtype bool, not {array.dtype}")
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, not {array.shape}")
    return np.ascontiguousarray(array)


def options(values: Any) -> None:
    """Check the attributes of a dataclass of options by their annotations: choices of a `Literal`, truth values, numbers, integers and
    vectors of numbers; those that may be None, too. What has another annotation is left to the class.

    Raises TypeError or ValueError that names the attribute.
    """
    made: Any = type(values)
    for name, kind in _annotations(made).items():
        value = getattr(values, name)
        kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
        if value is None and type(None) in kinds:
            continue
        left = [k for k in kinds if k is not type(None)]
        if len(left) != 1:
            continue
        if get_origin(left[0]) is Literal:
            choice(name, value, left[0])
        elif left[0] is bool:
            if not isinstance(value, (bool, np.bool_)):
                raise TypeError(f"{name} must be True or False, not {value!r}")
        elif left[0] is int:
            integer(name, value)
        elif left[0] is float:
            number(name, value)
        elif left[0] == Sequence[float]:
            vector(name, value, 2 if isinstance(value, (Sequence, np.ndarray)) and len(value) == 2 else 3)


@cache
def _annotations(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def one_of_type(name: str, value: object, types: type[_C] | tuple[type[_C], ...]) -> _C:
    """Return `value` if it is an instance of the given types; raise TypeError otherwise."""
    if not isinstance(value, types):
        expected = types if isinstance(types, tuple) else (types,)
        raise TypeError(f"{name} must be a {join(t.__name__ for t in expected)}, not {type(value).__name__}")
    return value


def join(words: Iterable[str]) -> str:
    """Join words as in 'a, b or c'."""
    items = list(words)
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " or " + items[-1]
