"""Regions that leave the solve next to nothing: slivers beside solids, sources that fill a closed box, starts that are far off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.build import components
from support.projection import cells, fluid_parts, nodes, set_faces

import meniscus as ms
from meniscus.fluids import divergence, project
from meniscus.surface import SolidSample

SPEED = 0.7


def moving_wedge(grid: ms.Grid, dtype: Any, corner: float) -> SolidSample:
    """All of a box but a corner, cut off by an oblique wall that moves into it."""
    normal = np.array((0.567, 0.495, 0.658)[: grid.dimension])
    normal /= np.linalg.norm(normal)
    sample = SolidSample(grid, dtype)
    sample.levelset.array = nodes(grid, lambda *x: corner - sum(n * c for n, c in zip(normal, x, strict=True))).array
    set_faces(sample.velocity, lambda *x: tuple(-SPEED * normal))
    return sample


@pytest.mark.parametrize("corner", [0.0504, 0.1001, 0.1732, 0.2501, 0.3377])
def test_what_a_closed_corner_cannot_hold_is_not_pressed_through_slits(corner: float, dimension: int, dtype: type) -> None:
    """Cells of any size below a wall that closes on them take a flux in proportion to what is open of them, so no face is faster than a few
    times the wall; in equal parts, slits would carry thousands of times its speed."""
    grid = ms.Grid((12, 11, 10)[:dimension], 0.05)
    velocity = ms.MacField(grid, dtype)
    body = moving_wedge(grid, dtype, corner)
    info = project(velocity, 0.01, body, tolerance=1e-6)
    (region,) = info.regions
    assert region.closed
    fastest = max(np.abs(c).max() for c in components(velocity))
    assert fastest < 12 * SPEED
    share = fluid_parts(grid, body.levelset)
    inside = share > 0
    d = divergence(velocity, body).array[inside] * grid.spacing**dimension
    assert np.abs(d - region.flux * share[inside] / share.sum()).max() < 1e-5 * abs(region.flux)


@pytest.mark.parametrize("value", [1.0, -3e-5, 7e12])
def test_a_source_that_fills_a_closed_box(value: float, dimension: int, dtype: type) -> None:
    """The walls take all of it, evenly: nothing is left to solve but rounding, which is no reason to fail."""
    grid = ms.Grid((19, 24, 9)[:dimension], 0.05)
    target = cells(grid, lambda *x: value + 0 * x[0], dtype)
    for solid in (None, nodes(grid, lambda *x: np.sqrt(sum((c - 0.2) ** 2 for c in x)) - 0.13)):
        velocity = ms.MacField(grid, dtype)
        info = project(velocity, 0.01, solid, target_divergence=target, tolerance=1e-8)
        assert info.converged
        assert info.regions[0].closed
        assert info.residual == 0.0
        assert all(not c.any() for c in components(velocity))


def test_a_large_pressure_of_the_step_before_leaves_no_rounding(dimension: int) -> None:
    """A flow that has come to rest below a solid, whose last pressure was large and uniform, is solved to any tolerance."""
    grid = ms.Grid((18, 12, 8)[:dimension], 0.05)
    solid = nodes(grid, lambda *x: 0.031 + 0.006 * x[0] - x[1])
    rng = np.random.default_rng(4)
    velocity = ms.MacField(grid)
    for d in range(dimension):
        velocity.component(d)[...] = 1e-8 * rng.uniform(-1, 1, velocity.component(d).shape)
    pressure = ms.CellField(grid)
    pressure.array = 1e9 + rng.uniform(-1, 1, grid.shape)
    info = project(velocity, 0.01, solid, pressure=pressure, warm_start=True, tolerance=1e-10)
    assert info.converged
    assert max(np.abs(c).max() for c in components(velocity)) < 1e-7
    assert np.abs(pressure.array).max() < 1.0
