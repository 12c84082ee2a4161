"""Smoke on ranks: operators and whole runs have the bits of one rank, whatever the blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from parallel import smoke_programs
from parallel.smoke_programs import Arrays, Cut, default_cut

import meniscus as ms
from meniscus.fluids import SmokeSolver
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


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 3])
def test_viscosity(dimension: int) -> None:
    same_on_ranks(smoke_programs.viscosity, dimension, BLOCKS[dimension] if dimension == 2 else BLOCKS[3][-2:])


def test_viscosity_on_levels_that_are_divided() -> None:
    """Above 16384 cells, not every rank computes all cells of the finest level."""
    same_on_ranks(smoke_programs.viscosity, 2, cuts=[(2, 4)], shape=(171, 133))


@pytest.mark.fast_cases("2")
@pytest.mark.parametrize("dimension", [2, 3])
def test_solids(dimension: int) -> None:
    same_on_ranks(smoke_programs.solids, dimension, [BLOCKS[dimension][0], BLOCKS[dimension][-1]])


@pytest.mark.fast_cases("2-10.0")
@pytest.mark.parametrize("cfl", [0.5, 3.0, 10.0])
@pytest.mark.parametrize("dimension", [2, 3])
def test_smoke(dimension: int, cfl: float) -> None:
    """Two steps with everything that a solver can have: state, pressure and all numbers of the reports."""
    same_on_ranks(smoke_programs.smoke, dimension, BLOCKS[dimension][-2:], cfls=(cfl,))


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 3])
def test_fifty_steps(dimension: int) -> None:
    """In both precisions, on 2, 4 and 8 ranks."""
    cuts = {2: [(2, 1), (2, 2), (2, 4)], 3: [(1, 2, 1), (1, 2, 2), (2, 2, 2)]}[dimension]
    same_on_ranks(smoke_programs.smoke, dimension, cuts, cfls=(2.0, 3.0), steps=50, cases=("full",))


def _state(solver: SmokeSolver) -> list[np.ndarray]:
    assert solver.vortices is not None
    fields = [*(solver.velocity.component(d) for d in range(solver.grid.dimension)), solver.density.array, solver.temperature.array]
    particles = [solver.vortices.ids, solver.vortices.positions, solver.vortices.vorticity]
    return [a.copy() for a in (*fields, solver.pressure.array, *particles)] + [np.array(solver.time)]


def test_a_failed_step_on_one_rank_is_undone_on_all() -> None:
    """By an error, an interrupt or a value that is no number on one rank, or by a failed solve; afterwards all go on."""

    def fail(stage: str, rank: int, action: Callable[[SmokeSolver], None]) -> Callable[[str, SmokeSolver], None]:
        def hook(name: str, solver: SmokeSolver) -> None:
            if name == stage and solver.grid.comm.rank == rank:
                action(solver)

        return hook

    def error(solver: SmokeSolver) -> None:
        raise LookupError("no luck today")

    def interrupt(solver: SmokeSolver) -> None:
        raise KeyboardInterrupt

    def spoil(solver: SmokeSolver) -> None:
        solver.density.array[1, 2] = np.nan

    def spoil_velocity(solver: SmokeSolver) -> None:
        solver.velocity.u[2, 1] = np.inf

    def program() -> dict[str, Any]:
        grid = ms.Grid((24, 32), 0.1)
        solver = smoke_programs.smoke_case("full", grid, np.float64, 3.0)
        solver.step(0.02)
        before = _state(solver)

        def check(stage: str, rank: int, action: Callable[[SmokeSolver], None], message: str) -> None:
            told: type[BaseException] = KeyboardInterrupt if action is interrupt and grid.comm.rank == rank else ms.parallel.RankError
            with pytest.raises(told) as caught:
                solver.step(0.05, fail(stage, rank, action))
            if told is ms.parallel.RankError:
                assert f"rank {rank} failed: {message}" in str(caught.value)
            assert all(same(a, b) for a, b in zip(before, _state(solver), strict=True))

        for rank in range(grid.comm.size):
            check("transport", rank, error, "LookupError: no luck today")
        check("add_forces", 1, interrupt, "KeyboardInterrupt")
        check("project", 2, spoil, "ValueError: the density must be finite after a step")
        check("add_forces", 1, spoil_velocity, "ValueError: velocity u must be finite")
        projection: Any = solver.projection_stage
        projection._max_iterations = 1
        with pytest.raises(ms.parallel.RankError, match="rank 0 failed: ConvergenceError: the pressure did not converge"):
            solver.step(0.05)
        assert all(same(a, b) for a, b in zip(before, _state(solver), strict=True))
        projection._max_iterations = 200
        solver.step(0.05)
        result: dict[str, Any] = {}
        smoke_programs.put_smoke(result, "after", solver)
        return result

    def untroubled() -> dict[str, Any]:
        solver = smoke_programs.smoke_case("full", ms.Grid((24, 32), 0.1), np.float64, 3.0)
        result: dict[str, Any] = {}
        with order_free_sums():
            solver.step(0.02)
            solver.step(0.05)
        smoke_programs.put_smoke(result, "after", solver)
        return result

    found, expected = ms.parallel.run_threads(3, program)[0], untroubled()
    assert [name for name, value in expected.items() if not same(value, found[name])] == []
