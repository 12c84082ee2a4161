"""Drops that are added to a liquid and taken from it, fly, join it, and gather: volume and momentum of all of them are accounted for."""

from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import LiquidOptions, LiquidSolver
from meniscus.surface import Box, Sphere

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def pool(
    dimension: int,
    depth: float = 0.4,
    dtype: Any = np.float64,
    n: int | None = None,
    periodic: bool = False,
    solid: Any = None,
    **options: Any,
) -> LiquidSolver:
    n = n or {2: 32, 3: 14}[dimension]
    grid = ms.Grid((n,) * dimension, 1 / n, periodic=(periodic, *(False,) * (dimension - 1)))
    solver = LiquidSolver(grid, LiquidOptions(**options), dtype=dtype, solid=solid)
    if depth:
        solver.fill(Box((-1.0,) * dimension, (2.0,) * (dimension - 1) + (depth,)))
    return solver


def rain(dimension: int, count: int, volume: float, low: float, high: float, seed: int = 1) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.1, 0.9, (count, dimension))
    x[:, -1] = rng.uniform(low, high, count)
    return x, rng.normal(size=(count, dimension)), volume / count * rng.uniform(0.5, 1.5, count)


def books_close(solver: LiquidSolver, tolerance: float = 1e-12) -> None:
    """What is expected of all parts, the drops and what waits is what has come in less what has gone out."""
    r = solver.volume_report()
    held = float(np.sum(solver.volume.budget["unassigned"])) + sum(c.expected for c in r.components) + r.spray + r.waiting
    assert held == pytest.approx(r.expected, rel=tolerance, abs=1e-16)


@DTYPES
def test_what_is_taken_is_what_was_added(dimension: int, dtype: Any) -> None:
    solver = pool(dimension, dtype=dtype)
    x, v, volume = (a.astype(dtype).astype(float) for a in rain(dimension, 50, 0.01, 0.5, 0.9))
    added = solver.add_drops(x, v, volume)
    exact = 1e-13 if dtype == np.float64 else 1e-6
    assert added.count == 50
    assert added.volume == pytest.approx(volume.sum(), rel=exact)
    np.testing.assert_allclose(added.momentum, (volume[:, None] * v).sum(axis=0), rtol=0, atol=exact * 0.01)
    books_close(solver)
    some = np.arange(50) % 3 == 0
    first = solver.take_drops(some)
    second = solver.take_drops(Box((-1.0,) * dimension, (2.0,) * dimension))
    assert (len(first), len(second), solver.surface.drops) == (17, 33, 0)
    np.testing.assert_array_equal(first.positions, x[some].astype(dtype))
    np.testing.assert_array_equal(second.velocities, v[~some].astype(dtype))
    np.testing.assert_allclose(first.volumes, volume[some], rtol=exact)
    report = solver.volume_report()
    assert first.volumes.sum() + second.volumes.sum() == pytest.approx(added.volume, rel=1e-14)
    assert report.given == pytest.approx(report.received, rel=1e-14)
    books_close(solver)


def test_drops_fall_freely(dimension: int) -> None:
    """Their velocity is that at the start and g t, to round-off, in steps of any length."""
    solver = pool(dimension, depth=0.0)
    x, v, volume = rain(dimension, 20, 1e-4, 0.7, 0.9)
    solver.add_drops(0.5 + 0.1 * (x - 0.5), 0.1 * v, volume)
    assert solver.particles is not None
    start = solver.particles.spray.positions.copy()
    dts = np.random.default_rng(3).uniform(1e-4, 0.02, 20)
    for dt in dts:
        solver.step(dt)
    gravity = np.array([0.0] * (dimension - 1) + [-9.81])
    t = dts.sum()
    np.testing.assert_allclose(solver.particles.spray["velocity"], 0.1 * v + t * gravity, rtol=0, atol=1e-14)
    np.testing.assert_allclose(solver.particles.spray.positions, start + 0.1 * t * v + 0.5 * t**2 * gravity, rtol=0, atol=1e-14)


@pytest.mark.parametrize("around", ["walls", "periods", "solid"])
@DTYPES
def test_absorbed_drops_give_all_of_their_volume_and_momentum(dimension: int, dtype: Any, around: str) -> None:
    """Drops anywhere in water that moves: what its faces gain, by the liquid around them, and what the volumes carry that wait is what the
    drops have had."""
    ball = Sphere((0.4,) * dimension, 0.15) if around == "solid" else None
    solver = pool(dimension, 0.5, dtype, periodic=around == "periods", solid=ball)
    rng = np.random.default_rng(5)
    for d in range(dimension):
        solver.velocity.component(d)[...] = rng.normal(size=solver.velocity.component(d).shape)
    if around == "periods":
        solver.velocity.u[0] = solver.velocity.u[-1]
    x, v, volume = rain(dimension, 300, 0.05, 0.05, 0.7)
    if around == "periods":
        x[:, 0] = (1.2 * x[:, 0]) % 1.0
    if ball is not None:
        clear = ball.signed_distance(x) > 0
        x, v, volume = x[clear], v[clear], volume[clear]
    solver.add_drops(x, 3 * v, volume)
    assert solver.particles is not None
    spray = solver.particles.spray
    inside = solver.levelset.sample(spray.positions) <= 0
    r = spray["radius"].astype(float)
    balls = np.pi * r**2 if dimension == 2 else 4 / 3 * np.pi * r**3
    taken, given = balls[inside].sum(), (balls[:, None] * spray["velocity"].astype(float))[inside].sum(axis=0)
    before = np.array(solver.momentum())
    joined = solver.rejoin(1e-6, expand=True)
    assert joined.count == inside.sum() == len(x) - solver.surface.drops > 100
    assert joined.volume == pytest.approx(taken, rel=1e-13)
    assert solver.expansion.waiting == pytest.approx(taken, rel=1e-13)
    np.testing.assert_allclose(joined.momentum, given, rtol=0, atol=1e-13 * np.abs(given).max() * 100)
    np.testing.assert_allclose(np.array(solver.momentum()) - before, joined.impulse, rtol=0, atol=1e-13)
    books_close(solver)


@pytest.mark.parametrize("size", [0.05, 1.0, 20.0])
def test_a_drop_and_the_liquid_around_it_share_their_velocity(dimension: int, size: float) -> None:
    """In the middle of liquid at rest a drop of V cells meets 12 (in 3-D 36) faces' worth of it: all get V v / (V + 12)."""
    solver = pool(dimension, 0.9)
    h = solver.grid.spacing
    centre = np.full((1, dimension), 0.5 + 0.5 * h)
    velocity = np.arange(1.0, dimension + 1)
    solver.add_drops(centre, velocity[None], [size * h**dimension])
    joined = solver.rejoin(1e-6, expand=True)
    liquid = {2: 12, 3: 36}[dimension]
    shared = size * velocity / (size + liquid)
    for d in range(dimension):
        u = solver.velocity.component(d)
        assert (u != 0).sum() == liquid
        np.testing.assert_allclose(u[u != 0], shared[d], rtol=1e-13)
    # The whole of it: with their volumes added, all of the momentum is there.
    np.testing.assert_allclose(np.array(joined.impulse) + joined.volume * shared, joined.momentum, rtol=1e-12)


def risen(solver: LiquidSolver, low: float, high: float) -> float:
    """How far drops of a twentieth of a pool raise it, relative to their volume."""
    before = solver.volume_report().liquid
    x, v, volume = rain(solver.grid.dimension, 200, 0.05 * before, low, high)
    given = solver.add_drops(x, 0 * v, volume).volume
    while solver.time < 0.7:
        solver.step(min(solver.max_dt(), 0.01))
        books_close(solver)
    report = solver.volume_report()
    assert report.spray < 0.01 * given
    assert report.waiting == pytest.approx(0, abs=1e-9 * given)
    return (report.liquid - before) / given


@pytest.mark.fast_cases("2d*")
@pytest.mark.parametrize("drift_correction", [False, True])
@DTYPES
def test_drops_raise_a_closed_pool_by_their_volume(dimension: int, dtype: Any, drift_correction: bool) -> None:
    """By expansion alone, and with the correction."""
    solver = pool(dimension, 0.4, dtype, expansion=True, drift_correction=drift_correction)
    assert risen(solver, 0.45, 0.95) == pytest.approx(1, abs=0.02)


@pytest.mark.fast_cases("2d")
def test_only_expansion_makes_room_for_drops(dimension: int) -> None:
    """Drops that join a pool at depth vanish in it where nothing makes room. (Those that join at its surface raise it as markers, by a part
    that depends on their radius.)"""
    for expansion, least, most in ((True, 0.98, 1.02), (False, -0.02, 0.02)):
        assert least < risen(pool(dimension, 0.4, expansion=expansion, drift_correction=False), 0.05, 0.25) < most


def test_what_is_too_much_for_one_step_waits(dimension: int) -> None:
    """The divergence is limited; the rest is carried over, and the sum of what was made room for is the volume that came."""
    solver = pool(dimension, 0.5, expansion_limit=0.05)
    h = solver.grid.spacing
    solver.expand(np.full((1, dimension), 0.2), [2.0 * h**dimension])
    waiting, before = [solver.expansion.waiting], solver.volume_report().liquid
    rng = np.random.default_rng(2)
    while solver.expansion.waiting != 0 and len(waiting) < 60:
        # Room for a step that turns out longer is too large, and is taken back; steps of one length end it exactly.
        solver.step(rng.uniform(0.002, 0.004) if len(waiting) < 15 else 0.003)
        waiting.append(solver.expansion.waiting)
        assert waiting[-2] - waiting[-1] <= 0.11 * 3**dimension * h**dimension
        books_close(solver)
    assert waiting[-1] == 0
    assert len(waiting) > 5
    report = solver.volume_report()
    assert report.received == 2.0 * h**dimension
    assert report.liquid - before == pytest.approx(report.received, rel=0.02)


def test_a_step_of_another_length_makes_no_more_room_than_there_is(dimension: int) -> None:
    """After a step of a millisecond, one that is a thousand times as long would have room for a hundred cells in each."""
    solver = pool(dimension, 0.5)
    h = solver.grid.spacing
    solver.expand(np.full((1, dimension), 0.2), [2.0 * h**dimension])
    solver.step(0.001)
    assert len(solver.expansion.cells) == 3**dimension
    with pytest.warns(ms.core.SolverWarning, match="advance"):
        solver.step(1.0)
    assert abs(solver.expansion.waiting) <= 0.2 * 3**dimension * h**dimension
    books_close(solver)


@pytest.mark.fast_cases("2d")
def test_a_liquid_closes_up_after_what_it_gives(dimension: int) -> None:
    solver = pool(dimension, 0.5, drift_correction=False)
    before = solver.volume_report().liquid
    given = 0.02 * before
    x, _, volume = rain(dimension, 40, 1.0, 0.1, 0.3)
    solver.expand(x, -given * volume / volume.sum())
    for _ in range(60):
        solver.step(0.005)
        books_close(solver)
    report = solver.volume_report()
    assert report.given == pytest.approx(given, rel=1e-14)
    assert before - report.liquid == pytest.approx(given, rel=0.02)


@DTYPES
def test_drops_that_gather_in_air_become_liquid_once_they_fill_a_cell(dimension: int, dtype: Any) -> None:
    solver = pool(dimension, 0.0, dtype, gravity=(0.0,) * dimension)
    n, h = solver.grid.shape[0], solver.grid.spacing
    rng = np.random.default_rng(7)
    cell = np.full(dimension, n // 2)
    x = (cell + rng.uniform(0.2, 0.8, (10, dimension))) * h
    v = rng.normal(size=(10, dimension)) + 1.0
    solver.add_drops(x, v, np.full(10, 0.09 * h**dimension))
    assert solver.gather(0.01).count == 0
    assert solver.surface.drops == 10
    assert not (solver.levelset.array <= 0).any()
    solver.add_drops(x[:2], v[:2], np.full(2, 0.07 * h**dimension))
    assert solver.particles is not None
    r = solver.particles.spray["radius"].astype(float)
    balls = np.pi * r**2 if dimension == 2 else 4 / 3 * np.pi * r**3
    given = (balls[:, None] * solver.particles.spray["velocity"].astype(float)).sum(axis=0)
    joined = solver.gather(0.01)
    assert joined.count == 12
    assert solver.surface.drops == 0
    assert joined.volume == pytest.approx(balls.sum(), rel=1e-13)
    np.testing.assert_allclose(joined.momentum, given, rtol=1e-12)
    np.testing.assert_array_equal(np.argwhere(solver.levelset.array <= 0), [cell])
    for d in range(dimension):
        u = solver.velocity.component(d)
        assert (u != 0).sum() == 2
        np.testing.assert_allclose(u[u != 0], given[d] / balls.sum(), rtol=1e-6)
    books_close(solver)
    solver.volume.distribute_unassigned()
    (part,) = solver.volume_report().components
    assert part.expected == pytest.approx(joined.volume, rel=1e-12)


@pytest.mark.fast_cases("2d")
def test_a_heap_of_drops_on_a_dry_floor_becomes_a_puddle(dimension: int) -> None:
    """Drops rain into a trough until they stand in it as liquid; the books close all the time."""
    solver = pool(dimension, 0.0, gather=True, expansion=True)
    x, v, volume = rain(dimension, 600, 0.15, 0.3, 0.9)
    given = solver.add_drops(x, 0 * v, volume).volume
    while solver.time < 1.5:
        solver.step(min(solver.max_dt(), 0.01))
        books_close(solver, 1e-11)
    report = solver.volume_report()
    assert report.received == given
    assert report.liquid > 0.9 * given
    assert abs(report.error) < 0.05 * given


def test_drops_in_a_solid_cut_cell_fill_what_the_solid_leaves_of_it() -> None:
    """A floor at three tenths of a cell leaves seven tenths; one below its middle leaves three, which count to the cell above."""
    n = 16
    for level, limit, row in ((0.3, 0.7, 4), (0.7, 1.0, 5)):
        solver = LiquidSolver(ms.Grid((n, n), 1 / n), solid=Box((-1.0, -1.0), (2.0, (4 + level) / n)))
        x = np.array([[7.5 / n, (4.05 + level) / n]])
        solver.add_drops(x, [[0.0, 0.0]], [0.99 * limit / n**2])
        assert solver.gather(0.01).count == 0
        solver.add_drops(x, [[0.0, 0.0]], [0.02 * limit / n**2])
        assert solver.gather(0.01).count == 2
        assert solver.levelset.array[7, row] <= 0


def test_dry_solvers_and_those_without_drops_say_so() -> None:
    solver = pool(2, 0.0)
    assert solver.rejoin(0.1).volume == solver.gather(0.1).volume == 0.0
    assert solver.fly(0.1).left.count == 0
    for options in ({"tracking": "level-set"}, {"air": "fluid"}):
        other = pool(2, **options)
        for call in (lambda o=other: o.add_drops([[0.5, 0.5]], [[0.0, 0.0]], [1e-3]), lambda o=other: o.take_drops(np.zeros(0, bool))):
            with pytest.raises(ValueError, match=r"^drops need tracking='particle-level-set'"):
                call()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s: s.add_drops([[0.5, 0.5]], [[0.0, 0.0]], [-1.0]), ValueError, "volumes must be positive, not -1"),
        (lambda s: s.add_drops([[0.5, 0.5]], [[0.0, 0.0]], 1.0), ValueError, r"volumes must have shape \(n,\)"),
        (lambda s: s.add_drops([[0.5, 0.5]], [[0.0]], [1.0]), ValueError, r"velocities must have shape \(1, 2\)"),
        (lambda s: s.add_drops([[0.5, 0.5, 0.5]], [[0.0, 0.0]], [1.0]), ValueError, "positions must have shape"),
        (lambda s: s.add_drops([[0.5, 1.5]], [[0.0, 0.0]], [1.0]), ValueError, "positions must be in the domain, but drop 0 is not"),
        (lambda s: s.add_drops([[0.5, np.nan]], [[0.0, 0.0]], [1.0]), ValueError, "positions must be finite"),
        (lambda s: s.add_drops([[0.5, 0.5]], [[0.0, np.inf]], [1.0]), ValueError, "velocities must be finite"),
        (lambda s: s.add_drops([[0.5, 0.5]], [[0.0, 1e7]], [1.0]), ValueError, "velocities must be at most 1e\\+06 m/s, not 1e\\+07"),
        (lambda s: s.add_drops("here", [[0.0, 0.0]], [1.0]), TypeError, "positions must be an array of numbers"),
        (lambda s: s.take_drops([True, False]), ValueError, r"which must have shape \(1,\)"),
        (lambda s: s.take_drops("all"), TypeError, "which must be a Shape"),
        (lambda s: s.take_drops(Sphere((0.5, 0.5, 0.5), 1.0)), ValueError, "which must be 2-D"),
        (lambda s: s.rejoin(0.0), ValueError, "dt must be"),
        (lambda s: s.rejoin(0.1, expand=2), TypeError, "expand must be"),
        (lambda s: s.gather(-1.0), ValueError, "dt must be"),
        (lambda s: s.fly(np.nan), ValueError, "dt must be"),
        (lambda s: s.expand([[0.5, 0.5]], [1.0, 2.0]), ValueError, "positions must have shape"),
        (lambda s: s.expand([[0.5, np.inf]], [1.0]), ValueError, "positions must be finite"),
        (lambda s: s.expand([[0.5, 0.5]], [np.nan]), ValueError, "volumes must be finite"),
    ],
)
def test_wrong_input_changes_nothing(call: Any, error: Any, message: str) -> None:
    solver = pool(2, n=8)
    solver.add_drops([[0.5, 0.7]], [[0.0, 0.0]], [1e-4])
    before = solver.snapshot()
    with pytest.raises(error, match=f"^{message}") as raised:
        call(solver)
    assert "\n" not in str(raised.value)
    np.testing.assert_equal(solver.snapshot(), before)


def test_options_of_the_expansion_are_checked() -> None:
    for limit in (0.0, 1.5, np.nan):
        with pytest.raises(ValueError, match="expansion_limit must be"):
            LiquidOptions(expansion_limit=limit)
