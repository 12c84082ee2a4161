"""Arithmetic of scalar fields with numbers, arrays and each other."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks

_F = TypeVar("_F", bound="FieldArithmetic")
Index = Any
"""What NumPy takes as an index."""


class FieldArithmetic:
    """Operators and NumPy's functions on what has an `array`: results are arrays; `field += x` and `out=field` write to the field.

    Fields are compared by identity, so that they can be keys; `np.equal` compares their values.
    """

    array: npt.NDArray[Any]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a function of NumPy to the arrays of fields."""
        given = options.get("out")
        if given is not None:
            options["out"] = tuple(_array(o) for o in given)
        result = getattr(ufunc, method)(*map(_array, inputs), **options)
        return given[0] if given is not None and len(given) == 1 and given[0] is not None else result

    def __getitem__(self, index: Index) -> Any:
        """Return samples: a number, or a view as NumPy makes it."""
        return self.array[index]

    def __setitem__(self, index: Index, value: npt.ArrayLike) -> None:
        """Set samples. Raises ValueError for NaN and infinity; then nothing changes."""
        samples = self.array
        values = np.asarray(value, dtype=samples.dtype)
        _checks.require_finite("value", values)
        samples[index] = values

    def __add__(self, other: Any) -> npt.NDArray[Any]:
        """Return the sum of samples."""
        return np.add(self.array, _array(other))  # type: ignore[no-any-return]

    def __sub__(self, other: Any) -> npt.NDArray[Any]:
        """Return the difference of samples."""
        return np.subtract(self.array, _array(other))  # type: ignore[no-any-return]

    def __mul__(self, other: Any) -> npt.NDArray[Any]:
        """Return the product of samples."""
        return np.multiply(self.array, _array(other))  # type: ignore[no-any-return]

    def __truediv__(self, other: Any) -> npt.NDArray[Any]:
        """Return the quotient of samples."""
        return np.divide(self.array, _array(other))  # type: ignore[no-any-return]

    def __pow__(self, other: Any) -> npt.NDArray[Any]:
        """Return a power of the samples."""
        return np.power(self.array, _array(other))  # type: ignore[no-any-return]

    def __radd__(self, other: Any) -> npt.NDArray[Any]:
        """Return the sum of samples."""
        return np.add(other, self.array)  # type: ignore[no-any-return]

    def __rsub__(self, other: Any) -> npt.NDArray[Any]:
        """Return the difference of samples."""
        return np.subtract(other, self.array)  # type: ignore[no-any-return]

    def __rmul__(self, other: Any) -> npt.NDArray[Any]:
        """Return the product of samples."""
        return np.multiply(other, self.array)  # type: ignore[no-any-return]

    def __rtruediv__(self, other: Any) -> npt.NDArray[Any]:
        """Return the quotient of samples."""
        return np.divide(other, self.array)  # type: ignore[no-any-return]

    def __neg__(self) -> npt.NDArray[Any]:
        """Return the negative samples."""
        return np.negative(self.array)  # type: ignore[no-any-return]

    def __abs__(self) -> npt.NDArray[Any]:
        """Return the magnitudes of the samples."""
        return np.absolute(self.array)  # type: ignore[no-any-return]

    def __iadd__(self: _F, other: Any) -> _F:
        """Add to the samples."""
        np.add(self.array, _array(other), out=self.array)
        return self

    def __isub__(self: _F, other: Any) -> _F:
        """Subtract from the samples."""
        np.subtract(self.array, _array(other), out=self.array)
        return self

    def __imul__(self: _F, other: Any) -> _F:
        """Multiply the samples."""
        np.multiply(self.array, _array(other), out=self.array)
        return self

    def __itruediv__(self: _F, other: Any) -> _F:
        """Divide the samples."""
        np.divide(self.array, _array(other), out=self.array)
        return self


def _array(value: Any) -> Any:
    return value.array if isinstance(value, FieldArithmetic) else value
