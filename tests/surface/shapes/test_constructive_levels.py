"""Constructive operations on level sets, in place."""

from typing import Any

import numpy as np
import pytest
from support.build import same_bits, scalar_types

import meniscus as ms
from meniscus.surface import Box, LevelSet, Sphere


def balls(dimension: int, location: Any, dtype: Any, periodic: bool = False) -> tuple[LevelSet, LevelSet, Sphere]:
    grid = ms.Grid((18, 16, 14)[:dimension], 1 / 16, periodic=periodic)
    shape = Sphere((0.62, 0.5, 0.4)[:dimension], 0.21)
    a = LevelSet.from_function(grid, lambda *x: np.sqrt(sum((c - 0.45) ** 2 for c in x)) - 0.25, location, dtype=dtype)
    b = LevelSet(grid, location, dtype)
    b.array = 1e3
    b.unite(shape)
    return a, b, shape


@pytest.mark.parametrize("location", ["cells", "nodes"])
def test_operations_are_minima_and_maxima(location: Any, dimension: int, dtype: type) -> None:
    for periodic in (False, True):
        a, b, shape = balls(dimension, location, dtype, periodic)
        p, q = a.array.copy(), b.array.copy()
        x = np.stack([np.broadcast_to(c, q.shape) for c in b.field.coordinates()], axis=-1).reshape(-1, dimension)
        if not periodic:
            assert same_bits(q.ravel(), shape.signed_distance(x).astype(dtype))
        memory = a.array
        for name, expected in (("unite", np.minimum(p, q)), ("intersect", np.maximum(p, q)), ("subtract", np.maximum(p, -q))):
            for other in (b, shape):
                a.array = p
                getattr(a, name)(other)
                assert same_bits(a.array, expected)
                assert np.shares_memory(a.array, memory)
        assert same_bits(b.array, q)
        a.array = p
        a.complement()
        assert same_bits(a.array, -p)
        a.array = p
        a.offset(0.125)
        assert same_bits(a.array, p - dtype(0.125))
        a.unite(a)
        assert same_bits(a.array, p - dtype(0.125))


def test_distances_come_back() -> None:
    # The inside of a union of overlapping boxes is only bounded by the minimum.
    n = 64
    phi = LevelSet(ms.Grid((n, n), 1 / n), "cells")
    phi.array = 1e3
    phi.unite(Box((0.2, 0.3), (0.55, 0.7)))
    phi.unite(Box((0.45, 0.3), (0.8, 0.7)))
    exact = LevelSet(phi.grid, "cells")
    exact.array = 1e3
    exact.unite(Box((0.2, 0.3), (0.8, 0.7)))
    assert np.abs(phi.array - exact.array).max() > 0.1
    phi.redistance()
    # First order: a cell or two, with the corners and the ridges.
    assert np.abs(phi.array - exact.array).max() < 1.5 / n


def test_wrong_operands_change_nothing(dimension: int) -> None:
    a, _, _ = balls(dimension, "cells", np.float64)
    before = a.array.copy()
    others = (
        (LevelSet(a.grid, "nodes"), ValueError, "other must have the samples of"),
        *((LevelSet(a.grid, "cells", t), ValueError, "other must have the samples of") for t in scalar_types(dimension)[:-1]),
        (LevelSet(ms.Grid((4,) * dimension, 1.0), "cells"), ValueError, "other must have the samples of"),
        (Sphere((0.0,) * (5 - dimension), 1.0), ValueError, f"other must be {dimension}-D like the level set"),
        (a.array, TypeError, "other must be a LevelSet or Shape"),
    )
    for other, error, text in others:
        for name in ("unite", "intersect", "subtract"):
            with pytest.raises(error, match=text):
                getattr(a, name)(other)
    for bad, error in ((np.nan, ValueError), ("1", TypeError)):
        with pytest.raises(error, match="distance must be"):
            a.offset(bad)  # type: ignore[arg-type]
    assert same_bits(a.array, before)
