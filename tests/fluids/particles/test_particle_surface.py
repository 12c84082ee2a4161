"""Level sets of particles: against brute force, planes and balls, and near the sides of the grid."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.build import grid_of, same_bits

import meniscus as ms
from meniscus.fluids import particle_levelset
from meniscus.grid import Particles
from meniscus.surface import LevelSet

METHODS = ("spheres", "average", "density", "anisotropic")
TOLERANCE = {np.float32: 1e-5, np.float64: 1e-13}


def images(x: np.ndarray, grid: ms.Grid) -> np.ndarray:
    """Particles with all their images next to the domain: repeated on periodic axes, mirrored on the others."""
    result = x.astype(np.float64)
    for d in range(grid.dimension):
        low, size = grid.origin[d], grid.extent[d]
        copies = [result]
        for side in (-1, 1):
            other = result.copy()
            other[:, d] = other[:, d] + side * size if grid.periodic[d] else 2 * (low + (side > 0) * size) - other[:, d]
            copies.append(other)
        result = np.concatenate(copies)
    return result


def centers(grid: ms.Grid) -> np.ndarray:
    return np.stack(np.meshgrid(*(c.ravel() for c in grid.cell_centers()), indexing="ij"), -1).reshape(-1, grid.dimension)


def scattered(grid: ms.Grid, dtype: Any, n: int) -> np.ndarray:
    rng = np.random.default_rng(9)
    return (np.array(grid.origin) + grid.extent * rng.random((n, grid.dimension))).astype(dtype)


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("count", [1, 7, 40])
def test_spheres_and_averages_by_brute_force(count: int, periodic: bool, dimension: int, dtype: type) -> None:
    grid = grid_of(dimension, periodic=(periodic, False, periodic)[:dimension])
    h = grid.spacing
    x = scattered(grid, dtype, count)
    around, at = images(x, grid), centers(grid)
    distance = np.linalg.norm(at[:, None] - around[None], axis=2)
    radius, band = 0.3 * h, 1.4 * h
    found = particle_levelset(x, grid, method="spheres", radius=radius, band=band).array.ravel()
    expected = np.clip(distance.min(axis=1) - radius, -band, band)
    np.testing.assert_allclose(found, expected, atol=TOLERANCE[dtype])

    support = 1.3 * h
    weights = np.maximum(1 - (distance / support) ** 2, 0) ** 3
    total = weights.sum(axis=1)
    some = total > 0
    mean = weights[some] @ around / total[some, None]
    expected = np.full(len(at), band)
    expected[some] = np.clip(np.linalg.norm(at[some] - mean, axis=1) - radius, -band, band)
    found = particle_levelset(x, grid, method="average", radius=radius, support=support, band=band).array.ravel()
    # Where there are particles in all cells around, the deepest value stands for all.
    compared = (found > -0.999 * radius) & (total > 1e-6)
    np.testing.assert_allclose(found[compared], expected[compared], atol=100 * TOLERANCE[dtype])
    assert compared.any()


def lattice(grid: ms.Grid, dtype: Any, top: float, jitter: float = 0.0) -> np.ndarray:
    """Particles at half the spacing below a plane across the last axis."""
    rng = np.random.default_rng(10)
    index = np.stack(np.meshgrid(*(np.arange(2 * n) for n in grid.shape), indexing="ij"), -1).reshape(-1, grid.dimension)
    x = np.array(grid.origin) + 0.5 * grid.spacing * (index + 0.5 + jitter * (rng.random(index.shape) - 0.5))
    return np.ascontiguousarray(x[x[:, -1] < top], dtype)


@pytest.mark.parametrize("method", METHODS)
def test_a_plane_is_flat_up_to_the_walls(method: str, dimension: int, dtype: type) -> None:
    grid = ms.Grid((9, 8, 9)[:dimension], 0.5, (0.25, -1.0, 2.0)[:dimension])
    top = grid.origin[-1] + 4.5 * grid.spacing
    phi = particle_levelset(lattice(grid, dtype, top), grid, method=method).array
    profile = phi.reshape(-1, phi.shape[-1])
    np.testing.assert_allclose(profile, np.broadcast_to(profile[0], profile.shape), atol=20 * TOLERANCE[dtype])
    column = profile[0].astype(np.float64)
    k = int(np.flatnonzero(column <= 0).max())
    crossing = (k + 0.5 + column[k] / (column[k] - column[k + 1])) * grid.spacing + grid.origin[-1]
    assert (np.diff(column) >= 0).all()
    # The average is made to find the plane. Spheres reach beyond it from particles a quarter of a cell below and to the sides.
    expected = {
        "spheres": math.sqrt((1.02 * math.sqrt(dimension) / 2) ** 2 - (dimension - 1) / 16) - 0.25,
        "average": 0.0,
        "density": 0.0,
        "anisotropic": -0.15,
    }[method]
    assert (crossing - top) / grid.spacing == pytest.approx(expected, abs=0.08)


def ball(grid: ms.Grid, radius: float) -> np.ndarray:
    x = lattice(grid, np.float64, math.inf, jitter=1.0)
    return np.ascontiguousarray(x[np.linalg.norm(x - 0.5, axis=1) < radius])


def roughness(levelset: LevelSet) -> tuple[float, float, float]:
    """Mean radius of the surface, deviation from it, and root mean square of the angle between its normals and those of a ball."""
    vertices, triangles = levelset.to_mesh()
    a, b, c = (vertices[triangles[:, k]] - 0.5 for k in range(3))
    normal, middle = np.cross(b - a, c - a), (a + b + c) / 3
    area = np.linalg.norm(normal, axis=1)
    radius = np.linalg.norm(middle, axis=1)
    some = area > 1e-14
    cosine = np.abs((normal * middle).sum(axis=1))[some] / (area * radius)[some]
    angle = np.sqrt(np.average(np.arccos(np.clip(cosine, -1, 1)) ** 2, weights=area[some]))
    mean = np.average(radius, weights=area)
    return float(mean), float(np.sqrt(np.average((radius - mean) ** 2, weights=area))), float(angle)


def test_a_ball_of_particles() -> None:
    n, radius = 12, 0.35
    x = ball(ms.Grid((n,) * 3, 1 / n), radius)
    fine = ms.Grid((4 * n,) * 3, 0.25 / n)
    result = {
        "spheres": roughness(particle_levelset(x, fine, method="spheres", radius=0.9 / n)),
        "average": roughness(particle_levelset(x, fine, method="average", support=2 / n)),
        "anisotropic": roughness(particle_levelset(x, fine, method="anisotropic", support=2 / n)),
    }
    for method, offset in {"spheres": 0.7, "average": -0.1, "anisotropic": -0.3}.items():
        assert (result[method][0] - radius) * n == pytest.approx(offset, abs=0.2)
    # Both are smoother than the union of spheres, in place and in normal, although the particles end in steps.
    for method, place, normal in (("average", 0.6, 0.4), ("anisotropic", 0.8, 0.9)):
        assert result[method][1] < place * result["spheres"][1]
        assert result[method][2] < normal * result["spheres"][2]


def test_irregular_particles_below_a_plane() -> None:
    """Where the liquid ends without steps, stretched kernels are smoother than averages, and far smoother than spheres."""
    n = 10
    x = lattice(ms.Grid((n,) * 3, 1 / n), np.float64, 0.501, jitter=0.5)
    fine = ms.Grid((2 * n,) * 3, 0.5 / n)
    angle = {}
    for method in METHODS:
        if method == "density":
            continue  # counts on the cells that the particles were seeded by
        extent = {"radius": 0.9 / n} if method == "spheres" else {"support": 2 / n}
        vertices, triangles = particle_levelset(x, fine, method=method, **extent).to_mesh()  # type: ignore[arg-type]
        a, b, c = (vertices[triangles[:, k]] for k in range(3))
        normal, middle = np.cross(b - a, c - a), (a + b + c) / 3
        area = np.linalg.norm(normal, axis=1)
        top = (np.abs(middle[:, :2] - 0.5) < 0.3).all(axis=1) & (middle[:, 2] > 0.3) & (area > 0)
        angle[method] = np.average(np.arccos(np.clip(np.abs(normal[top, 2]) / area[top], -1, 1)), weights=area[top])
    assert angle["anisotropic"] < 0.6 * angle["average"] < 0.6 * 0.3 * angle["spheres"]


def test_kernels_are_stretched_along_the_surface() -> None:
    """Below a plane the sum of kernels rises in less than half the width that round kernels of the same support need."""
    grid = ms.Grid((40, 80), 0.05)
    wide = ms.Grid((10, 20), 0.2)
    x = lattice(wide, np.float64, 2.0)
    phi = particle_levelset(x, grid, method="anisotropic", support=0.4, band=0.4).array[20]
    inside = phi < -0.39
    outside = phi > 0.39
    transition = 0.05 * np.count_nonzero(~inside & ~outside)
    assert transition < 0.5 * 2 * 0.4


def test_few_particles_have_small_round_kernels(dimension: int) -> None:
    grid = ms.Grid((16,) * dimension, 0.25)
    phi = particle_levelset(np.full((1, dimension), 2.0), grid, method="anisotropic", support=1.0, band=1.0)
    turned = np.moveaxis(phi.array, 0, -1)
    np.testing.assert_allclose(phi.array, turned, atol=1e-12)
    np.testing.assert_allclose(phi.array, phi.array[::-1], atol=1e-12)
    # Of smoothing length 0.5 and half the size: nothing is left beyond twice 0.25.
    at = np.linalg.norm(centers(grid) - 2.0, axis=1)
    assert (phi.array.ravel()[at > 0.5] == 1.0).all()
    assert (phi.array.ravel()[at < 0.24] < 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_periodic_domain_has_no_seam(method: str, dimension: int) -> None:
    grid = ms.Grid((8,) * dimension, 0.5, periodic=True)
    x = scattered(grid, np.float64, 25 * dimension)
    plain = particle_levelset(x, grid, method=method).array
    moved = (x + 3 * 0.5) % 4.0
    again = particle_levelset(np.ascontiguousarray(moved), grid, method=method).array
    np.testing.assert_allclose(again, np.roll(plain, 3, axis=tuple(range(dimension))), atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_mirrors_are_the_other_half(method: str, dimension: int) -> None:
    half = ms.Grid((6,) * dimension, 0.5)
    x = scattered(half, np.float64, 20 * dimension)
    whole = ms.Grid((12, *(6,) * (dimension - 1)), 0.5, (-3.0, *(0.0,) * (dimension - 1)))
    mirrored = x.copy()
    mirrored[:, 0] *= -1
    one = particle_levelset(x, half, method=method).array
    both = particle_levelset(np.concatenate([x, mirrored]), whole, method=method).array
    np.testing.assert_allclose(both[6:], one, atol=1e-9)
    np.testing.assert_allclose(both[:6], one[::-1], atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_drops_are_covered(method: str, dimension: int, dtype: type) -> None:
    grid = ms.Grid((12,) * dimension, 0.25)
    rng = np.random.default_rng(11)
    pool = lattice(grid, dtype, 0.8, jitter=1.0)
    drops = (np.array([0.0] * (dimension - 1) + [1.5]) + rng.random((6, dimension)) * [3.0] * 1).astype(dtype)
    drops[:, -1] = np.clip(drops[:, -1], 1.5, 2.9)
    x = np.concatenate([pool, drops])
    plain = particle_levelset(x, grid, method=method)
    covered = particle_levelset(x, grid, method=method, cover=True)
    assert (covered.array <= plain.array).all()
    for p in x:
        c = tuple(np.minimum((p / 0.25).astype(int), 11))
        beside = [c]
        for d, o in product(range(dimension), (-1, 1)):
            b = list(c)
            b[d] = min(max(b[d] + o, 0), 11)
            beside.append(tuple(b))
        assert any(covered.array[b] <= 0 for b in beside)
        if all(plain.array[b] > 0 for b in beside):
            assert covered.array[c] <= 0


@pytest.mark.parametrize("method", METHODS)
def test_no_particles(method: str, dimension: int, dtype: type) -> None:
    grid = grid_of(dimension)
    phi = particle_levelset(np.empty((0, dimension), dtype), grid, method=method, band=0.5, cover=True)
    assert (phi.array == 0.5).all()


@pytest.mark.parametrize("method", METHODS)
def test_tiny_grids(method: str, dimension: int) -> None:
    for periodic in (False, True):
        grid = ms.Grid((1, 2, 1)[:dimension], 0.5, periodic=periodic)
        full = lattice(grid, np.float64, math.inf)
        assert (particle_levelset(full, grid, method=method).array < 0).all()


def test_particles_are_sorted_and_arrays_are_not(dimension: int) -> None:
    grid = grid_of(dimension)
    x = scattered(grid, np.float64, 100)
    p = Particles(x)
    given = x.copy()
    space, out = ms.core.Workspace(), LevelSet(grid, "cells")
    a = particle_levelset(p, grid, out=out, workspace=space)
    assert a is out
    b = particle_levelset(x, grid)
    assert same_bits(x, given)
    assert same_bits(a.array, b.array)
    assert not np.array_equal(p.ids, np.arange(100))
    for method in METHODS:
        particle_levelset(p, grid, method=method, out=out, workspace=space)
    before = ms.core.block_allocations()
    for method in METHODS:
        particle_levelset(p, grid, method=method, out=out, workspace=space)
    assert ms.core.block_allocations() == before


def test_wrong_arguments() -> None:
    grid = grid_of(2)
    x = scattered(grid, np.float64, 5)
    out = LevelSet(grid, "cells")
    out.array[...] = 7.0
    with pytest.raises(ValueError, match="'spheres', 'average', 'density', 'anisotropic'"):
        particle_levelset(x, grid, method="blobs")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="3-D"):
        particle_levelset(x, grid_of(3))
    with pytest.raises(TypeError, match="float64"):
        particle_levelset(scattered(grid_of(3), np.float64, 5), grid_of(3), out=LevelSet(grid_of(3), "cells", np.float32))
    with pytest.raises(ValueError, match="on cells"):
        particle_levelset(x, grid, out=LevelSet(grid))
    with pytest.raises(ValueError, match="grid"):
        particle_levelset(x, grid, out=LevelSet(grid_of(2, spacing=1.0), "cells"))
    for name in ("radius", "support", "band"):
        with pytest.raises(ValueError, match=f"{name} must be positive"):
            particle_levelset(x, grid, **{name: 0.0})
    for method, name in (("spheres", "band"), ("spheres", "radius"), ("average", "radius"), ("average", "support")):
        with pytest.raises(ValueError, match="at most 8 cells"):
            particle_levelset(x, grid, method=method, out=out, **{name: 100.0})  # type: ignore[arg-type]
    p = Particles(x)
    p.positions[3, 1] = np.nan
    with pytest.raises(ValueError, match="positions must be finite, but component 1 of particle 3"):
        particle_levelset(p, grid, out=out)
    assert (out.array == 7.0).all()
