"""Liquids on ranks: operators and whole runs have the bits of one rank, whatever the blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from parallel import liquid_programs
from parallel.test_smoke_on_ranks import blocks_of, number_of, same

import meniscus as ms
from meniscus.fluids import LiquidOptions, LiquidSolver
from meniscus.numerics import order_free_sums
from meniscus.surface import Box

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


# What a volume needs is tested in steps, too, and the exchange in three dimensions in `test_ranks.py`.
@pytest.mark.fast_cases("2-masks", "2-exchanges")
@pytest.mark.parametrize("program", ["masks", "budgets", "exchanges"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_operators(program: str, dimension: int) -> None:
    same_on_ranks(getattr(liquid_programs, program), dimension, BLOCKS[dimension])


# These two take nearly every operator to the ranks; the others say what they say with fewer.
@pytest.mark.fast_cases("2-all", "2-fluid")
@pytest.mark.parametrize("which", liquid_programs.LIQUID_OPTIONS)
@pytest.mark.parametrize("dimension", [2, 3])
def test_steps(which: str, dimension: int) -> None:
    cuts = {2: [(2, 1), (1, 3), (2, 2), (2, 4)], 3: [(1, 2, 1), (2, 2, 2)]}[dimension]
    same_on_ranks(liquid_programs.liquids, dimension, cuts, which=(which,))


def test_an_error_on_one_rank_undoes_the_step_on_all() -> None:
    """Every bit of the state is as before, and the step that follows is that of a run without an error."""

    def program(fails: bool) -> Any:
        liquid = liquid_programs.make_liquid(liquid_programs.default_cut, 2, np.float64, liquid_programs.LIQUID_OPTIONS["exchange"])
        liquid.step(0.01)
        before = liquid.snapshot()

        def break_off(stage: str, solver: Any) -> None:
            if stage == "correct_volume" and solver.grid.comm.rank == 1:
                raise OSError("no luck today")

        if fails:
            with pytest.raises(ms.parallel.RankError, match="rank 1 failed: OSError: no luck today"):
                liquid.step(0.01, on_stage=break_off)
            same_trees(before, liquid.snapshot())
        liquid.step(0.01)
        found: Any = {}
        liquid_programs.put_liquid(found, "liquid", liquid)
        return found

    for undone, straight in zip(ms.parallel.run_threads(4, program, True), ms.parallel.run_threads(4, program, False), strict=True):
        assert [name for name in straight if not same(straight[name], undone[name])] == []


def same_trees(a: Any, b: Any) -> None:
    """Check that two snapshots are the same, bit by bit."""
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for name in a:
            same_trees(a[name], b[name])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same_trees(x, y)
    else:
        assert same(a, b)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_fifty_steps_of_a_dam_break(ranks: int) -> None:
    """With spray and correction, in float64: whole runs have the bits of one rank; the volume is kept."""

    def program() -> Any:
        n = 32
        grid = ms.Grid((2 * n, n, n // 2), 1 / n)
        options = LiquidOptions(spray=True, drift_correction=True, expansion=True, gather=True, tolerance=1e-13)
        liquid = LiquidSolver(grid, options)
        liquid.fill(Box((-1.0, -1.0, -1.0), (0.6, 0.7, 1.0)))
        found: Any = {}
        drift = []
        for step in range(50):
            liquid.step(min(liquid.max_dt(), 0.02))
            drift.append(liquid.volume_report().relative_error)
            if step in (9, 49):
                liquid_programs.put_liquid(found, f"step {step}", liquid)
        found["drift"] = np.array(drift)
        return found

    with order_free_sums():
        expected = program()
    assert np.abs(expected["drift"]).max() < 2e-3
    found = ms.parallel.run_threads(ranks, program)[0]
    assert [name for name, value in expected.items() if not same(value, found[name])] == []
