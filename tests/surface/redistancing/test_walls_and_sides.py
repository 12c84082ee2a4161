"""Redistancing of surfaces that go on in walls and beyond the sides of the domain."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from support.at_rest import filled_to, solids, unit
from support.variants import slow_but

import meniscus as ms
from meniscus.core import Workspace
from meniscus.surface import Box, HalfSpace, LevelSet
from meniscus.surface.shapes.solid_boundary import solid_boundary


def tilted(dimension: int, rng: np.random.Generator) -> np.ndarray:
    """A direction, mostly downwards."""
    down = rng.uniform(-1.5, 1.5, dimension)
    down[-1] = -1.0
    return unit(down)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(6))
def test_a_plane_that_goes_on_beyond_the_sides_stays_at_any_angle(dimension: int, seed: int, dtype: Any) -> None:
    """Also where it cuts off a corner of the box. Distances from the part within the box differ by up to half a cell there."""
    rng = np.random.default_rng(seed)
    n = 24 if dimension == 2 else 14
    grid = ms.Grid((n,) * dimension, 1 / n)
    levelset = filled_to(grid, tilted(dimension, rng), 0.4 * rng.uniform(-1, 1))
    phi = LevelSet(grid, "cells", dtype)
    phi.array[...] = levelset.array
    for _ in range(30):
        phi.redistance(band=6 / n, at_sides="goes-on")
    near = np.abs(levelset.array) < 4.9 / n
    assert near.any()
    error = np.abs(phi.array - levelset.array)[near].max() * n
    assert error < (1e-11 if dtype == np.float64 else 2e-4)


def test_a_surface_that_goes_on_needs_a_band(dimension: int) -> None:
    levelset = filled_to(ms.Grid((8,) * dimension, 0.125), unit([0.0] * (dimension - 1) + [-1.0]), 0.01)
    with pytest.raises(ValueError, match="needs a band"):
        levelset.redistance(at_sides="goes-on")
    with pytest.raises(ValueError, match="at_sides"):
        levelset.redistance(band=1.0, at_sides="beyond")  # type: ignore[arg-type]


@pytest.mark.parametrize(("dimension", "seed"), slow_but(product((2, 3), range(3)), (2, 0)))
def test_errors_do_not_grow_when_continuation_and_redistancing_are_repeated(dimension: int, seed: int) -> None:
    """A plane that meets walls at any angle, with errors of a billionth of a cell. Without the mask they grow by 1.5 % per round, to 0.01
    cells after a thousand; with slopes towards the surface to 0.06 cells in three dimensions."""
    rng = np.random.default_rng(seed)
    n, rounds, space = (28, 700, Workspace()) if dimension == 2 else (14, 400, Workspace())
    for name, solid in solids(dimension, rng).items():
        grid = ms.Grid((n,) * dimension, 1 / n)
        down, level = tilted(dimension, rng), 0.08 * rng.uniform(-1, 1)
        boundary = solid_boundary(solid, grid, np.float64, 0.0)
        assert boundary is not None
        plane = filled_to(grid, down, level)
        near = (np.abs(plane.array) < 3 / n) & boundary.outside_cells
        exact = plane.array.copy()
        plane.array[...] += 1e-9 / n * rng.uniform(-1, 1, exact.shape)
        for _ in range(rounds):
            boundary.extend_level_set(plane.field, space)
            plane.redistance(band=6 / n, at_sides="goes-on", outside=boundary.outside_cells, workspace=space)
        assert np.abs(plane.array - exact)[near].max(initial=0.0) * n < (4e-9 if dimension == 2 else 2e-7), name


@pytest.mark.parametrize("thickness", [1, 2, 3, 5])
def test_there_is_no_surface_where_continuations_of_two_sides_meet(thickness: int) -> None:
    """A wall with liquid up to different heights on its two sides."""
    n = 32
    grid = ms.Grid((n, n), 1 / n)
    first = 16
    boundary = solid_boundary(Box((first / n, -1.0), ((first + thickness) / n, 2.0)), grid, np.float64, 0.0)
    assert boundary is not None
    left, right = (filled_to(grid, unit([0.0, -1.0]), level) for level in (0.2, -0.21))
    column = np.arange(n)[:, None] + np.zeros((1, n), int)
    both = LevelSet(grid, "cells", np.float64)
    exact = np.where(column < first + thickness / 2, left.array, right.array)
    both.array[...] = exact
    for _ in range(5):
        boundary.extend_level_set(both.field, Workspace())
        both.redistance(band=6 / n, at_sides="goes-on", outside=boundary.outside_cells)
    near = (np.abs(exact) < 3 / n) & boundary.outside_cells
    assert np.abs(both.array - exact)[near].max() * n < 1e-11
    deep = (np.abs(exact) >= 3 / n) & boundary.outside_cells
    assert (np.abs(both.array[deep]) > 2.5 / n).all()


def test_a_jump_between_samples_outside_is_a_surface() -> None:
    """Only continued values may be wrong about it."""
    n = 16
    grid = ms.Grid((n, n), 1 / n)
    boundary = solid_boundary(HalfSpace((0.1, 0.5), (1.0, 0.0)), grid, np.float64, 0.0)
    assert boundary is not None
    levelset = LevelSet(grid, "cells", np.float64)
    levelset.array[...] = np.where(np.arange(n)[:, None] < 9, -4 / n, 4 / n)
    levelset.redistance(band=6 / n, outside=boundary.outside_cells)
    assert np.allclose(np.abs(levelset.array[8:10]), 0.5 / n)


@pytest.mark.parametrize(("radius", "x", "y"), [(10.0, 3.3, 20.2), (8.0, -2.0, 20.4), (12.0, 2.0, 20.0)])
def test_a_curved_surface_at_a_side_drifts_no_more_where_it_goes_on(radius: float, x: float, y: float) -> None:
    """Slopes towards the surface would move it by a twentieth of a cell in a hundred calls."""
    n = 40
    i = np.arange(n) + 0.5
    exact = (np.hypot(i[:, None] - x, i[None] - y) - radius) / n

    def crossings(row: np.ndarray) -> np.ndarray:
        k = np.flatnonzero((row[1:] > 0) != (row[:-1] > 0))
        return k + row[k] / (row[k] - row[k + 1])

    drift = {}
    for at_sides in ("goes-on", "ends"):
        levelset = LevelSet(ms.Grid((n, n), 1 / n), "cells")
        levelset.array[...] = exact
        for _ in range(100):
            levelset.redistance(band=6 / n, at_sides=at_sides)  # type: ignore[arg-type]
        drift[at_sides] = np.abs(crossings(levelset.array[0]) - crossings(exact[0])).max()
    assert drift["goes-on"] < 1.05 * drift["ends"] + 1e-6
    assert drift["goes-on"] < 0.005


def test_continued_samples_beyond_the_band_take_its_width() -> None:
    """Whatever they had before."""
    levelset = LevelSet(ms.Grid((8, 8), 0.1), "cells", np.float64)
    levelset.array[...] = (np.arange(8) + 0.5) * 0.1 - 0.23
    outside = np.ones((8, 8), bool)
    outside[:3] = False
    levelset.redistance(band=0.2, at_sides="goes-on", outside=outside)
    beyond = np.abs((np.arange(8) + 0.5) * 0.1 - 0.23) > 0.2 + 1e-9
    assert np.allclose(np.abs(levelset.array[:, beyond]), 0.2)
