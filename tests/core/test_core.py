"""Threads, vector width and scratch memory."""

from typing import Any

import pytest

import meniscus as ms
from meniscus import core

LEVELS = ["baseline", "avx2", "avx512"]


def test_threads(default_parallelism: None) -> None:
    for n in (1, 2, 7, 64):
        ms.set_num_threads(n)
        assert ms.num_threads() == core.num_threads() == n
    for bad, error in ((0, ValueError), (-3, ValueError), (1.5, TypeError), ("2", TypeError), (True, TypeError), (None, TypeError)):
        with pytest.raises(error, match="n must be"):
            ms.set_num_threads(bad)
        assert ms.num_threads() == 64


def test_simd_levels(default_parallelism: None) -> None:
    best = LEVELS.index(core.simd_supported())
    widths = []
    for i, level in enumerate(LEVELS):
        if i <= best:
            core.set_simd_level(level)
            assert core.simd_level() == level
            widths.append(core.simd_width())
        else:
            with pytest.raises(ValueError, match=f"support SIMD up to {LEVELS[best]}, not {level}"):
                core.set_simd_level(level)
    assert widths == sorted(widths)
    assert widths[0] >= 128
    before = core.simd_level()
    with pytest.raises(ValueError, match="unknown SIMD level 'sse9'; choose from baseline, avx2, avx512"):
        core.set_simd_level("sse9")
    assert core.simd_level() == before


def test_build_info() -> None:
    info = core.build_info()
    assert {"compiler", "eigen", "native"} <= set(info)
    assert isinstance(info["native"], bool)


def test_a_workspace_starts_empty_and_gives_back_what_it_holds(rng: Any) -> None:
    space = ms.Workspace()
    assert space.nbytes == 0
    start = core.block_bytes()
    f, v = ms.CellField(ms.Grid((8, 8), 1.0)), ms.MacField(ms.Grid((8, 8), 1.0))
    fields = core.block_bytes() - start
    v.u = 0.5
    ms.grid.advect(f, v, 1.0, workspace=space)
    assert space.nbytes > 0
    assert core.block_bytes() == start + fields + space.nbytes
    space.clear()
    assert space.nbytes == 0
    assert core.block_bytes() == start + fields
