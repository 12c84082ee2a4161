"""Redistancing: the discretisation, agreement of the methods, signs, masks, degenerate levels, arguments."""

from typing import Any

import numpy as np
import pytest
from support.build import random_scalar, same_bits, share_periodic
from support.eikonal import FAR, axis_crossing_distances, fixed_point, godunov

import meniscus as ms
from meniscus.surface import LevelSet, Sphere, redistance

METHODS = ("parallel", "fast-marching")
INTERFACES = ("closest-point", "axis-crossings")
SHAPES = {2: (23, 37), 3: (13, 11, 19)}


def rough_field(kind: str, dimension: int, dtype: Any, periodic: Any, rng: np.random.Generator, smooth: int = 1) -> Any:
    grid = ms.Grid(SHAPES[dimension], 0.25, periodic=periodic)
    field = random_scalar(kind, grid, dtype, rng)
    for _ in range(smooth):
        for d in range(dimension):
            field.array = ((np.roll(field.array, 1, d) + 2 * field.array + np.roll(field.array, -1, d)) / 4).astype(dtype)
    share_periodic(field.array, grid, field.on_side)
    return field


def distinct(field: Any) -> np.ndarray:
    """The samples without the first copies on periodic sides, as float64."""
    return np.array(
        field.array[tuple(slice(int(p and s), None) for p, s in zip(field.grid.periodic, field.on_side, strict=True))], np.float64
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["cell", "node"])
@pytest.mark.parametrize("band", [None, 0.75])
def test_solves_the_upwind_equations(
    method: Any, kind: str, band: float | None, dimension: int, dtype: type, rng: np.random.Generator
) -> None:
    tolerance = 1e-12 if dtype is np.float64 else 1e-5
    for periodic in (False, True, (True, False, False)[:dimension], (False, True, True)[-dimension:]):
        for smooth in (0, 3):
            field = rough_field(kind, dimension, dtype, periodic, rng, smooth)
            before = distinct(field)
            reached = redistance(field, band=band, method=method, interface="axis-crossings")
            axes = field.grid.periodic
            u = fixed_point(axis_crossing_distances(before, axes), axes)
            u = np.where(u >= FAR, np.abs(before) if band is None else np.inf, u * 0.25)
            expected = np.where(before > 0, 1, -1) * (u if band is None else np.minimum(u, band))
            np.testing.assert_allclose(distinct(field), expected, atol=tolerance, rtol=0)
            assert reached == (u.size if band is None else (np.abs(distinct(field)) < band).sum())
            copy = field.array.copy()
            share_periodic(field.array, field.grid, field.on_side)
            assert same_bits(copy, field.array)


@pytest.mark.parametrize("interface", INTERFACES)
def test_parallel_rounds_agree_with_fast_marching(interface: Any, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    for kind in ("cell", "node"):
        for band in (None, 1.1):
            field = rough_field(kind, dimension, dtype, (False, True, False)[:dimension], rng, 4)
            other = field.copy()
            a = redistance(field, interface=interface, band=band)
            b = redistance(other, interface=interface, band=band, method="fast-marching")
            assert a == b
            assert np.abs(field.array - other.array).max() <= (1e-12 if dtype is np.float64 else 1e-5)


def test_beyond_the_closest_points_the_equations_hold(dimension: int) -> None:
    grid = ms.Grid((40,) * dimension, 1 / 40)
    phi = LevelSet.from_function(grid, lambda *x: np.sqrt(sum((c - 0.47) ** 2 for c in x)) - 0.3)
    phi.redistance()
    u = np.abs(phi.array) * 40
    far = u > 2.8  # beyond the samples that may have closest points of their own
    np.testing.assert_allclose(godunov(u, (False,) * dimension)[far], u[far], atol=1e-12)


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("method", METHODS)
def test_no_sample_changes_sides(interface: Any, method: Any, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    for smooth in (0, 1, 2, 6):
        for scale in (1e-30, 1e-3, 1.0, 1e6):
            field = rough_field("cell", dimension, dtype, False, rng, smooth)
            field.array = (field.array * scale).astype(dtype)
            field.array[field.array == rng.choice(field.array.ravel())] = 0.0
            before = field.array.copy()
            for band in (0.6, None):
                redistance(field, band=band, method=method, interface=interface)
                assert ((field.array > 0) == (before > 0)).all()
                assert ((field.array == 0) <= (before == 0)).all()
                assert np.isfinite(field.array).all()


def test_slopes_are_one(dimension: int) -> None:
    n = 64
    grid = ms.Grid((n,) * dimension, 1 / n)
    phi = LevelSet.from_function(grid, lambda *x: (sum((c - 0.49) ** 2 for c in x) - 0.3**2) * (1 + 0.5 * np.sin(9 * x[0])), "cells")
    phi.redistance()
    slope = np.sqrt(sum(g**2 for g in np.gradient(phi.array, 1 / n)))
    near = np.abs(phi.array) < 1 / n
    assert np.abs(slope - 1)[near].max() < 2e-2
    assert np.abs(slope - 1)[np.abs(phi.array) < 5 / n].max() < 0.06


def test_hidden_samples_are_neither_sources_nor_targets(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    for kind in ("cell", "node"):
        for periodic in (False, True):
            field = rough_field(kind, dimension, dtype, periodic, rng, 2)
            hidden = rng.random(field.shape) < 0.2
            share_periodic(hidden, field.grid, field.on_side)
            before, all_before, axes = distinct(field), field.array.copy(), field.grid.periodic
            marched = field.copy()
            redistance(field, interface="axis-crossings", hidden=hidden)
            redistance(marched, interface="axis-crossings", hidden=hidden, method="fast-marching")
            mask = hidden[tuple(slice(int(p and s), None) for p, s in zip(axes, field.on_side, strict=True))]
            u = fixed_point(axis_crossing_distances(before, axes, mask), axes, mask)
            size = np.where((u >= FAR) | mask, np.abs(before), u * 0.25)
            expected = np.where(before > 0, 1, -1) * size
            tolerance = 1e-12 if dtype is np.float64 else 1e-5
            np.testing.assert_allclose(distinct(field), expected, atol=tolerance, rtol=0)
            np.testing.assert_allclose(marched.array, field.array, atol=tolerance, rtol=0)
            assert same_bits(field.array[hidden], all_before[hidden])
            # What is hidden has no influence, whatever it holds.
            again = field.copy()
            again.array = all_before
            again.array[hidden] = rng.uniform(-9, 9, hidden.sum()).astype(dtype)
            share_periodic(again.array, field.grid, field.on_side)
            first = again.copy()
            first.array = all_before
            redistance(first, hidden=hidden, band=0.9)
            redistance(again, hidden=hidden, band=0.9)
            assert same_bits(again.array[~hidden], first.array[~hidden])


def test_a_wall_of_hidden_samples_separates() -> None:
    grid = ms.Grid((20, 12), 1.0)
    phi = LevelSet.from_function(grid, lambda x, y: x - 4.2 + 0 * y, "cells")
    hidden = np.zeros((20, 12), bool)
    hidden[10] = True
    phi.redistance(hidden=hidden, band=15.0)
    assert (phi.array[11:] == 15).all()
    np.testing.assert_allclose(phi.array[:10, 5], np.arange(10) + 0.5 - 4.2, rtol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_without_an_interface(method: Any, dimension: int, dtype: type) -> None:
    for value in (2.5, -2.5, 0.0):
        phi = LevelSet(ms.Grid((9, 8, 7)[:dimension], 0.5), "cells", dtype)
        phi.array = value
        assert phi.redistance(method=method) == 0
        assert (phi.array == value).all()
        assert phi.redistance(method=method, band=1.25) == 0
        assert (phi.array == (1.25 if value > 0 else -1.25)).all()


@pytest.mark.parametrize("interface", INTERFACES)
def test_single_cell_drops_and_bubbles(interface: Any, dimension: int) -> None:
    for sign in (1, -1):
        phi = LevelSet(ms.Grid((9,) * dimension, 1.0), "cells")
        middle = (4,) * dimension
        phi.array = sign * 0.4
        phi.array[middle] = -sign * 0.6
        phi.redistance(interface=interface)
        # Between the planes through the crossings and the crossings themselves.
        assert 0.6 / dimension <= -sign * phi.array[middle] <= 0.6
        beside = (3, *middle[1:])
        assert 0.4 / np.sqrt(dimension) <= sign * phi.array[beside] <= 0.4 + 1e-15
        again = phi.array.copy()
        if interface == "closest-point":  # a distance function with a kink in every sample stays
            for _ in range(20):
                phi.redistance()
            assert np.abs(phi.array - again)[middle] <= 1e-12
        assert (np.sign(phi.array) == np.sign(again)).all()


def test_zero_at_samples(dimension: int, dtype: type) -> None:
    # A plane through samples: they are inside, at distance zero, and the values are the distances already.
    phi = LevelSet.from_function(ms.Grid((8,) * dimension, 0.5), lambda *x: x[-1] - 2.0 + 0 * sum(x[:-1]), "nodes", dtype=dtype)
    before = phi.array.copy()
    assert (before == 0).any()
    phi.redistance()
    assert same_bits(phi.array, before)
    # A zero that nothing positive is beside is just inside.
    phi.array = -1.0
    phi.array[(3,) * dimension] = 0.0
    phi.array[0] = 2.0
    phi.redistance()
    assert phi.array[(3,) * dimension] < -0.5


@pytest.mark.parametrize("periodic", [False, True])
def test_axes_of_one_cell(periodic: bool) -> None:
    for axis in range(3):
        shape = [12, 14, 17]
        shape[axis] = 1
        grid = ms.Grid(tuple(shape), 0.1, periodic=tuple(periodic and d == axis for d in range(3)))
        flat = ms.Grid(tuple(n for d, n in enumerate(shape) if d != axis), 0.1)
        thin = LevelSet(grid, "cells", np.float64)
        plane = LevelSet.from_function(flat, lambda x, y: np.hypot(x - 0.6, y - 0.65) - 0.31, "cells")
        thin.array = np.expand_dims(plane.array, axis)
        for interface in INTERFACES:
            a, b = thin.copy(), plane.copy()
            a.redistance(interface=interface)  # type: ignore[arg-type]
            b.redistance(interface=interface)  # type: ignore[arg-type]
            np.testing.assert_allclose(a.array.squeeze(axis), b.array, atol=1e-14)
    line = LevelSet.from_function(ms.Grid((30, 1), 0.1, periodic=(False, True)), lambda x, y: 3 * (x - 1.234) + 0 * y, "cells")
    line.redistance()
    x = (np.arange(30) + 0.5) * 0.1
    np.testing.assert_allclose(line.array[:, 0], x - 1.234, atol=1e-14)


def test_interfaces_across_a_periodic_side(dimension: int) -> None:
    # The same drop in the middle and across the sides.
    n = 24
    grid = ms.Grid((n,) * dimension, 1 / n, periodic=(True,) * dimension)
    phi = LevelSet.from_function(grid, lambda *x: np.sqrt(sum((c - 0.5) ** 2 for c in x)) ** 2 - 0.3**2, "cells")
    moved = phi.copy()
    shift = (9, 13, 5)[:dimension]
    moved.array = np.roll(phi.array, shift, range(dimension))
    for band in (None, 0.2):
        phi.redistance(band=band)
        moved.redistance(band=band)
        np.testing.assert_allclose(np.roll(phi.array, shift, range(dimension)), moved.array, rtol=0, atol=1e-14)


def test_a_repeated_call_allocates_nothing(dimension: int, dtype: type) -> None:
    phi = LevelSet.from_function(ms.Grid((40,) * dimension, 0.1), lambda *x: sum((c - 2.0) ** 2 for c in x) - 1.0, "cells", dtype=dtype)
    start = phi.snapshot()
    for method in METHODS:
        workspace = ms.core.Workspace()
        phi.redistance(band=0.5, method=method, workspace=workspace)  # type: ignore[arg-type]
        held = ms.core.block_allocations()
        for _ in range(3):
            phi.restore(start)
            phi.redistance(band=0.5, method=method, workspace=workspace)  # type: ignore[arg-type]
        assert ms.core.block_allocations() == held


def test_wrong_arguments_change_nothing(dimension: int) -> None:
    phi = LevelSet(ms.Grid((5,) * dimension, 1.0), "cells")
    phi.array[...] = np.linspace(-1, 1, phi.array.size).reshape(phi.array.shape)
    before = phi.array.copy()
    for bad, error, text in (
        ({"band": 0.0}, ValueError, "band must be positive"),
        ({"band": np.nan}, ValueError, "band must be finite"),
        ({"band": "wide"}, TypeError, "band must be a number"),
        ({"method": "sweeping"}, ValueError, "method must be one of 'parallel', 'fast-marching'"),
        ({"interface": "exact"}, ValueError, "interface must be one of"),
        ({"hidden": np.zeros((4,) * dimension, bool)}, ValueError, "hidden must have shape"),
        ({"hidden": np.zeros((5,) * dimension)}, TypeError, "hidden must be of dtype bool"),
        ({"workspace": 3}, TypeError, "workspace must be a Workspace"),
    ):
        with pytest.raises(error, match=text):
            phi.redistance(**bad)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="levelset must be a LevelSet, CellField or NodeField, not Sphere"):
        redistance(Sphere((0.0,) * dimension, 1.0))  # type: ignore[arg-type]
    assert same_bits(phi.array, before)
    for value in (np.nan, np.inf, -np.inf):
        phi.array[(3,) * dimension] = value
        before = phi.array.copy()
        for method in METHODS:
            for band in (None, 2.0):
                with pytest.raises(ValueError, match=r"phi.*\[3, 3"):
                    phi.redistance(method=method, band=band)  # type: ignore[arg-type]
        assert same_bits(phi.array, before)
