"""Volume, area, volume fractions and curvature of level sets: exact where the reconstruction is, second order where it is not."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from support.build import same_bits
from support.surfaces import LOCATIONS, ball, level_set, measures, noise
from support.variants import SLOW_IN_SINGLE

import meniscus as ms
from meniscus.surface import LevelSet, curvature, measure, symmetric_difference, volume_fractions

RADIUS = 0.31


def below_plane(low: np.ndarray, high: np.ndarray, normal: np.ndarray, level: float) -> np.ndarray:
    """The volumes of boxes (n, dim) where normal . x <= level, by inclusion and exclusion over their corners."""
    dim = low.shape[1]
    total = np.zeros(len(low))
    # A flip of an axis makes its component positive.
    sign = np.where(normal < 0, -1.0, 1.0)
    a = np.where(sign > 0, low, -high)
    b = np.where(sign > 0, high, -low)
    n = np.abs(normal)
    for corner in product((0, 1), repeat=dim):
        x = np.where(corner, b, a)
        total += (-1) ** sum(corner) * np.maximum(level - x @ n, 0) ** dim
    return total / (np.prod(n) * (6 if dim == 3 else 2))


def test_planes_are_exact_on_nodes(dimension: int, rng: np.random.Generator) -> None:
    for _ in range(20):
        normal = rng.standard_normal(dimension)
        normal /= np.linalg.norm(normal)
        shape = (7, 6, 8)[:dimension]
        grid = ms.Grid(shape, 0.25, (-0.8, -0.7, -1.1)[:dimension])
        level = 0.3 * rng.standard_normal()
        phi = LevelSet.from_function(grid, lambda *x, n=normal, c=level: sum(a * b for a, b in zip(x, n, strict=True)) - c)
        low = np.array(grid.origin)[None]
        exact = below_plane(low, low + np.array(grid.extent), normal, level)[0]
        assert phi.volume() == pytest.approx(exact, abs=2e-6 * np.prod(grid.extent))
        cells = np.stack(np.meshgrid(*[np.arange(n) for n in shape], indexing="ij"), axis=-1).reshape(-1, dimension) * 0.25 + low
        fractions = below_plane(cells, cells + 0.25, normal, level) / 0.25**dimension
        # A crossing within a margin of a node moves by that much, and planes near corners are cancellation in the formula above.
        assert np.abs(phi.volume_fractions().array.ravel() - fractions).max() < 5e-6


def test_planes_are_exact_on_cells_away_from_the_sides(dimension: int, rng: np.random.Generator) -> None:
    for _ in range(10):
        normal = rng.standard_normal(dimension)
        normal /= np.linalg.norm(normal)
        shape = (7, 6, 8)[:dimension]
        grid = ms.Grid(shape, 0.25, (-0.8, -0.7, -1.1)[:dimension])
        phi = LevelSet.from_function(grid, lambda *x, n=normal: sum(a * b for a, b in zip(x, n, strict=True)), "cells")
        cells = np.stack(np.meshgrid(*[np.arange(n) for n in shape], indexing="ij"), axis=-1).reshape(-1, dimension)
        inner = np.all((cells > 0) & (cells < np.array(shape) - 1), axis=1)
        low = cells * 0.25 + np.array(grid.origin)
        exact = below_plane(low, low + 0.25, normal, 0.0) / 0.25**dimension
        assert np.abs(phi.volume_fractions().array.ravel() - exact)[inner].max() < 5e-6


@pytest.mark.parametrize("location", LOCATIONS)
def test_measures_are_those_of_the_mesh(location: str, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    for _ in range(40):
        shape = rng.integers(2, 9, dimension)
        shape[-1] = rng.integers(2, 150)
        phi = level_set(noise(rng, tuple(shape), dtype), location)
        v, e = phi.to_mesh(sides="open")
        assert phi.area() == pytest.approx(measures(v, e).sum(), rel=1e-12)
        assert measure(phi) == (phi.volume(), phi.area())
        volume, fractions = phi.volume(), phi.volume_fractions().array
        assert fractions.min() >= 0
        assert fractions.max() <= 1
        if location == "nodes":
            assert fractions.sum(dtype=float) * 0.5**dimension == pytest.approx(volume, rel=1e-12 if dtype == np.float64 else 1e-6)


@pytest.mark.parametrize("location", LOCATIONS)
def test_ball_is_second_order(location: str, dimension: int) -> None:
    exact = (np.pi * RADIUS**2, 2 * np.pi * RADIUS) if dimension == 2 else (4 / 3 * np.pi * RADIUS**3, 4 * np.pi * RADIUS**2)
    errors = []
    for n in (16, 32, 64, 128):
        phi, _ = ball(n, location, dimension=dimension)
        errors.append([n**2 * (phi.volume() / exact[0] - 1), n**2 * (phi.area() / exact[1] - 1)])
    found = np.array(errors)
    # Chords lie inside: both measures are too small, by a constant times h^2.
    assert (found < 0).all()
    assert np.ptp(found[1:], axis=0).max() < 0.05 * np.abs(found).max()
    assert np.abs(found).max() < 7


@pytest.mark.parametrize("location", LOCATIONS)
def test_symmetric_difference(location: Any) -> None:
    # Two discs that overlap in a lens.
    r, apart = 0.25, 0.2
    lens = 2 * r**2 * np.arccos(apart / (2 * r)) - apart / 2 * np.sqrt(4 * r**2 - apart**2)
    exact = 2 * (np.pi * r**2 - lens)
    errors = []
    for n in (32, 64, 128):
        a, b = (
            LevelSet.from_function(ms.Grid((n, n), 1 / n), lambda x, y, c=c: np.hypot(x - c, y - 0.5) - r, location)
            for c in (0.41, 0.41 + apart)
        )
        errors.append(abs(symmetric_difference(a, b) / exact - 1) * n**2)
        assert symmetric_difference(a, b) == symmetric_difference(b, a)
        assert symmetric_difference(a, a.copy()) == 0
    assert max(errors) < 12
    b.array = 1.0
    assert symmetric_difference(a, b) == a.volume()
    with pytest.raises(ValueError, match="b must be on the grid of a"):
        symmetric_difference(a, LevelSet(ms.Grid((5, 5), 0.1), location))
    with pytest.raises(ValueError, match="b must have the samples of a"):
        symmetric_difference(a, LevelSet(a.grid, "cells" if location == "nodes" else "nodes"))


def test_fractions_on_cells_are_second_order(dimension: int) -> None:
    errors = []
    for n in (16, 32, 64):
        phi, _ = ball(n, "cells", dimension=dimension)
        exact = np.pi * RADIUS**2 if dimension == 2 else 4 / 3 * np.pi * RADIUS**3
        errors.append(abs(volume_fractions(phi).array.sum() / n**dimension / exact - 1) * n**2)
    assert max(errors) < 15
    assert max(errors) < 1.2 * min(errors)


@pytest.mark.parametrize("location", LOCATIONS)
def test_a_pool_ends_at_the_walls(location: Any, dimension: int) -> None:
    # Still water at any height: exact, and the sides of the tank are no surface.
    grid = ms.Grid((6, 5, 7)[:dimension], 0.2)
    area = float(np.prod(grid.extent)) / grid.extent[1]
    for height in (0.31, 0.4999, 0.52, 0.68):
        phi = LevelSet.from_function(grid, lambda *x, z=height: np.broadcast_arrays(*x)[1] - z, location)
        assert phi.volume() == pytest.approx(height * area, rel=1e-12)
        assert phi.area() == pytest.approx(area, rel=1e-12)
        assert phi.volume_fractions().array.sum() * 0.2**dimension == pytest.approx(height * area, rel=1e-12)


def test_curvature_of_a_ball_is_second_order(dimension: int) -> None:
    k = (dimension - 1) / RADIUS
    for kind in ("surface", "level"):
        errors = []
        for n in (32, 64, 128):
            phi, _ = ball(n, "cells", dimension=dimension)
            near = np.abs(phi.array) < 2.5 / n
            exact = k if kind == "surface" else (dimension - 1) / (RADIUS + phi.array[near])
            errors.append(np.abs(phi.curvature(kind=kind).array[near] - exact).max() / k)  # type: ignore[arg-type]
        assert errors[-1] < 1e-3
        assert (np.log2(np.array(errors[:-1]) / errors[1:]) > 1.8).all(), (kind, errors)


def test_curvature_of_cylinder_and_ring() -> None:
    # A ring has principal curvatures of unlike size and, inside, of unlike sign.
    errors = []
    for n in (48, 96):
        grid = ms.Grid((n, n, n // 2), 1 / n, (-0.5, -0.5, -0.25))
        phi = LevelSet.from_function(grid, lambda x, y, z: np.hypot(np.hypot(x, y) - 0.3, z) - 0.13, "cells")
        x, y, z = phi.field.coordinates()
        off = np.hypot(x, y) - 0.3
        cosine = off / np.hypot(off, z)
        exact = 1 / 0.13 + cosine / (0.3 + 0.13 * cosine)
        near = np.abs(phi.array) < 2.0 / n
        errors.append(np.abs(phi.curvature().array - exact)[near].max())
    assert errors[-1] < 0.1
    assert np.log2(errors[0] / errors[1]) > 1.8
    grid = ms.Grid((64, 64, 4), 1 / 64, (-0.5, -0.5, 0.0), periodic=(False, False, True))
    phi = LevelSet.from_function(grid, lambda x, y, z: np.hypot(x, y) - 0.25 + 0 * z, "cells")
    near = np.abs(phi.array) < 2.0 / 64
    assert np.abs(phi.curvature().array[near] - 4).max() < 0.02


def beside_the_surface(phi: LevelSet) -> np.ndarray:
    """The samples with a neighbour of unlike sign."""
    inside = phi.array <= 0
    near = np.zeros_like(inside)
    for d in range(inside.ndim):
        n = inside.shape[d]
        change = inside.take(range(n - 1), d) != inside.take(range(1, n), d)
        low, high = (tuple(slice(a, n - 1 + a) if e == d else slice(None) for e in range(inside.ndim)) for a in (0, 1))
        near[low] |= change
        near[high] |= change
    return near


@SLOW_IN_SINGLE
def test_curvature_of_columns(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    k = (dimension - 1) / RADIUS
    errors = []
    for n in (32, 64, 128) if dimension == 2 else (64, 128):
        phi, _ = ball(n, "cells", dtype, dimension)
        near = beside_the_surface(phi)
        exact = phi.curvature(kind="columns").array
        errors.append(np.abs(exact[near] - k).max() / k)
        # Samples farther than two spacings from the surface do not matter, and neither does the slope; what is far is not asked at all.
        far = np.abs(phi.array) > 2.5 / n
        phi.array[far] += (0.3 / n * rng.uniform(-1, 1, int(far.sum()))).astype(dtype)
        phi.array *= dtype(4)
        again = phi.curvature(kind="columns").array
        same = np.abs(again - exact)[near] <= (1e-9 if dtype == np.float64 else 1e-3) * k
        assert same.mean() > (0.999 if dimension == 2 else 0.97)
    assert errors[-1] < (1e-3 if dimension == 2 else 6e-3)
    if dtype == np.float64:
        assert (np.log2(np.array(errors[:-1]) / errors[1:]) > 1.8).all(), errors


def test_curvature_between_two_samples() -> None:
    # An ellipse, whose curvature changes along it and whose phi is no distance: interpolated to the crossings, second order.
    a, b = 0.4, 0.25
    errors = []
    for n in (64, 128, 256):
        grid = ms.Grid((n, n), 1 / n, (-0.5123, -0.5077))
        phi = LevelSet.from_function(grid, lambda x, y: (x / a) ** 2 + (y / b) ** 2 - 1, "cells")
        k = phi.curvature(kind="columns").array
        x, y = phi.field.coordinates()
        worst = 0.0
        for d in range(2):
            low, high = (
                ((slice(None, -1), slice(None)), (slice(1, None), slice(None)))
                if d == 0
                else ((..., slice(None, -1)), (..., slice(1, None)))
            )
            p, q = phi.array[low], phi.array[high]
            cut = (p <= 0) != (q <= 0)
            t = (p / np.where(cut, p - q, 1))[cut]
            at = [np.broadcast_to(c, phi.array.shape)[low][cut] + (t / n if e == d else 0) for e, c in enumerate((x, y))]
            exact = 1 / (a * b) ** 2 / ((at[0] / a**2) ** 2 + (at[1] / b**2) ** 2) ** 1.5
            found = k[low][cut] * (1 - t) + k[high][cut] * t
            worst = max(worst, np.abs(found / exact - 1).max())
        errors.append(worst)
    assert errors[-1] < 1e-2
    assert (np.log2(np.array(errors[:-1]) / errors[1:]) > 1.6).all(), errors


def test_curvature_does_not_ask_for_a_distance_on_the_surface(rng: np.random.Generator) -> None:
    # Any function with this zero set has its curvature there: 'surface' at samples on the surface, whatever the slope.
    n = 128
    grid = ms.Grid((n, n), 1 / n, (-0.5, -0.5))
    phi = LevelSet.from_function(grid, lambda x, y: (x**2 + y**2 - RADIUS**2) * (1.3 + x), "cells")
    distance = np.hypot(*phi.field.coordinates()) - RADIUS
    near = np.abs(distance) < 0.3 / n
    assert np.abs(phi.curvature().array[near] * RADIUS - 1).max() < 5e-3
    # A concave surface has negative curvature.
    phi.array = -phi.array
    assert np.abs(phi.curvature().array[near] * RADIUS + 1).max() < 5e-3


@pytest.mark.parametrize("location", LOCATIONS)
def test_curvature_is_bounded_and_zero_where_it_means_nothing(location: Any, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    grid = ms.Grid((9, 8, 7)[:dimension], 0.25)
    phi = LevelSet(grid, location, dtype)
    phi.array = rng.standard_normal(phi.array.shape).astype(dtype)
    for limit in (1.0, 0.5):
        for kind in ("surface", "level", "columns"):
            k = curvature(phi, kind=kind, limit=limit)  # type: ignore[arg-type]
            assert isinstance(k, ms.CellField if location == "cells" else ms.NodeField)
            assert k.dtype == dtype
            assert np.abs(k.array).max() == limit / 0.25
    phi.array = 2.0
    assert not phi.curvature().array.any()
    phi.array = np.broadcast_to(phi.field.coordinates()[0], phi.array.shape).astype(dtype)
    assert np.abs(phi.curvature().array).max() < 1e-5
    out = phi.curvature()
    assert phi.curvature(out=out) is out


def test_curvature_follows_the_boundary() -> None:
    # A wall mirrors phi: a bubble that is cut in half by it has the curvature of a whole one; a period joins the halves.
    n = 64
    for periodic in (False, True):
        grid = ms.Grid((n, n), 1 / n, (0.0, -0.5), periodic=(periodic, False))
        phi = LevelSet.from_function(grid, lambda x, y: np.hypot(np.minimum(x, 1 - x), y) - RADIUS, "cells")
        near = np.abs(phi.array) < 2.0 / n
        assert np.abs(phi.curvature().array[near] * RADIUS - 1).max() < 5e-3


def test_what_is_refused() -> None:
    phi = LevelSet(ms.Grid((4, 4), 0.5), "cells")
    with pytest.raises(ValueError, match="kind must be one of 'surface', 'level', 'columns'"):
        phi.curvature(kind="mean")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="limit must be positive"):
        phi.curvature(limit=0)
    with pytest.raises(TypeError, match="out must be a CellField"):
        phi.curvature(out=ms.NodeField(phi.grid))
    space = ms.Grid((4, 4, 4), 0.5)
    with pytest.raises(TypeError, match="out must be of dtype float64"):
        LevelSet(space, "cells").curvature(out=ms.CellField(space, np.float32))
    with pytest.raises(ValueError, match="out must be on the grid of phi"):
        phi.volume_fractions(out=ms.CellField(ms.Grid((4, 5), 0.5)))
    assert same_bits(phi.volume_fractions().array, np.ones((4, 4)))
