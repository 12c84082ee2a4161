"""Liquid and air as two fluids that share one pressure: hydrostatics, surface tension, momentum, viscosity, state."""

import math
import pickle
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus._meniscus import fluids as _fluids
from meniscus.core import Workspace
from meniscus.fluids import LiquidOptions, LiquidSolver, diffuse_liquid, project
from meniscus.fluids.liquid.faces import LiquidFaces
from meniscus.grid import CellField, MacField
from meniscus.surface import Box, LevelSet, Sphere

core: Any = _fluids
G = 9.81


def plane(grid: ms.Grid, normal: np.ndarray, offset: float) -> LevelSet:
    """The liquid below a plane at a distance from the middle of the unit box."""
    return LevelSet.from_function(grid, lambda *x: sum(n * (c - 0.5) for n, c in zip(normal, x, strict=True)) - offset, "cells")


@pytest.mark.fast_cases("2d-1.2-level-set", "2d-5000.0-particle-level-set", "3d-1.2-level-set")
@pytest.mark.parametrize("tracking", ["level-set", "particle-level-set"])
@pytest.mark.parametrize("air_density", [1.2, 5000.0])
def test_fluids_rest_on_one_another(dimension: int, tracking: Any, air_density: float) -> None:
    """Around a ball, with gravity in any direction, the lighter on top. Velocities are those of the tolerance times the ratio of
    densities."""
    n = {2: 32, 3: 14}[dimension]
    grid = ms.Grid((n,) * dimension, 1 / n)
    up = np.random.default_rng(dimension).normal(size=dimension)
    up /= np.linalg.norm(up)
    options = LiquidOptions(air="fluid", air_density=air_density, gravity=-G * up, tracking=tracking)
    solver = LiquidSolver(grid, options, solid=Sphere((0.5,) * (dimension - 1) + (0.52,), 0.23))
    solver.fill(plane(grid, up if air_density < 1000 else -up, 0.013))
    for _ in range(100 if dimension == 2 else 30):
        assert solver.step(0.01).max_speed < 5e-8


def test_pressure_below_two_fluids_and_an_open_side(dimension: int) -> None:
    """The pressure on the side is given; from there on, it grows by the weight of the air and then of the liquid."""
    n, level = 24, 0.47
    grid = ms.Grid((n,) * dimension, 1 / n)
    solver = LiquidSolver(
        grid, LiquidOptions(air="fluid", air_density=300.0), boundary={"xyz"[dimension - 1] + "+": ms.Open(pressure=50.0)}
    )
    solver.fill(plane(grid, np.eye(dimension)[-1], level - 0.5))
    for _ in range(3):
        assert solver.step(0.01).max_speed < 1e-7
    y = (np.arange(n) + 0.5) / n
    exact = 50 + G * np.where(y < level, 300 * (1 - level) + 1000 * (level - y), 300 * (1 - y))
    np.testing.assert_allclose(solver.pressure.array.reshape(-1, n), np.broadcast_to(exact, (n ** (dimension - 1), n)), rtol=1e-6)


@pytest.mark.parametrize("wet", [True, False])
@pytest.mark.parametrize("all_air", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pressure_jumps_by_the_surface_tension(dimension: int, wet: bool, all_air: bool, dtype: Any) -> None:
    """In a drop and a bubble, with all air solved for or only what is in the bubble. Nothing moves."""
    n, jump = 18, 7.5
    grid = ms.Grid((n,) * dimension, 1 / n, periodic=(True,) + (False,) * (dimension - 1))
    sign = 1 if wet else -1
    middle = np.array((0.05, 0.45, 0.52)[:dimension])  # across the periodic side

    def distance(*x: np.ndarray) -> np.ndarray:
        across = (x[0] - middle[0] + 0.5) % 1 - 0.5
        ball = np.sqrt(across**2 + sum((c - m) ** 2 for c, m in zip(x[1:], middle[1:], strict=True))) - 0.22
        return np.maximum(sign * ball, -1 if wet else x[-1] - 0.9)

    levelset = LevelSet.from_function(grid, distance, "cells", dtype=dtype)
    inside = levelset.array <= 0 if wet else (levelset.array > 0) & (((np.arange(n) + 0.5) / n) < 0.8)
    air = levelset.array > 0
    velocity, pressure, tension = MacField(grid, dtype), CellField(grid), CellField(grid, dtype)
    tension.array[...] = np.where(((np.arange(n) + 0.5) / n) < 0.8, jump, 0.0)
    solved = air if all_air else air & inside
    project(
        velocity,
        0.01,
        density=3.0,
        liquid=levelset,
        solved_air=solved,
        air_density=0.05,
        surface_pressure=tension,
        pressure=pressure,
        tolerance=1e-12 if dtype == np.float64 else 1e-6,
    )
    small = 1e-9 if dtype == np.float64 else 1e-3
    assert max(np.abs(velocity.component(d)).max() for d in range(dimension)) < small
    p = pressure.array
    assert p[inside].mean() - p[~inside].mean() == pytest.approx(sign * jump, abs=100 * small)
    assert np.ptp(p[inside]) < 100 * small


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_velocities_become_one_by_mass(dimension: int, dtype: Any) -> None:
    rng = np.random.default_rng(5)
    shape = (7, 9, 6)[:dimension]
    grid = ms.Grid(shape, 0.2, periodic=(True,) + (False,) * (dimension - 1))
    liquid, air, levelset = MacField(grid, dtype), MacField(grid, dtype), CellField(grid, dtype)
    levelset.array[...] = rng.uniform(-0.2, 0.2, shape)
    for d in range(dimension):
        liquid.component(d)[...] = rng.normal(size=liquid.component(d).shape)
        air.component(d)[...] = rng.normal(size=air.component(d).shape)
    before = liquid.copy()
    core.unite_velocities(liquid._core, air._core, levelset._core, 0.25)
    phi = levelset.array.astype(float)
    for d in range(dimension):
        width = [(1, 1) if e == d else (0, 0) for e in range(dimension)]
        padded = np.pad(phi, width, mode="wrap") if d == 0 else np.pad(phi, width, mode="edge")
        low, high = np.delete(padded, -1, d), np.delete(padded, 0, d)
        wet = np.where((low <= 0) & (high <= 0), 1.0, 0.0)
        cut = (low <= 0) != (high <= 0)
        lower, upper = np.minimum(low, high)[cut], np.maximum(low, high)[cut]
        wet[cut] = lower / (lower - upper)
        expected = (wet * before.component(d) + (1 - wet) * 0.25 * air.component(d)) / (wet + (1 - wet) * 0.25)
        np.testing.assert_allclose(liquid.component(d), expected, rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-6)


@pytest.mark.fast_cases("2d*")
@pytest.mark.parametrize("tracking", ["level-set", "particle-level-set"])
def test_a_drop_falls_freely(dimension: int, tracking: Any, request: pytest.FixtureRequest) -> None:
    """Air of a thousandth of the density takes hardly any of its speed."""
    if (dimension, tracking) == (3, "level-set"):
        lost = "0.981 of the speed where the middle of the drop lies on faces of cells, 0.987 to 0.993 elsewhere"
        request.applymarker(pytest.mark.xfail(strict=True, reason=lost))
    n, dt = {2: 48, 3: 24}[dimension], 0.01
    grid = ms.Grid((n,) * dimension, 1 / n)
    solver = LiquidSolver(grid, LiquidOptions(air="fluid", tracking=tracking))
    solver.fill(Sphere((0.5,) * (dimension - 1) + (0.75,), 0.14))
    while solver.time < 0.22:
        solver.step(dt)
    wet = solver.levelset.array < 0
    w = solver.velocity.component(dimension - 1)
    speed = -0.5 * (w[..., 1:] + w[..., :-1])[wet].mean()
    assert speed == pytest.approx(G * solver.time, rel={2: 0.01, 3: 0.015}[dimension])


@pytest.mark.fast_cases("*-pool")
@pytest.mark.parametrize("name", ["ball", "pool"])
@pytest.mark.parametrize("tracking", ["level-set", "particle-level-set"])
def test_impacts_gain_no_energy(name: str, tracking: Any, request: pytest.FixtureRequest) -> None:
    """A column that hits a ball, and a drop that falls into a pool, with water and air. With one velocity for both, or a surface moved
    by the air, speeds reach 26 sqrt(2 g H) and energies three times what was given. Where faces with little liquid, which go along with
    the air in gaps, carry the liquid, one column in twenty gains up to four fifths, and one in five is faster than 3 sqrt(2 g H): roundings
    decide which, so several starts within a micrometre are tried."""
    if name == "ball":
        request.applymarker(
            pytest.mark.xfail(strict=True, reason="1.042 of what was given")
        )
    n = 48
    for shift in (0.0, 1.211476490245918e-10, -1.7104549310051784e-9, 9e-7, 1.8e-6) if name == "ball" else (0.0,):
        grid = ms.Grid((n, n), 1 / n)
        solver = LiquidSolver(
            grid, LiquidOptions(air="fluid", tracking=tracking), solid=Sphere((0.6, 0.1), 0.2) if name == "ball" else None
        )
        column, drop = Box((-1, -1), (0.3 + shift, 0.7)), Sphere((0.5, 0.7 + shift), 0.12)
        solver.fill(column if name == "ball" else Box((-1, -1), (2, 0.25)) | drop)

        def potential(solver: LiquidSolver = solver) -> float:
            part = np.clip(0.5 - n * solver.levelset.array, 0, 1)
            return float(1000 * G * (part * (np.arange(n) + 0.5)).sum() / n**3)

        given = potential()
        while solver.time < 0.6:
            report = solver.step(min(solver.max_dt(), 0.01))
            assert report.max_speed < 4 * math.sqrt(2 * G * 0.7)
            assert report.kinetic_energy + potential() < 1.04 * given


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_faces_that_are_mostly_liquid(dimension: int, dtype: Any) -> None:
    """Those of which at least half of the line between the cells on both sides is."""
    shape = (7, 9, 6)[:dimension]
    grid = ms.Grid(shape, 0.2, periodic=(True,) + (False,) * (dimension - 1))
    levelset = CellField(grid, dtype)
    levelset.array[...] = np.random.default_rng(6).uniform(-0.2, 0.2, shape)
    phi = levelset.array
    masks = [np.ones(np.add(shape, [int(e == d) for e in range(dimension)]), bool) for d in range(dimension)]
    core.mostly_liquid_faces(levelset._core, masks)
    for d, found in enumerate(masks):
        width = [(1, 1) if e == d else (0, 0) for e in range(dimension)]
        padded = np.pad(phi, width, mode="wrap") if d == 0 else np.pad(phi, width, mode="edge")
        low, high = np.delete(padded, -1, d), np.delete(padded, 0, d)
        # With a linear level set, half of the line is wet if its middle is.
        np.testing.assert_array_equal(found, low + high <= 0)


def test_light_faces_in_a_gap_do_not_carry_the_liquid() -> None:
    """A jet of 1 m/s rises along a wall, 1.3 cells before it; what little liquid its tip has beyond the last cells goes along with air of
    50 m/s."""
    grid = ms.Grid((24, 24), 1.0)
    liquid = LevelSet.from_function(grid, lambda x, y: np.maximum(np.abs(x - 17.7) - 5.0, y - 9.6), "cells")
    columns = np.flatnonzero(liquid.array[:, 9] <= 0)
    fastest = {}
    for two_fluids in (True, False):
        velocity = MacField(grid)
        velocity.component(1)[...] = 1.0
        velocity.component(1)[columns, 10] = 50.0
        LiquidFaces(velocity, True, two_fluids).extend(velocity, liquid, None, 5, Workspace())
        v = np.abs(velocity.component(1))
        # At the wall, and on the other side, where the air is free.
        fastest[two_fluids] = v[22:].max(), v[:16].max()
        assert (v[columns, :10] == 1.0)[:, 1:].all()
    assert fastest[True] == pytest.approx((1.0, 1.5), rel=1e-12)
    assert fastest[False] == (50.0, 50.0)


def test_shear_of_two_layers() -> None:
    """Between a wall at rest and one that moves, the stress is the same in both layers. First order, as the viscosity jumps."""
    level, ratio = 0.43, 0.2  # of air to liquid: density 0.5, kinematic viscosity 0.4
    errors = {}
    for n in (16, 32, 64):
        grid = ms.Grid((2, n), 1 / n, periodic=(True, False))
        levelset = LevelSet.from_function(grid, lambda x, y: y - level + 0 * x, "cells")
        velocity = MacField(grid, boundary={"y-": ms.Wall(slip="no-slip"), "y+": ms.Wall((1.0, 0.0), slip="no-slip")})
        diffuse_liquid(velocity, 1e6, 1.0, liquid=levelset, air_viscosity=0.4, air_density=0.5, tolerance=1e-13, max_iterations=5000)
        y = (np.arange(n) + 0.5) / n
        stress = 1 / (level + (1 - level) / ratio)
        exact = stress * np.where(y < level, y, level + (y - level) / ratio)
        errors[n] = np.abs(velocity.component(0)[0] - exact).max()
    assert errors[64] < 0.02
    assert errors[64] < 0.6 * errors[16]


def test_air_viscosity_is_checked() -> None:
    grid = ms.Grid((8, 8), 0.1)
    levelset = LevelSet.from_function(grid, lambda x, y: y - 0.4 + 0 * x, "cells")
    with pytest.raises(ValueError, match="air"):
        diffuse_liquid(MacField(grid), 0.1, 1.0, air_viscosity=0.1)
    with pytest.raises(ValueError, match="number"):
        diffuse_liquid(MacField(grid), 0.1, CellField(grid), liquid=levelset, air_viscosity=0.1)
    with pytest.raises(ValueError, match="air_density"):
        diffuse_liquid(MacField(grid), 0.1, 1.0, liquid=levelset, air_viscosity=0.1, air_density=0.0)
    with pytest.raises(ValueError, match="must not be negative"):
        diffuse_liquid(MacField(grid), 0.1, 1.0, liquid=levelset, air_viscosity=-0.1)
    with pytest.raises(ValueError, match="air_viscosity"):
        LiquidOptions(air_viscosity=-1.0)
    with pytest.raises(ValueError, match="let the heavier fluid be the liquid"):
        LiquidOptions(air="fluid", air_density=10_100.0)


def test_state_of_two_fluids(dimension: int) -> None:
    """A run goes on bit by bit from a snapshot, a pickle and after a step that failed."""
    n = {2: 24, 3: 12}[dimension]
    options = LiquidOptions(air="fluid", air_density=50.0, viscosity=1e-3, air_viscosity=1e-2, surface_tension=0.5)

    def begin() -> LiquidSolver:
        solver = LiquidSolver(ms.Grid((n,) * dimension, 1 / n), options)
        solver.fill(Sphere((0.45,) * dimension, 0.21))
        for _ in range(3):
            solver.step(0.01)
        return solver

    solver = begin()
    snapshot, pickled = solver.snapshot(), pickle.dumps(solver)
    other = LiquidSolver(solver.grid, options)
    other.restore(snapshot)
    failing = begin()

    def interrupt(stage: str, _: Any) -> None:
        if stage == "project":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        failing.step(0.01, interrupt)
    runs = [solver, other, pickle.loads(pickled), failing]
    for run in runs:
        for _ in range(2):
            run.step(0.01)
    for run in runs[1:]:
        assert run.air is not None
        assert solver.air is not None
        for d in range(dimension):
            np.testing.assert_array_equal(run.air.velocity.component(d), solver.air.velocity.component(d))
            np.testing.assert_array_equal(run.velocity.component(d), solver.velocity.component(d))
        np.testing.assert_array_equal(run.levelset.array, solver.levelset.array)
