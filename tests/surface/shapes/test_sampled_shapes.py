"""Shapes from meshes, level sets and functions: their values, their boxes and their use in place of primitives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.surface import Box, FunctionShape, LevelSet, LevelSetShape, MeshDistance, MeshShape, Sphere

RNG = np.random.default_rng(11)
POINTS = RNG.uniform(-1.5, 1.5, (500, 3))


def ball(points: Any) -> Any:
    return np.linalg.norm(points - [0.1, -0.2, 0.3], axis=1) - 0.7


def test_a_mesh_is_a_shape_with_its_exact_distance() -> None:
    mesh = ms.mesh.icosphere(3).scaled(0.7)
    distance = MeshDistance(mesh)
    shape = MeshShape(mesh)
    assert np.array_equal(shape.signed_distance(POINTS), distance.signed_distance(POINTS))
    assert np.array_equal(np.array(shape.bounds), np.array(mesh.bounds))
    hollow = shape - shape.scaled(0.5)
    inner = 0.5 * distance.signed_distance(2.0 * POINTS)
    assert np.allclose(hollow.signed_distance(POINTS), np.maximum(distance.signed_distance(POINTS), -inner), rtol=0, atol=1e-15)
    # A shape does not change with the mesh distance that it was made from.
    frozen = MeshShape(distance)
    distance.update(np.ascontiguousarray(2.0 * mesh.vertices))
    assert np.array_equal(frozen.signed_distance(POINTS), shape.signed_distance(POINTS))
    assert frozen == shape


@pytest.mark.parametrize("location", ["nodes", "cells"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_level_set_is_a_shape_to_second_order(location: Any, dtype: Any) -> None:
    errors = []
    for n in (32, 64):
        grid = ms.Grid((n, n, n), 3.0 / n, (-1.5, -1.5, -1.5))
        phi = LevelSet.from_shape(grid, Sphere((0.1, -0.2, 0.3), 0.7), location, dtype=dtype)
        near = POINTS[np.abs(ball(POINTS)) < 0.3]
        errors.append(np.abs(LevelSetShape(phi).signed_distance(near) - ball(near)).max())
    assert errors[1] < 0.3 * errors[0]
    # h^2 / 8 times the sum of the second derivatives, 2 / r at a distance r from the centre, of which the least here is 0.4.
    assert errors[1] < (3.0 / 64) ** 2 / 8 * 2 / 0.4


def test_the_box_of_a_level_set_holds_what_it_holds() -> None:
    grid = ms.Grid((20, 24, 16), 0.125, (-1.0, -1.5, -1.0))
    inside = LevelSetShape(LevelSet.from_shape(grid, Sphere((0.1, -0.2, 0.0), 0.7)))
    low, high = inside.bounds
    assert (low <= [-0.6, -0.9, -0.7]).all()
    assert (high >= [0.8, 0.5, 0.7]).all()
    # One that reaches a side of the grid ends beyond it, by as much as it is deep at the side.
    cut = LevelSetShape(LevelSet.from_shape(grid, Sphere((-1.0, 0.0, 0.0), 0.5)))
    x = np.array([[-1.2, 0.0, 0.0], [-1.45, 0.0, 0.0], [-1.55, 0.0, 0.0], [-3.0, 0.0, 0.0]])
    assert np.allclose(cut.signed_distance(x), [-0.3, -0.05, 0.05, 1.5], rtol=0, atol=0.01)
    assert cut.bounds[0][0] <= -1.5


def test_a_function_is_a_shape_alone_and_with_others() -> None:
    shape = FunctionShape(ball, 3)
    assert np.array_equal(shape.signed_distance(POINTS), ball(POINTS))
    assert np.allclose((shape & Box((-2, -2, 0), (2, 2, 2))).signed_distance(POINTS)[0], max(ball(POINTS)[0], -POINTS[0, 2]))
    with pytest.raises(ZeroDivisionError):
        FunctionShape(lambda p: 1 / 0, 3).signed_distance(POINTS)
    combined = FunctionShape(lambda p: np.full(3, 1.0), 3) | Sphere((0, 0, 0), 1.0)
    with pytest.raises(ValueError, match=r"shape \(\d+,\)"):
        combined.signed_distance(POINTS)
    with pytest.raises(TypeError, match="function must be a function of points"):
        FunctionShape(3, 3)  # type: ignore[arg-type]


def test_sources_of_gas_and_liquid_take_anything_solid() -> None:
    # No centre of a cell lies on the surface, where rounding would decide.
    grid = ms.Grid((32, 32, 32), 0.1, (-1.63, -1.58, -1.61))
    phi = LevelSet.from_function(grid, lambda x, y, z: np.sqrt((x - 0.1) ** 2 + (y + 0.2) ** 2 + (z - 0.3) ** 2) - 0.7)
    for kind in (ms.fluids.Emitter, ms.fluids.LiquidSource, ms.fluids.Drain):
        with pytest.raises(TypeError, match="region must be a Shape, a surface mesh, a LevelSet or a function"):
            kind(region=3)
    amounts = []
    for region in (Sphere((0.1, -0.2, 0.3), 0.7), ms.mesh.icosphere(4).scaled(0.7).translated((0.1, -0.2, 0.3)), phi, ball):
        gas = ms.fluids.SmokeSolver(grid, emitters=[ms.fluids.Emitter(region=region, density=1.0)])
        gas.step(1e-6)
        water = ms.fluids.LiquidSolver(grid, sources=[ms.fluids.LiquidSource(region=region, velocity=(1.0, 0.0, 0.0))])
        water.step(1e-6)
        amounts.append((float(np.sum(gas.density)), water.levelset.volume()))
    for other in amounts[1:]:
        assert other == pytest.approx(amounts[0], rel=0.03)
    assert amounts[0] == pytest.approx((4 / 3 * np.pi * 0.7**3 / 0.1**3, 4 / 3 * np.pi * 0.7**3), rel=0.05)


def test_fields_are_arrays_to_numpy() -> None:
    grid = ms.Grid((5, 4, 1), 1.0)
    field = ms.grid.CellField(grid, np.float32)
    field.array[...] = np.arange(20).reshape(5, 4, 1)
    assert np.asarray(field).shape == (5, 4, 1)
    assert np.asarray(field).dtype == np.float32
    assert np.max(field) == 19
    assert np.sum(field) == 190
    np.asarray(field)[2, 3] = -7
    assert field.array[2, 3] == -7
    copied = np.array(field)
    copied[...] = 0
    assert field.array[2, 3] == -7
    assert np.asarray(field, np.float64).dtype == np.float64
