"""Extension along normals: exact solutions, the equations themselves, order, masks, unreachable samples, arguments."""

from typing import Any

import numpy as np
import pytest
from support.build import components, random_scalar, random_velocity, same_bits
from support.variants import SLOW_IN_SINGLE

import meniscus as ms
from meniscus.surface import LevelSet, Sphere, extend, extend_velocity

SHAPES = {2: (23, 37), 3: (14, 12, 21)}


def plane(grid: ms.Grid, normal: np.ndarray, dtype: Any = np.float64) -> LevelSet:
    def phi(*x: np.ndarray) -> Any:
        return sum(n * (c - o - 0.437 * grid.spacing * s) for n, c, o, s in zip(normal, x, grid.origin, grid.shape, strict=True))

    return LevelSet.from_function(grid, phi, "cells", dtype=dtype)


def face_level(phi: LevelSet, axis: int) -> np.ndarray:
    """Phi at the faces across an axis: the mean of the cells beside, or the one cell."""
    a = phi.array.astype(np.float64)
    low = np.concatenate([np.take(a, [-1 if phi.grid.periodic[axis] else 0], axis), a], axis)
    high = np.concatenate([a, np.take(a, [0 if phi.grid.periodic[axis] else -1], axis)], axis)
    return 0.5 * (low + high)


def reference(f: np.ndarray, key: np.ndarray, known: np.ndarray, wanted: np.ndarray, periodic: tuple[bool, ...]) -> np.ndarray:
    """Sample after sample in the order of the key; NaN where nothing is reached."""
    f, done = np.where(known, f, np.nan).astype(np.float64), known.copy()
    for flat in np.argsort(key, axis=None, kind="stable"):
        c = np.unravel_index(flat, f.shape)
        if done[c] or not wanted[c]:
            continue
        total, weights, beside = 0.0, 0.0, []
        for d in range(f.ndim):
            candidates = []
            for step in (-1, 1):
                i = c[d] + step
                if not 0 <= i < f.shape[d]:
                    if not periodic[d]:
                        continue
                    i %= f.shape[d]
                q = (*c[:d], i, *c[d + 1 :])
                if known[q]:
                    beside.append(f[q])
                if done[q] and key[q] < key[c]:
                    candidates.append((key[q], f[q]))
            if candidates:
                low = min(k for k, _ in candidates)
                w = key[c] - low
                total += w * np.mean([v for k, v in candidates if k == low])
                weights += w
        if weights > 0:
            f[c], done[c] = total / weights, True
        elif beside:
            f[c], done[c] = np.mean(beside), True
    return f


@pytest.mark.parametrize("side", ["outside", "both"])
@SLOW_IN_SINGLE
def test_solves_the_upwind_equations_in_order(side: Any, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    for periodic in (False, True, (True, False, False)[:dimension]):
        grid = ms.Grid(SHAPES[dimension], 0.5, periodic=periodic)
        phi = random_scalar("cell", grid, dtype, rng)
        for _ in range(3):
            for d in range(dimension):
                phi.array = ((np.roll(phi.array, 1, d) + 2 * phi.array + np.roll(phi.array, -1, d)) / 4).astype(dtype)
        phi.array *= dtype(4)
        for _ in range(2):
            field = random_scalar("cell", grid, dtype, rng)
            known = (phi.array < 0.1) & (rng.random(field.shape) < 0.9) if side == "outside" else np.abs(phi.array) < 0.1
            band = 0.8
            key = phi.array.astype(np.float64) if side == "outside" else np.abs(phi.array.astype(np.float64))
            wanted = ~known & (np.abs(phi.array) < band)
            before = field.array.copy()
            expected = reference(before, key, known, wanted, grid.periodic)
            result = extend(field, phi, known, band=band, side=side)
            reached = np.isfinite(expected) & ~known
            np.testing.assert_array_equal(result.known, np.isfinite(expected))
            assert (result.reached, result.unreached) == (reached.sum(), (wanted & ~reached).sum())
            np.testing.assert_allclose(field.array[reached], expected[reached], rtol=0, atol=1e-13 if dtype is np.float64 else 1e-5)
            assert same_bits(field.array[~reached], before[~reached])


def test_constants_are_continued_to_the_last_bit(dimension: int, dtype: type) -> None:
    for periodic in (False, True):
        grid = ms.Grid((24,) * dimension, 1 / 24, periodic=periodic)
        phi = LevelSet(grid, "cells", dtype)
        phi.array = 9.0
        phi.unite(Sphere((0.41, 0.55, 0.47)[:dimension], 0.2))
        phi.redistance()
        velocity = ms.MacField(grid, dtype)
        known = []
        for d in range(dimension):
            value = dtype(0.1 + 1.7 * d)
            known.append(face_level(phi, d) <= 0.01)
            velocity.component(d)[...] = np.where(known[d], value, np.nan)
        result = extend_velocity(velocity, phi, known)
        assert result.unreached == 0
        assert result.reached == sum(k.sum() for k in result.known) - sum(k.sum() for k in known) - (
            sum((np.take(r, 0, d) & ~np.take(k, 0, d)).sum() for d, (r, k) in enumerate(zip(result.known, known, strict=True)))
            if periodic
            else 0
        )
        for d in range(dimension):
            wanted = known[d] | (np.abs(face_level(phi, d)) < 5 / 24)
            if not periodic:
                np.testing.assert_array_equal(result.known[d], wanted)
            assert (velocity.component(d)[result.known[d]] == dtype(0.1 + 1.7 * d)).all()
            assert np.isnan(velocity.component(d)[~result.known[d]]).all()


def test_tangentially_linear_fields_are_exact_along_the_normals_of_a_plane(dimension: int, rng: np.random.Generator) -> None:
    for _ in range(8):
        normal = np.abs(rng.normal(size=dimension))
        normal /= np.linalg.norm(normal)
        slope = rng.normal(size=dimension)
        slope -= slope.dot(normal) * normal
        grid = ms.Grid((22,) * dimension, 0.5)
        phi = plane(grid, normal)
        field = ms.CellField(grid)
        exact = 2.0 + sum(s * c for s, c in zip(slope, field.coordinates(), strict=True)) + np.zeros(field.shape)
        # The samples at the lower sides are known too: all that is upwind is then inside of the domain.
        known = phi.array <= 0
        for d in range(dimension):
            np.moveaxis(known, d, 0)[0] = True
        field.array = np.where(known, exact, 0.0)
        result = extend(field, phi, known, band=1.4)
        assert result.reached > 20
        np.testing.assert_allclose(field.array[result.known], exact[result.known], rtol=0, atol=1e-13 * np.abs(exact).max())


def test_first_order_around_a_sphere(dimension: int) -> None:
    errors = []
    for n in (32, 64, 128) if dimension == 2 else (32, 64):
        grid = ms.Grid((n,) * dimension, 1 / n)
        phi = LevelSet(grid, "cells")
        phi.array = 9.0
        phi.unite(Sphere((0.5,) * dimension, 0.25))
        field = ms.CellField(grid)
        x = [c - 0.5 for c in field.coordinates()]
        r = np.sqrt(sum(c**2 for c in x))
        exact = np.sin(3 * np.arctan2(x[1] + 0 * r, x[0] + 0 * r)) if dimension == 2 else x[0] * x[1] / r**2 + 0 * r
        known = phi.array <= 0
        field.array = np.where(known, exact, 0)
        extend(field, phi, known, band=0.15)
        new = ~known & (phi.array < 0.15)
        errors.append(np.abs(field.array - exact)[new].max())
    assert (np.log2(np.array(errors[:-1]) / errors[1:]) > 0.75).all(), errors


@pytest.mark.parametrize("location", ["cells", "nodes"])
@SLOW_IN_SINGLE
def test_faces_use_averages_of_phi(location: Any, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    for periodic in (False, True):
        grid = ms.Grid(SHAPES[dimension], 0.25, periodic=periodic)
        phi = LevelSet(grid, location, dtype)
        phi.array = 9.0
        phi.unite(Sphere((2.9, 2.3, 2.4)[:dimension], 1.2))
        velocity = random_velocity(grid, dtype, rng)
        before = components(velocity)
        levels = []
        for d in range(dimension):
            if location == "cells":
                levels.append(face_level(phi, d))
                continue
            a = phi.array.astype(np.float64)
            for e in range(dimension):
                if e != d:
                    a = 0.5 * (np.take(a, range(grid.shape[e]), e) + np.take(a, range(1, grid.shape[e] + 1), e))
            levels.append(a)
        known = [level <= -0.03 for level in levels]
        result = extend_velocity(velocity, phi, known, band=0.6)
        for d in range(dimension):
            cut = tuple(slice(int(e == d and grid.periodic[e]), None) for e in range(dimension))
            level, k = levels[d][cut], known[d][cut]
            expected = reference(before[d][cut], level, k, ~k & (np.abs(level) < 0.6), grid.periodic)
            np.testing.assert_array_equal(result.known[d][cut], np.isfinite(expected))
            now = velocity.component(d)
            new = np.isfinite(expected)
            np.testing.assert_allclose(now[cut][new], expected[new], rtol=0, atol=1e-5)
            if grid.periodic[d]:
                assert same_bits(np.take(now, 0, d), np.take(now, -1, d))
                np.testing.assert_array_equal(np.take(result.known[d], 0, d), np.take(result.known[d], -1, d))


def test_what_is_not_connected_is_left_and_reported() -> None:
    grid = ms.Grid((40, 6), 1.0)
    phi = LevelSet.from_function(grid, lambda x, y: np.minimum(np.abs(x - 5.3), np.abs(x - 30.2)) - 2 + 0 * y, "cells")
    field = ms.CellField(grid, np.float64)
    field.array = 7.0
    known = np.zeros(field.shape, bool)
    known[3:8] = phi.array[3:8] <= 0
    field.array[known] = 3.0
    result = extend(field, phi, known, band=4.0)
    near = np.abs(phi.array) < 4
    assert (field.array[:18][near[:18]] == 3).all()
    assert (field.array[18:] == 7).all()
    assert result.unreached == near[18:].sum() > 0
    assert result.reached == near[:18].sum() - known.sum()
    none = extend(field, phi, np.zeros(field.shape, bool), band=4.0)
    assert (none.reached, none.unreached) == (0, near.sum())
    everything = extend(field, phi, np.ones(field.shape, bool))
    assert (everything.reached, everything.unreached) == (0, 0)


def test_minima_take_the_mean_of_known_neighbours(dimension: int) -> None:
    grid = ms.Grid((5,) * dimension, 1.0)
    phi = LevelSet(grid, "cells")
    phi.array = 0.5
    middle = (2,) * dimension
    phi.array[middle] = 0.1
    field = ms.CellField(grid)
    field.array = np.arange(5.0**dimension).reshape(field.shape)
    known = np.ones(field.shape, bool)
    known[middle] = False
    exact = field.array[middle]
    field.array[middle] = np.nan
    assert extend(field, phi, known).reached == 1
    assert field.array[middle] == pytest.approx(exact, abs=1e-13)


def test_masks_can_be_written_in_place_and_nothing_is_allocated(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    grid = ms.Grid((20,) * dimension, 0.05)
    phi = LevelSet(grid, "cells", dtype)
    phi.array = 9.0
    phi.unite(Sphere((0.5,) * dimension, 0.3))
    velocity = random_velocity(grid, dtype, rng)
    start = components(velocity)
    known = [face_level(phi, d) <= 0 for d in range(dimension)]
    first = extend_velocity(velocity, phi, known)
    expected = components(velocity)
    out, workspace = [k.copy() for k in known], ms.core.Workspace()
    for i in range(4):
        for d in range(dimension):
            velocity.component(d)[...] = start[d]
            out[d][...] = known[d]
        result = extend_velocity(velocity, phi, out, out=out, workspace=workspace)
        assert all(a is b for a, b in zip(result.known, out, strict=True))
        assert same_bits(components(velocity), expected)
        assert same_bits(out, first.known)
        if i == 0:
            held = ms.core.block_allocations()
    assert ms.core.block_allocations() == held
    assert not same_bits(known, out)


def test_wrong_arguments_change_nothing(dimension: int) -> None:
    grid = ms.Grid((6,) * dimension, 1.0)
    phi = LevelSet.from_function(grid, lambda *x: x[0] - 3.3 + 0 * sum(x), "cells")
    field = ms.CellField(grid)
    field.array = 1.5
    known = phi.array <= 0
    before, mask = field.array.copy(), known.copy()
    other, space = LevelSet(ms.Grid((5,) * dimension, 1.0), "cells"), ms.Grid((6, 6, 6), 1.0)
    for arguments, error, text in (
        ((field, phi, known[:-1]), ValueError, "known must have shape"),
        ((field, phi, known.astype(int)), TypeError, "known must be of dtype bool"),
        ((field, other, known), ValueError, "levelset must be on"),
        ((ms.CellField(space), LevelSet(space, "cells", np.float32), np.ones(space.shape, bool)), TypeError, "must be of dtype float64"),
        ((field, phi.array, known), TypeError, "levelset must be a LevelSet, CellField or NodeField"),
        ((ms.MacField(grid), phi, known), TypeError, "field must be a CellField or NodeField"),
    ):
        with pytest.raises(error, match=text):
            extend(*arguments)  # type: ignore[arg-type]
    for options, error, text in (
        ({"band": -1.0}, ValueError, "band must be positive"),
        ({"side": "inside"}, ValueError, "side must be one of 'outside', 'both'"),
        ({"out": np.zeros(3, bool)}, ValueError, "out must have shape"),
        ({"out": known.astype(float)}, TypeError, "out must be a writable, C-contiguous array of bool"),
    ):
        with pytest.raises(error, match=text):
            extend(field, phi, known, **options)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="known must be a sequence"):
        extend_velocity(ms.MacField(grid), phi, known)  # type: ignore[arg-type]
    assert same_bits(field.array, before)
    at = (2,) * dimension
    field.array[at] = np.nan
    before = field.array.copy()
    with pytest.raises(ValueError, match=r"field must be finite where it is known, but \[2, 2"):
        extend(field, phi, known, out=known)
    assert same_bits(field.array, before)
    assert same_bits(known, mask)
    field.array[at] = 1.0
    phi.array[at] = np.nan
    with pytest.raises(ValueError, match=r"level set.*\[2, 2"):
        extend(field, phi, known)
