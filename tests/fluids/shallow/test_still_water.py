"""Lakes at rest."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import ShallowWater

SCHEMES = ["flux", "staggered", "printed"]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("periodic", [False, True])
def test_a_lake_with_islands_on_random_ground_rests(scheme: str, periodic: bool) -> None:
    rng = np.random.default_rng(3)
    x, y = np.meshgrid(np.linspace(0, 6, 40), np.linspace(0, 5, 33), indexing="ij")
    ground = rng.uniform(-1.0, 0.3, (40, 33)) + 0.7 * np.sin(x) * np.cos(2 * y)
    water = ShallowWater(ms.Grid((40, 33), 0.37, periodic=periodic), ground, scheme)
    water.fill(0.1234)
    assert 0.5 < water.wet().mean() < 0.98
    before = water.depth.copy()
    dt = water.max_substep()
    for _ in range(1000):
        water.step(dt)
    assert abs(water.depth - before).max() < 1e-12
    assert max(abs(u).max() for u in water.velocity) < 1e-12


@pytest.mark.parametrize("scheme", SCHEMES)
def test_pools_of_different_levels_stay_apart(scheme: str) -> None:
    ground = np.zeros((30, 8))
    ground[10], ground[20] = 1.0, 2.0
    water = ShallowWater(ms.Grid((30, 8), 0.5), ground, scheme)
    for part, level in ((slice(0, 10), 0.7), (slice(11, 20), 0.9), (slice(21, 30), 1.7)):
        water.depth[part] = level
    before = water.depth.copy()
    water.step(20.0)
    assert abs(water.depth - before).max() < 1e-12


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_pressure_on_the_surface_lowers_it(scheme: str) -> None:
    grid = ms.Grid((24, 20), 1.0)
    x, y = grid.cell_centers()
    pressure = 3000.0 * np.exp(-((x - 10) ** 2 + (y - 9) ** 2) / 20)
    water = ShallowWater(grid, -1.0 - 0.02 * x + 0 * y, scheme)
    water.surface_pressure = pressure
    water.depth[...] = 0.0 - pressure / (1000.0 * 9.81) - water.ground
    before = water.depth.copy()
    water.step(50.0)
    assert abs(water.depth - before).max() < 1e-12


@pytest.mark.parametrize("scheme", SCHEMES)
def test_water_under_a_downward_acceleration_that_varies_rests(scheme: str) -> None:
    # Flat ground: a_n depth^2 is the same everywhere; twice the acceleration leaves 1 / sqrt(2) of the depth.
    grid = ms.Grid((24, 20), 1.0)
    x, y = grid.cell_centers()
    water = ShallowWater(grid, 0.0, scheme)
    water.downward = np.where((x - 12) ** 2 + (y - 10) ** 2 < 25, 2.0, 1.0) * (9.81 + 0.1 * x)
    water.depth[...] = np.sqrt(9.81 / water.downward)
    before = water.depth.copy()
    water.step(50.0)
    assert abs(water.depth - before).max() < 1e-12
    assert max(abs(u).max() for u in water.velocity) < 1e-12


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_constant_downward_acceleration_is_gravity(scheme: str) -> None:
    grid = ms.Grid((24, 20), 1.0)
    rng = np.random.default_rng(2)
    depth, results = rng.uniform(0.5, 1.0, grid.shape), []
    for downward in (None, 9.81):
        water = ShallowWater(grid, 0.1 * np.sin(grid.cell_centers()[0]) + 0 * depth, scheme)
        water.downward = downward
        water.depth[...] = depth
        water.step(0.5)
        results.append(water.depth.copy())
    assert abs(results[0] - results[1]).max() < 1e-13


@pytest.mark.parametrize("scheme", SCHEMES)
def test_pressures_move_water_to_the_depth_that_they_leave(scheme: str) -> None:
    # With friction, water comes to rest where pressure and depth balance.
    grid = ms.Grid((16, 4), 1.0)
    water = ShallowWater(grid, -1.0, scheme)
    water.fill(0.0)
    pressure = np.zeros(grid.shape)
    pressure[:8] = 981.0
    water.surface_pressure, water.manning = pressure, 0.5
    water.step(400.0)
    assert np.ptp(water.surface[:8]) < 2e-3
    assert water.surface[12:].mean() - water.surface[:4].mean() == pytest.approx(0.1, abs=2e-3)


def test_what_makes_no_sense_is_said_in_one_sentence() -> None:
    grid = ms.Grid((6, 5), 1.0)
    with pytest.raises(ValueError, match=r"ground must be a number or have the shape of the grid, \(6, 5\), not \(5, 6\)"):
        ShallowWater(grid, np.zeros((5, 6)))
    water = ShallowWater(grid, -1.0)
    water.fill(0.0)
    water.depth[2, 3] = -0.1
    with pytest.raises(ValueError, match=r"depth must not be negative, but \[2, 3\] is -0.1"):
        water.step(0.1)
    water.depth[2, 3] = np.nan
    with pytest.raises(ValueError, match=r"depth must be finite, but \[2, 3\] is nan"):
        water.step(0.1)
    with pytest.raises(ValueError, match="scheme must be one of"):
        ShallowWater(grid, 0.0, "upwind")
    with pytest.raises(ValueError, match="two axes"):
        ShallowWater(ms.Grid((4, 4, 4), 1.0))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_threads_and_restarts_do_not_change_a_bit(scheme: str) -> None:
    import pickle

    def run(threads: int, resume: bool) -> np.ndarray:
        ms.core.set_num_threads(threads)
        grid = ms.Grid((70, 90), 0.1)
        x, y = grid.cell_centers()
        water = ShallowWater(grid, 0.1 * x - 0.3 * np.cos(y), scheme)
        water.manning = 0.02
        water.fill(0.2)
        water.depth[...] += 0.1 * np.exp(-((x - 3) ** 2) - (y - 4) ** 2)
        for _ in range(3):
            water.step(0.1)
            if resume:
                water = pickle.loads(pickle.dumps(water)).copy()
        return np.stack([water.depth, water.velocity[0][:70], water.velocity[1][:, :90]])

    before = ms.core.num_threads()
    try:
        first = run(1, False)
        for threads in (2, 3, 5, 8):
            assert np.array_equal(run(threads, threads == 3), first)
    finally:
        ms.core.set_num_threads(before)
