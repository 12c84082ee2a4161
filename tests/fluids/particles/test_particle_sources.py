"""Particle liquids with sources that emit at a rate, under water too: exact numbers, restarts, sinks, dry regions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from support.particle_liquid import FAR, TRANSFERS, below, state

import meniscus as ms
from meniscus.core import SolverWarning
from meniscus.fluids import LiquidSource, ParticleLiquidOptions, ParticleLiquidSolver
from meniscus.numerics import order_free_sums
from meniscus.surface import Box, Pose, Sphere

RATE, DT = 0.05, 0.02


def source(x: float = 0.5, height: float = 0.25, dimension: int = 2, **more: Any) -> LiquidSource:
    return LiquidSource(Sphere((x, *(0.5,) * (dimension - 2), height), 0.12), **{"rate": RATE, **more})


def pool(
    sources: Sequence[LiquidSource], dimension: int = 2, top: float = 0.5, transfer: Any = "flip", grid: Any = None, **more: Any
) -> ParticleLiquidSolver:
    n = 32 if dimension == 2 else 14
    grid = ms.Grid((n,) * dimension, 1 / n) if grid is None else grid
    s = ParticleLiquidSolver(grid, ParticleLiquidOptions(transfer=transfer), sources=sources, **more)
    s.fill(below(dimension, top))
    return s


def steps(s: ParticleLiquidSolver, count: int, dt: float = DT) -> None:
    for _ in range(count):
        s.step(dt)


def gain(s: ParticleLiquidSolver, end: float, rate: float = RATE) -> float:
    """Return the volume gained inside of the surface, relative to the rate; numbers of particles are exact after every step."""
    before, count = s.volume_report(), len(s.particles)
    while s.time < end - 1e-9:
        s.step(min(DT, s.max_dt()))
        report = s.volume_report()
        assert report.emitted == pytest.approx(rate * s.time, abs=1e-12)
        assert s.particle_volume * (len(s.particles) - count) == pytest.approx(rate * s.time, abs=3 * s.particle_volume)
    return (report.liquid + report.spray - before.liquid - before.spray) / (rate * s.time)


@pytest.mark.fast_cases("2d-flip", "2d-apic", "3d-flip")
@pytest.mark.parametrize("transfer", TRANSFERS)
def test_a_source_under_water_lifts_the_pool_evenly(transfer: Any, dimension: int) -> None:
    s = pool([source(dimension=dimension)], dimension, transfer=transfer)
    # Of the gain; of all liquid a thousandth.
    assert gain(s, 1.0 if dimension == 2 else 0.5) == pytest.approx(1.0, abs=0.01 if dimension == 2 else 0.02)
    surface = s.levelset.volume_fractions().array.sum(axis=-1) * s.grid.spacing
    assert surface.mean() == pytest.approx(0.5 + RATE * s.time, abs=3e-3)
    assert np.ptp(surface) < 0.6 * s.grid.spacing
    x = s.particles.positions
    assert x[:, 0].mean() == pytest.approx(0.5, abs=2e-3)
    inside = np.linalg.norm(x - np.array([0.5] * (dimension - 1) + [0.25]), axis=1) < 0.12
    size = np.pi * 0.12**2 if dimension == 2 else 4 / 3 * np.pi * 0.12**3
    assert inside.sum() * s.particle_volume == pytest.approx(size, rel=0.25), "as dense in the region as elsewhere"


def test_single_precision() -> None:
    assert gain(pool([source(dimension=3)], 3, dtype=np.float32), 0.3) == pytest.approx(1.0, abs=0.06)


def test_two_sources_and_a_moving_one() -> None:
    moving = LiquidSource(Sphere((0.0, 0.0), 0.1), motion=lambda t: Pose((0.25 + 0.5 * t, 0.3)), rate=0.02)
    assert gain(pool([source(0.3), source(0.7, 0.2, rate=0.03), moving]), 1.0, 0.1) == pytest.approx(1.0, abs=0.01)


def test_regions_at_solids_and_periodic_sides() -> None:
    assert gain(pool([source()], solid=Box((0.5, -FAR), (FAR, 0.3))), 0.5) == pytest.approx(1.0, abs=0.05)
    sides = ms.Grid((32, 32), 1 / 32, periodic=(True, False))
    assert gain(pool([source(0.0)], grid=sides), 0.5) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("velocity", [None, (0.0, -1.0)])
def test_a_dry_region_emits_at_the_rate(velocity: Any) -> None:
    s = ParticleLiquidSolver(ms.Grid((32, 32), 1 / 32), sources=[source(height=0.8, velocity=velocity)])
    gain(s, 0.6)
    assert abs(s.volume_report().waiting) < 2 * s.particle_volume


@pytest.mark.parametrize("height", [0.25, 0.8])
def test_lengths_of_steps_do_not_change_the_numbers(height: float) -> None:
    numbers = []
    for dt in (0.02, 0.01, 0.004):
        s = pool([source(height=height)])
        steps(s, round(0.4 / dt), dt)
        numbers.append(len(s.particles))
    assert len(set(numbers)) == 1


def test_a_sink_takes_particles_at_its_rate() -> None:
    s = pool([source(rate=-RATE)], top=0.7)
    before = s.volume_report()
    s.advance(1.0)
    report = s.volume_report()
    assert report.drained == pytest.approx(RATE, abs=2 * s.particle_volume)
    assert before.liquid - report.liquid == pytest.approx(RATE, rel=0.02)
    assert report.emitted == 0.0


def test_a_source_in_a_closed_box_is_incompatible() -> None:
    s = pool([source(height=0.5)], top=FAR)
    with pytest.warns(SolverWarning, match="sources feed"):
        steps(s, 10)
    report = s.volume_report()
    assert report.incompatible == pytest.approx(RATE * s.time, rel=1e-9)
    assert report.liquid == pytest.approx(report.initial, rel=1e-12)


def test_a_restart_goes_on_with_the_same_bits() -> None:
    one, other = (pool([source(), source(height=0.5, rate=0.02), source(0.2, rate=-0.01)], transfer="apic") for _ in range(2))
    steps(one, 6, 0.013)
    other.restore(one.snapshot())
    for s in (one, other):
        steps(s, 6, 0.017)
    assert one.volume_report() == other.volume_report()
    for a, b in zip(state(one), state(other), strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(np.unique(one.particles.ids)) == len(one.particles)


@pytest.mark.fast_cases("2d")
def test_ranks_emit_the_same_particles(dimension: int) -> None:
    def run(blocks: Any = None) -> Any:
        kinds = source(dimension=dimension), source(height=0.8, dimension=dimension, rate=0.1), source(0.2, dimension=dimension, rate=-0.02)
        s = pool(kinds, dimension, grid=ms.Grid((14,) * dimension, 1 / 14, blocks=blocks))
        steps(s, 6)
        found = s.grid.comm.gather((np.array(s.particles.ids), np.array(s.particles.positions)))
        ids, positions = (np.concatenate(c) for c in zip(*found, strict=True))
        return s.volume_report(), positions[np.argsort(ids)]

    with order_free_sums():
        report, positions = run()
        on_ranks = ms.parallel.run_threads(2, lambda: run((2,) + (1,) * (dimension - 1)))[0]
    assert report.emitted > 0.0
    assert report.drained > 0.0
    assert on_ranks[0] == report
    assert np.array_equal(on_ranks[1], positions)


@pytest.mark.parametrize("gravity", [0.0, 1.0])
@pytest.mark.parametrize("height", [0.25, 0.75])
def test_without_gravity_too_all_is_emitted(gravity: float, height: float) -> None:
    """Particles too few for a surface fill the region at once; what comes then goes by the flow and waits for nothing."""
    s = pool([source(height=height)])
    s.gravity = (0.0, -gravity)
    before = len(s.particles)
    steps(s, 30)
    told = s.volume_report()
    assert abs(told.waiting) < 2e-3 * RATE * s.time
    assert (len(s.particles) - before) / (4 * 32**2) == pytest.approx(RATE * s.time, rel=0.01)


@pytest.mark.parametrize("radius", [0.01, 0.015, 0.02])
def test_a_region_smaller_than_a_cell_is_the_cell_that_it_lies_in(radius: float) -> None:
    s = pool([LiquidSource(Sphere((0.5, 0.25), radius), rate=0.02)])
    before = len(s.particles)
    steps(s, 30)
    assert (len(s.particles) - before) / (4 * 32**2) == pytest.approx(0.02 * s.time, rel=0.03)
