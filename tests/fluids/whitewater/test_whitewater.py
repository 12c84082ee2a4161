"""Spray, foam and bubbles: exact motion of each kind, sources against sums in NumPy, and a ledger that closes."""

import copy
import itertools
import pickle
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import LiquidSolver, ParticleLiquidSolver, Whitewater, WhitewaterOptions, WhitewaterSources
from meniscus.surface import Box, Sphere

G = 9.81


def still_pool(dimension: int = 2, cells: int = 16, level: float = 0.5, **options: Any) -> LiquidSolver:
    solver = LiquidSolver(ms.Grid((cells,) * dimension, 1 / cells), **options)
    if level > 0:
        solver.fill(Box((-1.0,) * dimension, (*(2.0,) * (dimension - 1), level)))
    return solver


def quiet(**options: Any) -> WhitewaterOptions:
    return WhitewaterOptions(sources=WhitewaterSources(air_rate=0.0, crest_rate=0.0), **options)


def add(white: Whitewater, positions: Any, velocity: Any = 0.0) -> None:
    x = np.array(positions, white.particles.positions.dtype)
    v = np.broadcast_to(np.asarray(velocity, x.dtype), x.shape)
    ones = np.ones(len(x), x.dtype)
    white.particles.append(x, velocity=v.copy(), radius=0.01 * ones, lifetime=ones)


@pytest.mark.parametrize("drag", [0.0, 3.0])
@pytest.mark.parametrize("dimension", [2, 3])
def test_spray_flies_as_a_stone_does(dimension: int, drag: float) -> None:
    white = Whitewater(still_pool(dimension, 8, 0.0), quiet(air_drag=drag))
    start, velocity = np.full(dimension, 0.4), np.linspace(0.5, 1.0, dimension)
    add(white, [start], velocity)
    for dt in (0.02, 0.05, 0.03):
        white.step(dt)
    t, gravity = 0.1, np.array([*(0.0,) * (dimension - 1), -G])
    if drag == 0.0:
        x, v = start + t * velocity + 0.5 * t * t * gravity, velocity + t * gravity
    else:
        end = gravity / drag
        v = end + (velocity - end) * np.exp(-drag * t)
        x = start + t * end + (velocity - end) * (1 - np.exp(-drag * t)) / drag
    np.testing.assert_allclose(white.particles.positions[0], x, rtol=0, atol=1e-14 if dimension == 2 else 1e-6)
    np.testing.assert_allclose(white.particles["velocity"][0], v, rtol=0, atol=1e-13 if dimension == 2 else 1e-5)
    assert white.of_kind("spray").tolist() == [0]


def test_bubbles_rise_at_their_speed_and_become_foam_that_ages() -> None:
    white = Whitewater(still_pool(), quiet(rise=0.2, response=0.1, lifetime=(1.0, 1.0)))
    add(white, [(0.3, 0.2)])
    white.step(0.05)
    for _ in range(9):
        white.step(0.05)
    t = 0.5
    assert white.particles.positions[0] == pytest.approx((0.3, 0.2 + 0.2 * (t - 0.1 * (1 - np.exp(-t / 0.1)))), abs=1e-13)
    assert white.of_kind("bubble").tolist() == [0]
    assert white.particles["lifetime"][0] == 1.0
    while white.time < 2.0:
        white.step(0.05)
    assert white.of_kind("foam").tolist() == [0]
    assert white.particles.positions[0] == pytest.approx((0.3, 0.5), abs=2e-4)
    while len(white.particles):
        white.step(0.05)
        assert white.time < 3.5
    assert white.totals == {"emitted": 0, "expired": 1, "left": 0}


def test_foam_goes_with_the_liquid_and_onto_its_surface() -> None:
    liquid = still_pool()
    liquid.velocity.component(0)[...] = 0.8
    white = Whitewater(liquid, quiet(rise=0.1, response=0.01, lifetime=(9.0, 9.0)))
    places = np.array([(0.2, 0.48), (0.25, 0.5), (0.3, 0.53)])
    add(white, places, (0.8, 0.0))
    white.step(0.1)
    x = white.particles.positions
    np.testing.assert_allclose(x[:, 0], places[:, 0] + 0.08, atol=1e-12)
    np.testing.assert_allclose(x[:, 1], (0.49, 0.5, 0.52), atol=1e-12)
    for _ in range(3):
        white.step(0.1)
    np.testing.assert_allclose(white.particles.positions[:, 1], 0.5, atol=1e-9)


def wanted_by_numpy(liquid: LiquidSolver, o: WhitewaterSources, dt: float) -> float:
    """The sources as sums over neighbours, in plain Python, away from the sides."""
    h, n = liquid.grid.spacing, liquid.grid.dimension
    phi = np.array(liquid.levelset.array)
    faces = [np.array(liquid.velocity.component(d)) for d in range(n)]
    u = np.stack([0.5 * (f.take(range(1, f.shape[d]), axis=d) + f.take(range(f.shape[d] - 1), axis=d)) for d, f in enumerate(faces)], -1)
    offsets = [np.array(k) for k in itertools.product((-1, 0, 1), repeat=n) if any(k)]
    weights = np.array([1 - np.linalg.norm(k) / 2 for k in offsets])
    weights /= weights.sum()

    def ramp(ends: Any, x: float) -> float:
        return float(np.clip((x - ends[0]) / (ends[1] - ends[0]), 0, 1))

    gradient = np.stack(np.gradient(phi, h), -1)
    normal = gradient / np.maximum(np.linalg.norm(gradient, axis=-1, keepdims=True), 1e-300)
    total = 0.0
    for c in itertools.product(*(range(2, k - 2) for k in phi.shape)):
        if phi[c] > 0 or phi[c] < -1.5 * h:
            continue
        v = u[c]
        mean = 0.0
        for k, w in zip(offsets, weights, strict=True):
            j = tuple(np.array(c) + k)
            if phi[j] > 0:
                continue
            d = v - u[j]
            mean += w * np.linalg.norm(d) * (1 - d @ -k / max(np.linalg.norm(d), 1e-300) / np.linalg.norm(k))
        rate = o.air_rate * ramp(o.air_speeds, mean)
        if abs(phi[c]) <= h and v @ normal[c] >= 0.6 * np.linalg.norm(v):
            # Divergence of the normal by the formula of the level set, on the nearest neighbours.
            g = gradient[c]
            second = np.empty((n, n))
            for a, b in itertools.product(range(n), repeat=2):
                ea, eb = np.eye(n, dtype=int)[a], np.eye(n, dtype=int)[b]
                at = lambda s: phi[tuple(np.array(c) + s)]  # noqa: E731, B023
                second[a, b] = (
                    (at(ea) - 2 * phi[c] + at(-ea)) / h**2
                    if a == b
                    else (at(ea + eb) - at(ea - eb) - at(eb - ea) + at(-ea - eb)) / (4 * h * h)
                )
            size = np.linalg.norm(g)
            bend = (np.trace(second) * size**2 - g @ second @ g) / size**3
            rate += o.crest_rate * ramp(o.crest_bends, bend * h)
        total += rate * ramp([0.5 * s * s for s in o.speeds], 0.5 * float(v @ v))
    return total * dt


@pytest.mark.parametrize(("dimension", "cells"), [(2, 20), (3, 12)])
@pytest.mark.parametrize("rates", [(400.0, 0.0), (0.0, 400.0), (300.0, 200.0)])
def test_sources_are_the_sums_over_the_neighbours(dimension: int, cells: int, rates: tuple[float, float]) -> None:
    liquid = LiquidSolver(ms.Grid((cells,) * dimension, 1 / cells))
    liquid.fill(Sphere((0.5,) * dimension, 0.3))
    rng = np.random.default_rng(dimension)
    for d in range(dimension):
        liquid.velocity.component(d)[...] = rng.normal(size=liquid.velocity.component(d).shape) + (2.0 if d == 0 else 0.0)
    o = WhitewaterSources(air_rate=rates[0], crest_rate=rates[1], crest_bends=(0.0, 0.4))
    white = Whitewater(liquid, WhitewaterOptions(sources=o))
    white.emit(0.01)
    assert white.running_report.wanted == pytest.approx(wanted_by_numpy(liquid, o, 0.01), rel=1e-10)
    assert white.running_report.wanted > 1


def test_as_many_come_as_the_sources_want_on_average_and_most_is_never_passed() -> None:
    liquid = still_pool(3, 16)
    for d in range(3):
        liquid.velocity.component(d)[...] = np.random.default_rng(d).normal(size=liquid.velocity.component(d).shape) * 3
    white = Whitewater(liquid, WhitewaterOptions(most=4000, lifetime=(50.0, 60.0)))
    wanted = emitted = 0.0
    for _ in range(20):
        white.steps += 1
        white.emit(1e-3)
        wanted, emitted = wanted + white.running_report.wanted, emitted + white.running_report.emitted
    assert abs(emitted - wanted) < 4 * np.sqrt(wanted)
    assert 100 < emitted < 4000
    for _ in range(10):
        white.steps += 1
        white.emit(0.1)
    assert 3900 < len(white.particles) <= 4000


def test_still_and_slow_water_sends_out_nothing() -> None:
    liquid = still_pool(2, 24)
    white = Whitewater(liquid)
    for _ in range(5):
        white.step(liquid.step(0.01).dt)
    liquid.velocity.component(0)[...] = 0.9
    white.step(0.01)
    assert len(white.particles) == 0


def dam(dimension: int, kind: type = LiquidSolver, **options: Any) -> tuple[Any, Whitewater]:
    cells = 24
    solid = Sphere((0.65, *(0.5,) * (dimension - 2), 0.1), 0.12)
    solver = kind(ms.Grid((cells,) * dimension, 1 / cells), solid=solid, **options)
    solver.fill(Box((-1.0,) * dimension, (0.3, *(2.0,) * (dimension - 2), 0.8)))
    return solver, Whitewater(solver, WhitewaterOptions(lifetime=(0.05, 0.2), seed=3))


@pytest.mark.parametrize(("dimension", "kind"), [(2, LiquidSolver), (3, LiquidSolver), (2, ParticleLiquidSolver)])
def test_all_that_came_is_there_or_too_old_or_gone_and_none_is_in_a_solid(dimension: int, kind: type) -> None:
    boundary = {"x+": ms.Open()}
    solver, white = dam(dimension, kind, boundary=boundary)
    seen = set()
    while solver.time < (0.6 if dimension == 2 else 0.45):
        white.step(solver.step(min(solver.max_dt(), 0.01)).dt)
        t, x = white.totals, white.particles.positions
        assert t["emitted"] == len(white.particles) + t["expired"] + t["left"]
        assert (x >= 0).all()
        assert (x <= 1 + 1e-6).all()
        centre = np.array((0.65, *(0.5,) * (dimension - 2), 0.1))
        assert (np.linalg.norm(x - centre, axis=1) > 0.12 - 0.1 / 24).all()  # the ball is linear in each cell
        seen.update(white.particles["kind"].tolist())
    assert seen == {0, 1, 2}
    assert white.totals["expired"] > 0
    assert np.isfinite(white.particles["velocity"]).all()


def test_spray_that_strikes_a_wall_falls_along_it() -> None:
    solver = still_pool(2, 16, 0.0, solid=Box((0.7, -1.0), (2.0, 2.0)))
    white = Whitewater(solver, quiet())
    add(white, [(0.6, 0.9), (0.05, 0.9)], [(5.0, 0.0), (-5.0, 0.0)])
    for _ in range(15):
        white.step(0.02)
    order = np.argsort(white.particles.ids)
    x, v = white.particles.positions[order], white.particles["velocity"][order]
    assert x[:, 0] == pytest.approx((0.7, 0.0), abs=1e-3)
    np.testing.assert_allclose(v[:, 0], 0.0, atol=1e-12)
    np.testing.assert_allclose(v[:, 1], -0.3 * G, rtol=1e-12)


def test_same_bits_on_any_threads_and_after_restore_copy_and_pickle() -> None:
    def run(threads: int) -> list[bytes]:
        ms.set_num_threads(threads)
        solver, white = dam(2)
        while solver.time < 0.3:
            white.step(solver.step(0.01).dt)
        return [white.particles.positions.tobytes(), white.particles.ids.tobytes(), white.particles["kind"].tobytes()]

    expected = run(1)
    assert all(run(threads) == expected for threads in (2, 3, 5, 8))
    solver, white = dam(2)
    while solver.time < 0.2:
        white.step(solver.step(0.01).dt)
    states = white.snapshot(), copy.deepcopy(white), pickle.loads(pickle.dumps(white))
    white.step(0.01)
    for made in states[1:]:
        made.step(0.01)
        assert made.particles.positions.tobytes() == white.particles.positions.tobytes()
    after = white.particles.positions.tobytes()
    white.restore(states[0])
    white.step(0.01)
    assert white.particles.positions.tobytes() == after


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WhitewaterSources(air_rate=-1.0), "air_rate must not be negative"),
        (lambda: WhitewaterSources(speeds=(5.0, 1.0)), "speeds must be two numbers that rise"),
        (lambda: WhitewaterOptions(lifetime=(0.0, 1.0)), "lifetime must be two positive numbers"),
        (lambda: WhitewaterOptions(response=0.0), "response must be positive"),
        (lambda: WhitewaterOptions(most=-1), "most must be at least 0"),
    ],
)
def test_wrong_options_are_one_sentence(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_other_solvers_are_refused() -> None:
    smoke: Any = ms.fluids.SmokeSolver(ms.Grid((8, 8), 1 / 8))
    with pytest.raises(TypeError, match="liquid must be"):
        Whitewater(smoke)
