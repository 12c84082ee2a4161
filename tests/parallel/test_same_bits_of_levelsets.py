"""Operators on level sets give the bits of one rank on blocks of every division: 1-D, 2-D and 3-D, even and uneven, thin ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from parallel import surface_programs as programs

import meniscus as ms

CUTS: list[Any] = [(2, 1), (1, 3), (2, 2), (4, 2), (2, 1, 1), (1, 3, 1), (1, 2, 2), (2, 2, 2)]


@cache
def alone(program: Callable[..., programs.Arrays]) -> programs.Arrays:
    return program()


def check(program: Callable[..., programs.Arrays], blocks: Any) -> None:
    """Compare the results on all ranks, with poisoned ghosts, with those of one rank."""

    def on_rank() -> programs.Arrays:
        ms.parallel.communicator.default().poison_ghosts()
        return program(blocks)

    expected = alone(program)
    for found in ms.parallel.run_threads(int(np.prod(blocks)), on_rank):
        assert found
        for name, array in found.items():
            assert (array.dtype, array.shape) == (expected[name].dtype, expected[name].shape), name
            assert array.tobytes() == expected[name].tobytes(), f"{name}: {np.argwhere(array != expected[name])[:5]}"


@pytest.mark.fast_cases("*-(1, 2, 2)", "*-(2, 2)", "*-(1, 3)")
@pytest.mark.parametrize("blocks", CUTS, ids=str)
@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_bits_of_one_rank(name: str, blocks: Any) -> None:
    check(programs.PROGRAMS[name], blocks)
