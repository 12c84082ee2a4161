"""Numbers and volumes of liquid particles: spacing, filling, sources and drains, sides, solids."""

import numpy as np
import pytest
from support.particle_liquid import FAR, below, tank

import meniscus as ms
from meniscus.fluids import (
    Drain,
    LiquidParticles,
    LiquidSource,
    ParticleLiquidOptions,
    ParticleLiquidSolver,
    PressureOptions,
    particle_density,
)
from meniscus.surface import Box, HalfSpace, KinematicSolid, LevelSet, Pose, Sphere


@pytest.mark.fast_cases("2d*")
def test_the_density_correction_keeps_particles_apart(dimension: int) -> None:
    n = 16
    spread = []
    for correct in (False, True):
        s = tank(
            dimension,
            n,
            particles=LiquidParticles(jitter=0.0, density_correction=correct, correction_rate=None),
            gravity=(0.0,) * dimension,
            pressure=PressureOptions(tolerance=1e-6),
        )
        rng = np.random.default_rng(3)
        x = rng.random((2**dimension * n**dimension // 2, dimension)) * ([1.0] * (dimension - 1) + [0.5])
        s.particles.append(x, velocity=np.zeros_like(x))
        s.set_particles()
        for _ in range(3):
            report = s.step(0.01)
            assert (report.correction is not None) == correct
        density = particle_density(s.particles, s.grid).array[..., 1:6] / 2**dimension
        spread.append(float(density.std()))
        assert len(s.particles) == len(x)
        assert s.report is not None
        assert s.report.max_speed < 1e-12  # places change, velocities do not
    assert spread[1] < 0.3 * spread[0]


def test_the_correction_holds_the_volume() -> None:
    """A column that has sloshed for two seconds: particles alone have drifted apart by percents, corrected ones have not."""
    error = []
    for correct in (False, True):
        n = 32
        s = ParticleLiquidSolver(ms.Grid((n, n), 1 / n), ParticleLiquidOptions(particles=LiquidParticles(density_correction=correct)))
        s.fill(Box((-FAR, -FAR), (0.4, 0.6)))
        while s.time < 2:
            s.step(min(s.max_dt(), 0.02))
        report = s.volume_report()
        assert report.expected == pytest.approx(0.24, rel=0.02)
        error.append(abs(report.relative_error))
    assert error[0] > 0.03
    assert error[1] < min(0.02, 0.5 * error[0])


def test_filling(dimension: int, dtype: type) -> None:
    n = 12
    s = ParticleLiquidSolver(ms.Grid((n,) * dimension, 1 / n), ParticleLiquidOptions(particles=LiquidParticles(jitter=1.0)), dtype=dtype)
    assert s.fill(Box((0.25,) * dimension, (0.75,) * dimension), velocity=(1.0,) * dimension) == (n // 2) ** dimension * 2**dimension
    x = s.particles.positions
    assert x.min() >= 0.25 - 1e-6
    assert x.max() <= 0.75 + 1e-6
    assert (s.particles["velocity"] == 1).all()
    # What is there already is not filled again, wherever in its cells it is.
    assert s.fill(Box((0.25,) * dimension, (0.75,) * dimension)) == 0
    assert s.fill(Sphere((0.5,) * dimension, 0.2)) == 0
    more = s.fill(below(dimension, 0.75))
    assert more == 2**dimension * (n ** (dimension - 1) * 9 - (n // 2) ** dimension)
    report = s.volume_report()
    assert report.initial == pytest.approx(0.75)
    assert report.expected == pytest.approx(0.75)
    assert report.relative_error == pytest.approx(0, abs=0.05)
    assert len(report.components) == 1
    # A level set of the same region asks for the same.
    other = ParticleLiquidSolver(s.grid, s.options, dtype=dtype)
    levelset = LevelSet.from_function(s.grid, lambda *x: x[-1] - 0.75, "cells", dtype=dtype)
    assert other.fill(levelset) == pytest.approx(0.75 * (2 * n) ** dimension, rel=0.01)


@pytest.mark.parametrize("per_cell", [1, 3, 9])
def test_any_number_per_cell(per_cell: int, dimension: int) -> None:
    s = tank(dimension, 8, particles=LiquidParticles(jitter=0.0, per_cell=per_cell))
    assert s.fill(below(dimension, 0.5)) == per_cell * 8**dimension // 2
    assert s.particle_volume == pytest.approx(1 / 8**dimension / per_cell)
    for _ in range(3):
        s.step(0.01)
    assert s.volume_report().initial == pytest.approx(0.5)


@pytest.mark.fast_cases("2d*")
def test_sources_and_drains_are_accounted_for(dimension: int) -> None:
    n = 16
    nozzle = Box((0.25,) * (dimension - 1) + (0.6875,), (0.5,) * (dimension - 1) + (0.8125,))
    down = (0.0,) * (dimension - 1) + (-1.0,)
    s = ParticleLiquidSolver(
        ms.Grid((n,) * dimension, 1 / n),
        ParticleLiquidOptions(gravity=(0.0,) * dimension),
        sources=[LiquidSource(region=nozzle, velocity=down, end=0.35)],
        drains=[Drain(region=below(dimension, 0.15), start=0.2)],
    )
    s.fill(below(dimension, 0.25))
    initial = len(s.particles)
    for k in range(40):
        s.step(0.02)
        v = s.volume_report()
        assert v.expected == pytest.approx(len(s.particles) * s.particle_volume)
        if k == 14:
            assert v.emitted > 0
            # What filled it at first, and a stream of its cross-section at its speed; half a layer of cells more or less.
            stream = 0.25 ** (dimension - 1) * (0.125 + 14 * 0.02)
            assert v.emitted == pytest.approx(stream, abs=0.25 ** (dimension - 1) * 0.5 / n)
            emitted = v.emitted
    assert v.drained > 0
    assert emitted < v.emitted < 1.2 * emitted
    assert initial + round((v.emitted - v.drained) / s.particle_volume) == len(s.particles)


def test_a_moving_source_and_a_periodic_domain() -> None:
    grid = ms.Grid((20, 20), 0.05, periodic=(True, False))
    disc = Sphere((0.0, 0.0), 0.12)
    source = LiquidSource(region=disc, motion=lambda t: Pose((t, 0.7)), velocity=(0.0, 0.0))
    s = ParticleLiquidSolver(grid, ParticleLiquidOptions(gravity=(0.0, 0.0)), sources=[source])
    s.step(0.01)
    # It reaches over the seam, and is whole.
    assert len(s.particles) == pytest.approx(np.pi * 0.12**2 / s.particle_volume, rel=0.05)
    x = s.particles.positions[:, 0]
    assert np.count_nonzero(x < 0.5) == pytest.approx(np.count_nonzero(x > 0.5), rel=0.1)
    s.time = 0.5
    s.step(0.01)
    assert len(s.particles) == pytest.approx(2 * np.pi * 0.12**2 / s.particle_volume, rel=0.05)


def test_what_leaves_through_open_sides_is_counted(dimension: int) -> None:
    grid = ms.Grid((16,) * dimension, 1 / 16)
    s = ParticleLiquidSolver(grid, ParticleLiquidOptions(gravity=(0.0,) * dimension), boundary={"x+": ms.Open()})
    s.fill(Box((0.6,) + (0.3,) * (dimension - 1), (0.9,) + (0.7,) * (dimension - 1)), velocity=(2.0,) + (0.0,) * (dimension - 1))
    n = len(s.particles)
    left = 0
    for _ in range(15):
        left += s.step(0.02).left
    assert left == n
    assert len(s.particles) == 0
    v = s.volume_report()
    assert v.outflow == pytest.approx(v.initial)
    assert v.liquid == 0
    assert v.components == ()
    s.step(0.02)  # an empty tank is fine


def test_walls_keep_everything(dimension: int, dtype: type) -> None:
    s = ParticleLiquidSolver(ms.Grid((12,) * dimension, 1 / 12), dtype=dtype)
    s.fill(Sphere((0.7,) * dimension, 0.2), velocity=(5.0,) * dimension)
    n = len(s.particles)
    for _ in range(25):
        s.step(min(s.max_dt(), 0.02))
    assert len(s.particles) == n
    assert s.particles.positions.min() >= 0
    assert s.particles.positions.max() <= 1


@pytest.mark.fast_cases("2d*")
@pytest.mark.parametrize("slip", ["free", "no-slip"])
def test_a_ball_that_moves_pushes_the_liquid_out_of_its_way(slip: str, dimension: int) -> None:
    n = 20
    side = (0.5,) * (dimension - 1)
    solid = KinematicSolid(Sphere((0.0,) * dimension, 0.15), lambda t: Pose((0.25 + t, *side)))
    s = ParticleLiquidSolver(ms.Grid((n,) * dimension, 1 / n), ParticleLiquidOptions(slip=slip), solid=solid)
    s.fill(below(dimension, 0.6))
    count = len(s.particles)
    for _ in range(20):
        assert s.step(0.02).in_solid == 0
        phi = solid.signed_distance(s.particles.positions, s.time)
        assert phi.min() > -0.1 / n  # the level set is linear between nodes
    assert len(s.particles) == count
    # In front of the ball the liquid is pushed ahead.
    x = s.particles.positions
    ahead = np.linalg.norm(x - [0.25 + s.time + 0.19, *side], axis=1) < 0.06
    assert s.particles["velocity"][ahead, 0].mean() > 0.4
    assert abs(s.volume_report().relative_error) < 0.1


def test_a_solid_at_rest_leaves_the_liquid_at_rest(dimension: int) -> None:
    s = ParticleLiquidSolver(
        ms.Grid((16,) * dimension, 1 / 16),
        ParticleLiquidOptions(particles=LiquidParticles(jitter=0.0), pressure=PressureOptions(tolerance=1e-12)),
        solid=HalfSpace((0.25,) * dimension, (0.0,) * (dimension - 1) + (1.0,)),
    )
    s.fill(below(dimension, 0.75))
    assert len(s.particles) == 2**dimension * 16**dimension // 2
    for _ in range(10):
        s.step(0.01)
    assert s.report is not None
    assert s.report.max_speed < 1e-9
