"""Walls that press on liquid without a way out: what vanishes is told and counted, whatever the solver."""

import warnings
from typing import Any

import numpy as np
import pytest
from support.particle_liquid import FAR, below

import meniscus as ms
from meniscus.core import SolverWarning
from meniscus.fluids import LiquidOptions, LiquidSolver, ParticleLiquidSolver
from meniscus.surface import Box, KinematicSolid, Pose, Sphere

SOLVERS = pytest.mark.parametrize("solver", [LiquidSolver, ParticleLiquidSolver])
SPEED, DT, STEPS = 0.2, 0.02, 20


def piston(dimension: int, speed: float = SPEED) -> KinematicSolid:
    rest = (0.0,) * (dimension - 1)
    return KinematicSolid(Box((-FAR,) * dimension, (0.25, *(FAR,) * (dimension - 1))), lambda t: Pose((speed * t, *rest)))


def cylinder(solver: Any, dimension: int, top: float, speed: float = SPEED, **options: Any) -> Any:
    n = 16 if dimension == 2 else 8
    s = solver(ms.Grid((n,) * dimension, 1 / n), *options.values(), solid=piston(dimension, speed))
    s.fill(below(dimension, top))
    return s


def run(s: Any, steps: int = STEPS) -> Any:
    for _ in range(steps):
        s.step(DT)
    return s.volume_report()


@SOLVERS
@pytest.mark.parametrize("speed", [SPEED, -SPEED])
def test_a_piston_on_full_water_takes_what_it_sweeps(solver: Any, speed: float, dimension: int) -> None:
    s = cylinder(solver, dimension, FAR, speed)
    before = s.volume_report()
    with pytest.warns(SolverWarning, match="liquid that is closed in: ") as told:
        report = run(s)
    assert len(told) == 1
    swept = speed * DT * STEPS
    assert report.incompatible == pytest.approx(swept, rel=1e-9)
    assert before.incompatible == 0.0
    assert report.liquid == pytest.approx(before.liquid - swept, rel=1e-9)
    assert report.expected == pytest.approx(before.expected - swept, rel=1e-9)
    if solver is LiquidSolver:
        assert s.volume.expected_total() == pytest.approx(report.expected, rel=1e-9)


def test_a_piston_that_goes_back_has_taken_nothing(dimension: int) -> None:
    s = cylinder(LiquidSolver, dimension, FAR)
    with pytest.warns(SolverWarning):
        run(s)
    s.solid = KinematicSolid(
        Box((-FAR,) * dimension, (0.25, *(FAR,) * (dimension - 1))),
        lambda t: Pose((SPEED * (2 * DT * STEPS - t), *(0.0,) * (dimension - 1))),
    )
    report = run(s)
    assert report.incompatible == pytest.approx(0.0, abs=1e-12)
    assert s.volume.expected_total() == pytest.approx(report.initial, rel=1e-12)


@SOLVERS
def test_a_piston_on_water_with_air_takes_nothing(solver: Any, dimension: int) -> None:
    s = cylinder(solver, dimension, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = run(s)
    assert report.incompatible == 0.0


def test_two_fluids_lose_their_shares(dimension: int) -> None:
    """Air that is incompressible has no way out either: both lose in proportion."""
    s = cylinder(LiquidSolver, dimension, 0.5, options=LiquidOptions(air="fluid"))
    with pytest.warns(SolverWarning):
        report = run(s)
    assert report.incompatible == pytest.approx(0.5 * SPEED * DT * STEPS, rel=0.1)


@SOLVERS
def test_a_sloshing_tank_with_a_paddle_warns_of_nothing(solver: Any) -> None:
    paddle = KinematicSolid(Sphere((0.0, 0.0), 0.12), lambda t: Pose((0.5 + 0.25 * np.sin(3 * t), 0.05)))
    s = solver(ms.Grid((24, 24), 1 / 24), solid=paddle)
    s.fill(Box((-FAR, -FAR), (0.6, 0.55)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s.advance(1.0)
    assert abs(s.volume_report().incompatible) < 1e-4 * s.volume_report().initial


def test_ledgers_of_closed_regions_go_on_after_a_restart() -> None:
    one, other = (cylinder(LiquidSolver, 2, FAR) for _ in range(2))
    with pytest.warns(SolverWarning):
        run(one)
    other.restore(one.snapshot())
    whole = run(one, 5)
    with pytest.warns(SolverWarning):
        assert run(other, 5) == whole
