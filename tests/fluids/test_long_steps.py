"""Steps far beyond what `max_dt` advises: a warning, once per solver, and none where steps are as long as other tests take them."""

import math
import warnings
from typing import Any

import pytest
from support.particle_liquid import below

import meniscus as ms
from meniscus.core import SolverWarning
from meniscus.fluids import LiquidOptions, LiquidSolver, ParticleLiquidOptions, ParticleLiquidSolver, SmokeSolver
from meniscus.surface import Box


def liquid(kind: type[Any], axis: int = 0, cfl: float = 0.04) -> Any:
    """A column (a pool along the last axis); steps of 30 times the advice are within what waves bear."""
    s = kind(ms.Grid((16, 16), 1 / 16), (ParticleLiquidOptions if kind is ParticleLiquidSolver else LiquidOptions)(cfl=cfl))
    s.fill(below(2, 0.4, axis=axis))
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


@pytest.mark.parametrize(("kind", "most"), [(LiquidSolver, 6), (ParticleLiquidSolver, 4)])
def test_steps_of_several_times_the_advice_are_not(kind: type[Any], most: int) -> None:
    s = liquid(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            s.step(0.95 * most * s.max_dt())
        s.advance(40 * s.max_dt())
    with pytest.warns(SolverWarning):
        s.step(1.05 * most * s.max_dt())


@pytest.mark.parametrize("kind", [LiquidSolver, ParticleLiquidSolver])
def test_steps_that_waves_do_not_bear_are_warned_of_once(kind: type[Any]) -> None:
    """Water at rest reached 6.9 m/s in 80 steps of 1.6 sqrt(spacing / gravity), without a word."""
    s = liquid(kind, axis=1, cfl=1.0)
    bears = math.sqrt(1 / 16 / 9.81)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s.step(1.29 * bears)
    with pytest.warns(SolverWarning, match=r"longer than waves of two cells bear, 0\.104 s: .*; advance\(.*\) takes") as told:
        s.step(1.31 * bears)
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s.step(1.4 * bears)


@pytest.mark.slow
@pytest.mark.parametrize("transfer", ["flip", "apic"])
def test_particles_keep_their_volume_as_long_as_nothing_is_warned_of(transfer: Any, dimension: int) -> None:
    """A column that falls over in a closed box, whose volume is that of its surface and drops, at all times."""
    n = {2: 32, 3: 16}[dimension]
    s = ParticleLiquidSolver(ms.Grid((n,) * dimension, 1 / n), ParticleLiquidOptions(transfer=transfer))
    s.fill(Box((-1.0,) * dimension, (0.4,) + (2.0,) * (dimension - 2) + (0.8,)))

    def volume() -> float:
        told = s.volume_report()
        return told.liquid + told.spray

    start = volume()
    with warnings.catch_warnings():
        warnings.simplefilter("error", SolverWarning)
        while s.time < 2.0:
            s.step(4 * min(s.max_dt(), 0.02))
            assert volume() > 0.93 * start


def test_the_speed_of_the_last_step_counts() -> None:
    s = SmokeSolver(ms.Grid((16, 16), 1 / 16, periodic=(True, True)))
    s.velocity.u = 1.0
    s.step(0.1 * s.max_dt())
    with pytest.warns(SolverWarning, match="10 times"):
        s.step(10 * s.max_dt())
