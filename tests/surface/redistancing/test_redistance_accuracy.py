"""Accuracy of redistancing: motion of the surface and errors of the distances; orders, kinks, repetition, and the published variant."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.eikonal import crossing_shift
from support.variants import SLOW_IN_SPACE, slow

import meniscus as ms
from meniscus.surface import Box, Ellipsoid, LevelSet, Shape, Sphere, Torus, redistance

# Centres that no symmetry of the grid favours.
CENTER = (0.503, 0.4971, 0.5019)


def level(shape: Shape, n: int, dtype: Any = np.float64) -> LevelSet:
    """The exact distance on a unit square or cube of n cells a side."""
    phi = LevelSet(ms.Grid((n,) * shape.dimension, 1 / n), "cells", dtype)
    phi.array = 1e9
    phi.unite(shape)
    return phi


def distorted(phi: LevelSet) -> LevelSet:
    """Another function with the same zero set."""
    x = phi.field.coordinates()
    result = phi.copy()
    wave = 1.5 + 0.5 * np.sin(7 * x[0] + 5 * x[1]) * np.cos(6 * x[-1])
    result.array = (phi.array * wave * (1 + phi.array)).astype(phi.dtype)
    return result


def sphere(dimension: int) -> Shape:
    return Sphere(CENTER[:dimension], 0.25)


def ellipse(dimension: int) -> Shape:
    # The smallest radius of curvature is b^2 / a = 0.25, in the plane.
    return Ellipsoid(CENTER[:dimension], (0.36, 0.3, 0.33)[:dimension])


def ring(dimension: int) -> Shape:
    assert dimension == 3
    return Torus(CENTER, (0.0, 0.0, 1.0), 0.22, 0.125)


SMOOTH = [(sphere, 2), (sphere, 3), (ellipse, 2), (ellipse, 3), (ring, 3)]
IDS = ["circle", "sphere", "ellipse", "ellipsoid", "torus"]


@pytest.mark.parametrize(("make", "dimension"), [c if c[1] == 2 else slow(*c) for c in SMOOTH], ids=IDS)
def test_crossings_stay_and_distances_near_the_surface_are_second_order(make: Callable[[int], Shape], dimension: int) -> None:
    # Radii of at least 16 cells on the coarsest grid.
    near, far, literal = [], [], []
    sizes = (128, 168) if make is ring else (64, 128) if dimension == 3 else (64, 128, 256)
    for n in sizes:
        h = 1 / n
        exact = level(make(dimension), n)
        for start in (exact, distorted(exact)):
            phi = start.copy()
            phi.redistance(band=6 * h)
            assert ((phi.array > 0) == (exact.array > 0)).all()
            # Distances of both: the crossings of the new one against those of the true one.
            assert crossing_shift(exact.array, phi.array) < 1e-3
            if start is exact:
                assert np.abs(phi.array - exact.array)[np.abs(exact.array) < 1.5 * h].max() < 1e-3 * h
        error = np.abs(phi.array - exact.array)
        near.append(error[np.abs(exact.array) < 1.4 * h].max())
        far.append(error[np.abs(exact.array) < 5 * h].max())
        assert far[-1] < 0.15 * h
        plain = distorted(exact)
        plain.redistance(band=6 * h, interface="axis-crossings")
        literal.append(np.abs(plain.array - exact.array)[np.abs(exact.array) < 1.4 * h].max())
        assert literal[-1] > 100 * near[-1]
        print(f"{n}: near {near[-1] / h:.2e} h, band {far[-1] / h:.2e} h, literal {literal[-1] / h:.2e} h")
    refinement = np.log(np.array(sizes[1:]) / sizes[:-1])
    assert (np.log(np.array(near[:-1]) / near[1:]) / refinement > 2.0).all(), near
    assert (np.log(np.array(far[:-1]) / far[1:]) / refinement > 0.9).all(), far


@SLOW_IN_SPACE
def test_first_order_far_away(dimension: int) -> None:
    errors = []
    for n in (32, 64, 128):
        exact = level(Sphere(CENTER[:dimension], 0.2), n)
        phi = distorted(exact)
        phi.redistance()
        error = np.abs(phi.array - exact.array)
        errors.append(error[exact.array > -0.15].max())
    assert (np.log2(np.array(errors[:-1]) / errors[1:]) > 0.8).all(), errors


@pytest.mark.parametrize("dimension", [3])
def test_single_precision(dimension: int) -> None:
    n = 64
    exact = level(sphere(dimension), n, np.float32)
    for start in (exact, distorted(exact)):
        phi = start.copy()
        phi.redistance(band=6 / n)
        assert crossing_shift(exact.array, phi.array) < 1e-3


def test_the_variant_of_the_documents_is_first_order(dimension: int) -> None:
    shifts: dict[str, list[float]] = {"closest-point": [], "axis-crossings": []}
    for n in (64, 128):
        exact = level(sphere(dimension), n)
        for interface, shift in shifts.items():
            phi = exact.copy()
            phi.redistance(band=5 / n, interface=interface)  # type: ignore[arg-type]
            shift.append(crossing_shift(exact.array, phi.array))
    print(shifts)
    assert max(shifts["closest-point"]) < 1e-4
    assert min(shifts["axis-crossings"]) > 1e-2


@pytest.mark.parametrize("method", ["parallel", "fast-marching"])
@SLOW_IN_SPACE
def test_flat_water_does_not_drift(method: Any, dimension: int) -> None:
    for axis in range(dimension):
        for height in (0.5, 0.50001, 0.3337, 0.51875, 0.04, 0.96):
            shape = [6] * dimension
            shape[axis] = 16
            grid = ms.Grid(tuple(shape), 1 / 16)
            phi = LevelSet.from_function(grid, lambda *x, a=axis, z=height: x[a] - z + 0 * sum(x), "cells")  # type: ignore[misc]
            start, workspace = phi.array.copy(), ms.core.Workspace()
            phi.redistance(method=method, workspace=workspace)
            assert np.abs(phi.array - start).max() < 1e-15
            for _ in range(1000 if axis == 0 else 10):
                phi.redistance(method=method, workspace=workspace)
            assert np.abs(phi.array - start).max() < 1e-13
            # A level of the wrong slope comes back to the same.
            steep = phi.copy()
            steep.array = start * 7.3
            steep.redistance(method=method)
            np.testing.assert_allclose(steep.array, start, rtol=0, atol=1e-14)


def test_planes_of_any_direction(dimension: int, rng: np.random.Generator) -> None:
    for _ in range(20):
        normal = rng.normal(size=dimension)
        normal /= np.linalg.norm(normal)
        grid = ms.Grid((15,) * dimension, 0.1)
        phi = LevelSet.from_function(grid, lambda *x, n=normal: sum(a * (b - 0.74) for a, b in zip(n, x, strict=True)), "cells")  # type: ignore[misc]
        start = phi.array.copy()
        phi.array = 3.0 * start
        phi.redistance()
        # Beside the surface everywhere, also at the sides of the domain; and beyond, where the feet are well inside of it.
        assert crossing_shift(start, phi.array) < 1e-13
        middle = (slice(5, 10),) * dimension
        np.testing.assert_allclose(phi.array[middle], start[middle], rtol=0, atol=1e-9)


@SLOW_IN_SPACE
def test_many_repetitions_move_little(dimension: int) -> None:
    n = 64
    phi = level(sphere(dimension), n)
    start, workspace = phi.array.copy(), ms.core.Workspace()
    for _ in range(100):
        phi.redistance(band=5 / n, workspace=workspace)
    assert crossing_shift(start, phi.array) < 6e-3


def slotted_disk(n: int) -> LevelSet:
    phi = level(Sphere((0.5, 0.55), 0.25), n)
    phi.subtract(Box((0.461, 0.2), (0.539, 0.63)))
    return phi


def test_corners_of_a_slotted_disk_are_not_worn_down() -> None:
    n = 100
    phi = slotted_disk(n)
    phi.redistance(band=6 / n)
    start, workspace = phi.array.copy(), ms.core.Workspace()
    plain = phi.copy()
    for _ in range(100):
        phi.redistance(band=6 / n, workspace=workspace)
        plain.redistance(band=6 / n, workspace=workspace, interface="axis-crossings")
    ours, theirs = crossing_shift(start, phi.array), crossing_shift(start, plain.array)
    print(f"largest shift after 100 calls: {ours:.3f} h, literal {theirs:.3f} h")
    assert ours < 0.2
    assert theirs > 2 * ours
    first = slotted_disk(n)
    assert crossing_shift(first.array, start) < 0.1


def test_films_and_drops_below_the_resolution_stay() -> None:
    # A film of 1.2 cells, and drops of a cell: distance functions with kinks everywhere.
    n = 32
    phi = level(Box((0.2, 0.5, 0.2), (0.8, 0.5 + 1.2 / n, 0.8)), n)
    phi.unite(Sphere((0.3, 0.3, 0.3), 0.9 / n))
    phi.unite(Sphere((0.71, 0.72, 0.7), 1.1 / n))
    phi.redistance(band=5 / n)
    start = phi.array.copy()
    for _ in range(50):
        phi.redistance(band=5 / n)
    assert crossing_shift(start, phi.array) < 0.05


def test_distances_are_hardly_changed(dimension: int) -> None:
    for shape in (Sphere((0.5,) * dimension, 0.3), Box((0.21,) * dimension, (0.79,) * dimension, 0.0)):
        n = 48
        phi = level(shape, n)
        start = phi.array.copy()
        phi.redistance(band=5 / n)
        # At the samples beside the surface.
        beside = np.zeros(start.shape, bool)
        for d in range(dimension):
            change = np.diff(np.sign(start), axis=d) != 0
            pad = [(0, 0)] * dimension
            pad[d] = (1, 0)
            beside |= np.pad(change, pad)
            pad[d] = (0, 1)
            beside |= np.pad(change, pad)
        assert np.abs(phi.array - start)[beside].max() < 1e-2 / n


def test_mirrored_level_sets_have_mirrored_distances(dimension: int) -> None:
    """Also where closest points lie between two cells, one of which reaches across an edge: by the order of cells they differed by 1e-2."""
    n = 24
    x, z = np.meshgrid((np.arange(n) + 0.5) / n, (np.arange(n) + 0.5) / n, indexing="ij")
    values = np.maximum(x - 0.37, z - 0.61)
    if dimension == 3:
        values = np.maximum(values[:, None, :], ((np.arange(n) + 0.5) / n - 0.7)[None, :, None])
    fields = []
    for given in (values, values[::-1], np.swapaxes(values, 0, -1)):
        fields.append(ms.CellField(ms.Grid((n,) * dimension, 1 / n)))
        fields[-1].array = given
        redistance(fields[-1], band=4 / n)
    assert np.abs(fields[0].array - fields[1].array[::-1]).max() * n < 1e-13
    assert np.abs(fields[0].array - np.swapaxes(fields[2].array, 0, -1)).max() * n < 1e-13
