"""Poisson solver against matrices assembled entry by entry and solved directly."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.build import same_bits
from support.poisson import PlainPoisson, random_faces

import meniscus as ms
from meniscus.grid import PoissonSolver


@dataclass(frozen=True)
class Problem:
    shape: tuple[int, ...]
    periodic: tuple[bool, ...]
    ratio: float
    closed: float
    sides: bool
    share: float
    seed: int

    def make(self) -> tuple[ms.Grid, list[np.ndarray], np.ndarray | None, np.random.Generator]:
        """Grid, faces, active cells, and random numbers for the rest."""
        rng = np.random.default_rng(self.seed)
        grid = ms.Grid(self.shape, 0.3, periodic=self.periodic)
        faces = random_faces(grid, rng, ratio=self.ratio, closed=self.closed, sides=self.sides)
        return grid, faces, None if self.share == 1 else rng.random(self.shape) < self.share, rng


def problems() -> st.SearchStrategy[Problem]:
    def of(dimension: int) -> st.SearchStrategy[Problem]:
        sizes = st.sampled_from([1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 19, 23] if dimension == 2 else [1, 2, 3, 4, 5, 8, 13, 17])
        return st.builds(
            Problem,
            shape=st.tuples(*[sizes] * dimension),
            periodic=st.tuples(*[st.booleans()] * dimension),
            ratio=st.sampled_from([1.0, 10.0, 1000.0]),
            closed=st.sampled_from([0.0, 0.1, 0.5]),
            sides=st.booleans(),
            share=st.sampled_from([1.0, 0.9, 0.5, 0.1]),
            seed=st.integers(0, 2**32 - 1),
        )

    return st.sampled_from([2, 3]).flatmap(of)


def prepared(grid: ms.Grid, faces: list[np.ndarray], active: np.ndarray | None = None) -> PoissonSolver:
    solver = PoissonSolver(grid)
    solver.set_coefficients(faces, active)
    return solver


@settings(max_examples=150)
@given(problems())
def test_agrees_with_direct_solves(problem: Problem) -> None:
    grid, faces, active, rng = problem.make()
    plain, solver = PlainPoisson(grid, faces, active), prepared(grid, faces, active)
    assert solver.regions == tuple(plain.regions)
    rhs = rng.uniform(-1, 1, grid.shape)
    # With coefficients of the ratio 1000, an error may be larger than its residual by the condition number.
    x, info = solver.solve(rhs, tolerance=1e-13, max_iterations=5000, raise_on_failure=False)
    expected = plain.solve(rhs)
    assert np.abs(x - expected).max() <= 1e-9 * max(np.abs(expected).max(), 1e-300), info
    assert not x[~plain.active].any()
    wanted = plain.without_means(rhs)
    assert info.residual == pytest.approx(np.linalg.norm(wanted - plain.multiply(x)) / max(np.linalg.norm(wanted), 1e-300), abs=1e-12)


@settings(max_examples=100)
@given(problems())
def test_multiply_is_the_assembled_matrix(problem: Problem) -> None:
    grid, faces, active, rng = problem.make()
    plain, solver = PlainPoisson(grid, faces, active), prepared(grid, faces, active)
    # What x holds in cells that are no unknowns does not matter.
    x = rng.uniform(-1, 1, grid.shape)
    assert np.abs(solver.multiply(x) - plain.multiply(x)).max() <= 1e-14 * max(w.max(initial=0) for w in faces) * 2 * grid.dimension


@settings(max_examples=60)
@given(problems())
def test_closed_regions(problem: Problem) -> None:
    grid, faces, active, rng = problem.make()
    plain, solver = PlainPoisson(grid, faces, active), prepared(grid, faces, active)
    rhs = rng.uniform(-1, 1, grid.shape)
    x, _ = solver.solve(rhs, max_iterations=5000)
    assert np.abs(plain.without_means(x) - x).max() <= 1e-13 * max(np.abs(x).max(), 1e-300)
    # A constant per closed region, added to the right-hand side or to the start, changes nothing that matters.
    shift = np.zeros(grid.shape).ravel()
    for k, region in enumerate(plain.regions):
        if region.closed:
            shift[plain.label == k] = rng.uniform(-10, 10)
    shift = shift.reshape(grid.shape)
    size = max(np.abs(x).max(), 1e-300)
    assert np.abs(solver.solve(rhs + shift, max_iterations=5000)[0] - x).max() <= 1e-5 * size
    start = x + shift
    again, info = solver.solve(rhs, start, warm_start=True)
    assert info.iterations == 0
    assert again is start
    assert np.abs(again - x).max() <= 1e-12 * max(size, np.abs(shift).max())


def case(shape: tuple[int, ...], periodic: Any = False, **options: Any) -> tuple[ms.Grid, list[np.ndarray]]:
    grid = ms.Grid(shape, 0.1, periodic=periodic)
    return grid, random_faces(grid, np.random.default_rng(41), **options)


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (2, 1), (1, 1, 1), (2, 1, 1), (1, 1, 2)])
@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("sides", [False, True])
def test_one_and_two_cells(shape: tuple[int, ...], periodic: bool, sides: bool) -> None:
    grid, faces = case(shape, periodic, sides=sides, ratio=10)
    plain, solver = PlainPoisson(grid, faces), prepared(grid, faces)
    assert solver.regions == tuple(plain.regions)
    rhs = np.random.default_rng(1).uniform(1, 2, shape)
    assert np.allclose(solver.solve(rhs, tolerance=1e-14)[0], plain.solve(rhs), rtol=1e-12, atol=0)


def test_nothing_to_solve() -> None:
    grid, faces = case((20, 30))
    solver = prepared(grid, [0 * w for w in faces])
    assert solver.regions == ()
    x, info = solver.solve(np.ones(grid.shape))
    assert not x.any()
    assert info.converged
    assert info.iterations == 0
    solver.set_coefficients(faces, np.zeros(grid.shape, bool))
    assert solver.regions == ()
    solver.set_coefficients(faces)
    x, info = solver.solve(np.full(grid.shape, 3.0))
    assert np.abs(x).max() < 1e-12, "a constant right-hand side is what a closed region loses"


def test_what_the_right_hand_side_holds_elsewhere_does_not_matter() -> None:
    grid, faces = case((25, 31), sides=True)
    rng = np.random.default_rng(2)
    active = rng.random(grid.shape) < 0.7
    solver = prepared(grid, faces, active)
    rhs = rng.uniform(-1, 1, grid.shape)
    other = np.where(active, rhs, 1e100)
    assert same_bits(solver.solve(rhs)[0], solver.solve(other)[0])


@pytest.mark.parametrize("method", ["multigrid", "incomplete-cholesky"])
def test_warm_starts(method: Any) -> None:
    grid, faces = case((40, 50), ratio=10, sides=True)
    solver = prepared(grid, faces)
    rhs = np.random.default_rng(3).uniform(-1, 1, grid.shape)
    x, cold = solver.solve(rhs, method=method)
    # The tolerance refers to the right-hand side, not to the residual at the start.
    near = x * (1 + 1e-7)
    _, warm = solver.solve(rhs, near, warm_start=True, method=method)
    assert warm.iterations < cold.iterations / 2
    assert warm.history[0] < 1e-5
    # Without warm_start, what x holds is not read.
    garbage = np.full(grid.shape, 1e200)
    assert same_bits(solver.solve(rhs, garbage, method=method)[0], x)


def test_repeated_solves_and_new_coefficients_give_the_same_bits() -> None:
    """Nothing of an earlier matrix remains."""
    grid, faces = case((61, 47), (True, False), ratio=100, closed=0.2)
    other = case((61, 47), (True, False), sides=True)[1]
    rng = np.random.default_rng(4)
    rhs, active = rng.uniform(-1, 1, grid.shape), rng.random(grid.shape) < 0.6
    expected = prepared(grid, faces).solve(rhs)[0]
    solver = prepared(grid, other, active)
    solver.solve(rhs)
    solver.set_coefficients(faces)
    assert same_bits(solver.solve(rhs)[0], expected)
    assert same_bits(solver.solve(rhs)[0], expected)


@pytest.mark.parametrize(("shape", "periodic"), [((90, 70), False), ((50, 37), (False, True)), ((17, 12, 9), (True, True, False))])
def test_solves_are_linear(shape: tuple[int, ...], periodic: Any) -> None:
    """Also for right-hand sides far outside the range of single precision."""
    grid, faces = case(shape, periodic, ratio=5)
    solver = prepared(grid, faces)
    rhs = np.random.default_rng(5).uniform(-1, 1, shape)
    x, info = solver.solve(rhs)
    for factor in (2.0**-300, 2.0**300):
        scaled, other = solver.solve(factor * rhs)
        assert other.iterations == info.iterations
        assert np.allclose(scaled / factor, x, rtol=1e-6, atol=1e-9 * np.abs(x).max())


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_coefficients_of_any_size(scale: float) -> None:
    grid, faces = case((45, 33), sides=True, ratio=5)
    rhs = np.random.default_rng(6).uniform(-1, 1, grid.shape)
    expected = PlainPoisson(grid, faces).solve(rhs)
    x, info = prepared(grid, [scale * w for w in faces]).solve(rhs, tolerance=1e-12)
    assert np.allclose(scale * x, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    assert info.iterations <= 16


@pytest.mark.parametrize("weak", [1e-8, 1e-6, 1e-4])
def test_a_weak_outlet_is_still_an_outlet(weak: float) -> None:
    """A Dirichlet condition that is lost in single precision makes a region open, and fixes the constant."""
    grid = ms.Grid((33, 21), 0.1)
    faces = random_faces(grid, np.random.default_rng(7))
    faces[0][-1, 10] = weak
    plain, solver = PlainPoisson(grid, faces), prepared(grid, faces)
    assert [r.closed for r in solver.regions] == [False]
    rhs = np.random.default_rng(8).uniform(-1, 1, grid.shape)
    # All that is put in leaves through the weak face.
    rhs += weak - rhs.mean()
    x, info = solver.solve(rhs, tolerance=1e-11)
    assert np.allclose(x, plain.solve(rhs), rtol=1e-4)
    assert info.iterations <= 25


@pytest.mark.parametrize("shape", [(9, 12), (12, 9), (9, 9), (5, 4, 6), (5, 5, 5)])
def test_pairs_of_cells_across_an_odd_seam(shape: tuple[int, ...]) -> None:
    """Two cells of one colour that know only each other: sweeps must not swap their errors for ever."""
    grid = ms.Grid(shape, 0.1, periodic=True)
    faces = [np.zeros_like(w) for w in random_faces(grid, np.random.default_rng(9))]
    for d, w in enumerate(faces):
        if shape[d] % 2:
            seam = np.moveaxis(w, d, 0)
            seam[0] = seam[-1] = 1
    plain, solver = PlainPoisson(grid, faces), prepared(grid, faces)
    rhs = np.random.default_rng(10).uniform(-1, 1, shape)
    x, info = solver.solve(rhs, tolerance=1e-12)
    assert np.allclose(x, plain.solve(rhs), rtol=0, atol=1e-11)
    assert info.iterations <= 16
