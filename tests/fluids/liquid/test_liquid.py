"""Liquid solver against motions that are known exactly."""

from typing import Any

import numpy as np
import pytest
from support.build import components

import meniscus as ms
from meniscus.fluids import Drain, LiquidOptions, LiquidSolver, LiquidSource, TransportOptions
from meniscus.surface import Box, KinematicSolid, LevelSet, Sphere

G = 9.81
TRACKING = ("particle-level-set", "level-set")


def box(low: Any, high: Any) -> Box:
    return Box(tuple(float(c) for c in low), tuple(float(c) for c in high))


def pool(grid: ms.Grid, height: float, axis: int, dtype: Any = np.float64) -> LevelSet:
    """Liquid below a height along an axis."""
    return LevelSet.from_function(grid, lambda *x: x[axis] - height, "cells", dtype=dtype)


def still(dimension: int, height: float, axis: int, tracking: Any, n: int, **options: Any) -> LiquidSolver:
    gravity = [0.0] * dimension
    gravity[axis] = -G
    solver = LiquidSolver(
        ms.Grid((n,) * dimension, 1 / n), LiquidOptions(gravity=gravity, tolerance=1e-13, tracking=tracking, per_cell=4, **options)
    )
    solver.fill(pool(solver.grid, height, axis))
    return solver


@pytest.mark.fast_cases("2d-*[0-9]-level-set", "2d-0.5312500001-particle-level-set", "3d-0.53125-level-set", "3d-0.5-particle-level-set")
@pytest.mark.parametrize("tracking", TRACKING)
@pytest.mark.parametrize("height", [0.5, 0.53125, 0.5312500001, 0.4999999, 0.611])
def test_a_tank_at_rest_stays_at_rest(dimension: int, height: float, tracking: Any) -> None:
    """At any height relative to the grid, along any axis: the velocity, the surface and the pressure for hundreds of steps."""
    n = 16 if dimension == 2 else 8
    for axis in range(dimension):
        solver = still(dimension, height, axis, tracking, n)
        for _ in range(60 if dimension == 2 else 20):
            solver.step(0.02)
        check_rest(solver, height, axis)


@pytest.mark.slow
@pytest.mark.parametrize("tracking", TRACKING)
@pytest.mark.parametrize("height", [0.5, 0.53125, 0.611])
def test_a_tank_at_rest_for_a_thousand_steps(dimension: int, height: float, tracking: Any) -> None:
    solver = still(dimension, height, dimension - 1, tracking, 16 if dimension == 2 else 8)
    for _ in range(1000):
        solver.step(0.02)
    check_rest(solver, height, dimension - 1)


def check_rest(solver: LiquidSolver, height: float, axis: int) -> None:
    phi = solver.levelset.array
    distance = solver.levelset.field.coordinates()[axis] - height
    near = np.abs(distance) < 3 * solver.grid.spacing
    assert max(np.abs(c).max() for c in components(solver.velocity)) < 1e-12
    assert np.abs(phi - distance)[np.broadcast_to(near, phi.shape)].max() < 1e-12
    pressure = np.maximum(-1000 * G * distance, 0.0)
    assert np.abs(solver.pressure.array - pressure).max() < 1e-11 * pressure.max()
    # The volume keeps crossings a little away from samples.
    assert abs(solver.volume_report().relative_error) < 1e-6


@pytest.mark.fast_cases("2d*", "3d-f64-level-set")
@pytest.mark.parametrize("tracking", TRACKING)
def test_a_falling_ball(dimension: int, tracking: Any, dtype: type) -> None:
    """It gains g dt in every step, wherever there is liquid, falls by g t^2 / 2, and keeps its shape."""
    n = 32
    tolerance = 1e-10 if dtype is np.float64 else 2e-4
    middle = np.full(dimension, 0.5)
    middle[-1] = 0.7
    solver = LiquidSolver(
        ms.Grid((n,) * dimension, 1 / n), LiquidOptions(tracking=tracking, tolerance=1e-12 if dtype is np.float64 else 1e-6), dtype=dtype
    )
    drop = Sphere(tuple(middle), 0.2)
    solver.fill(drop)
    volume, dt = solver.volume_report().liquid, 0.008
    for _ in range(20):
        solver.step(dt)
    speed, fallen = G * solver.time, 0.5 * G * solver.time**2
    liquid = solver.faces.liquid(solver.levelset)
    for d in range(dimension):
        expected = -speed if d == dimension - 1 else 0.0
        assert np.abs(solver.velocity.component(d) - expected)[liquid[d]].max() < tolerance
    middle[-1] -= fallen
    exact = LevelSet(solver.grid, "cells", dtype)
    Sphere(tuple(middle), 0.2).sample(exact.field)
    near = np.abs(exact.array) < 1 / n
    # Semi-Lagrangian level sets lose curvature; markers put it back.
    assert np.abs(solver.levelset.array - exact.array)[near].max() < (0.15 if tracking == "particle-level-set" else 0.6) / n
    assert abs(solver.volume_report().liquid / volume - 1) < (0.03 if tracking == "particle-level-set" else 0.08)


@pytest.mark.fast_cases("2d")
def test_gravity_along_another_axis(dimension: int) -> None:
    """A collapsing column that is turned collapses the same."""
    results = []
    for axis in range(dimension):
        across = (axis + 1) % dimension
        shape, gravity = [20] * dimension, [0.0] * dimension
        gravity[axis] = -G
        low, high = np.full(dimension, -1.0), np.full(dimension, 2.0)
        high[axis], high[across] = 0.55, 0.37
        options = LiquidOptions(gravity=gravity, tracking="level-set", tolerance=1e-12, drift_correction=False)
        solver = LiquidSolver(ms.Grid(tuple(shape), 0.05), options)
        solver.fill(box(low, high))
        for _ in range(10):
            solver.step(0.01)
        # To the order of axes (across, rest, down).
        rest = [d for d in range(dimension) if d not in (axis, across)]
        order = (across, *rest, axis)
        results.append([solver.levelset.array.transpose(order), *(solver.velocity.component(d).transpose(order) for d in order)])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert np.abs(a - b).max() < 1e-9


@pytest.mark.fast_cases("2d")
def test_a_source_and_a_drain_are_accounted_for(dimension: int) -> None:
    n = 24
    middle = (0.5,) * (dimension - 1)
    solver = LiquidSolver(
        ms.Grid((n,) * dimension, 1 / n),
        LiquidOptions(drift_correction=True),
        sources=[LiquidSource(region=Sphere((*middle, 0.8), 0.12), velocity=(*middle[:-1], 0.0, -1.0), end=0.095)],
        drains=[Drain(region=box((0.0,) * dimension, (0.15,) * dimension), start=0.1)],
    )
    solver.fill(pool(solver.grid, 0.3, dimension - 1))
    initial = solver.volume_report().liquid
    assert initial == pytest.approx(0.3, abs=1e-12)
    while solver.time < 0.1 - 1e-9:
        solver.step(0.01)
    report = solver.volume_report()
    ball = np.pi * 0.12**2 if dimension == 2 else 4 / 3 * np.pi * 0.12**3
    assert report.emitted > ball * 0.95
    assert report.drained == 0
    assert abs(report.error) < 0.05 * report.emitted
    assert len(report.components) in (1, 2)
    while solver.time < 0.3:
        solver.step(0.01)
    later = solver.volume_report()
    assert later.emitted == report.emitted
    assert later.drained > 0.15**dimension * 0.9
    assert abs(later.relative_error) < 0.01


@pytest.mark.fast_cases("2d")
def test_pools_and_drops_are_told_apart(dimension: int) -> None:
    """Each has its volume; two that merge add up; the correction, which does nothing below a ten-thousandth, keeps each of them."""
    n = 32
    ball = Sphere((*(0.5,) * (dimension - 1), 0.6), 0.15)
    solver = LiquidSolver(ms.Grid((n,) * dimension, 1 / n), LiquidOptions(tracking="level-set", drift_correction=True))
    solver.fill(pool(solver.grid, 0.25, dimension - 1))
    solver.fill(ball)
    first = solver.volume_report()
    assert [round(c.volume, 2) for c in first.components] == [0.25, round(first.liquid - 0.25, 2)]
    for _ in range(12):
        solver.step(0.01)
        now = solver.volume_report()
        assert len(now.components) == 2
        for c, start in zip(now.components, first.components, strict=True):
            assert c.expected == pytest.approx(start.volume, rel=1e-12)
            assert abs(c.error) < 1e-4
    while len(solver.volume_report().components) == 2:
        solver.step(0.01)
    (merged,) = solver.volume_report().components
    assert merged.expected == pytest.approx(first.liquid, rel=1e-12)
    assert abs(merged.error) < 1e-3


@pytest.mark.fast_cases("2d*", "3d-False")
@pytest.mark.parametrize("moving", [False, True])
def test_water_around_a_ball_in_a_tank(dimension: int, moving: bool) -> None:
    """Hydrostatic around a ball at rest; a ball that rises through the surface pushes what it displaces."""
    n = 24
    start = np.full(dimension, 0.5)
    start[-1] = 0.3
    velocity = np.zeros(dimension)
    velocity[-1] = 0.4
    solid = KinematicSolid(Sphere((0.0,) * dimension, 0.15), lambda t: tuple(start + moving * t * velocity))
    solver = LiquidSolver(ms.Grid((n,) * dimension, 1 / n), LiquidOptions(tolerance=1e-12, tracking="level-set"), solid=solid)
    solver.fill(pool(solver.grid, 0.6, dimension - 1))
    initial = solver.volume_report()
    for _ in range(10):
        solver.step(0.01)
    speed = max(np.abs(c).max() for c in components(solver.velocity))
    if not moving:
        assert speed < 1e-10
    else:
        assert 0.25 < speed < 2.0
    assert abs(solver.volume_report().error / initial.liquid) < 5e-3


def test_outflow_through_an_open_side() -> None:
    """What leaves is counted, and the budget closes."""
    grid = ms.Grid((40, 20), 0.05)
    solver = LiquidSolver(grid, LiquidOptions(tracking="level-set"), boundary={"x+": ms.Open()})
    solver.fill(box((-1, -1), (1.4, 0.5)))
    initial = solver.volume_report().liquid
    while solver.time < 0.8:
        solver.step(0.02)
    report = solver.volume_report()
    assert report.outflow > 0.1 * initial
    assert abs(report.relative_error) < 0.04


@pytest.mark.fast_cases("2d")
def test_viscous_film(dimension: int) -> None:
    """A film between a no-slip floor and air reaches its parabola, carried by gravity along the floor."""
    nu, slope, height, n = 0.05, 1.3, 0.5, 16
    grid = ms.Grid((4,) * (dimension - 1) + (n,), 1 / n, periodic=(True,) * (dimension - 1) + (False,))
    gravity = (slope, *(0.0,) * (dimension - 2), -G)
    floor = {"xyz"[dimension - 1] + "-": ms.Wall(slip="no-slip")}
    solver = LiquidSolver(grid, LiquidOptions(gravity=gravity, viscosity=nu, tracking="level-set", tolerance=1e-12), boundary=floor)
    solver.fill(pool(grid, height, dimension - 1))
    for _ in range(360):
        solver.step(0.05)
    z = (np.arange(n // 2) + 0.5) / n
    exact = slope / (2 * nu) * z * (2 * height - z)
    u = solver.velocity.u.reshape(-1, n)[:, : n // 2]
    assert np.abs(u - exact).max() < 1.1 * slope / (2 * nu) / (4 * n**2)


def test_an_error_in_any_stage_leaves_everything_as_it_was(dimension: int) -> None:
    """And what follows has the same bits as without it."""

    def dam() -> LiquidSolver:
        solver = LiquidSolver(
            ms.Grid((12,) * dimension, 1 / 12),
            LiquidOptions(drift_correction=True, viscosity=1e-3, surface_tension=0.01),
            sources=[LiquidSource(region=Sphere((0.7,) * dimension, 0.12), velocity=(0.1,) * dimension)],
            solid=KinematicSolid(Sphere((0.5,) * dimension, 0.14), lambda t: (0.2 * t,) + (0.0,) * (dimension - 1)),
        )
        solver.fill(box((-1,) * dimension, (0.4,) * (dimension - 1) + (0.6,)))
        solver.step(0.01)
        return solver

    class Stop(Exception):
        pass

    plain, disturbed = dam(), dam()
    for stage in LiquidSolver.stages:
        before = disturbed.snapshot()

        def fail(name: str, _: LiquidSolver, stage: str = stage) -> None:
            if name == stage:
                raise Stop

        with pytest.raises(Stop):
            disturbed.step(0.01, on_stage=fail)
        assert_same(disturbed.snapshot(), before)
    plain.step(0.01)
    disturbed.step(0.01)
    assert_same(disturbed.snapshot(), plain.snapshot())
    other = dam()
    other.restore(plain.snapshot())
    plain.step(0.01)
    other.step(0.01)
    assert_same(other.snapshot(), plain.snapshot())


def assert_same(a: Any, b: Any) -> None:
    """The same bits in nested snapshots."""
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif isinstance(a, np.ndarray):
        np.testing.assert_array_equal(a, b)
    else:
        assert a == b


def test_a_solve_that_fails_changes_nothing() -> None:
    solver = still(2, 0.5, 1, "level-set", 12, max_iterations=1)
    solver.velocity.u[5, 3] = 1.0
    before = solver.snapshot()
    with pytest.raises(ms.ConvergenceError, match="the pressure did not converge"):
        solver.step(0.01)
    assert_same(solver.snapshot(), before)


def test_bad_input_is_one_sentence() -> None:
    grid = ms.Grid((8, 8), 0.1)
    for options, message in (
        ({"viscosity": -1.0}, "viscosity must not be negative"),
        ({"density": 0.0}, "density must be positive"),
        ({"tracking": "voodoo"}, "tracking must be one of"),
        ({"band": 1}, "band must be"),
        ({"surface_order": "third"}, "surface_order must be one of"),
        ({"per_cell": 0}, "per_cell must be"),
        ({"restitution": 1.5}, "restitution must be at most 1"),
        ({"vortex_kernel": "voodoo"}, "vortex_kernel must be one of"),
    ):
        with pytest.raises(ValueError, match=message):
            LiquidOptions(**options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="first_order_near must be one of"):
        TransportOptions(first_order_near="voodoo")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must be 2-D"):
        LiquidSolver(grid, sources=[LiquidSource(region=Sphere((0, 0, 0), 1.0))])
    with pytest.raises(TypeError, match="drains must be"):
        LiquidSolver(grid, drains=[LiquidSource(region=Sphere((0, 0), 1.0))])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="end must be after start"):
        Drain(region=Sphere((0, 0), 1.0), start=1.0, end=0.5)
    solver = LiquidSolver(grid)
    with pytest.raises(ValueError, match="dt must be positive"):
        solver.step(0.0)
    with pytest.raises(TypeError, match="region must be a Shape, a surface mesh, a LevelSet or a function of points"):
        solver.fill("pool")  # type: ignore[arg-type]
    solver.levelset.field.array[3, 4] = 0.0
    solver.levelset.field.with_ghosts[6, 7] = np.nan
    with pytest.raises(ValueError, match=r"levelset must be finite"):
        solver.set_surface()


def test_without_any_liquid_nothing_happens(dimension: int) -> None:
    solver = LiquidSolver(ms.Grid((8,) * dimension, 0.1))
    for _ in range(3):
        report = solver.step(0.01)
    assert report.volume == 0.0
    assert report.max_speed == 0.0
    assert solver.volume_report().relative_error == 0.0


def test_a_full_box_stays_full(dimension: int) -> None:
    """Closed and without any air: the pressure is known up to a constant, and nothing moves."""
    solver = LiquidSolver(ms.Grid((8,) * dimension, 0.1), LiquidOptions(tolerance=1e-12))
    solver.fill(box((-9,) * dimension, (9,) * dimension))
    for _ in range(3):
        report = solver.step(0.01)
    assert report.max_speed < 1e-11
    assert report.volume == pytest.approx(0.8**dimension, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("dimension", "seconds"), [(2, 5.0), (3, 1.0)])
def test_the_correction_keeps_the_volume_of_a_breaking_dam(dimension: int, seconds: float) -> None:
    """Of every part that is resolved, through impacts, overturning and spray; of all of them together, with the spray."""
    n = 64 if dimension == 2 else 40
    errors, parts, last = correct_a_dam(dimension, n, seconds, (0.5, 0.5))
    assert max(errors) < 1e-3
    assert max(parts) < 1e-3
    assert abs(last) < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize(("n", "column"), [(48, (0.3, 0.7)), (64, (0.3, 0.7)), (64, (0.41, 0.6)), (96, (0.3, 0.7))])
def test_the_corrected_volume_is_never_far_off(n: int, column: tuple[float, float]) -> None:
    """Columns that break into many parts, which merge and change numbers within a correction: 4 to 5 % at times, if parts were confused."""
    errors, _, _ = correct_a_dam(2, n, 2.0, column)
    assert max(errors) < 5e-3


def correct_a_dam(dimension: int, n: int, seconds: float, column: tuple[float, float]) -> tuple[list[float], list[float], float]:
    """Return the errors of the whole volume and the largest of resolved parts, by step, and the last error of the whole."""
    shape = (n, n) if dimension == 2 else (n, n // 4, n)
    solver = LiquidSolver(ms.Grid(shape, 1 / n), LiquidOptions(drift_correction=True))
    solver.fill(box((-9,) * dimension, (column[0], 9, column[1]) if dimension == 3 else column))
    resolved = (12 if dimension == 2 else 40) / n**dimension
    errors, parts = [], []
    while solver.time < seconds:
        solver.step(min(solver.max_dt(), 0.05))
        report = solver.volume_report()
        errors.append(abs(report.relative_error))
        parts.append(max((abs(c.error) for c in report.components if c.volume > resolved), default=0.0))
    return errors, parts, solver.volume_report().relative_error
