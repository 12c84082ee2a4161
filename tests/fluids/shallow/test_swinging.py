"""Water that swings in bowls, with a shoreline that moves: Thacker's solutions."""

from __future__ import annotations

import numpy as np
import pytest
from support.fluids.shallow import G, bowl, channel, swing

import meniscus as ms
from meniscus.fluids import ShallowWater


@pytest.mark.parametrize(("scheme", "percent"), [("flux", {100: 1.6, 200: 0.5, 400: 0.3}), ("staggered", {100: 6.0, 200: 2.7, 400: 1.4})])
def test_planar_swing(scheme: str, percent: dict[int, float]) -> None:
    for cells, most in percent.items():
        grid = channel(cells, 4.0, -2.0)
        ground, depth = swing(grid.cell_centers()[0], 0.0)
        water = ShallowWater(grid, ground, scheme)
        water.depth[...] = depth
        water.step(3 * 2 * np.pi / np.sqrt(2 * G * 0.1))
        assert 100 * abs(water.depth - depth).sum() / depth.sum() < most
        assert water.depth.min() >= 0
        assert abs(water.report.imbalance) < 1e-13 * water.report.volume


def test_planar_swing_in_between() -> None:
    grid = channel(200, 4.0, -2.0)
    x, period = grid.cell_centers()[0], 2 * np.pi / np.sqrt(2 * G * 0.1)
    ground, depth = swing(x, 0.0)
    water = ShallowWater(grid, ground)
    water.depth[...] = depth
    for _ in range(5):
        water.step(0.17 * period)
        assert abs(water.depth - swing(x, water.time)[1]).sum() < 0.01 * depth.sum()


@pytest.mark.slow
@pytest.mark.parametrize(("cells", "percent"), [(100, 4.0), (200, 1.2)])
def test_round_bowl(cells: int, percent: float) -> None:
    grid = ms.Grid((cells, cells), 3.0 / cells, (-1.5, -1.5))
    ground, depth = bowl(*grid.cell_centers(), 0.0)
    water = ShallowWater(grid, ground)
    water.depth[...] = depth
    water.step(3 * 2 * np.pi / np.sqrt(8 * G * 0.1))
    assert 100 * abs(water.depth - depth).sum() / depth.sum() < percent
    assert abs(water.report.imbalance) < 1e-13 * water.report.volume


@pytest.mark.parametrize("scheme", ["flux", "staggered", "printed"])
def test_seiche(scheme: str) -> None:
    # Period 2 L / sqrt(G D), second order: errors 1.2e-4 at 50 cells, 3.1e-5 at 100 of the printed scheme.
    errors = []
    for cells in (50, 100):
        grid = channel(cells, 10.0)
        wave = np.cos(np.pi * grid.cell_centers()[0] / 10)
        water = ShallowWater(grid, -1.0, scheme)
        water.depth[...] = 1 + 1e-5 * wave
        quarter, heights = 5 / np.sqrt(G), []
        for periods in (1, 2):  # the surface is level a quarter and three quarters of a period after the start
            water.step(periods * quarter)
            heights.append(float((water.surface * wave).sum() * 2 / cells) / 1e-5)
        errors.append(abs(heights[0] + heights[1]) / np.pi)
    assert errors[0] < 6e-4
    assert errors[1] < 0.35 * errors[0]
