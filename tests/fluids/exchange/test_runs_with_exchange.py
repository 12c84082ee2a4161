"""Runs in which water is exchanged: they go on bit by bit from snapshots and copies, and on any number of threads."""

import pickle
from typing import Any

import numpy as np
import pytest
from support.same_bits import THREADS, everywhere

import meniscus as ms
from meniscus.fluids import LiquidOptions, LiquidSolver
from meniscus.surface import Box, KinematicSolid, Sphere


class Moving:
    """Where a ball is; a class, so that solvers pickle."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension

    def __call__(self, t: float) -> tuple[float, ...]:
        return (0.2 * t, *(0.0,) * (self.dimension - 1))


def made(dimension: int, dtype: Any = np.float64, **options: Any) -> LiquidSolver:
    n = {2: 40, 3: 16}[dimension]
    ball = KinematicSolid(Sphere((0.3,) * dimension, 0.12), Moving(dimension))
    chosen = LiquidOptions(expansion=True, gather=True, surface_tension=0.01, **options)
    solver = LiquidSolver(ms.Grid((n,) * dimension, 1 / n), chosen, dtype=dtype, solid=ball)
    solver.fill(Box((-1.0,) * dimension, (2.0,) * (dimension - 1) + (0.35,)))
    return solver


def exchange(solver: LiquidSolver, first: int, last: int) -> list[Any]:
    """Steps with everything that can be exchanged; returns what was reported."""
    dim, dtype = solver.grid.dimension, solver.velocity.dtype
    told: list[Any] = []
    for step in range(first, last):
        rng = np.random.default_rng(step)
        x = rng.uniform(0.05, 0.95, (40, dim))
        x[:, -1] = rng.uniform(0.1, 0.95, 40)
        added = solver.add_drops(x, rng.normal(size=(40, dim)), np.full(40, 2e-5))
        told += [added.volume, *added.momentum]
        if step % 3 == 0:
            taken = solver.take_drops(Box((0.5,) * dim, (2.0,) * dim))
            told += [taken.volumes.sum(), *taken.positions.sum(axis=0)]
        if step % 4 == 1:
            given = solver.hand_over(Sphere((0.7,) * (dim - 1) + (0.2,), 0.1))
            told += [given.volume, *given.momentum]
        if step % 4 == 3:
            back = solver.take_back(Sphere((0.7,) * (dim - 1) + (0.2,), 0.1), 0.02, (0.5,) * dim)
            told += [back.volume, *back.momentum, *back.impulse]
        weights = [rng.random(solver.velocity.component(d).shape).astype(dtype) for d in range(dim)]
        told += [*solver.blend_velocity([w - 0.5 for w in weights], [0.1 * w for w in weights]).momentum]
        solver.step(0.005)
        told += [*solver.pressure_gradient_at(x).sum(axis=0), *solver.momentum(), solver.expansion.waiting]
    return told


@pytest.mark.parametrize("way", ["snapshot", "copy", "pickle"])
def test_a_run_goes_on_bit_by_bit(dimension: int, way: str) -> None:
    first = made(dimension)
    exchange(first, 0, 6)
    assert len(first.expansion.cells) > 0
    if way == "snapshot":
        second = made(dimension)
        second.restore(first.snapshot())
    else:
        second = first.copy() if way == "copy" else pickle.loads(pickle.dumps(first))
    assert exchange(second, 6, 10) == exchange(first, 6, 10)
    np.testing.assert_equal(second.snapshot(), first.snapshot())


def test_the_books_close_whatever_is_exchanged(dimension: int, dtype: type) -> None:
    solver = made(dimension, dtype)
    for step in range(12):
        exchange(solver, step, step + 1)
        r = solver.volume_report()
        held = float(np.sum(solver.volume.budget["unassigned"])) + sum(c.expected for c in r.components) + r.spray + r.waiting
        assert held == pytest.approx(r.expected, rel=1e-11)
    assert min(r.received, r.given) > 0.01


def test_any_number_of_threads_makes_the_same_bits(dimension: int, dtype: type) -> None:
    def run() -> list[np.ndarray]:
        solver = made(dimension, dtype)
        told = exchange(solver, 0, 5)
        assert solver.particles is not None
        spray, wait = solver.particles.spray, solver.expansion
        fields = [solver.velocity.component(d).copy() for d in range(dimension)]
        return [np.array(told), *fields, solver.levelset.array.copy(), spray.positions.copy(), wait.volume.copy(), wait.rate.copy()]

    everywhere(run, threads=THREADS if dimension == 2 else (2, 5))


def test_a_step_that_fails_leaves_what_waits() -> None:
    solver = made(2, max_iterations=1, tolerance=1e-13)
    solver.expand([[0.7, 0.2]], [1e-3])
    solver.add_drops([[0.7, 0.2]], [[0.0, 0.0]], [1e-4])
    before = solver.snapshot()
    with pytest.raises(ms.ConvergenceError):
        solver.step(0.01)
    np.testing.assert_equal(solver.snapshot(), before)
    assert solver.expansion.waiting > 0


@pytest.mark.fast_cases("2d")
def test_what_is_not_used_changes_no_bit(dimension: int) -> None:
    """Stages by themselves, as `step` calls them; drops that come and go; volumes that cancel; a room for nothing."""

    def run(idle: bool) -> Any:
        n = {2: 32, 3: 14}[dimension]
        solver = LiquidSolver(ms.Grid((n,) * dimension, 1 / n), LiquidOptions(viscosity=1e-3))
        solver.fill(Box((-1.0,) * dimension, (0.4, *(2.0,) * (dimension - 2), 0.7)))
        for _ in range(30 if dimension == 2 else 20):
            if not idle:
                solver.step(0.01)
                continue
            assert solver.particles is not None
            solver.running_report.dt = 0.01
            here = np.zeros(len(solver.particles.spray), bool)
            solver.take_drops(here)
            solver.add_drops(np.empty((0, dimension)), np.empty((0, dimension)), np.empty(0))
            solver.expand(np.empty((0, dimension)), np.empty(0))
            solver.momentum()
            solver.hand_over(Sphere((0.9,) * dimension, 0.05))
            solver.pressure_gradient_at(np.full((3, dimension), 0.3))
            solver.blend_velocity(solver.velocity, [np.zeros_like(solver.velocity.component(d)) for d in range(dimension)])
            for name in solver.stages:
                if name == "spray":
                    solver.fly(0.01)
                    solver.rejoin(0.01)
                else:
                    getattr(solver, name)(0.01)
            solver.time += 0.01
        return solver.snapshot()

    np.testing.assert_equal(run(True), run(False))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e: e.update(volume=np.zeros(1)), "volume in the snapshot must have as many rows as cells"),
        (lambda e: e.update(cells=np.array([5, 5]), volume=np.zeros(2), rate=np.zeros(2)), "in ascending order"),
        (lambda e: e.update(cells=np.array([1600]), volume=np.zeros(1), rate=np.zeros(1)), "indices of the grid"),
    ],
)
def test_a_broken_snapshot_is_refused(change: Any, message: str) -> None:
    solver = made(2)
    before = solver.snapshot()
    broken = solver.snapshot()
    change(broken["expansion"])
    with pytest.raises(ValueError, match=message):
        solver.restore(broken)
    np.testing.assert_equal(solver.snapshot(), before)
