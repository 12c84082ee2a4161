"""Orientation predicates: signs of determinants that tell where points lie, exact for all finite doubles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import numerics as _numerics

Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]
_FLOAT64 = np.dtype(np.float64)


def orient2d(a: Floats, b: Floats, c: Floats) -> Signs:
    """Return the turn of each a, b, c (n,): +1 counter-clockwise, -1 clockwise, 0 on a line; exact for all finite coordinates.

    Args:
        a, b, c: (n, 2) float64, C-contiguous.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, arrays of different length, coordinates that are not finite.

    Source: Shewchuk, "Adaptive precision floating-point arithmetic and fast robust geometric predicates", 1997.
    """
    return _numerics.orient2d(*_points(2, a=a, b=b, c=c))


def orient3d(a: Floats, b: Floats, c: Floats, d: Floats) -> Signs:
    """Return the signs (n,) of (d - a) . ((b - a) x (c - a)), exact for all finite coordinates.

    They are +1 where a, b, c are counter-clockwise as seen from d, -1 where clockwise, and 0 where all four lie in a plane.

    Args:
        a, b, c, d: (n, 3) float64, C-contiguous.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, arrays of different length, coordinates that are not finite.

    Source: Shewchuk, "Adaptive precision floating-point arithmetic and fast robust geometric predicates", 1997; Brochu 2012,
    section 3.2.3.
    """
    return _numerics.orient3d(*_points(3, a=a, b=b, c=c, d=d))


def incircle(a: Floats, b: Floats, c: Floats, d: Floats) -> Signs:
    """Return (n,): +1 where d lies inside of the circle through a, b, c in counter-clockwise order; exact for all finite coordinates.

    Clockwise order gives the opposite sign; 0 stands for four points on a circle or a line.

    Args:
        a, b, c, d: (n, 2) float64, C-contiguous.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, arrays of different length, coordinates that are not finite.

    Source: Shewchuk, "Adaptive precision floating-point arithmetic and fast robust geometric predicates", 1997.
    """
    return _numerics.incircle(*_points(2, a=a, b=b, c=c, d=d))


def insphere(a: Floats, b: Floats, c: Floats, d: Floats, e: Floats) -> Signs:
    """Return (n,): +1 where e lies inside of the sphere through a, b, c, d with orient3d(a, b, c, d) > 0; exact for all finite coordinates.

    The other orientation gives the opposite sign; 0 stands for five points on a sphere or a plane.

    Args:
        a, b, c, d, e: (n, 3) float64, C-contiguous.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, arrays of different length, coordinates that are not finite.

    Source: Shewchuk, "Adaptive precision floating-point arithmetic and fast robust geometric predicates", 1997.
    """
    return _numerics.insphere(*_points(3, a=a, b=b, c=c, d=d, e=e))


def _points(dimension: int, **arrays: Floats) -> list[npt.NDArray[np.floating]]:
    """Check points and that they are as many in each array; the compiled core looks for values that are not finite."""
    result = [_checks.points(name, value, _FLOAT64, dimension) for name, value in arrays.items()]
    for name, value in zip(arrays, result, strict=True):
        if len(value) != len(result[0]):
            raise ValueError(f"{name} must have as many rows as a, which has {len(result[0])}, not {len(value)}")
    return result
