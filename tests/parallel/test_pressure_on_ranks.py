"""Pressure solves on ranks: the iterations, regions and bits of one rank, and solvers for comparison."""

from typing import Any

import numpy as np
import pytest
from parallel.pressure_programs import PROBLEMS, part, projected, solved

import meniscus as ms


def on_ranks(count: int, *arguments: Any, **options: Any) -> list[dict[str, Any]]:
    """Run `projected` on threads, with poisoned ghosts."""

    def program() -> dict[str, Any]:
        ms.Grid((64, 64), 1.0).comm.poison_ghosts()
        return projected(*arguments, **options)

    return ms.parallel.run_threads(count, program)


def distance(a: dict[str, Any], b: dict[str, Any]) -> float:
    """The largest difference of two velocities, relative to the largest velocity."""
    scale = max(np.abs(v).max() for v in a["velocity"])
    return max(np.abs(u - v).max() for u, v in zip(a["velocity"], b["velocity"], strict=True)) / scale


@pytest.mark.parametrize("name", PROBLEMS)
def test_bits_of_one_rank(name: str, dimension: int) -> None:
    """One rank, two, three and eight take the same steps to the same solution; without any, sums are added in another order."""
    alone = projected(name, dimension)
    one, *_ = on_ranks(1, name, dimension)
    for count in (2, 3, 8):
        first, *others = on_ranks(count, name, dimension)
        assert first["iterations"] <= alone["iterations"] + 2
        assert first["iterations"] == one["iterations"]
        assert all(o["iterations"] == first["iterations"] for o in others)
        np.testing.assert_array_equal(first["history"], one["history"])
        np.testing.assert_array_equal(first["pressure"], one["pressure"])
        for u, v in zip(first["velocity"], one["velocity"], strict=True):
            np.testing.assert_array_equal(u, v)
        assert first["regions"] == one["regions"]
    assert [r[:3] for r in one["regions"]] == [r[:3] for r in alone["regions"]]


@pytest.mark.fast_cases("2d-*", "3d-five regions", "3d-open side")
@pytest.mark.parametrize("name", PROBLEMS)
def test_smallest_tolerance(name: str, dimension: int) -> None:
    """A tolerance of 1e-13 is met, and leaves no more than round-off between one rank and eight."""
    alone = projected(name, dimension, tolerance=1e-13)
    together, *_ = on_ranks(8, name, dimension, tolerance=1e-13)
    assert max(alone["residual"], together["residual"]) <= 1e-13
    assert together["iterations"] <= alone["iterations"] + 2
    assert distance(alone, together) < 1e-10


@pytest.mark.fast_cases("2d-*", "3d-periodic")
@pytest.mark.parametrize("name", PROBLEMS)
def test_incomplete_cholesky_of_each_block(name: str, dimension: int) -> None:
    """Fewer than twice the iterations on eight blocks; the solution within the tolerance, and twice the same on as many ranks."""
    options = {"method": "incomplete-cholesky", "max_iterations": 1000, "tolerance": 1e-10}
    alone = projected(name, dimension, **options)
    together, *_ = on_ranks(8, name, dimension, **options)
    again, *_ = on_ranks(8, name, dimension, **options)
    assert alone["iterations"] < together["iterations"] < 2 * alone["iterations"]
    assert distance(projected(name, dimension, tolerance=1e-12), together) < 1e-7
    np.testing.assert_array_equal(together["pressure"], again["pressure"])
    np.testing.assert_array_equal(together["history"], again["history"])


@pytest.mark.parametrize(
    ("shape", "periodic", "blocks"),
    [
        ((37, 29), (False, False), (2, 2)),
        ((37, 29), (True, False), (4, 1)),
        ((40, 33), (True, True), ((4, 36), (29, 4))),
        ((19, 17, 23), (False, False, True), (2, 2, 2)),
        ((24, 16, 13), (True, False, True), (1, 4, 1)),
        ((12, 1, 30), (False, True, False), (1, 1, 3)),
        ((54, 35), (False, True), ((27, 13, 14), (20, 7, 8))),
    ],
)
def test_coefficients_given_as_arrays(shape: tuple[int, ...], periodic: tuple[bool, ...], blocks: Any) -> None:
    """Coefficients of 1, 3, 9 and 0 in any rows, which are then of another kind where a block begins elsewhere."""
    count = int(np.prod([b if isinstance(b, int) else len(b) for b in blocks]))
    one, *_ = ms.parallel.run_threads(1, lambda: solved(shape, periodic, tolerance=1e-12))
    first, *_ = ms.parallel.run_threads(count, lambda: solved(shape, periodic, blocks, tolerance=1e-12))
    for key in ("x", "product", "history"):
        np.testing.assert_array_equal(first[key], one[key], err_msg=key)
    assert first["regions"] == one["regions"]
    factored, *_ = ms.parallel.run_threads(
        count, lambda: solved(shape, periodic, blocks, tolerance=1e-12, max_iterations=500, method="incomplete-cholesky")
    )
    assert np.abs(factored["x"] - one["x"]).max() < 1e-9 * np.abs(one["x"]).max()


def percolated(periodic: bool) -> dict[str, Any]:
    """A labyrinth of faces at the edge of percolation, in which the solve goes over to coarsening along connections."""
    shape = (60, 54)
    grid, rng = ms.Grid(shape, 1.0, periodic=periodic), np.random.default_rng(5)
    faces = []
    for d in range(2):
        whole = 1.0 * (rng.random(tuple(n + (k == d) for k, n in enumerate(shape))) < 0.53)
        rows = np.moveaxis(whole, d, 0)
        rows[-1] = rows[0] = rows[0] if periodic else 0.0
        faces.append(part(grid, whole))
    solver, rhs = ms.grid.PoissonSolver(grid), part(grid, rng.normal(size=shape))
    solver.set_coefficients(faces)
    x, info = solver.solve(rhs)
    field, product = ms.CellField(grid), ms.CellField(grid)
    field.array, product.array = x, solver.multiply(x)
    return {"x": field.gather(), "product": product.gather(), "iterations": info.iterations, "residual": info.residual}


@pytest.mark.parametrize("periodic", [False, True])
def test_labyrinths_have_the_bits_of_one_rank(periodic: bool) -> None:
    one, *_ = ms.parallel.run_threads(1, lambda: percolated(periodic))
    assert one["iterations"] <= 30
    assert one["residual"] <= 1.01e-8
    for count in (2, 3, 5):
        first, *_ = ms.parallel.run_threads(count, lambda: percolated(periodic))
        assert first["iterations"] == one["iterations"]
        np.testing.assert_array_equal(first["x"], one["x"])
        np.testing.assert_array_equal(first["product"], one["product"])


def test_a_wrong_coefficient_on_one_rank_is_told_to_all() -> None:
    def program() -> None:
        grid = ms.Grid((16, 16), 1.0)
        faces = [np.ones((n + 1, m)) for n, m in [grid.local_shape]] + [np.ones((n, m + 1)) for n, m in [grid.local_shape]]
        if grid.comm.rank == 1:
            faces[0][1, 2] = -1
        ms.grid.PoissonSolver(grid).set_coefficients(faces)

    with pytest.raises(ms.parallel.RankError, match=r"rank 1 failed: ValueError: faces\[0\] must not be negative"):
        ms.parallel.run_threads(3, program)


@pytest.mark.parametrize("count", [1, 4])
def test_bytes_of_a_solver_are_those_that_its_blocks_have_taken(count: int) -> None:
    shape = (40, 48, 40)

    def program() -> tuple[int, int]:
        grid = ms.Grid(shape, 1.0)
        faces = [np.ones([n + (k == d) for k, n in enumerate(grid.local_shape)]) for d in range(3)]
        rhs = np.ones(grid.local_shape)
        grid.comm.gather(0)
        before = ms.core.block_bytes()
        # No rank begins before all have looked, or ends before.
        grid.comm.gather(0)
        solver = ms.grid.PoissonSolver(grid)
        solver.set_coefficients(faces)
        solver.solve(rhs)
        grid.comm.gather(0)
        taken = ms.core.block_bytes() - before
        grid.comm.gather(0)
        return solver.nbytes, taken

    results = ms.parallel.run_threads(count, program)
    together = sum(held for held, _ in results)
    # Lists of rows and runs are no blocks.
    assert results[0][1] <= together <= 1.08 * results[0][1]
