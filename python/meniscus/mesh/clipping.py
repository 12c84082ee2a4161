"""Overlaps of tetrahedra, parts of them below a plane, and planes that cut off a given part."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import mesh as _mesh
from meniscus.mesh.arrays import Floats, float_rows
from meniscus.mesh.simplices import check_out

# Beyond, products of three lengths overflow.
_LARGEST = 1e100


def overlap_volumes(a: npt.ArrayLike, b: npt.ArrayLike, out: Floats | None = None) -> Floats:
    """Return the volumes (n,) that the tetrahedra a[i] and b[i] have in common, m^3.

    Those that only touch, up to rounding, have none in common, and equal ones exactly their volume. The volumes that a tetrahedron has
    in common with those of a mesh around it sum to its own up to rounding. The corners may be in any order.

    Args:
        a: corners (n, 4, 3), m.
        b: corners (n, 4, 3), m.
        out: (n,) float64 to write to, apart from a and b; a new array by default.

    Raises:
        TypeError, ValueError: wrong dtype or shape, corners that are not finite or farther than 1e100 m from 0, `out` that shares
            memory with a or b.

    Source: Lee 2018, section 3.3.2 (the overlap that samples estimate); Powell and Abel, "An exact general remeshing scheme applied to
    physically conservative voxelization", 2015.
    """
    x, y = _corners("a", a), _corners("b", b)
    if len(x) != len(y):
        raise ValueError(f"a and b must have as many tetrahedra, not {len(x)} and {len(y)}")
    result = _result(out, len(x), x, y)
    _mesh.overlap_volumes(x, y, result)
    return result


def fractions_below(values: npt.ArrayLike, out: Floats | None = None) -> Floats:
    """Return the fractions (m,) of tetrahedra in which a linear function is <= 0.

    Small fractions have a small relative error. The fraction for the negative values is 1 minus this one, unless all are 0: then both
    are 1.

    Args:
        values: the function at the four corners (m, 4).
        out: (m,) float64 to write to, apart from `values`; a new array by default.

    Raises:
        TypeError, ValueError: wrong dtype or shape, values that are not finite, `out` that shares memory with `values`.

    Source: Lee 2018, section 3.3.1 (fraction of a tetrahedron inside of a level set).
    """
    phi = _checked("values", float_rows("values", values, 4))
    result = _result(out, len(phi), phi)
    _mesh.fractions_below(phi, result)
    return result


def plane_offsets(heights: npt.ArrayLike, fractions: npt.ArrayLike, out: Floats | None = None) -> Floats:
    """Return the levels (m,) below which given fractions of tetrahedra lie: the inverse of `fractions_below(heights - level)`.

    An error of a level by d is one of the fraction by at most 3 d / (largest - smallest height), so heights are best given relative to
    a point near the tetrahedron. The fractions 0 and 1 give the smallest and the largest height.

    Args:
        heights: a linear function at the four corners (m, 4).
        fractions: (m,), from 0 to 1.
        out: (m,) float64 to write to, apart from the other two; a new array by default.

    Raises:
        TypeError, ValueError: wrong dtype or shape, values that are not finite, a fraction out of [0, 1], `out` that shares memory with
            an input.
    """
    h = _checked("heights", float_rows("heights", heights, 4))
    f = _checked("fractions", np.ascontiguousarray(_checks.numbers("fractions", fractions)))
    if f.shape != (len(h),):
        raise ValueError(f"fractions must have shape ({len(h)},), not {f.shape}")
    if len(f) and not ((f >= 0) & (f <= 1)).all():
        bad = int(np.argmax((f < 0) | (f > 1)))
        raise ValueError(f"fractions must be from 0 to 1, but [{bad}] is {f[bad]:g}")
    result = _result(out, len(h), h, f)
    _mesh.plane_offsets(h, f, result)
    return result


def _corners(name: str, value: npt.ArrayLike) -> Floats:
    array = _checks.numbers(name, value)
    if array.ndim != 3 or array.shape[1:] != (4, 3):
        raise ValueError(f"{name} must have shape (n, 4, 3), not {array.shape}")
    _checked(name, array)
    if array.size and not np.abs(array).max() <= _LARGEST:
        bad = tuple(int(i) for i in np.argwhere(np.abs(array) > _LARGEST)[0])
        raise ValueError(f"{name} must be at most {_LARGEST:g} m from 0, but [{', '.join(map(str, bad))}] is {array[bad]:g}")
    return np.ascontiguousarray(array)


def _checked(name: str, array: Floats) -> Floats:
    _checks.require_finite(name, array)
    return array


def _result(out: Floats | None, n: int, *inputs: Floats) -> Floats:
    if out is None:
        return np.empty(n)
    result: Floats = check_out("out", out, (n,))
    if any(np.may_share_memory(result, array) for array in inputs):
        raise ValueError("out must not share memory with an input")
    return result
