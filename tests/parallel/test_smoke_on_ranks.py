"""Smoke on ranks: operators and whole runs have the bits of one rank, whatever the blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from parallel import smoke_programs
from parallel.smoke_programs import Arrays, Cut, default_cut

import meniscus as ms
from meniscus.numerics import order_free_sums

# By dimension: numbers of blocks per axis, thin ones among them.
BLOCKS: dict[int, list[Any]] = {
    2: [(2, 1), (1, 3), (2, 2), (2, 4), ((5, 28, 4), None), ((4, 33), (4, 4, 35))],
    3: [(1, 1, 2), (3, 1, 1), (1, 4, 1), (2, 2, 2), ((4, 9, 4), None, (15, 4))],
}


def blocks_of(cut: Any, shape: tuple[int, ...]) -> Any:
    """Return the cells of the blocks along each axis; None is an axis that is not cut."""
    return tuple((n,) if c is None else c for c, n in zip(cut, shape, strict=True)) if any(isinstance(c, tuple) for c in cut) else cut


def number_of(blocks: Any) -> int:
    """Return the number of blocks."""
    return int(np.prod([len(b) if isinstance(b, tuple) else b for b in blocks]))


def same_on_ranks(program: Callable[..., Arrays], dimension: int, cuts: list[Any] | None = None, **arguments: Any) -> None:
    """Check that a program gives the bits of one rank on blocks, with poisoned ghosts."""
    with order_free_sums():
        expected = program(default_cut, dimensions=(dimension,), **arguments)
    assert expected
    for cut in BLOCKS[dimension] if cuts is None else cuts:

        def make(shape: tuple[int, ...], periodic: tuple[bool, ...], cut: Any = cut) -> ms.Grid:
            return ms.Grid(shape, 0.1, periodic=periodic, blocks=blocks_of(cut, shape))

        def on_rank(make: Cut = make) -> Arrays:
            ms.Grid((64,) * dimension, 1.0).comm.poison_ghosts()
            return program(make, dimensions=(dimension,), **arguments)

        found = ms.parallel.run_threads(number_of(blocks_of(cut, smoke_programs.SHAPES[dimension])), on_rank)[0]
        assert found.keys() == expected.keys()
        assert [name for name, value in expected.items() if not same(value, found[name])] == [], f"blocks {cut}"


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two arrays have the same bits."""
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("dimension", [2, 3])
def test_viscosity(dimension: int) -> None:
    same_on_ranks(smoke_programs.viscosity, dimension)


def test_viscosity_on_levels_that_are_divided() -> None:
    """Above 16384 cells, not every rank computes all cells of the finest level."""
    same_on_ranks(smoke_programs.viscosity, 2, cuts=[(2, 4)], shape=(171, 133))
