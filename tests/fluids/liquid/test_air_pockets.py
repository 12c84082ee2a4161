"""Pockets of air that a liquid encloses: which cells they are, and that they keep their volume."""

from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus._meniscus import fluids as _fluids
from meniscus.core import Workspace
from meniscus.fluids import LiquidOptions, LiquidSolver, divergence, project
from meniscus.grid import CellField, MacField
from meniscus.surface import HalfSpace, LevelSet

core: Any = _fluids
G = 9.81


def find(levelset: CellField, before: np.ndarray | None = None, outside: np.ndarray | None = None, open_sides: Any = None) -> np.ndarray:
    pockets = np.zeros(levelset.shape, bool) if before is None else before.copy()
    sides = [False] * (2 * len(levelset.shape)) if open_sides is None else open_sides
    scratch = CellField(levelset.grid, levelset.dtype)
    count = core.find_air_pockets(levelset._core, outside, sides, scratch._core, pockets, Workspace())
    assert count == pockets.sum()
    return pockets


def parts_of(air: np.ndarray, periodic: tuple[bool, ...]) -> list[set[tuple[int, ...]]]:
    """Connected parts of a mask, by flooding."""
    left = {tuple(int(k) for k in c) for c in np.argwhere(air)}
    parts = []
    while left:
        part, front = set(), [left.pop()]
        while front:
            c = front.pop()
            part.add(c)
            for d in range(air.ndim):
                for step in (-1, 1):
                    q = list(c)
                    q[d] += step
                    if periodic[d]:
                        q[d] %= air.shape[d]
                    if tuple(q) in left:
                        left.remove(tuple(q))
                        front.append(tuple(q))
        parts.append(part)
    return parts


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(4))
def test_pockets_are_the_parts_that_do_not_reach_the_outside(dimension: int, seed: int, dtype: Any) -> None:
    rng = np.random.default_rng(seed)
    shape = (13, 17) if dimension == 2 else (9, 8, 10)
    periodic = (seed == 3,) + (False,) * (dimension - 1)
    levelset = CellField(ms.Grid(shape, 0.1, periodic=periodic), dtype)
    levelset.array[...] = rng.uniform(-0.8, 1.0 if dimension == 2 else 0.4, shape)
    outside = None if seed == 1 else rng.uniform(size=shape) > 0.1
    open_sides = [bool(rng.integers(2)) and seed == 2 for _ in range(2 * dimension)]
    air = (levelset.array > 0) & (True if outside is None else outside)
    parts = parts_of(air, periodic)
    largest = max(len(p) for p in parts)
    outer = sum(len(p) == largest for p in parts)
    expected = np.zeros(shape, bool)
    for part in parts:
        cells = np.array(sorted(part))
        at_open = any(open_sides[2 * d + up] and (cells[:, d] == (shape[d] - 1) * up).any() for d in range(dimension) for up in (0, 1))
        if len(part) < largest and not at_open and len(part) >= 2**dimension:
            expected[tuple(cells.T)] = True
    assert outer == 1, "two parts of one size would leave open which of them is outside"
    np.testing.assert_array_equal(find(levelset, None, outside, open_sides), expected)


@pytest.mark.parametrize(("width", "opens"), [(0, False), (1, False), (2, False), (3, True), (4, True)])
def test_a_pocket_opens_through_a_wide_neck_only(width: int, opens: bool) -> None:
    n = 24
    levelset = CellField(ms.Grid((n, n), 1.0))
    i = np.arange(n) + 0.5
    x, y = i[:, None], i[None]
    bubble, sky = np.maximum(np.abs(x - 12) - 5, np.abs(y - 8) - 4), 18 - y
    apart = np.minimum(bubble, sky)
    neck = np.maximum(np.abs(x - 12.0 - 0.5 * (width % 2)) - 0.5 * width, np.abs(y - 15) - 5)
    levelset.array[...] = -apart
    before = find(levelset)
    assert before.sum() == 80
    levelset.array[...] = -(np.minimum(apart, neck) if width else apart)
    now = find(levelset, before)
    assert (now.sum() == 0) == opens
    assert not find(levelset).any() or width == 0  # whoever was no pocket is none while it is connected
    if not opens:
        assert now[before].all()
        assert not now[:, 18:].any()


def test_small_pockets_are_none() -> None:
    levelset = CellField(ms.Grid((16, 16), 1.0))
    levelset.array[...] = -1.0
    levelset.array[:, 12:] = 1.0
    levelset.array[3:6, 4] = 1.0
    assert not find(levelset).any()
    levelset.array[3, 5] = 1.0
    assert find(levelset).sum() == 4


@pytest.mark.parametrize("axis", [0, 1])
def test_water_rests_on_a_pocket(dimension: int, axis: int) -> None:
    """Air below water: the air carries it, at the exact pressure."""
    n, dt, bottom, top = 20, 0.01, 0.313, 0.722
    grid = ms.Grid((n,) * dimension, 1 / n)
    levelset = LevelSet.from_function(grid, lambda *x: np.maximum(bottom - x[axis], x[axis] - top) + 0 * sum(x), "cells")
    velocity, pressure = MacField(grid), CellField(grid)
    velocity.component(axis)[...] = -G * dt
    y = (np.arange(n) + 0.5) / n
    below = np.broadcast_to((y < bottom).reshape([-1 if d == axis else 1 for d in range(dimension)]), grid.shape)
    project(velocity, dt, density=1000.0, liquid=levelset, solved_air=below, air_density=1.2, pressure=pressure, tolerance=1e-10)
    wet = np.moveaxis(velocity.component(axis), axis, 0)[: int(top * n) + 1]
    assert np.abs(wet).max() < 1e-8
    p = np.moveaxis(pressure.array, axis, 0).reshape(n, -1)
    exact = np.where(y < bottom, 1000 * G * (top - bottom) + 1.2 * G * (bottom - y), np.where(y < top, 1000 * G * (top - y), 0.0))
    np.testing.assert_allclose(p, exact[:, None] + 0 * p, rtol=1e-7, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_flow_enters_a_pocket(dimension: int, dtype: Any) -> None:
    """At a slanted wall too. With air of given pressure, it would."""
    n, dt = 24, 0.01
    grid = ms.Grid((n,) * dimension, 1 / n)
    centre = np.full(dimension, 0.5)
    centre[-1] = 0.3
    levelset = LevelSet.from_function(
        grid,
        lambda *x: np.maximum(x[-1] - 0.8, 0.18 - np.sqrt(sum((c - m) ** 2 for c, m in zip(x, centre, strict=True)))),
        "cells",
        dtype=dtype,
    )
    wall = HalfSpace((0.3,) * dimension, (0.8,) + (0.0,) * (dimension - 2) + (0.6,))
    solver = LiquidSolver(grid, LiquidOptions(), dtype=dtype, solid=wall)
    solid = solver.sampled_solid.at(0.0)
    assert solid is not None
    pockets = find(levelset.field, None, solid.outside_cells)
    assert pockets.any()
    for solved in (pockets, None):
        velocity = MacField(grid, dtype)
        velocity.component(dimension - 1)[...] = -G * dt
        project(velocity, dt, solid, 1000.0, 1e-6 if dtype == np.float32 else 1e-11, liquid=levelset, solved_air=solved)
        inflow = float(divergence(velocity, solid).array[pockets].astype(float).sum())
        if solved is None:
            assert abs(inflow) > 10
        else:
            assert abs(inflow) < (1e-3 if dtype == np.float32 else 1e-7)


def test_solved_air_needs_a_surface() -> None:
    grid = ms.Grid((8, 8), 0.1)
    air = np.zeros(grid.shape, bool)
    with pytest.raises(ValueError, match="level set"):
        project(MacField(grid), 0.1, solved_air=air)
    with pytest.raises(ValueError, match="level set"):
        project(MacField(grid), 0.1, solved_air=air, liquid=~air)
    levelset = LevelSet.from_function(grid, lambda x, y: y - 0.4 + 0 * x, "cells")
    with pytest.raises(ValueError, match="number"):
        project(MacField(grid), 0.1, density=CellField(grid), solved_air=air, liquid=levelset)
    with pytest.raises(ValueError, match="air_density"):
        project(MacField(grid), 0.1, solved_air=air, liquid=levelset, air_density=0.0)
    with pytest.raises(ValueError, match="pockets"):
        LiquidOptions(air="sealed")  # type: ignore[arg-type]


@pytest.mark.parametrize("tracking", ["level-set", "particle-level-set"])
def test_a_bubble_rises_and_keeps_its_volume(tracking: Any) -> None:
    """Air of given pressure is gone within 0.15 s, at several metres a second."""
    n = 40
    grid = ms.Grid((n, n), 1 / n)
    areas, heights, speeds = {}, {}, {}
    y = (np.arange(n) + 0.5)[None] / n
    for air in ("pockets", "open"):
        solver = LiquidSolver(grid, LiquidOptions(air=air, tracking=tracking))  # type: ignore[arg-type]
        solver.fill(LevelSet.from_function(grid, lambda x, y: np.maximum(y - 0.8, 0.15 - np.hypot(x - 0.5, y - 0.35)), "cells"))
        speeds[air] = 0.0
        for _ in range(35):
            speeds[air] = max(speeds[air], solver.step(0.004).max_speed)
        bubble = (solver.levelset.array > 0) & (y < 0.7)
        areas[air], heights[air] = bubble.sum() / n**2, (bubble * y).sum() / max(bubble.sum(), 1)
    assert areas["open"] < 0.02
    assert abs(areas["pockets"] / (np.pi * 0.15**2) - 1) < 0.08
    assert 0.38 < heights["pockets"] < 0.5
    assert speeds["pockets"] < 2.5
