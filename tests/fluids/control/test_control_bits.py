"""Controls on any threads, ranks and copies: the same bits; and no memory per step."""

import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.build import components, random_velocity
from support.same_bits import everywhere

import meniscus as ms
from meniscus.fluids import ControlForce, ControlParticles, ControlShape, LiquidSolver, ParticleLiquidSolver, SmokeSolver
from meniscus.numerics import order_free_sums
from meniscus.surface import Box, KinematicSolid, Pose, Sphere

SHAPES = {2: (37, 43), 3: (17, 23, 19)}
CUTS: dict[int, list[Any]] = {2: [(2, 2), (1, 3), ((4, 33), (4, 4, 35))], 3: [(2, 2, 2), (1, 4, 1)]}


def sideways(t: float, dimension: int) -> Pose:
    return Pose((0.7 * t,) * dimension)


def nearby(t: float, places: np.ndarray) -> np.ndarray:
    return places + 0.3 * np.sin(4.0 * t)


def controls(grid: ms.Grid) -> list[Any]:
    """Particles that move through the sides, and a shape that moves."""
    rng, n = np.random.default_rng(12), grid.dimension
    places = rng.uniform(-0.1, 1.1, (40, n)) * grid.extent
    force = ControlForce(attraction=3.0, rate=6.0, detail=0.5, limited=True)
    many = ControlParticles(partial(nearby, places=places), rng.uniform(0.11, 0.8, 40), force, weight=0.4)
    shape = Box((0.3,) * n, tuple(0.6 * e for e in grid.extent))
    return [many, ControlShape(shape, 0.5, ControlForce(attraction=2.0, rate=4.0, detail=0.73), motion=partial(sideways, dimension=n))]


def solver_of(kind: str, grid: ms.Grid, dtype: Any) -> Any:
    solid = KinematicSolid(Sphere(tuple(0.6 * e for e in grid.extent), 0.35))
    make: Any = {"smoke": SmokeSolver, "liquid": LiquidSolver, "particles": ParticleLiquidSolver}[kind]
    solver = make(grid, dtype=dtype, solid=solid, controls=controls(grid))
    if kind == "smoke":
        solver.density.set_from_function(lambda *x: 0.5 + 0.5 * np.sin(4 * sum(x)))
    else:
        solver.fill(Box((0.0,) * grid.dimension, (9.0,) * (grid.dimension - 1) + (0.6 * grid.extent[-1],)))
    return solver


def result(solver: Any, steps: int) -> list[np.ndarray]:
    """State and reports after steps."""
    impulses = [solver.step(0.02).control_impulse for _ in range(steps)]
    fields = solver.velocity.gather()
    parts = [] if fields is None else list(fields)
    return [np.array(impulses), *(np.asarray(p) for p in parts)]


@pytest.mark.fast_cases("2-smoke", "3-liquid")
@pytest.mark.parametrize("kind", ["smoke", "liquid", "forces alone"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_any_blocks(dimension: int, kind: str) -> None:
    """Positions of particles, coverage, means beyond the ghosts, images around cut axes."""
    for periodic in ((False,) * 3, (True, False, True)):

        def program(blocks: Any = None, periodic: Any = periodic) -> list[np.ndarray]:
            grid = ms.Grid(SHAPES[dimension], 0.1, periodic=periodic[:dimension], blocks=blocks)
            if kind == "forces alone":
                solver = solver_of("liquid", grid, np.float64)
                solver.velocity.set_from_function(lambda x, t: np.sin(2 * np.pi * x / grid.extent + 1.0), 0.0)
                solver.velocity.fill_ghosts()  # of two samples that are one unknown, both are the same
                for _ in range(3):
                    solver.add_forces(0.02)
                return [np.array(solver.running_report.control_impulse), *(np.asarray(p) for p in solver.velocity.gather() or ())]
            return result(solver_of(kind, grid, np.float32 if dimension == 3 else np.float64), 2)

        with order_free_sums():
            expected = program()
        for cut in CUTS[dimension]:
            blocks = (
                tuple((n,) if c is None else c for c, n in zip(cut, SHAPES[dimension], strict=True)) if isinstance(cut[0], tuple) else cut
            )
            count = int(np.prod([len(b) if isinstance(b, tuple) else b for b in blocks]))

            def on_rank(blocks: Any = blocks) -> list[np.ndarray]:
                ms.Grid((64,) * dimension, 1.0).comm.poison_ghosts()
                return program(blocks)

            found = ms.parallel.run_threads(count, on_rank)[0]
            assert [np.array_equal(a, b) for a, b in zip(expected, found, strict=True)] == [True] * len(expected), f"{periodic} {cut}"


@pytest.mark.parametrize("dimension", [2, 3])
def test_any_threads(default_parallelism: None, dimension: int) -> None:
    grid = ms.Grid({2: (97, 83), 3: (29, 23, 31)}[dimension], 0.1, periodic=(True, False, True)[:dimension])

    def run() -> list[np.ndarray]:
        solver = solver_of("liquid", grid, np.float64)
        solver.velocity.assign(random_velocity(grid, np.float64, np.random.default_rng(1)))
        solver.add_forces(0.02)
        return [*components(solver.velocity), np.array(solver.running_report.control_impulse)]

    everywhere(run, (1, 3, 8))


@pytest.mark.parametrize("kind", ["smoke", "liquid", "particles"])
def test_copies_pickles_and_restored_solvers_go_on_with_the_same_bits(kind: str) -> None:
    grid = ms.Grid((20, 24), 0.1)
    solver = solver_of(kind, grid, np.float64)
    solver.step(0.02)
    state = solver.snapshot()
    others = [solver.copy(), pickle.loads(pickle.dumps(solver))]
    expected = result(solver, 2)
    for other in others:
        assert all(np.array_equal(a, b) for a, b in zip(expected, result(other, 2), strict=True))
    solver.restore(state)
    assert all(np.array_equal(a, b) for a, b in zip(expected, result(solver, 2), strict=True))


def test_a_step_without_controls_is_that_of_a_solver_that_knows_none() -> None:
    grid = ms.Grid((20, 24), 0.1)
    plain, off = LiquidSolver(grid), LiquidSolver(grid)
    off.controls = [ControlParticles([(1.0, 1.0)], 0.5, ControlForce(attraction=5.0, start=10.0))]
    for solver in (plain, off):
        solver.fill(Box((0.0, 0.0), (0.9, 1.1)))
        solver.step(0.02)
    assert all(np.array_equal(a, b) for a, b in zip(components(plain.velocity), components(off.velocity), strict=True))
    assert off.report is not None
    assert off.report.control_impulse == (0.0, 0.0)


def test_repeated_forces_take_no_memory() -> None:
    solver = solver_of("liquid", ms.Grid((40, 36), 0.1, periodic=(True, False)), np.float64)
    solver.controls = [c for c in solver.controls if isinstance(c, ControlParticles)]
    solver.add_forces(0.01)
    before = ms.core.block_allocations()
    for _ in range(5):
        solver.add_forces(0.01)
    assert ms.core.block_allocations() == before
