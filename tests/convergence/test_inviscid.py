"""Orders in time of two splittings into advection and projection, on Taylor-Green vortices, at rest and moving."""

from __future__ import annotations

import numpy as np
import pytest
from support.variants import slow

import meniscus as ms

REST = (0.0, 0.0)
CARRIED = (0.7, 0.4)


def _vortices(velocity: ms.MacField, time: float, wind: tuple[float, float]) -> list[np.ndarray]:
    """Exact velocity: u = sin X cos Y, v = -cos X sin Y in a frame that moves with the wind; a steady solution without it."""
    n = velocity.grid.shape[0]
    sides, centres = np.arange(n + 1) / n, (np.arange(n) + 0.5) / n

    def phase(x: np.ndarray, axis: int) -> np.ndarray:
        return 2 * np.pi * (x - wind[axis] * time)

    u = wind[0] + np.sin(phase(sides, 0))[:, None] * np.cos(phase(centres, 1))[None, :]
    v = wind[1] - np.cos(phase(centres, 0))[:, None] * np.sin(phase(sides, 1))[None, :]
    return [u, v]


def _error(n: int, steps: int, wind: tuple[float, float], splitting: str, end: float) -> float:
    """Root mean square of the error in both components after `steps` steps."""
    grid = ms.Grid((n, n), spacing=1 / n, periodic=True)
    velocity = ms.MacField(grid)
    velocity.u, velocity.v = _vortices(velocity, 0.0, wind)
    solver, workspace = ms.fluids.PressureSolver(grid), ms.Workspace()
    for _ in range(steps):
        ms.fluids.advance(velocity, end / steps, splitting=splitting, limiter="none", tolerance=1e-10, solver=solver, workspace=workspace)
    exact = _vortices(velocity, end, wind)
    return float(np.sqrt(np.mean((velocity.u - exact[0]) ** 2) + np.mean((velocity.v - exact[1]) ** 2)))


@pytest.mark.parametrize("wind", [REST, CARRIED])
def test_projection_with_steps_like_the_square_of_the_spacing(wind: tuple[float, float]) -> None:
    """The classical splitting: second order in the spacing where dt is proportional to its square."""
    errors = [_error(n, n * n // 16, wind, "projection", 0.25) for n in (16, 32, 64)]
    orders = ms.numerics.observed_orders([1 / 16, 1 / 32, 1 / 64], errors)
    assert orders[-1] > 1.9, (errors, orders)


def test_projection_is_first_order_at_a_fixed_cfl_number() -> None:
    """Purpose of the reflection: with dt proportional to the spacing the classical splitting is first order."""
    errors = [_error(n, n, CARRIED, "projection", 0.5) for n in (32, 64)]
    assert 0.8 < np.log2(errors[0] / errors[1]) < 1.2, errors


@pytest.mark.parametrize("wind", [REST, slow(CARRIED)])
def test_reflection_at_a_fixed_cfl_number(wind: tuple[float, float]) -> None:
    """Advection-reflection: second order in both, steady or not, and far below the classical splitting at the same step."""
    errors = [_error(n, n, wind, "reflection", 0.5) for n in (32, 64, 128)]
    orders = ms.numerics.observed_orders([1 / 32, 1 / 64, 1 / 128], errors)
    assert min(orders) > 1.9, (errors, orders)
    assert errors[1] < 0.12 * _error(64, 64, wind, "projection", 0.5)


def test_reflection_keeps_energy() -> None:
    """Kinetic energy lost in one turnover: the classical splitting loses much, the reflection next to nothing."""
    lost = {}
    for splitting in ("projection", "reflection"):
        grid = ms.Grid((64, 64), spacing=1 / 64, periodic=True)
        velocity = ms.MacField(grid)
        velocity.u, velocity.v = _vortices(velocity, 0.0, REST)
        before = np.sum(velocity.u[1:] ** 2) + np.sum(velocity.v[:, 1:] ** 2)
        for _ in range(64):
            ms.fluids.advance(velocity, 1 / 64, splitting=splitting, limiter="none")
        lost[splitting] = 1 - (np.sum(velocity.u[1:] ** 2) + np.sum(velocity.v[:, 1:] ** 2)) / before
    assert lost["projection"] > 0.02
    assert abs(lost["reflection"]) < 0.02 * lost["projection"], lost
