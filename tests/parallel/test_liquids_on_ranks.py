"""Liquids on ranks: operators and whole runs have the bits of one rank, whatever the blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from parallel import liquid_programs
from parallel.test_smoke_on_ranks import blocks_of, number_of, same

import meniscus as ms
from meniscus.numerics import order_free_sums

# By dimension: numbers of blocks per axis, thin ones among them.
BLOCKS: dict[int, list[Any]] = {
    2: [(2, 1), (1, 3), (2, 2), (2, 4), ((5, 4, 28), (4, 22))],
    3: [(1, 1, 2), (3, 1, 1), (1, 3, 1), (2, 2, 2), ((4, 13), None, (4, 4, 13))],
}


def same_on_ranks(program: Any, dimension: int, cuts: list[Any], **arguments: Any) -> None:
    """Check that a program gives the bits of one rank on blocks, with poisoned ghosts."""
    with order_free_sums():
        expected = program(dimensions=(dimension,), **arguments)
    assert expected
    for cut in cuts:

        def make(shape: tuple[int, ...], periodic: tuple[bool, ...], cut: Any = cut) -> ms.Grid:
            return ms.Grid(shape, 0.1, periodic=periodic, blocks=blocks_of(cut, shape))

        def on_rank(make: Any = make) -> Any:
            ms.parallel.communicator.default().poison_ghosts()
            return program(make, dimensions=(dimension,), **arguments)

        found = ms.parallel.run_threads(number_of(blocks_of(cut, liquid_programs.SHAPES[dimension])), on_rank)[0]
        assert found.keys() == expected.keys()
        assert [name for name, value in expected.items() if not same(value, found[name])] == [], f"blocks {cut}"


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("program", ["masks", "budgets", "exchanges"])
def test_operators(program: str, dimension: int) -> None:
    same_on_ranks(getattr(liquid_programs, program), dimension, BLOCKS[dimension])
