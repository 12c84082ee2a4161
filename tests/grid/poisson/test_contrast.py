"""Coefficients of any size and contrast: solved to the residual that is reported, or refused by one sentence."""

from __future__ import annotations

import numpy as np
import pytest
from support.fluids.labyrinths import Faces, faces_of, multiply

import meniscus as ms
from meniscus.grid import PoissonSolver


def residual(faces: Faces, x: np.ndarray, rhs: np.ndarray) -> float:
    return float(np.linalg.norm(multiply(faces, np.ones(x.shape, bool), x) - rhs) / np.linalg.norm(rhs))


def right_hand_side(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    rhs = np.random.default_rng(seed).normal(size=shape)
    return np.asarray(rhs - rhs.mean())


@pytest.mark.parametrize("power", [-300, -100, -40, -38, -30, 30, 38, 40, 100, 300])
@pytest.mark.parametrize("shape", [(40, 31), (12, 11, 10)])
def test_uniform_coefficients_of_any_size(power: int, shape: tuple[int, ...]) -> None:
    """Below 1e-38 and above 1e38 they were no numbers in single precision."""
    faces = faces_of(shape, 10.0**power)
    solver = PoissonSolver(ms.Grid(shape, 1.0))
    solver.set_coefficients(faces)
    rhs = right_hand_side(shape)
    x, info = solver.solve(rhs)
    assert info.iterations <= 10
    assert residual([f * 10.0**-power for f in faces], x * 10.0**power, rhs) <= 1.02e-8


@pytest.mark.parametrize("contrast", [10.0**p for p in (-40, -30, -20, -12, -6, 6, 12, 20, 30, 40)])
@pytest.mark.parametrize("kind", ["half", "inclusions", "faces", "one cell"])
def test_contrasts_are_solved_or_refused(kind: str, contrast: float) -> None:
    """What is returned has the residual that is told; what is refused says what could help."""
    shape, rng = (40, 36), np.random.default_rng(3)
    faces = faces_of(shape)
    if kind == "half":
        faces[0][20:] *= contrast
        faces[1][20:] *= contrast
    elif kind == "inclusions":
        inside = np.where(rng.random(shape) < 0.3, contrast, 1.0)
        for d, f in enumerate(faces):
            f, c = np.moveaxis(f, d, 0), np.moveaxis(inside, d, 0)
            f[1:-1] = 2 / (1 / c[1:] + 1 / c[:-1])
    elif kind == "faces":
        for f in faces:
            f[rng.random(f.shape) < 0.3] *= contrast
    else:
        faces[0][20:22, 17] *= contrast
        faces[1][20, 17:19] *= contrast
    solver, rhs = PoissonSolver(ms.Grid(shape, 1.0)), right_hand_side(shape)
    solver.set_coefficients(faces)
    x, info = solver.solve(rhs, raise_on_failure=False)
    if not info.converged:
        assert "rounding errors" in info.reason or "limit" in info.reason
        assert "tolerance" in info.remedy
        assert max(contrast, 1 / contrast) > 1e7
        return
    assert np.isfinite(x).all()
    mine = residual(faces, x, rhs)
    assert mine <= 1.02e-8
    assert info.residual == pytest.approx(mine, rel=0.05, abs=1e-10)


def test_the_residual_told_is_that_of_what_is_returned() -> None:
    """A cell behind a face of 1e-12: its value is 1e12 times the others, which its mean takes digits from; 7.5e-9 was told of 1.6e-7."""
    shape = (32, 32)
    faces = faces_of(shape)
    faces[0][10:12, 7] *= 1e-12
    faces[1][10, 7:9] *= 1e-12
    solver, rhs = PoissonSolver(ms.Grid(shape, 1.0)), right_hand_side(shape)
    solver.set_coefficients(faces)
    x, info = solver.solve(rhs, raise_on_failure=False)
    assert 0.5 < info.residual / residual(faces, x, rhs) < 2
    assert info.converged == (info.residual <= 1.01e-8)


def test_messages_say_what_to_do() -> None:
    solver = PoissonSolver(ms.Grid((40, 40), 1.0))
    solver.set_coefficients(faces_of((40, 40)))
    with pytest.raises(ms.ConvergenceError, match="a larger max_iterations or tolerance may help"):
        solver.solve(right_hand_side((40, 40)), tolerance=1e-12, max_iterations=2)
