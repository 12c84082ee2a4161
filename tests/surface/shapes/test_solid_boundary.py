"""Boundary of a solid on a grid: masks, extension into it, slip, lifetimes and errors."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.grid.fields import component_shapes
from meniscus.surface import KinematicSolid, LevelSet, SolidBoundary, Sphere
from meniscus.surface.shapes.solid_boundary import solid_boundary

CELLS = {2: (9, 14), 3: (6, 7, 9)}


def grid_of(dimension: int, periodic: Any = False) -> ms.Grid:
    return ms.Grid(CELLS[dimension], 0.5, periodic=periodic)


def rough_levelset(grid: ms.Grid, rng: np.random.Generator) -> ms.NodeField:
    phi = ms.NodeField(grid)
    phi.array[...] = rng.normal(0.1, 1.0, phi.array.shape)
    phi.array[rng.random(phi.array.shape) < 0.1] = 0.0
    return phi


def moving(grid: ms.Grid, dtype: Any, rng: np.random.Generator) -> ms.MacField:
    velocity = ms.MacField(grid, dtype)
    for d in range(grid.dimension):
        velocity.component(d)[...] = rng.normal(size=velocity.component(d).shape)
    return velocity


def halves(array: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    n = array.shape[axis]
    return array.take(range(n - 1), axis), array.take(range(1, n), axis)


def mean(array: np.ndarray, axes: list[int]) -> np.ndarray:
    for axis in axes:
        lower, upper = halves(array, axis)
        array = 0.5 * (lower + upper)
    return array


def any_of(array: np.ndarray, axes: list[int]) -> np.ndarray:
    for axis in axes:
        lower, upper = halves(array, axis)
        array = lower | upper
    return array


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_masks_are_those_of_the_corners(dimension: int, dtype: Any, rng: np.random.Generator) -> None:
    grid = grid_of(dimension)
    phi = rough_levelset(grid, rng)
    boundary = SolidBoundary(phi, dtype=dtype)
    for _ in range(2):
        axes = list(range(dimension))
        assert np.array_equal(boundary.outside_cells, mean(phi.array, axes) > 0)
        for d in axes:
            others = [k for k in axes if k != d]
            assert np.array_equal(boundary.open_faces[d], any_of(phi.array > 0, others))
            assert np.array_equal(boundary.inside_faces[d], mean(phi.array, others) <= 0)
        phi.array[...] *= rng.choice([-1.0, 1.0], phi.array.shape)
        boundary.levelset_changed()


def test_masks_are_read_only_views_of_the_boundary() -> None:
    boundary = SolidBoundary(rough_levelset(grid_of(2), np.random.default_rng(3)))
    first = boundary.outside_cells
    assert not first.flags.writeable
    assert first.__array_interface__["data"] == boundary.outside_cells.__array_interface__["data"]
    before = ms.core.block_allocations()
    for _ in range(3):
        boundary.levelset_changed()
        assert boundary.inside_faces[1].any()
    assert ms.core.block_allocations() == before


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_without_free_slip_faces_in_the_solid_take_its_velocity(dimension: int, dtype: Any, rng: np.random.Generator) -> None:
    grid = grid_of(dimension)
    phi, given = rough_levelset(grid, rng), moving(grid, dtype, rng)
    for solid_velocity in (given, None):
        boundary = SolidBoundary(phi, solid_velocity, "no-slip", dtype)
        velocity = moving(grid, dtype, rng)
        expected = [velocity.component(d).copy() for d in range(dimension)]
        boundary.extend(velocity, ms.Workspace())
        for d in range(dimension):
            inside = boundary.inside_faces[d]
            expected[d][inside] = 0.0 if solid_velocity is None else solid_velocity.component(d)[inside]
            assert np.array_equal(velocity.component(d), expected[d])
    speeds = [np.abs(given.component(d)[SolidBoundary(phi).inside_faces[d]]).max(initial=0.0) for d in range(dimension)]
    assert SolidBoundary(phi, given).max_speed() == max(speeds)
    assert SolidBoundary(phi).max_speed() == 0.0


@pytest.mark.parametrize("periodic", [False, True])
def test_with_free_slip_the_flow_and_scalars_go_on_into_the_solid(periodic: bool, rng: np.random.Generator) -> None:
    grid = grid_of(3, periodic)
    boundary = SolidBoundary(rough_levelset(grid, rng), None, "free")
    velocity, density = moving(grid, np.float64, rng), ms.CellField(grid)
    density.array[...] = rng.random(density.array.shape)
    expected, field = velocity.copy(), density.copy()
    ms.grid.extrapolate(expected, list(boundary.open_faces), layers=4)
    ms.grid.extrapolate(field, boundary.outside_cells, layers=4)
    workspace = ms.Workspace()
    boundary.extend(velocity, workspace)
    boundary.extend(density, workspace)
    for d in range(3):
        assert np.array_equal(velocity.component(d), expected.component(d))
    assert np.array_equal(density.array, field.array)
    boundary.set_solid_velocity(velocity)
    assert np.array_equal(velocity.component(0), expected.component(0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_copies_and_pickles(dtype: Any, rng: np.random.Generator) -> None:
    grid = grid_of(3)
    for given in (moving(grid, dtype, rng), None):
        boundary = SolidBoundary(rough_levelset(grid, rng), given, "free", dtype)
        for other in (pickle.loads(pickle.dumps(boundary)), copy.deepcopy(boundary)):
            assert other.slip == "free"
            assert other.dtype == dtype
            assert other.levelset is not boundary.levelset
            assert np.array_equal(other.outside_cells, boundary.outside_cells)
            assert other.max_speed() == boundary.max_speed()


def test_a_boundary_keeps_its_fields_alive() -> None:
    phi, velocity = ms.NodeField(grid_of(2)), ms.MacField(grid_of(2))
    core = SolidBoundary(phi, velocity)._core
    alive = weakref.ref(phi._core)
    del phi, velocity
    gc.collect()
    assert alive() is not None
    assert core.max_speed() == 0.0
    del core
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("name", ["PressureProblem2d", "ViscosityProblem2d"])
def test_a_problem_keeps_its_fields_alive(name: str) -> None:
    from meniscus._meniscus import fluids

    grid = grid_of(2)
    liquid, boundary = ms.CellField(grid), SolidBoundary(ms.NodeField(grid))
    parts: dict[str, Any] = {"liquid": liquid._core, "solid": boundary._core}
    if name.startswith("Pressure"):
        parts |= {"grid": grid._core, "given_faces": tuple(np.zeros(s, bool) for s in component_shapes(grid))}
    problem = getattr(fluids, name)(**parts)
    references = [weakref.ref(liquid._core), weakref.ref(boundary._core)]
    del liquid, boundary, parts
    gc.collect()
    assert all(r() is not None for r in references)
    del problem
    gc.collect()
    assert all(r() is None for r in references)


def test_what_a_boundary_is_made_of() -> None:
    grid = grid_of(2)
    ball = Sphere((2.0, 3.0), 1.2)
    sample = KinematicSolid(ball, lambda t: (0.1 * t, 0.0)).sample(grid, 0.5)
    level = LevelSet(grid, "nodes")
    level.unite(ball)
    for solid in (ball, KinematicSolid(ball), sample, level, level.field):
        boundary = solid_boundary(solid, grid, np.float64, 0.5, "free")
        assert boundary is not None
        assert boundary.slip == "free"
        assert boundary.inside_faces[0].any()
        assert solid_boundary(boundary, grid, np.float64, 2.0) is boundary
        assert "SolidBoundary with free" in repr(boundary)
    assert solid_boundary(None, grid, np.float64, 0.0) is None
    described = solid_boundary(sample, grid, np.float64, 0.0)
    assert described is not None
    assert described.levelset is sample.levelset
    assert described.velocity is sample.velocity


def test_wrong_arguments() -> None:
    grid, other = grid_of(2), ms.Grid((9, 14), 0.25)
    with pytest.raises(TypeError, match="levelset must be"):
        SolidBoundary(ms.CellField(grid))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be of dtype float64, not float32"):
        SolidBoundary(ms.NodeField(grid_of(3), np.float32))
    with pytest.raises(ValueError, match="the velocity of the solid must have the grid"):
        SolidBoundary(ms.NodeField(grid), ms.MacField(other))
    with pytest.raises(ValueError, match="slip must be one of 'free', 'no-slip', not 'sticky'"):
        SolidBoundary(ms.NodeField(grid), slip="sticky")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="solid must have the grid of the velocity"):
        solid_boundary(ms.NodeField(other), grid, np.float64, 0.0)
    with pytest.raises(TypeError, match="LevelSet on cells"):
        solid_boundary(LevelSet(grid, "cells"), grid, np.float64, 0.0)


def test_a_boundary_of_another_dtype_is_converted() -> None:
    """The level set is the same object; the velocity is rounded."""
    grid = grid_of(3)
    levelset, velocity = ms.NodeField(grid), ms.MacField(grid)
    velocity.u[...] = 0.1
    converted = solid_boundary(SolidBoundary(levelset, velocity, "free"), grid, np.float32, 0.0)
    assert converted is not None
    assert converted.levelset is levelset
    assert converted.velocity is not None
    assert converted.velocity.dtype == converted.dtype == np.float32
    assert (converted.velocity.u == np.float32(0.1)).all()
    assert converted.slip == "free"
