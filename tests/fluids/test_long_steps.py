"""Steps far beyond what `max_dt` advises: a warning, once per solver, and none where steps are as long as other tests take them."""

import warnings
from typing import Any

import pytest
from support.particle_liquid import below

import meniscus as ms
from meniscus.core import SolverWarning
from meniscus.fluids import LiquidSolver, ParticleLiquidSolver, SmokeSolver


def liquid(kind: type[Any]) -> Any:
    s = kind(ms.Grid((16, 16), 1 / 16))
    s.fill(below(2, 0.4, axis=0))
    return s


@pytest.mark.parametrize("kind", [LiquidSolver, ParticleLiquidSolver])
def test_a_step_far_beyond_the_advice_is_warned_of_once(kind: type[Any]) -> None:
    s = liquid(kind)
    with pytest.warns(
        SolverWarning, match=r"a step of .* s is 30 times as long as max_dt\(\) advises, .*; advance\(.*\) takes steps"
    ) as told:
        s.step(30 * s.max_dt())
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s.step(30 * s.max_dt())


@pytest.mark.parametrize("kind", [LiquidSolver, ParticleLiquidSolver])
def test_steps_of_five_times_the_advice_are_not(kind: type[Any]) -> None:
    s = liquid(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            s.step(5 * s.max_dt())
        s.advance(40 * s.max_dt())


def test_the_speed_of_the_last_step_counts() -> None:
    s = SmokeSolver(ms.Grid((16, 16), 1 / 16, periodic=(True, True)))
    s.velocity.u = 1.0
    s.step(0.1 * s.max_dt())
    with pytest.warns(SolverWarning, match="10 times"):
        s.step(10 * s.max_dt())
