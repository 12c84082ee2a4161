"""Extrapolation against a plain reference: layers, masks and symmetry."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.build import components, grid_of, random_scalar, random_velocity, same_bits, scalar_types, share_periodic

import meniscus as ms
from meniscus.grid import extrapolate


def reference(values: np.ndarray, known: np.ndarray, grid: ms.Grid, on_side: tuple[int, ...], layers: float) -> Any:
    """Layer by layer with whole-array shifts. Of two copies of a periodic sample the last counts."""
    own = tuple(slice(int(p and s), None) for p, s in zip(grid.periodic, on_side, strict=True))
    v, k = np.where(known, values, 0.0)[own].astype(np.float64), known[own].copy()
    layer = 0
    while layer < layers:
        total, count = np.zeros(v.shape), np.zeros(v.shape, int)
        for d in range(v.ndim):
            for step in (1, -1):
                its, there = np.roll(v, step, axis=d), np.roll(k, step, axis=d)
                if not grid.periodic[d]:
                    np.moveaxis(there, d, 0)[0 if step == 1 else -1] = False
                total += np.where(there, its, 0.0)
                count += there
        fresh = ~k & (count > 0)
        if not fresh.any():
            break
        v[fresh] = total[fresh] / count[fresh]
        k |= fresh
        layer += 1
    result, mask = values.astype(np.float64).copy(), known.copy()
    result[own] = np.where(k, v, result[own])
    mask[own] = k
    share_periodic(result, grid, on_side)
    share_periodic(mask, grid, on_side)
    return result, mask


@settings(max_examples=100)
@given(data=st.data())
def test_against_reference(data: st.DataObject) -> None:
    dimension = data.draw(st.sampled_from([2, 3]), "dimension")
    dtype = data.draw(st.sampled_from(scalar_types(dimension)), "dtype")
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=dimension, max_size=dimension), "shape"))
    periodic = tuple(data.draw(st.lists(st.booleans(), min_size=dimension, max_size=dimension), "periodic"))
    kind = data.draw(st.sampled_from(["cell", "node"]), "kind")
    layers = data.draw(st.sampled_from([None, 0, 1, 2, 3, 50]), "layers")
    part = data.draw(st.sampled_from([0.02, 0.1, 0.5, 0.95]), "part")
    rng = np.random.default_rng(data.draw(st.integers(0, 999), "seed"))
    g = grid_of(dimension, periodic=periodic, shape=shape)
    f = random_scalar(kind, g, dtype, rng)
    known = rng.random(f.shape) < part
    share_periodic(known, g, f.on_side)
    expected, mask = reference(f.array, known, g, f.on_side, np.inf if layers is None else layers)
    before, given_mask = f.array.copy(), known.copy()
    result = extrapolate(f, known, layers=layers)
    assert same_bits(known, given_mask)
    assert same_bits(result, mask)
    assert same_bits(f.array[known], before[known])
    assert same_bits(f.array[~result], before[~result])
    np.testing.assert_allclose(f.array, expected, rtol=0, atol=16 * np.finfo(dtype).eps)


def test_velocities(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    for periodic in (False, True):
        g = grid_of(dimension, periodic=periodic)
        v = random_velocity(g, dtype, rng)
        masks = []
        for d, c in enumerate(components(v)):
            on_side = tuple(int(a == d) for a in range(dimension))
            masks.append(rng.random(c.shape) < 0.2)
            share_periodic(masks[-1], g, on_side)
        expected = [
            reference(c, m, g, tuple(int(a == d) for a in range(dimension)), 2)
            for d, (c, m) in enumerate(zip(components(v), masks, strict=True))
        ]
        result = extrapolate(v, masks, layers=2)
        assert isinstance(result, list)
        for d, (values, mask) in enumerate(expected):
            assert same_bits(result[d], mask)
            np.testing.assert_allclose(v.component(d), values, rtol=0, atol=16 * np.finfo(dtype).eps)


def test_masks_go_where_they_are_told(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    grid = grid_of(dimension)
    velocity = random_velocity(grid, dtype, rng)
    known = [rng.random(velocity.component(d).shape) < 0.2 for d in range(dimension)]
    expected = extrapolate(velocity.copy(), known, layers=2)
    out = [np.ones_like(k) for k in known]
    before = [k.copy() for k in known]
    assert all(a is b for a, b in zip(extrapolate(velocity.copy(), known, layers=2, out=out), out, strict=True))
    assert all((a == b).all() for a, b in zip(out, expected, strict=True))
    assert all((a == b).all() for a, b in zip(known, before, strict=True))
    extrapolate(velocity, known, layers=2, out=known)
    assert all((a == b).all() for a, b in zip(known, expected, strict=True))
    with pytest.raises(ValueError, match=f"out must hold {dimension} masks"):
        extrapolate(velocity, known, out=out[1:])
    with pytest.raises(ValueError, match=r"out\[0\] must have shape"):
        extrapolate(velocity, known, out=[np.ones((2,) * dimension, bool), *out[1:]])
    with pytest.raises(TypeError, match=r"out\[0\] must be a writable, C-contiguous array of bool"):
        extrapolate(velocity, known, out=[out[0].astype(np.int8), *out[1:]])


def test_unknown_samples_may_hold_anything(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension)
    f = random_scalar("cell", g, dtype, rng)
    known = rng.random(f.shape) < 0.3
    known[(0,) * dimension] = True
    spoiled = f.copy()
    spoiled.array[~known] = np.nan
    extrapolate(f, known)
    extrapolate(spoiled, known)
    assert same_bits(f.array, spoiled.array)
    assert np.isfinite(f.array).all()


def test_nothing_or_everything_known(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    f = random_scalar("node", grid_of(dimension), dtype, rng)
    before = f.array.copy()
    for value in (False, True):
        assert (extrapolate(f, np.full(f.shape, value)) == value).all()
        assert same_bits(f.array, before)


def test_one_known_sample_fills_its_diamond(dimension: int, dtype: type) -> None:
    f = ms.CellField(ms.Grid((9,) * dimension, 1.0), dtype)
    known = np.zeros(f.shape, bool)
    known[(4,) * dimension] = True
    f.array[known] = 2.5
    for layers in range(5):
        carried = f.copy()
        distance = sum(abs(i - 4) for i in np.indices(f.shape))
        result = extrapolate(carried, known, layers=layers)
        assert same_bits(result, distance <= layers)
        assert same_bits(carried.array, np.where(result, dtype(2.5), dtype(0)))


def test_constants_and_layer_by_layer(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    f = random_scalar("cell", grid_of(dimension, shape=(12, 9, 8)[:dimension]), dtype, rng)
    known = np.random.default_rng(1).random(f.shape) < 0.03
    at_once, in_turn, mask = f.copy(), f.copy(), known
    extrapolate(at_once, known, layers=4)
    for _ in range(4):
        mask = extrapolate(in_turn, mask, layers=1)
    assert same_bits(at_once.array, in_turn.array)


def test_no_direction_is_favoured(dimension: int, rng: np.random.Generator) -> None:
    shape = (9, 9, 9)[:dimension]
    f = random_scalar("cell", ms.Grid(shape, 1.0), np.float64, rng)
    known = rng.random(shape) < 0.1
    plain = f.copy()
    extrapolate(plain, known)
    for axis in range(dimension):
        flipped = f.copy()
        flipped.array = np.flip(f.array, axis).copy()
        extrapolate(flipped, np.flip(known, axis))
        np.testing.assert_allclose(np.flip(flipped.array, axis), plain.array, rtol=0, atol=1e-14)
    turned = f.copy()
    turned.array = np.ascontiguousarray(f.array.T)
    extrapolate(turned, known.T)
    np.testing.assert_allclose(turned.array.T, plain.array, rtol=0, atol=1e-14)


def test_errors(dimension: int) -> None:
    f, v = ms.CellField(grid_of(dimension)), ms.MacField(grid_of(dimension))
    known = np.ones(f.shape, bool)
    with pytest.raises(ValueError, match="layers must be at least 0"):
        extrapolate(f, known, layers=-1)
    with pytest.raises(TypeError, match="layers must be an integer"):
        extrapolate(f, known, layers=1.5)
    with pytest.raises(TypeError, match="known must be of dtype bool"):
        extrapolate(f, known.astype(float))
    with pytest.raises(ValueError, match="known must have shape"):
        extrapolate(f, known[1:])
    with pytest.raises(TypeError, match="known must be a sequence"):
        extrapolate(v, known)
    with pytest.raises(TypeError, match="known must be a sequence"):
        extrapolate(v, None)
    with pytest.raises(TypeError, match="field must be a ScalarField or MacField"):
        extrapolate(f.array, known)
    with pytest.raises(TypeError, match="workspace must be a Workspace"):
        extrapolate(f, known, workspace={})
