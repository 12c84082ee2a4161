"""Regions handed over and taken back, velocities that are blended, and pressure gradients at points."""

from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import LiquidOptions, LiquidSolver
from meniscus.surface import Box, LevelSet, Sphere

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def moving_pool(dimension: int, dtype: Any = np.float64, solid: Any = None, periodic: bool = False, **options: Any) -> LiquidSolver:
    """Water up to 0.6, in motion."""
    n = {2: 32, 3: 14}[dimension]
    grid = ms.Grid((n,) * dimension, 1 / n, periodic=(periodic, *(False,) * (dimension - 1)))
    solver = LiquidSolver(grid, LiquidOptions(**options), dtype=dtype, solid=solid)
    solver.fill(Box((-1.0,) * dimension, (2.0,) * (dimension - 1) + (0.6,)))
    rng = np.random.default_rng(4)
    for d in range(dimension):
        solver.velocity.component(d)[...] = rng.normal(size=solver.velocity.component(d).shape)
    solver.project(0.01)
    solver.extend(0.01)
    return solver


def ones(solver: LiquidSolver) -> list[Any]:
    return [np.ones_like(solver.velocity.component(d)) for d in range(solver.grid.dimension)]


def labelled(solver: LiquidSolver) -> float:
    return sum(c.expected for c in solver.volume_report().components)


@pytest.mark.parametrize("periodic", [False, True])
@DTYPES
def test_what_is_handed_over_is_what_the_report_says(dimension: int, dtype: Any, periodic: bool) -> None:
    solid = Sphere((0.7,) * dimension, 0.15)
    solver = moving_pool(dimension, dtype, solid, periodic)
    before, momentum = solver.volume_report(), np.array(solver.momentum())
    ball = Sphere((0.4,) * dimension, 0.25)
    given = solver.hand_over(ball)
    after = solver.volume_report()
    exact = np.pi * 0.25**2 if dimension == 2 else 4 / 3 * np.pi * 0.25**3
    assert given.volume == pytest.approx(exact, rel=0.15)
    assert after.given - before.given == given.volume
    assert before.expected - after.expected == pytest.approx(given.volume, rel=1e-12)
    assert labelled(solver) == pytest.approx(after.expected, rel=1e-12)
    # Redistancing has moved the new surface into the region by a little.
    rest = solver.hand_over(ball)
    assert rest.volume < 0.02 * given.volume
    volume, lent = given.volume + rest.volume, np.array(given.momentum) + rest.momentum
    received = solver.take_back(ball, volume, lent / volume)
    again = solver.volume_report()
    assert received.volume == volume
    np.testing.assert_allclose(received.momentum, lent, rtol=1e-12)
    assert again.expected == pytest.approx(before.expected, rel=1e-12)
    assert labelled(solver) + again.waiting == pytest.approx(again.expected, rel=1e-12)
    # Apart from what redistancing does to both surfaces, the momentum is back.
    np.testing.assert_allclose(solver.momentum(), momentum, rtol=0, atol=0.1 * np.abs(given.momentum).max() + 1e-3)


def test_the_last_of_a_body_of_liquid_goes_with_all_that_is_expected_of_it(dimension: int) -> None:
    """Cells with their centre in a drop are emptied, up to their faces. Nothing is left of it then, not even what measures more than is
    expected, or markers outside of these cells, which would become drops; another body keeps what is its own."""
    n = {2: 32, 3: 16}[dimension]
    solver = LiquidSolver(ms.Grid((n,) * dimension, 1 / n), LiquidOptions(drift_correction=False))
    drop = Sphere((0.48,) * (dimension - 1) + (0.7,), 0.16)
    solver.fill(Box((-1.0,) * dimension, (2.0,) * (dimension - 1) + (0.2,)) | drop)
    kept, pool = sorted(c.expected for c in solver.volume_report().components)
    for _ in range(4):
        solver.step(0.01)
    measured = min(c.volume for c in solver.volume_report().components)
    assert abs(measured / kept - 1) > 1e-5
    solver.velocity.component(0)[...] = 2.0
    h = solver.grid.spacing
    wet = (solver.levelset.array <= 0) & (solver.levelset.field.coordinates()[-1] > 0.4)
    cells = LevelSet(solver.grid, "cells")
    cells.array[...] = np.where(wet, -0.5 * h, 0.5 * h)
    cells.redistance(band=3 * h)
    given = solver.hand_over(cells)
    assert given.volume == pytest.approx(kept, rel=1e-12)
    assert given.momentum[0] == pytest.approx(2.0 * kept, rel=0.03)
    assert solver.volume_report().expected == pytest.approx(pool, rel=1e-12)
    solver.velocity.component(0)[...] = 0.0
    for _ in range(3):
        solver.step(0.01)
    assert solver.surface.drops == 0
    assert solver.volume_report().expected == pytest.approx(pool, rel=1e-12)


def test_the_momentum_of_a_region_is_that_of_its_liquid(dimension: int) -> None:
    """In water that moves uniformly, it is the volume times the velocity, but for what the two measures of volume differ."""
    solver = moving_pool(dimension)
    h = solver.grid.spacing
    for d in range(dimension):
        solver.velocity.component(d)[...] = 1.0 + d
    given = solver.hand_over(Box((2 * h,) * dimension, (7 * h,) * dimension))
    assert given.volume == pytest.approx((5 * h) ** dimension, rel=0.05)
    np.testing.assert_allclose(given.momentum, given.volume * np.arange(1.0, dimension + 1), rtol=0.05)


@DTYPES
def test_water_taken_back_mixes_its_velocity(dimension: int, dtype: Any) -> None:
    """Into air, faces get the velocity given; where there is water at rest, momentum and impulse agree to what waits."""
    solver = moving_pool(dimension, dtype)
    for d in range(dimension):
        solver.velocity.component(d)[...] = 0.0
    velocity = np.arange(1.0, dimension + 1)
    received = solver.take_back(Sphere((0.5,) * (dimension - 1) + (0.8,), 0.12), velocity=velocity)
    np.testing.assert_allclose(received.momentum, received.volume * velocity, rtol=1e-12)
    np.testing.assert_allclose(received.impulse, received.momentum, rtol=0.2)
    wet = solver.momentum()
    np.testing.assert_allclose(wet, received.impulse, rtol=0.3)
    full = solver.take_back(Sphere((0.5,) * (dimension - 1) + (0.25,), 0.15), 0.01, velocity)
    assert full.volume == 0.01
    assert solver.expansion.waiting == pytest.approx(0.01, rel=1e-12)
    np.testing.assert_allclose(full.momentum, 0.01 * velocity, rtol=1e-12)
    report = solver.volume_report()
    assert report.received == pytest.approx(received.volume + 0.01, rel=1e-12)
    assert labelled(solver) + report.waiting == pytest.approx(report.expected, rel=1e-12)


def test_a_region_waits_with_what_it_holds(dimension: int) -> None:
    """Volumes that wait in a region go with it, with their velocity."""
    solver = moving_pool(dimension)
    for d in range(dimension):
        solver.velocity.component(d)[...] = 2.0
    ball = Sphere((0.4,) * dimension, 0.25)
    bare = solver.copy().hand_over(ball)
    solver.expand(np.full((1, dimension), 0.4), [0.02])
    given = solver.hand_over(ball)
    assert solver.expansion.waiting == 0.0
    assert given.volume == pytest.approx(bare.volume + 0.02, rel=1e-12)
    np.testing.assert_allclose(np.array(given.momentum) - bare.momentum, 0.04, rtol=1e-9)
    assert labelled(solver) == pytest.approx(solver.volume_report().expected, rel=1e-12)


@pytest.mark.parametrize("periodic", [False, True])
@DTYPES
def test_blending(dimension: int, dtype: Any, periodic: bool) -> None:
    """Weight 0 changes no bit, weight 1 gives the values, equal velocities stay, and what is reported is what the liquid has gained."""
    solver = moving_pool(dimension, dtype, Sphere((0.7,) * dimension, 0.15), periodic)
    rng = np.random.default_rng(9)
    shapes = [solver.velocity.component(d).shape for d in range(dimension)]
    values = [rng.normal(size=s).astype(dtype) for s in shapes]
    before = solver.snapshot()
    zero = [np.zeros(s, dtype) for s in shapes]
    assert solver.blend_velocity([np.full(s, np.nan, dtype) for s in shapes], zero).momentum == (0.0,) * dimension
    np.testing.assert_equal(solver.snapshot(), before)
    own = [solver.velocity.component(d).copy() for d in range(dimension)]
    weights = [rng.random(s).astype(dtype) * (rng.random(s) < 0.5) for s in shapes]
    assert solver.blend_velocity(solver.velocity.copy(), weights).momentum == (0.0,) * dimension
    np.testing.assert_equal(solver.snapshot(), before)
    if periodic:  # the first and the last faces are one
        values[0][0], weights[0][0] = values[0][-1], weights[0][-1]
    momentum = np.array(solver.momentum())
    gained = solver.blend_velocity(values, weights)
    exact = 1e-13 if dtype == np.float64 else 1e-12
    np.testing.assert_allclose(np.array(solver.momentum()) - momentum, gained.momentum, rtol=0, atol=exact)
    for d in range(dimension):
        expected = own[d] + weights[d] * (values[d] - own[d])
        np.testing.assert_allclose(solver.velocity.component(d), expected, rtol=0, atol=1e-12 if dtype == np.float64 else 1e-5)
    assert np.abs(gained.momentum).max() > 1e-4
    solver.blend_velocity(values, [np.ones(s, dtype) for s in shapes])
    for d in range(dimension):
        np.testing.assert_array_equal(solver.velocity.component(d), values[d])


@pytest.mark.parametrize("depth", [0.6, 0.6 + 0.3 / 32, 0.55 - 0.45 / 32])
@DTYPES
def test_the_pressure_gradient_of_water_at_rest_is_its_weight(dimension: int, dtype: Any, depth: float) -> None:
    """At any point, up to the surface wherever it lies, beside walls and solids; in the air above it is zero."""
    n = {2: 32, 3: 14}[dimension]
    solid = Sphere((0.5,) * (dimension - 1) + (0.3,), 0.17)
    solver = LiquidSolver(ms.Grid((n,) * dimension, 1 / n), LiquidOptions(air_pressure=1e5), dtype=dtype, solid=solid)
    solver.fill(Box((-1.0,) * dimension, (2.0,) * (dimension - 1) + (depth,)))
    solver.step(0.01)
    rng = np.random.default_rng(6)
    points = rng.random((2000, dimension))
    points[:, -1] *= depth
    points[:100, 0] = 0.0
    points[100:200, -1] = 0.0
    points = points[solid.signed_distance(points) > 0]
    weight = np.array([0.0] * (dimension - 1) + [-9810.0])
    exact = 0.01 if dtype == np.float64 else 2.0
    np.testing.assert_allclose(solver.pressure_gradient_at(points), np.broadcast_to(weight, points.shape), atol=exact)
    high = points.copy()
    high[:, -1] = rng.uniform(depth + 3.1 / n, 1.0, len(high))
    np.testing.assert_array_equal(solver.pressure_gradient_at(high), 0.0)


def test_the_pressure_gradient_is_what_the_projection_has_applied(dimension: int) -> None:
    """On every face beside liquid: density times the change of the velocity by the projection per time."""
    solver = moving_pool(dimension, surface_tension=0.05, tolerance=1e-12)
    dt = 0.004
    rng = np.random.default_rng(8)
    for d in range(dimension):
        solver.velocity.component(d)[...] = rng.normal(size=solver.velocity.component(d).shape)
    before = solver.velocity.copy()
    solver.project(dt)
    h, shape = solver.grid.spacing, np.array(solver.grid.shape)
    for d in range(dimension):
        change = np.asarray(solver.velocity.component(d)) - before.component(d)
        index = np.argwhere(solver.faces.liquid(solver.levelset)[d])
        index = index[(index[:, d] > 0) & (index[:, d] < shape[d])]
        points = (index + 0.5) * h
        points[:, d] -= 0.5 * h
        gradient = solver.pressure_gradient_at(points)[:, d]
        np.testing.assert_allclose(-dt / 1000.0 * gradient, change[tuple(index.T)], rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s: s.hand_over(3), TypeError, "region must be a Shape"),
        (lambda s: s.hand_over(Sphere((0.5, 0.5, 0.5), 0.1)), ValueError, "region must be 2-D"),
        (lambda s: s.take_back(Sphere((0.5, 0.5), 0.1), -1.0), ValueError, "volume must not be negative"),
        (lambda s: s.take_back(Sphere((0.5, 0.5), 0.1), "much"), TypeError, "volume must be"),
        (lambda s: s.take_back(Sphere((0.5, 0.5), 0.1), 0.1, (1.0, 2.0, 3.0)), ValueError, "velocity must hold 2 numbers"),
        (lambda s: s.take_back(Sphere((0.5, 0.5), 0.001), 0.1), ValueError, "region must hold the centre of a cell"),
        (lambda s: s.blend_velocity(s.velocity, [1.0, 1.0]), ValueError, r"weights\[0\] must have shape \(33, 32\)"),
        (lambda s: s.blend_velocity(s.velocity, [s.velocity.u > 0, s.velocity.v > 0]), TypeError, r"weights\[0\] must be of dtype float64"),
        (lambda s: s.blend_velocity(3, 4), TypeError, "values must hold 2 arrays"),
        (lambda s: s.blend_velocity(s.velocity, [2 + 0 * s.velocity.u, 0 * s.velocity.v]), ValueError, "weights must be from 0 to 1"),
        (
            lambda s: s.blend_velocity([s.velocity.u / 0.0, s.velocity.v], ones(s)),
            ValueError,
            "weights must be from 0 to 1 and values finite",
        ),
        (lambda s: s.blend_velocity(ms.MacField(ms.Grid((4, 4), 0.1)), [0, 0]), ValueError, "values must have the grid"),
        (lambda s: s.pressure_gradient_at([0.5, 0.5]), ValueError, "points must have shape"),
        (lambda s: s.pressure_gradient_at([[0.5, np.nan]]), ValueError, "points must be finite"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_wrong_input_changes_nothing(call: Any, error: Any, message: str) -> None:
    solver = moving_pool(2)
    before = solver.snapshot()
    with pytest.raises(error, match=f"^({message})") as raised:
        call(solver)
    assert "\n" not in str(raised.value)
    np.testing.assert_equal(solver.snapshot(), before)


def test_regions_may_be_level_sets() -> None:
    first, second = moving_pool(2), moving_pool(2)
    ball = Sphere((0.4, 0.3), 0.2)
    a = first.hand_over(ball)
    b = second.hand_over(LevelSet.from_shape(second.grid, ball, "cells"))
    assert a.volume == pytest.approx(b.volume, rel=1e-3)
