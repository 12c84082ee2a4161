"""Sources that emit at a rate, under water too: exact volumes, wherever the region lies, and the flow of a source."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from support.particle_liquid import FAR, below

import meniscus as ms
from meniscus.core import SolverWarning
from meniscus.fluids import LiquidOptions, LiquidSolver, LiquidSource
from meniscus.numerics import order_free_sums
from meniscus.surface import Box, Pose, Sphere

RATE, RADIUS, DT = 0.05, 0.1, 0.02


def source(x: float = 0.5, height: float = 0.25, dimension: int = 2, radius: float = RADIUS, **more: Any) -> LiquidSource:
    return LiquidSource(Sphere((x, *(0.5,) * (dimension - 2), height), radius), **{"rate": RATE, **more})


def pool(sources: Sequence[LiquidSource], dimension: int = 2, top: float = 0.5, grid: Any = None, **more: Any) -> LiquidSolver:
    n = 32 if dimension == 2 else 14
    s = LiquidSolver(ms.Grid((n,) * dimension, 1 / n) if grid is None else grid, sources=sources, **more)
    s.fill(below(dimension, top))
    return s


def run(s: LiquidSolver, end: float, rate: float = RATE) -> float:
    """Return the volume gained, measured from outside, relative to the rate; the ledger is exact after every step."""
    before = s.volume_report().liquid
    while s.time < end - 1e-9:
        s.step(min(DT, s.max_dt()))
        report = s.volume_report()
        assert report.emitted == pytest.approx(rate * s.time, abs=1e-12)
        assert s.volume.expected_total() + report.spray + report.waiting == pytest.approx(report.expected, abs=1e-10)
    return (report.liquid + report.spray - before) / (rate * s.time)


def steps(s: LiquidSolver, count: int, dt: float = DT) -> None:
    for _ in range(count):
        s.step(dt)


def heights(s: LiquidSolver) -> np.ndarray:
    """Height of the surface over each column, m."""
    return np.asarray(s.levelset.volume_fractions().array.sum(axis=-1) * s.grid.spacing)


@pytest.mark.parametrize("tracking", ["particle-level-set", "level-set"])
@pytest.mark.parametrize("correction", [True, False])
def test_a_source_under_water_lifts_the_pool_evenly(tracking: Any, correction: bool, dimension: int) -> None:
    s = pool([source(dimension=dimension)], dimension, options=LiquidOptions(tracking=tracking, drift_correction=correction))
    assert run(s, 1.0) == pytest.approx(1.0, abs=0.01)
    surface = heights(s)
    assert surface.mean() == pytest.approx(0.55, abs=1e-3)
    assert np.ptp(surface) < 0.2 * s.grid.spacing
    mirrored = np.flip(s.levelset.array, axis=0)
    assert np.abs(s.levelset.array - mirrored)[s.levelset.array <= 0].max() < 0.05 * s.grid.spacing, "the pool is not stirred to one side"


def test_single_precision() -> None:
    s = pool([source(dimension=3, radius=0.15)], 3, dtype=np.float32)
    assert run(s, 0.4) == pytest.approx(1.0, abs=0.01)


def test_two_sources_and_a_moving_one() -> None:
    moving = LiquidSource(Sphere((0.0, 0.0), RADIUS), motion=lambda t: Pose((0.25 + 0.5 * t, 0.3)), rate=0.02)
    assert run(pool([source(0.3), source(0.7, 0.2, rate=0.03), moving]), 1.0, 0.1) == pytest.approx(1.0, abs=0.01)


def test_regions_at_solids_and_periodic_sides() -> None:
    block = Box((0.5, -FAR), (FAR, 0.3))
    assert run(pool([source()], solid=block), 0.5) == pytest.approx(1.0, abs=0.01)
    sides = ms.Grid((32, 32), 1 / 32, periodic=(True, False))
    assert run(pool([source(0.0)], grid=sides), 0.5) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(("height", "rate", "velocity"), [(0.1, 0.2, None), (0.8, 0.15, (0.0, -1.0))])
def test_a_dry_region_emits_at_the_rate(height: float, rate: float, velocity: Any) -> None:
    """On the floor from a seed on, and as a jet that is narrower than the region: the rate, not the velocity, says how much."""
    s = LiquidSolver(ms.Grid((32, 32), 1 / 32), sources=[source(height=height, rate=rate, velocity=velocity)])
    s.set_surface()
    assert run(s, 0.8, rate) == pytest.approx(1.0, abs=0.01)
    assert abs(s.volume_report().waiting) < 0.01 * rate


def test_a_region_at_the_surface_emits_at_the_rate() -> None:
    assert run(pool([source(height=0.5)]), 1.0) == pytest.approx(1.0, abs=0.01)


def test_a_source_emits_from_start_to_end() -> None:
    s = pool([source(start=0.205, end=0.611)])
    s.advance(1.0)
    report = s.volume_report()
    assert report.emitted == pytest.approx(RATE * 0.406, rel=1e-12)
    assert report.liquid - report.initial == pytest.approx(report.emitted, rel=0.01)
    assert abs(report.waiting) < 1e-9


def test_a_sink_takes_water_at_its_rate() -> None:
    s = pool([source(rate=-RATE)], top=0.7)
    s.advance(1.0)
    report = s.volume_report()
    assert report.drained == pytest.approx(RATE, rel=1e-9)
    assert report.initial - report.liquid == pytest.approx(report.drained, rel=0.01)
    dry = LiquidSolver(ms.Grid((16, 16), 1 / 16), sources=[source(rate=-RATE)])
    dry.set_surface()
    dry.advance(0.1)
    assert dry.volume_report().drained == 0.0


def test_far_from_a_source_the_flow_is_that_of_a_line_source() -> None:
    """In a full box with open sides: rate / (2 pi r) in 2-D, to 2 % between the region and half of the way to the sides."""
    n = 64
    s = pool(
        [source(height=0.5, radius=0.05)], top=FAR, grid=ms.Grid((n, n), 1 / n), boundary=ms.Open(), options=LiquidOptions(gravity=(0, 0))
    )
    steps(s, 20, 0.01)
    u, middle = s.velocity.component(0), n // 2
    for cells in (6, 9, 12, 15):
        along = 0.5 * (u[middle + cells, middle] + u[middle + cells, middle - 1])
        r2 = (cells / n) ** 2 + (0.5 / n) ** 2
        assert along == pytest.approx(RATE * (cells / n) / (2 * np.pi * r2), rel=0.02)
    report = s.volume_report()
    assert report.outflow == pytest.approx(report.emitted - report.waiting, rel=0.02)


def test_a_source_in_a_closed_box_is_incompatible(dimension: int) -> None:
    s = pool([source(height=0.5, dimension=dimension, radius=0.2)], dimension, top=FAR)
    with pytest.warns(SolverWarning, match="sources feed"):
        steps(s, 10)
    report = s.volume_report()
    assert report.liquid == pytest.approx(report.initial, rel=1e-12)
    # The flow of the next step has been projected, too.
    assert report.incompatible == pytest.approx(report.emitted, abs=1.1 * RATE * DT)


def test_a_restart_goes_on_with_the_same_bits() -> None:
    one, other = (pool([source(), source(height=0.5, rate=0.02), source(0.2, rate=-0.01)]) for _ in range(2))
    steps(one, 5, 0.013)
    other.restore(one.snapshot())
    for s in (one, other):
        steps(s, 5, 0.017)
    assert one.volume_report() == other.volume_report()
    np.testing.assert_equal(one.snapshot(), other.snapshot())


@pytest.mark.fast_cases("2d")
def test_ranks_have_the_bits_of_one(dimension: int) -> None:
    def run(blocks: Any = None) -> Any:
        kinds = source(dimension=dimension), source(height=0.8, dimension=dimension, rate=0.2), source(0.2, dimension=dimension, rate=-0.02)
        s = pool(kinds, dimension, grid=ms.Grid((14,) * dimension, 1 / 14, blocks=blocks))
        steps(s, 6)
        parts = s.grid.comm.gather((s.grid.first_cell[0], np.array(s.levelset.array)))
        return s.volume_report(), np.concatenate([a for _, a in sorted(parts, key=lambda p: p[0])])

    with order_free_sums():
        report, phi = run()
        on_ranks = ms.parallel.run_threads(2, lambda: run((2,) + (1,) * (dimension - 1)))[0]
    assert report.emitted > 0.0
    assert report.drained > 0.0
    assert on_ranks[0] == report
    assert np.array_equal(on_ranks[1], phi)


def test_rates_are_checked() -> None:
    for rate, message in ((0.0, "must not be zero"), (np.inf, "finite"), ("x", "number")):
        with pytest.raises((TypeError, ValueError), match=message):
            source(rate=rate)


@pytest.mark.parametrize("radius", [0.01, 0.015, 0.02])
def test_a_region_smaller_than_a_cell_is_the_cell_that_it_lies_in(radius: float) -> None:
    assert run(pool([source(radius=radius, rate=0.02)]), 0.5, 0.02) == pytest.approx(1.0, abs=0.01)
