"""Steps of the particle liquid solver: transactions, snapshots, stages, arguments."""

import copy
import math

import numpy as np
import pytest
from support.build import same_bits
from support.particle_liquid import TRANSFERS, below, everything, state, tank

import meniscus as ms
from meniscus.fluids import (
    LiquidParticles,
    LiquidSource,
    ParticleLiquidOptions,
    ParticleLiquidSolver,
    stages,
)
from meniscus.numerics.solve import ConvergenceError
from meniscus.surface import LevelSet, Sphere


class Stop(Exception):
    """Not an error that any stage raises itself."""


@pytest.mark.fast_cases("2d*", "3d-f64-move", "3d-f32-project")
@pytest.mark.parametrize("stage", ParticleLiquidSolver.stages)
def test_an_error_after_any_stage_changes_nothing(stage: str, dimension: int, dtype: type) -> None:
    s, untouched = everything(dimension, dtype), everything(dimension, dtype)
    for _ in range(2):
        s.step(0.02)
        untouched.step(0.02)
    before, report, volumes = state(s), s.report, s.volume_report()

    def hook(name: str, solver: ParticleLiquidSolver) -> None:
        assert solver is s
        if name == stage:
            raise Stop

    with pytest.raises(Stop):
        s.step(0.02, hook)
    assert same_bits(state(s), before)
    assert s.report is report
    assert s.volume_report() == volumes
    s.step(0.02)
    untouched.step(0.02)
    assert same_bits(state(s), state(untouched))


def test_a_solve_that_fails_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    s, original = everything(), stages.project
    s.step(0.02)
    before = state(s)
    monkeypatch.setattr(stages, "project", lambda *a, **k: original(*a, **{**k, "max_iterations": 1, "method": "incomplete-cholesky"}))
    with pytest.raises(ConvergenceError):
        s.step(0.02)
    assert same_bits(state(s), before)


@pytest.mark.parametrize("stage", ["emit", "project", "move"])
def test_values_that_are_not_finite(stage: str) -> None:
    s = everything(particles=LiquidParticles(density_correction=False))
    s.step(0.02)
    before = state(s)

    def hook(name: str, solver: ParticleLiquidSolver) -> None:
        if name == stage:
            (solver.particles["velocity"] if stage != "project" else solver.velocity.u)[3, 1] = np.nan

    with pytest.raises(ValueError, match="finite"):
        s.step(0.02, hook)
    assert same_bits(state(s), before)


@pytest.mark.fast_cases("2d*", "3d-f32-apic")
@pytest.mark.parametrize("transfer", TRANSFERS)
def test_snapshots_go_on_with_the_same_bits(transfer: str, dimension: int, dtype: type) -> None:
    s = everything(dimension, dtype, transfer)
    s.step(0.02)
    saved = copy.deepcopy(s.snapshot())
    for _ in range(2):
        s.step(0.02)
    other = everything(dimension, dtype, transfer)
    other.restore(saved)
    _ = other.levelset  # looking changes nothing
    for _ in range(2):
        other.step(0.02)
        _ = other.levelset
    assert same_bits(state(s), state(other))
    assert s.volume_report() == other.volume_report()
    s.restore(saved)
    for _ in range(2):
        s.step(0.02)
    assert same_bits(state(s), state(other))


def test_stages_by_hand_are_a_step() -> None:
    s, by_hand = everything(), everything()
    s.step(0.02)
    for name in by_hand.stages:
        getattr(by_hand, name)(0.02)
    by_hand.time = 0.02
    assert same_bits(state(s), state(by_hand))


def test_particles_set_by_hand() -> None:
    s = tank(2)
    s.fill(below(2, 0.5))
    s.step(0.01)
    s.particles.remove(s.particles.positions[:, 0] > 0.5)
    s.set_particles()
    v = s.volume_report()
    assert v.initial == pytest.approx(0.25)
    assert v.liquid == pytest.approx(0.25, rel=0.05)
    s.particles["velocity"][1, 0] = np.inf
    with pytest.raises(ValueError, match="velocities must be finite"):
        s.set_particles()


def test_the_step_that_is_advised() -> None:
    s = tank(2, cfl=0.5)
    assert s.max_dt() == pytest.approx(0.5 / 16 / math.sqrt(9.81 / 16))
    s.fill(below(2, 0.5), velocity=(3.0, -4.0))
    assert s.max_dt() == pytest.approx(0.5 / 16 / (4 + math.sqrt(9.81 / 16)))
    assert tank(2, gravity=(0.0, 0.0)).max_dt() == math.inf
    assert s.nbytes > s.particles.positions.nbytes


def test_wrong_arguments() -> None:
    grid = ms.Grid((4, 4), 0.25)
    for options, match in (
        ({"transfer": "mpm"}, "transfer must be one of"),
        ({"flip_ratio": 1.1}, "flip_ratio must be from 0 to 1"),
        ({"viscosity": -1.0}, "viscosity must not be negative"),
        ({"density": 0.0}, "density must be positive"),
        ({"band": 1}, "band"),
    ):
        with pytest.raises(ValueError, match=match):
            ParticleLiquidOptions(**options)  # type: ignore[arg-type]
    for particles, match in (({"jitter": -0.1}, "jitter must be from 0 to 1"), ({"per_cell": 0}, "per_cell")):
        with pytest.raises(ValueError, match=match):
            LiquidParticles(**particles)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="options must be a ParticleLiquidOptions"):
        ParticleLiquidSolver(grid, {"density": 1.0})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="gravity"):
        ParticleLiquidSolver(grid, ParticleLiquidOptions(gravity=(0, 0, 1)))
    with pytest.raises(ValueError, match="source must be 2-D"):
        ParticleLiquidSolver(grid, sources=[LiquidSource(region=Sphere((0, 0, 0), 1))])
    with pytest.raises(TypeError, match="drains must be a Drain"):
        ParticleLiquidSolver(grid, drains=[LiquidSource(region=Sphere((0, 0), 1))])  # type: ignore[list-item]
    s = ParticleLiquidSolver(grid)
    with pytest.raises(ValueError, match="region must be 2-D"):
        s.fill(Sphere((0, 0, 0), 1))
    with pytest.raises(ValueError, match="level set on the cells"):
        s.fill(LevelSet(grid))
    with pytest.raises(ValueError, match="velocity"):
        s.fill(Sphere((0, 0), 1), velocity=(1.0,))
    with pytest.raises(ValueError, match="dt must be positive"):
        s.step(0.0)
