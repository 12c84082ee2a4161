"""Fields in arithmetic and in functions of NumPy: the values of their arrays, and writes into their memory."""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import meniscus as ms

GRID = ms.Grid((5, 4, 2), 0.25, periodic=(True, False, False))


def field(kind: Any, seed: int, dtype: Any = np.float64) -> Any:
    made = kind(GRID, dtype)
    made.array = np.random.default_rng(seed).uniform(0.5, 2.0, made.shape).astype(dtype)
    return made


@pytest.mark.parametrize("kind", [ms.CellField, ms.NodeField])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("apply", [operator.add, operator.sub, operator.mul, operator.truediv, np.maximum, np.hypot])
def test_values_are_those_of_the_arrays(kind: Any, dtype: Any, apply: Callable[[Any, Any], Any]) -> None:
    a, b = field(kind, 1, dtype), field(kind, 2, dtype)
    before = a.array.copy()
    for left, right in ((a, b), (a, b.array), (a.array, b), (a, 2.0), (2.0, a), (a, b.array[0, 0])):
        expected = apply(*(x.array if isinstance(x, kind) else x for x in (left, right)))
        result = apply(left, right)
        assert type(result) is np.ndarray
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(a.array, before)


def test_functions_of_one_field() -> None:
    a = field(ms.CellField, 3)
    for function in (operator.neg, abs, np.exp, np.sqrt, np.isfinite, np.add.reduce, np.max, np.gradient):
        np.testing.assert_array_equal(function(a), function(a.array))
    # Exact but for one rounding of the sum and one of the quotient.
    assert a.mean() == np.mean(a) == math.fsum(a.array.ravel()) / a.array.size
    np.testing.assert_array_equal(np.mean(a, axis=0), a.array.mean(axis=0))
    np.testing.assert_array_equal(a**2, a.array**2)
    assert np.array_equal(a, a.copy())
    np.testing.assert_array_equal(np.where(np.greater(a, 1.0), a, 0.0), np.where(a.array > 1.0, a.array, 0.0))


@pytest.mark.parametrize("kind", [ms.CellField, ms.NodeField])
@pytest.mark.parametrize("apply", [operator.iadd, operator.isub, operator.imul, operator.itruediv])
def test_in_place_it_stays_the_field_and_its_memory(kind: Any, apply: Callable[[Any, Any], Any]) -> None:
    a, b = field(kind, 4, np.float32), field(kind, 5, np.float32)
    same, view, expected = a, a.array, apply(a.array.copy(), b.array)
    a = apply(a, b)
    assert a is same
    assert np.shares_memory(a.array, view)
    np.testing.assert_array_equal(view, expected)
    assert np.multiply(a, 2.0, out=a) is a
    np.testing.assert_array_equal(view, 2 * expected)


def test_a_solver_takes_changes_in_place() -> None:
    smoke = ms.fluids.SmokeSolver(ms.Grid((8, 8), 0.125))
    density = smoke.density
    smoke.density += 1.0
    smoke.density *= 0.5
    assert smoke.density is density
    assert smoke.step(0.01).smoke == pytest.approx(0.5)
    before = smoke.snapshot()
    smoke.density -= 0.5
    smoke.restore(before)
    assert np.all(np.equal(density, 0.5))


def test_fields_are_compared_by_identity() -> None:
    a, b = field(ms.CellField, 6), field(ms.CellField, 6)
    assert a != b
    assert {a: 1}[a] == 1
    assert a in [b, a]
    assert copy.deepcopy(a) != a


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    a, before = field(ms.CellField, 7, np.float32), field(ms.CellField, 7, np.float32).array.copy()
    with pytest.raises(ValueError, match="broadcast"):
        a += np.ones((3, 3))
    with pytest.raises(ValueError, match="broadcast"):
        _ = a - field(ms.NodeField, 1)
    with pytest.raises(TypeError):
        a += 1j
    with pytest.raises(TypeError):
        _ = a + "x"
    np.testing.assert_array_equal(a.array, before)
