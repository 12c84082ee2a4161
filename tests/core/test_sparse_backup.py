"""Tests of backups of arrays most of whose rows are zero."""

from __future__ import annotations

import numpy as np
import pytest

from meniscus.core.memory import held_bytes
from meniscus.core.sparse_backup import SparseBackup


def some_rows(shape: tuple[int, ...], part: float, seed: int) -> np.ndarray:
    """Random rows, zeros, negative zeros and NaN with a payload."""
    rng = np.random.default_rng(seed)
    a = np.zeros(shape)
    rows = rng.random(shape[0]) < part
    a[rows] = rng.normal(size=a[rows].shape)
    a[shape[0] // 3] = -0.0
    a[-1:] = np.frombuffer(np.uint64(0x7FF8000000000123).tobytes())
    return a


@pytest.mark.parametrize("part", [0.0, 0.01, 1.0])
@pytest.mark.parametrize("shape", [(1,), (40_000,), (3, 3), (50_001, 3), (0, 3)])
def test_what_is_brought_back_is_the_same_bit_by_bit(shape: tuple[int, ...], part: float) -> None:
    backup, array = SparseBackup(), np.empty(shape)
    for seed in range(3):  # the memory of one is used by the next
        array[...] = some_rows(shape, part * (3 - seed) / 3, seed) if shape[0] else 0
        before = array.tobytes()
        backup.take(array)
        array[...] = np.random.default_rng(9).normal(size=shape)
        assert backup.bring_back() is array
        assert array.tobytes() == before


def test_memory_is_that_of_the_rows_that_are_not_zero() -> None:
    backup, array = SparseBackup(), np.zeros((1_000_000, 3))
    array[::100] = 1.0
    backup.take(array)
    assert held_bytes(backup) <= 10_000 * 28 * 1.2
