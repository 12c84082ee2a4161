"""Drops that meet a liquid or gather: their volume and their momentum become those of the liquid."""

from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import LiquidOptions, LiquidSolver
from meniscus.surface import KinematicSolid, LevelSet, Sphere

N = {2: 32, 3: 16}
HEIGHTS = np.arange(8) / 8 + 0.003  # of the surface in its cell


def pool(dimension: int, dtype: type, part: float, **options: Any) -> LiquidSolver:
    """A pool without gravity, periodic but for the floor and the lid."""
    n = N[dimension]
    grid = ms.Grid((n,) * dimension, 1 / n, periodic=(True,) * (dimension - 1) + (False,))
    solver = LiquidSolver(grid, LiquidOptions(gravity=(0.0,) * dimension, per_cell=4, **options), dtype=dtype)
    level = 0.5 + part / n
    solver.fill(LevelSet.from_function(grid, lambda *x: sum(0 * c for c in x) + x[-1] - level, "cells", dtype=dtype))
    return solver


def momentum(solver: LiquidSolver) -> np.ndarray:
    """Of the liquid per density: each cell has the mean velocity of its faces."""
    fractions = solver.levelset.volume_fractions().array.astype(float)
    total = []
    for d in range(solver.grid.dimension):
        u = np.moveaxis(solver.velocity.component(d).astype(float), d, 0)
        total.append((np.moveaxis(fractions, d, 0) * 0.5 * (u[1:] + u[:-1])).sum())
    return np.array(total) * solver.grid.spacing**solver.grid.dimension


def ball(radius: float, dimension: int) -> float:
    return np.pi * radius**2 if dimension == 2 else 4 / 3 * np.pi * radius**3


def add(solver: LiquidSolver, points: Any, velocity: Any, radius: float) -> None:
    assert solver.particles is not None
    dtype = solver.velocity.dtype
    x = np.asarray(points, dtype)
    v = np.broadcast_to(np.asarray(velocity, dtype), x.shape)
    solver.particles.spray.append(x, velocity=v, radius=np.full(len(x), radius, dtype))


@pytest.mark.parametrize("part", HEIGHTS)
def test_a_pool_takes_volume_and_momentum_of_drops(part: float, dimension: int, dtype: type) -> None:
    """Wherever its surface lies, and however many drops meet in a cell; what the extension then gives the air keeps it."""
    solver = pool(dimension, dtype, part)
    n, drops = N[dimension], 20
    radius, level = 0.14 / n, 0.5 + part / n
    rng = np.random.default_rng(1)
    points = rng.uniform(0, 1, (drops, dimension))
    points[:, -1] = level + rng.uniform(-0.3, 0.9 * 0.14, drops) / n
    velocity = np.array([2.0, *[0.7] * (dimension - 2), -0.5])
    add(solver, points, velocity, radius)
    volume = drops * ball(radius, dimension)
    before = solver.levelset.volume(), momentum(solver)
    gained: dict[str, tuple[float, np.ndarray]] = {}

    def after(name: str, state: Any) -> None:
        gained[name] = (solver.levelset.volume() - before[0]) / volume, (momentum(solver) - before[1]) / (volume * velocity)

    solver.step(1e-4, after)
    assert solver.surface.drops == 0
    rounding = 1e-6 if dtype is np.float32 else 1e-7
    assert gained["spray"][0] == pytest.approx(1.0, abs=rounding)
    np.testing.assert_allclose(gained["spray"][1], 1.0, atol=1e-5 if dtype is np.float32 else 1e-12)
    # Along the surface nothing takes it away; across it the tank does.
    np.testing.assert_allclose(gained["extend"][1][:-1], 1.0, atol=0.01)
    assert solver.volume.expected.sum() == pytest.approx(solver.levelset.volume(), rel=1e-6)


def test_a_moving_ball_of_liquid_takes_momentum_of_drops(dimension: int, dtype: type) -> None:
    """Without walls, at any angle of the surface; the sum of both is there, in any frame."""
    n = N[dimension]
    solver = LiquidSolver(ms.Grid((n,) * dimension, 1 / n), LiquidOptions(gravity=(0.0,) * dimension, per_cell=4), dtype=dtype)
    own = np.linspace(0.3, -0.4, dimension)
    solver.fill(Sphere((0.5,) * dimension, 0.25), tuple(own))
    solver.extend(0.0)
    for d in range(dimension):
        solver.velocity.component(d)[...] = own[d]
    rng = np.random.default_rng(2)
    directions = rng.normal(size=(12, dimension))
    points = 0.5 + 0.25 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    radius, speed = 0.14 / n, np.linspace(-1.0, 2.0, dimension)
    add(solver, points, speed, radius)
    volume = solver.levelset.volume()
    solver.spray(1e-6)
    assert solver.surface.drops == 0
    added = 12 * ball(radius, dimension)
    assert solver.levelset.volume() - volume == pytest.approx(added, rel=1e-3 if dtype is np.float32 else 1e-6)
    # Beyond that of the liquid's own velocity, with which the volumes of cells are measured to second order only.
    beyond = momentum(solver) - solver.levelset.volume_fractions().array.astype(float).sum() / n**dimension * own
    np.testing.assert_allclose(beyond, added * (speed - own), rtol=1e-4)


def test_no_face_becomes_faster_than_the_drops(dimension: int) -> None:
    """A shower of fast drops onto a thin sheet, more than the sheet itself: a mean of velocities, never more."""
    n = N[dimension]
    grid = ms.Grid((n,) * dimension, 1 / n)
    solver = LiquidSolver(grid, LiquidOptions(gravity=(0.0,) * dimension, per_cell=4))
    solver.fill(LevelSet.from_function(grid, lambda *x: sum(0 * c for c in x) + abs(x[-1] - 0.5) - 0.6 / n, "cells"))
    rng = np.random.default_rng(3)
    points = rng.uniform(0.1, 0.9, (40 * n, dimension))
    points[:, -1] = 0.5 + 0.7 / n
    add(solver, points, [3.0] * (dimension - 1) + [-2.0], 0.14 / n)
    solver.spray(1e-6)
    for d in range(dimension):
        u = solver.velocity.component(d)
        assert (u.min(), u.max()) >= (0.0, 0.0) if d < dimension - 1 else u.min() >= -2.0
        assert u.max() <= (3.0 if d < dimension - 1 else 0.0) + 1e-12


def test_drops_that_gather_become_liquid(dimension: int, dtype: type) -> None:
    """On a dry floor: a cell full of drops is a ball of liquid with their volume and velocity; few drops stay drops."""
    n = N[dimension]
    solver = LiquidSolver(ms.Grid((n,) * dimension, 1 / n), LiquidOptions(gravity=(0.0,) * dimension), dtype=dtype)
    radius = 0.2 / n
    share = ball(0.2, dimension)
    many, few = int(np.ceil(0.9 / share)), int(0.5 / share)
    corner = np.full(dimension, (n // 2) / n)
    corner[-1] = 0.0
    rng = np.random.default_rng(4)
    full = corner + rng.uniform(0.1, 0.9, (many, dimension)) / n
    lone = corner + rng.uniform(0.1, 0.9, (few, dimension)) / n
    lone[:, 0] -= 8 / n
    velocity = np.array([1.0] * (dimension - 1) + [0.0])
    add(solver, np.vstack([full, lone]), velocity, radius)
    solver.spray(1e-9)
    assert solver.surface.drops == few
    volume = many * ball(radius, dimension)
    assert solver.levelset.volume() == pytest.approx(volume, rel=0.01)
    inside = solver.levelset.volume_fractions().array.astype(float).sum() / n**dimension
    np.testing.assert_allclose(momentum(solver)[:-1], inside, rtol=0.01)
    # It is liquid to the solver, and keeps its speed in a step.
    assert solver.step(1e-4).max_speed == pytest.approx(1.0, rel=0.05)


def test_drops_beside_a_solid_are_accounted_for(dimension: int) -> None:
    """A ball that floats in the surface: liquid and drops outside of it add up through the stage."""
    n = N[dimension]
    solid = KinematicSolid(Sphere((0.5,) * dimension, 0.2))
    solver = LiquidSolver(ms.Grid((n,) * dimension, 1 / n), LiquidOptions(gravity=(0.0,) * dimension, per_cell=4), solid=solid)
    solver.fill(LevelSet.from_function(solver.grid, lambda *x: sum(0 * c for c in x) + x[-1] - 0.51, "cells"))
    points = np.full((30, dimension), 0.5)
    points[:, 0] = 0.705 + np.arange(30) / 30 * 0.05
    points[:, -1] = 0.51
    add(solver, points, [-1.0] + [0.0] * (dimension - 1), 0.14 / n)
    before = solver.volume_report()
    solver.spray(1e-6)
    after = solver.volume_report()
    assert after.spray == 0.0
    assert after.liquid - before.liquid == pytest.approx(before.spray, rel=1e-5)


@pytest.mark.parametrize("cfl", [0.5, 2.0])
def test_the_first_order_band_is_as_wide_as_the_motion(cfl: float) -> None:
    """Of the step that is taken, not of the one that `max_dt` would take."""
    grid = ms.Grid((16, 16), 1 / 16, periodic=(True, False))
    solver = LiquidSolver(grid, LiquidOptions(gravity=(0.0, 0.0), surface_order="first", cfl=cfl, tracking="level-set"))
    solver.fill(LevelSet.from_function(grid, lambda x, y: y - 0.5 + 0 * x, "cells"))
    solver.velocity.u[...] = 2.0
    widths = []
    near = solver.faces.near_surface
    solver.faces.near_surface = lambda levelset, distance: widths.append(distance) or near(levelset, distance)  # type: ignore
    solver.step(0.01)
    assert widths == [pytest.approx(0.02, rel=1e-12)]


def test_where_transport_is_of_first_order_is_an_option() -> None:
    """Beside the floor, 'walls' leaves the correction out and 'nothing' does not."""
    results = []
    for near in ("nothing", "walls"):
        grid = ms.Grid((16, 16), 1 / 16, periodic=(True, False))
        solver = LiquidSolver(grid, LiquidOptions(gravity=(0.0, 0.0), first_order_near=near))  # type: ignore[arg-type]
        solver.fill(LevelSet.from_function(grid, lambda x, y: y - 0.5 + 0 * x, "cells"))
        solver.velocity.u[...] = 1.0 + 0.3 * np.sin(2 * np.pi * np.arange(17) / 16)[:, None]
        solver.transport(0.02)
        results.append(solver.velocity.u.copy())
    assert np.abs(results[0] - results[1])[:, 0].max() > 1e-4
    assert np.abs(results[0] - results[1])[:, 6].max() == 0.0


def test_a_solid_sampled_in_double_serves_a_flow_in_single(dimension: int) -> None:
    """With the bits of a solid that is sampled in single precision; what its owner writes later counts."""
    n = 12
    grid = ms.Grid((n,) * dimension, 1 / n)
    moving = KinematicSolid(Sphere((0.5,) * dimension, 0.2), lambda t: (0.3 * t,) + (0.0,) * (dimension - 1))
    double, single = moving.sample(grid, 0.0), moving.sample(grid, 0.0, dtype=np.float32)
    solvers = [LiquidSolver(grid, LiquidOptions(per_cell=4), dtype=np.float32, solid=s) for s in (double, single)]
    for speed in (None, 0.5):
        for sample in (double, single):
            if speed is not None:
                sample.velocity.u[...] = speed
        for solver in solvers:
            if speed is None:
                solver.fill(LevelSet.from_function(grid, lambda *x: sum(0 * c for c in x) + x[-1] - 0.6, "cells", dtype=np.float32))
            solver.step(0.005)
        np.testing.assert_array_equal(solvers[0].velocity.u, solvers[1].velocity.u)
