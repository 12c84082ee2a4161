"""Water that fills a shape, rests in it and is let go, and smoke that follows one."""

from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import ControlForce, ControlParticles, ControlShape, LiquidSolver, ParticleLiquidSolver, SmokeSolver
from meniscus.surface import Box, Shape, Sphere


def inside(shape: Shape, grid: ms.Grid) -> np.ndarray:
    """Whether the centres of cells are in a shape."""
    x = np.stack([c.ravel() for c in np.broadcast_arrays(*grid.cell_centers())], axis=1)
    result: np.ndarray = (shape.signed_distance(np.ascontiguousarray(x)) <= 0).reshape(grid.shape)
    return result


def held(kind: str, how: str, dimension: int) -> tuple[Any, np.ndarray]:
    """A ball of water beside a box that holds 0.96 of it against gravity, and the cells of the box."""
    n = {2: 48, 3: 24}[dimension]
    grid, box = ms.Grid((n,) * dimension, 1 / n), Box((0.3,) * dimension, (0.6,) * dimension)
    force = ControlForce(attraction=15.0 if how == "particles" else 30.0, rate=20.0, end=1.0)
    control: Any = ControlShape(box, 0.3, force)
    if how == "particles":
        control = ControlParticles.from_shape(box, {2: 2.0, 3: 1.5}[dimension] / n, force)
    make: Any = {"liquid": LiquidSolver, "particles": ParticleLiquidSolver}[kind]
    solver = make(grid, controls=[control])
    radius = 1.02 * {2: (0.09 / np.pi) ** 0.5, 3: (0.75 * 0.027 / np.pi) ** (1 / 3)}[dimension]
    solver.fill(Sphere((0.6,) * (dimension - 1) + (0.55,), radius))
    return solver, inside(box, grid)


@pytest.mark.fast_cases("2-particles-liquid", "2-shape-liquid", "2-particles-particles")
@pytest.mark.parametrize("kind", ["liquid", "particles"])
@pytest.mark.parametrize("how", ["particles", "shape"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_water_fills_a_box_stays_there_and_drops_when_it_is_let_go(dimension: int, how: str, kind: str) -> None:
    solver, box = held(kind, how, dimension)
    assert (solver.levelset.array <= 0)[box].mean() < 0.4
    for _ in range(2):
        solver.advance(0.5)
        assert (solver.levelset.array <= 0)[box].mean() > 0.9
    before = mean_height(solver)
    solver.advance(0.2)
    assert before - mean_height(solver) == pytest.approx(0.5 * 9.81 * 0.2**2, rel=0.16)


def mean_height(solver: Any) -> float:
    """Of the particles, where these are the liquid; of its cells otherwise."""
    if isinstance(solver, ParticleLiquidSolver):
        return float(solver.particles.positions[:, -1].mean())
    height = solver.levelset.field.coordinates()[-1]
    return float(np.broadcast_to(height, solver.levelset.array.shape)[solver.levelset.array <= 0].mean())


@pytest.mark.parametrize("how", ["particles", "shape"])
def test_smoke_follows_a_moving_shape(how: str) -> None:
    """A ball of smoke is carried over 0.6 m in 1.2 s; 0.7 of it arrives, and its centre within three cells."""
    grid = ms.Grid((64, 32), 1 / 32)
    ball, force = Sphere((0.5, 0.5), 0.2), ControlForce(attraction=5.0, rate=20.0)
    motion = lambda t: (0.5 * t, 0.0)  # noqa: E731
    control: Any = ControlShape(ball, 0.15, force, motion)
    if how == "particles":
        control = ControlParticles.from_shape(ball, 1.5 / 32, force, motion=motion)
    solver = SmokeSolver(grid, controls=[control])
    solver.density.array[...] = inside(ball, grid)
    start = solver.smoke()
    solver.advance(1.2)
    moved = inside(ball.translated((0.6, 0.0)), grid)
    x = grid.cell_centers()[0]
    weights = solver.density.array / solver.density.array.sum()
    assert solver.density.array[moved].sum() / 32**2 > 0.7 * start
    assert float((weights * x).sum()) == pytest.approx(1.1, abs=3 / 32)
