"""Filters on boxes and amounts spread over cells, against brute force."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms
from meniscus._meniscus import surface as core
from meniscus.core import Workspace

SHAPE = (7, 5, 70)


def test_smoothing_is_the_binomial_average_with_mirrors(rng) -> None:
    values = rng.random(SHAPE)
    expected = values.copy()
    for _ in range(3):
        for axis in range(3):
            wide = np.pad(expected, [(1, 1) if a == axis else (0, 0) for a in range(3)], "symmetric")
            n = SHAPE[axis]
            before, here, after = (wide.take(range(k, k + n), axis) for k in range(3))
            expected = 0.25 * (before + after) + 0.5 * here
    core.smooth_binomial(values, SHAPE, 3, Workspace())
    assert np.array_equal(values, expected)
    ones = np.full(SHAPE, 1 / 3)
    core.smooth_binomial(ones, SHAPE, 9, Workspace())
    assert (ones == 1 / 3).all()


def test_dilation_is_the_greatest_around(rng) -> None:
    values = rng.random(SHAPE)
    wide = np.pad(values, 2, constant_values=-1.0)
    windows = np.lib.stride_tricks.sliding_window_view(wide, (5, 5, 5))
    core.dilate(values, SHAPE, 2, Workspace())
    assert np.array_equal(values, windows.max(axis=(3, 4, 5)))


@pytest.mark.parametrize("edge", [0.7, 3.0, 9.0])
def test_amounts_go_to_the_cells_of_their_tetrahedra(edge: float, rng) -> None:
    n = max(2, round(12 / edge))
    block = ms.mesh.bcc_lattice((2.1, 2.2, 2.3), edge, (n, n, n))
    x, tets = block.vertices, block.tets
    amounts = rng.random((len(tets), 2))
    shape = tuple((np.ceil(x.max(axis=0)) + 1).astype(int).tolist())
    out = np.empty((2, *shape))
    core.deposit_tets(x, tets, amounts, 2, (0, 0, 0), shape, out, Workspace())
    assert out.sum(axis=(1, 2, 3)) == pytest.approx(amounts.sum(axis=0))
    # The middle of each amount stays: the points of a tetrahedron balance, and cells are no farther than half of one.
    for axis in range(3):
        places = np.arange(shape[axis]) + 0.5
        found = out.sum(axis=tuple(a + 1 for a in range(3) if a != axis)) @ places
        assert found / amounts.sum(axis=0) == pytest.approx(
            (amounts * x[tets].mean(axis=1)[:, axis, None]).sum(axis=0) / amounts.sum(axis=0), abs=0.05
        )
    whole = np.empty((1, *shape))
    core.deposit_tets(x, tets, np.abs(block.measures(x))[:, None].copy(), 1, (0, 0, 0), shape, whole, Workspace())
    inner = tuple(slice(4, 9) for _ in range(3))
    if edge < 5:
        assert whole[0][inner].mean() == pytest.approx(1.0, abs=0.05), "a lattice fills space"
    part = np.empty((2, 4, 5, 6))
    core.deposit_tets(x, tets, amounts, 2, (3, 4, 5), (4, 5, 6), part, Workspace())
    assert np.array_equal(part, out[:, 3:7, 4:9, 5:11])
