"""Errors and failures of the Poisson solver."""

import pickle
from typing import Any

import numpy as np
import pytest
from support.poisson import random_faces

import meniscus as ms
from meniscus.grid import PoissonSolver


def prepared(grid: ms.Grid) -> PoissonSolver:
    solver = PoissonSolver(grid)
    solver.set_coefficients(random_faces(grid, np.random.default_rng(0), ratio=10))
    return solver


@pytest.fixture
def grid() -> ms.Grid:
    return ms.Grid((20, 15), 0.1)


@pytest.fixture
def rhs() -> np.ndarray:
    return np.random.default_rng(1).uniform(-1, 1, (20, 15))


def test_grid_must_be_a_grid() -> None:
    with pytest.raises(TypeError, match="grid must be a Grid"):
        PoissonSolver((20, 15))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda f: f[:1], TypeError, "faces must hold 2 arrays"),
        (lambda f: f[0], TypeError, "faces must hold 2 arrays"),
        (lambda f: [f[0].astype(np.float32), f[1]], TypeError, r"faces\[0\] must be of dtype float64, not float32"),
        (lambda f: [f[0], f[1][:, :-1].copy()], ValueError, r"faces\[1\] must have shape \(20, 16\), not \(20, 15\)"),
        (lambda f: [f[0], np.where(f[1] == f[1].max(), np.nan, f[1])], ValueError, r"faces\[1\] must be finite"),
        (lambda f: [f[0], np.where(f[1] == f[1].max(), np.inf, f[1])], ValueError, r"faces\[1\] must be finite"),
        (lambda f: [f[0], np.where(f[1] == f[1].max(), -2.0, f[1])], ValueError, r"faces\[1\] must not be negative, .* is -2"),
    ],
)
def test_faces(grid: ms.Grid, rhs: np.ndarray, change: Any, error: type[Exception], words: str) -> None:
    faces = random_faces(grid, np.random.default_rng(0), ratio=10)
    solver = prepared(grid)
    expected = solver.solve(rhs)[0]
    with pytest.raises(error, match=words):
        solver.set_coefficients(change(faces))
    assert np.array_equal(solver.solve(rhs)[0], expected), "coefficients that were refused have changed the solver"


def test_faces_of_a_periodic_axis_must_agree() -> None:
    grid = ms.Grid((8, 9), 0.1, periodic=(False, True))
    faces = random_faces(grid, np.random.default_rng(0))
    faces[1][3, -1] = 2.0
    with pytest.raises(ValueError, match=r"faces\[1\] must agree on the first and the last face"):
        PoissonSolver(grid).set_coefficients(faces)


@pytest.mark.parametrize(
    ("active", "error", "words"),
    [(np.ones((20, 15)), TypeError, "active must be of dtype bool"), (np.ones((20, 14), bool), ValueError, "active must have shape")],
)
def test_active(grid: ms.Grid, active: np.ndarray, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        PoissonSolver(grid).set_coefficients(random_faces(grid, np.random.default_rng(0)), active)


def test_faces_and_masks_of_any_memory_order(grid: ms.Grid, rhs: np.ndarray) -> None:
    faces = random_faces(grid, np.random.default_rng(0), ratio=10)
    active = np.random.default_rng(2).random(grid.shape) < 0.8
    solver = PoissonSolver(grid)
    solver.set_coefficients(faces, active)
    expected = solver.solve(rhs)[0]
    solver.set_coefficients([np.asfortranarray(w) for w in faces], np.asfortranarray(active))
    assert np.array_equal(solver.solve(rhs)[0], expected)


@pytest.mark.parametrize("call", ["solve", "multiply"])
def test_coefficients_come_first(grid: ms.Grid, rhs: np.ndarray, call: str) -> None:
    with pytest.raises(ValueError, match="set_coefficients must come before"):
        getattr(PoissonSolver(grid), call)(rhs)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"tolerance": 0.0}, ValueError, "tolerance must be positive"),
        ({"tolerance": -1e-8}, ValueError, "tolerance must be positive"),
        ({"tolerance": 1.0}, ValueError, "tolerance must be below 1"),
        ({"tolerance": np.nan}, ValueError, "tolerance must be finite"),
        ({"tolerance": "small"}, TypeError, "tolerance must be a number"),
        ({"max_iterations": 0}, ValueError, "max_iterations must be at least 1"),
        ({"max_iterations": 1.5}, TypeError, "max_iterations must be an integer"),
        ({"method": "jacobi"}, ValueError, "method must be one of 'multigrid', 'hypre', 'incomplete-cholesky', not 'jacobi'"),
        ({"warm_start": True}, ValueError, "warm_start needs x"),
        ({"x": np.zeros((15, 20))}, ValueError, "x must be an array of shape"),
        ({"x": np.zeros((20, 15), np.float32)}, TypeError, "x must be of dtype float64"),
        ({"x": np.zeros((20, 15), order="F")}, TypeError, "x must be C-contiguous"),
        ({"x": np.full((20, 15), np.nan), "warm_start": True}, ValueError, r"x must be finite, but \[0, 0\]"),
    ],
)
def test_options_of_a_solve(grid: ms.Grid, rhs: np.ndarray, options: dict, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        prepared(grid).solve(rhs, **options)


def test_results_must_be_writable(grid: ms.Grid, rhs: np.ndarray) -> None:
    x = np.zeros(grid.shape)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="not writeable"):
        prepared(grid).solve(rhs, x)


@pytest.mark.parametrize(
    ("bad", "error", "words"),
    [
        (lambda b: b.astype(np.float32), TypeError, "rhs must be of dtype float64"),
        (lambda b: b[:-1].copy(), ValueError, "rhs must be an array of shape"),
        (lambda b: b.tolist(), ValueError, "rhs must be an array of shape"),
        (lambda b: np.asfortranarray(b), TypeError, "rhs must be C-contiguous"),
        (lambda b: np.where(b == b[4, 7], np.nan, b), ValueError, r"rhs must be finite, but \[4, 7\] is nan"),
    ],
)
def test_right_hand_sides(grid: ms.Grid, rhs: np.ndarray, bad: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        prepared(grid).solve(bad(rhs))


def test_multiply_checks_x(grid: ms.Grid) -> None:
    with pytest.raises(ValueError, match="x must be an array of shape"):
        prepared(grid).multiply(np.zeros((3, 3)))
    with pytest.raises(TypeError, match="x must be of dtype float64"):
        prepared(grid).multiply(np.zeros(grid.shape, np.float32))


@pytest.mark.parametrize("method", ["multigrid", "incomplete-cholesky"])
def test_too_few_iterations(grid: ms.Grid, rhs: np.ndarray, method: Any) -> None:
    solver, x = prepared(grid), np.zeros(grid.shape)
    with pytest.raises(ms.ConvergenceError, match=r"ended after 1 iterations .* the limit of iterations was reached") as error:
        solver.solve(rhs, x, max_iterations=1, method=method)
    info = error.value.info
    assert not info.converged
    assert info.iterations == 1
    assert len(info.history) == 2
    wanted = rhs - rhs.mean()
    reached = np.linalg.norm(wanted - solver.multiply(x)) / np.linalg.norm(wanted)
    assert 1e-8 < info.residual < 1
    assert info.residual == pytest.approx(reached, rel=1e-9), "x holds what was reached"

    again = pickle.loads(pickle.dumps(error.value))
    assert type(again) is ms.ConvergenceError
    assert str(again) == str(error.value)
    assert again.info == info

    y, same = solver.solve(rhs, max_iterations=1, method=method, raise_on_failure=False)
    assert np.array_equal(x, y)
    assert same.residual == info.residual


@pytest.mark.parametrize(
    ("shape", "periodic"),
    [((20, 15), False), ((33, 17), False), ((24, 24), (True, False)), ((16, 16, 16), False), ((20, 12, 16), False), ((16, 16, 16), True)],
)
def test_tolerance_below_rounding(shape: tuple[int, ...], periodic: bool | tuple[bool, ...]) -> None:
    """The iteration ends by itself where it gains nothing more, and says so; the solution is as good as rounding allows."""
    rhs = np.random.default_rng(1).uniform(-1, 1, shape)
    with pytest.raises(ms.ConvergenceError, match="rounding errors allow no smaller residual") as error:
        prepared(ms.Grid(shape, 0.1, periodic=periodic)).solve(rhs, tolerance=1e-30, max_iterations=10_000)
    assert error.value.info.iterations < 200
    assert error.value.info.residual < 1e-13
