"""The sides of the domain belong to the measure of liquid: films and gaps of air that are thinner than half a cell, on every side."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import LiquidOptions, LiquidSolver
from meniscus.fluids.liquid.volume import measure_components
from meniscus.surface import HalfSpace, LevelSet

N = 12
H = 1 / N
THICKNESS = (0.1, 0.3, 0.45, 0.55, 0.8, 1.0, 1.3, 3.0)  # cells
Function = Callable[..., np.ndarray]


def above(axis: int, upper: bool) -> Function:
    """The height above a side of the unit box."""
    return lambda *x: (1 - x[axis] if upper else x[axis]) + 0 * sum(x)


def liquid(grid: ms.Grid, phi: Function, gravity: tuple[float, ...] | None = None) -> LiquidSolver:
    solver = LiquidSolver(grid, LiquidOptions(gravity=gravity))
    solver.fill(LevelSet.from_function(grid, phi, "cells"))
    return solver


def densely(phi: Function, dimension: int) -> float:
    """The part of the unit box where phi <= 0, by samples in columns along the last axis."""
    across, along = 40 if dimension == 3 else 500, 2000
    at = [(np.arange(n) + 0.5) / n for n in (*(across,) * (dimension - 1), along)]
    total = 0
    for x in at[0]:
        total += np.count_nonzero(phi(*np.meshgrid(x, *at[1:], indexing="ij", sparse=True)) <= 0)
    return total / (across ** (dimension - 1) * along)


def test_flat_films_on_every_side(dimension: int) -> None:
    grid = ms.Grid((N,) * dimension, H)
    for axis in range(dimension):
        for upper in (False, True):
            height = above(axis, upper)
            for cells in THICKNESS:
                levelset = LevelSet.from_function(grid, lambda *x, f=height, c=cells: f(*x) - c * H, "cells")
                labels, volumes = measure_components(levelset, None)
                assert volumes[1:] == pytest.approx([cells * H], rel=1e-5), (axis, upper, cells)
                assert labels.max() == 1
                assert levelset.volume() == pytest.approx(cells * H, rel=1e-5)
                assert levelset.volume_fractions().array.sum() * H**dimension == pytest.approx(cells * H, rel=1e-5)


@pytest.mark.parametrize("gap", [0.1, 0.4, 0.7])
def test_gaps_of_air_on_every_side(gap: float, dimension: int) -> None:
    grid = ms.Grid((N,) * dimension, H)
    for axis in range(dimension):
        for upper in (False, True):
            height = above(axis, upper)
            levelset = LevelSet.from_function(grid, lambda *x, f=height: gap * H - f(*x), "cells")
            assert measure_components(levelset, None)[1][1:] == pytest.approx([1 - gap * H], rel=1e-9)


@pytest.mark.parametrize("slope", [0.03, 0.2, 0.7, 3.0])
def test_slanted_films_are_as_densely_sampled(slope: float, dimension: int) -> None:
    """A surface that meets the floor and the walls, or the wall alone: within a per cent, with or without a solid far away."""
    grid = ms.Grid((N,) * dimension, H)
    normal = np.zeros(dimension)
    normal[[0, -1]] = np.array((-slope, 1.0)) / math.hypot(slope, 1)
    nodes = LevelSet.from_function(grid, lambda *x: 5 + 0 * sum(x), "nodes").field
    nodes.fill_ghosts()
    for cells in (0.1, 0.4, 1.0):

        def phi(*x: np.ndarray, c: float = cells) -> np.ndarray:
            return normal[0] * (x[0] - 0.5) + normal[-1] * (x[-1] - c * H) + 0 * sum(x)

        levelset = LevelSet.from_function(grid, phi, "cells")
        exact = densely(phi, dimension)
        for solid in (None, nodes):
            found = measure_components(levelset, solid)[1]
            assert len(found) == 2
            assert found.sum() == pytest.approx(exact, rel=0.01), (cells, solid is None)


def test_a_film_between_a_side_and_a_solid(dimension: int) -> None:
    """A wedge of a solid that ends in the floor: what is between its face, the surface, and the floor."""
    grid = ms.Grid((N,) * dimension, H)
    slope, cells = 0.2, 0.4

    def ramp(*x: np.ndarray) -> np.ndarray:
        return (x[-1] - slope * (x[0] - 0.5)) / math.hypot(slope, 1) + 0 * sum(x)

    nodes = LevelSet.from_function(grid, ramp, "nodes").field
    nodes.fill_ghosts()
    levelset = LevelSet.from_function(grid, lambda *x: x[-1] - cells * H + 0 * sum(x), "cells")
    exact = densely(lambda *x: np.where(ramp(*x) > 0, x[-1] - cells * H, 1.0), dimension)
    found = measure_components(levelset, nodes)[1]
    assert found.sum() == pytest.approx(exact, rel=0.01)
    assert len(found) == 2


@pytest.mark.parametrize("cells", [0.1, 0.4, 0.55, 3.0])
def test_films_at_rest_keep_their_volume(cells: float, dimension: int) -> None:
    """And their momentum counts all of it."""
    grid = ms.Grid((N,) * dimension, H)
    axis = dimension - 1
    for upper in (False, True) if dimension == 2 else (False,):
        down = tuple(0.0 if d < axis else (9.81 if upper else -9.81) for d in range(dimension))
        height = above(axis, upper)
        solver = liquid(grid, lambda *x, f=height: f(*x) - cells * H, down)
        solver.velocity.component(0)[1:-1] = 1.0
        inner = 1 - H  # half of the cells at both sides have given faces
        assert solver.momentum()[0] == pytest.approx(cells * H * inner, rel=1e-6)
        assert sum(float(v.sum()) for v in solver.face_volumes()) == pytest.approx(dimension * cells * H, rel=1e-6)
        solver.velocity.component(0)[...] = 0.0
        for _ in range(100 if dimension == 2 else 5):
            solver.step(min(solver.max_dt(), 0.01))
        assert solver.volume_report().liquid == pytest.approx(cells * H, rel=0.01)
        assert max(float(np.abs(solver.velocity.component(d)).max()) for d in range(dimension)) < 1e-6


@pytest.mark.parametrize("level", [0.985, 0.95])
def test_a_box_that_is_nearly_full_stays_at_rest(level: float, dimension: int) -> None:
    grid = ms.Grid((N,) * dimension, H)
    solver = liquid(grid, lambda *x: x[-1] - level + 0 * sum(x))
    assert solver.volume_report().liquid == pytest.approx(level, rel=1e-9)
    for _ in range(10):
        solver.step(min(solver.max_dt(), 0.01))
    assert solver.volume_report().liquid == pytest.approx(level, rel=1e-6)
    assert max(float(np.abs(solver.velocity.component(d)).max()) for d in range(dimension)) < 1e-6


def test_a_floor_of_the_domain_measures_as_one_of_a_solid(dimension: int) -> None:
    low = ms.Grid((N,) * dimension, H)
    whole = ms.Grid((*(N,) * (dimension - 1), N + 3), H, (*(0.0,) * (dimension - 1), -3 * H))
    normal = (0.0,) * (dimension - 1) + (1.0,)
    for cells in THICKNESS:
        found = liquid(low, lambda *x, c=cells: x[-1] - c * H + 0 * sum(x)).volume_report().liquid
        solver = LiquidSolver(whole, LiquidOptions(), solid=HalfSpace((0.0,) * dimension, normal))
        solver.fill(LevelSet.from_function(whole, lambda *x, c=cells: x[-1] - c * H + 0 * sum(x), "cells"))
        assert found == pytest.approx(solver.volume_report().liquid, rel=1e-6)
