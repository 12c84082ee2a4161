"""Level sets: positions of samples, second order, copies and restoring."""

import numpy as np
import pytest
from support.build import same_bits
from support.meshes import WATERTIGHT_FILES, box, real_mesh, torus

import meniscus as ms
from meniscus.surface import LevelSet, MeshDistance


def test_linear_interpolation_is_second_order_outside_of_a_cube(rng: np.random.Generator) -> None:
    # Outside of a convex body the distance is smooth away from the surface: its second derivatives sum up to at most 2 / d, and
    # linear interpolation is wrong by at most h^2 / 8 times their sum.
    v, t = box((-0.5, -0.5, -0.5), (0.5, 0.5, 0.5))
    points = rng.uniform(-1.2, 1.2, (4000, 3))
    exact = MeshDistance(v, t).signed_distance(points)
    points, exact = np.ascontiguousarray(points[exact > 0.25]), exact[exact > 0.25]
    errors = []
    for n in (24, 48, 96):
        h = 2.5 / n
        phi = LevelSet.from_mesh(ms.Grid((n, n, n), h, (-1.25, -1.25, -1.25)), v, t)
        errors.append(np.abs(phi.sample(points) - exact).max())
        assert errors[-1] <= h**2 / 8 * 2 / (0.25 - np.sqrt(3) * h) + 1e-15
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 1.8).all(), (errors, orders)


@pytest.mark.slow
@pytest.mark.parametrize("name", WATERTIGHT_FILES)
def test_second_order_on_real_meshes_away_from_the_medial_axis(name: str, rng: np.random.Generator) -> None:
    v, t = real_mesh(name)
    size = float(np.ptp(v, axis=0).max())
    d = MeshDistance(v, t)
    low = v.min(axis=0) - 0.25 * size
    points = rng.uniform(low, low + 1.5 * size, (20000, 3))
    exact = d.signed_distance(points)
    # Away from the surface, and where the closest points of a neighbourhood lie together, so that no medial axis passes through it.
    reach = 1.5 * size / 32
    keep = np.abs(exact) > 0.15 * size
    foot = d.closest(points).positions
    for offset in np.array(np.meshgrid(*[(-1.0, 1.0)] * 3)).reshape(3, -1).T:
        keep &= np.linalg.norm(d.closest(points + reach * offset).positions - foot, axis=1) <= 1.5 * np.sqrt(3) * reach
    points, exact = np.ascontiguousarray(points[keep]), exact[keep]
    assert len(points) > 2000
    errors = []
    for n in (32, 64, 128):
        h = 1.5 * size / n
        phi = LevelSet.from_mesh(ms.Grid((n, n, n), h, tuple(low)), v, t)
        error = np.abs(phi.sample(points) - exact)
        errors.append((np.mean(error), np.quantile(error, 0.95)))
        # Second derivatives of at most 2 / d at d > 0.15, as above, hold for the great majority also where the surface is not convex.
        assert errors[-1][1] <= h**2 / 8 * 2 / (0.15 * size)
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert (orders > 1.75).all(), orders


@pytest.mark.parametrize("location", ["nodes", "cells"])
def test_from_mesh_is_the_distance_at_the_samples(location: str, dtype: type) -> None:
    v, t = torus()
    grid = ms.Grid((21, 20, 13), 0.15, (-1.6, -1.5, -1.0))
    phi = LevelSet.from_mesh(grid, v, t, location, dtype=dtype)  # type: ignore[arg-type]
    assert phi.location == location
    assert phi.grid == grid
    assert phi.dtype == phi.array.dtype == dtype
    assert isinstance(phi.field, ms.NodeField if location == "nodes" else ms.CellField)
    assert phi.array.shape == tuple(n + (location == "nodes") for n in grid.shape)
    x = np.stack([np.broadcast_to(c, phi.array.shape) for c in phi.field.coordinates()], axis=-1).reshape(-1, 3)
    assert same_bits(phi.array.ravel(), MeshDistance(v, t).signed_distance(x).astype(dtype))
    banded = LevelSet.from_mesh(grid, v, t, location, dtype=dtype, band=0.2)  # type: ignore[arg-type]
    near = np.abs(phi.array) < 0.2
    assert same_bits(banded.array[near], phi.array[near])
    assert ((banded.array < 0) == (phi.array < 0)).all()


def test_from_function(dimension: int, dtype: type) -> None:
    grid = ms.Grid((6, 5, 4)[:dimension], 0.5, (1.0, 2.0, 3.0)[:dimension])
    for location in ("nodes", "cells"):
        phi = LevelSet.from_function(grid, lambda *x: sum(x) - 3.0, location, dtype=dtype)  # type: ignore[arg-type]
        assert same_bits(phi.array, np.asarray(sum(phi.field.coordinates()) - 3.0, dtype=dtype))
        points = np.full((1, dimension), 3.1, dtype) if dimension == 2 else np.array([(2.3, 3.4, 4.1)], dtype)
        assert abs(phi.sample(points)[0] - (points.sum() - 3)) < 1e-5
    assert (LevelSet.from_function(grid, lambda *x: 2.0).array == 2).all()
    with pytest.raises(ValueError, match="the values of function must be finite"):
        LevelSet.from_function(grid, lambda *x: np.where(sum(x) > 0, np.nan, 0.0))
    with pytest.raises(ValueError, match="function must return values that broadcast to"):
        LevelSet.from_function(grid, lambda *x: np.zeros(77))


def test_the_field_is_the_memory() -> None:
    phi = LevelSet(ms.Grid((4, 5, 6), 0.5))
    assert (phi.location, phi.dtype) == ("nodes", np.float64)
    view = phi.array
    phi.array = 2.5
    assert (view == 2.5).all()
    phi.field.array[1, 2, 3] = -1
    assert view[1, 2, 3] == -1
    assert repr(phi) == "<LevelSet 4x5x6 cells, at nodes, float64, phi in [-1, 2.5]>"


def test_what_is_refused() -> None:
    grid = ms.Grid((4, 4, 4), 0.5)
    v, t = box()
    with pytest.raises(TypeError, match="grid must be a Grid"):
        LevelSet((4, 4, 4))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="location must be one of 'nodes', 'cells', not 'faces'"):
        LevelSet(grid, "faces")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="dtype must be float32 or float64"):
        LevelSet(grid, dtype=np.int32)
    with pytest.raises(ValueError, match="3-D grid, not 2-D"):
        LevelSet.from_mesh(ms.Grid((4, 4), 0.5), v, t)
    with pytest.raises(ValueError, match="grid must not be periodic"):
        LevelSet.from_mesh(ms.Grid((4, 4, 4), 0.5, periodic=True), v, t)
    with pytest.raises(ValueError, match="band must be positive"):
        LevelSet.from_mesh(grid, v, t, band=0)
    with pytest.raises(TypeError, match="triangles must hold integers, not float64"):
        LevelSet.from_mesh(grid, v, t.astype(float))
    with pytest.raises(TypeError, match="points must be of dtype float64"):
        LevelSet(grid).sample(np.zeros((1, 3), np.float32))
