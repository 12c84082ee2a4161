"""Exact properties of advection: identity at dt = 0, constants, shifts by whole cells, bounds, self-advection, prescribed faces."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.build import components, grid_of, random_scalar, random_velocity, same_bits, scalar_types

import meniscus as ms
from meniscus.grid import Visibility, advect, semi_lagrangian, upwind

METHODS = ["upwind", "semi-lagrangian", "bfecc", "maccormack"]
SCHEMES = [
    *({"method": m} for m in METHODS),
    *({"method": m, "block": "upwind"} for m in ("bfecc", "maccormack")),
    *({"method": m, "interpolation": "cubic"} for m in ("semi-lagrangian", "maccormack")),
]


def name_of(options: dict) -> str:
    return "-".join(options.values())


@pytest.mark.parametrize("trace", ["euler", "midpoint", "rk3"])
@pytest.mark.parametrize("interpolation", ["linear", "cubic", "catmull-rom"])
def test_dt_0_is_the_identity(interpolation: str, trace: str, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    for periodic in (False, True):
        g = grid_of(dimension, periodic=periodic)
        f, v = random_scalar("node", g, dtype, rng), random_velocity(g, dtype, rng)
        out, low, high = (ms.NodeField(g, dtype) for _ in range(3))
        semi_lagrangian(f, v, 0.0, out=out, lower=low, upper=high, trace=trace, interpolation=interpolation)
        assert (out.array == f.array).all()
        assert (low.array <= f.array).all()
        assert (high.array >= f.array).all()
        out.array = 9
        upwind(f, v, 0.0, out=out, lower=low, upper=high)
        assert (out.array == f.array).all()
        assert (low.array == f.array).all()
        assert (high.array == f.array).all()


@pytest.mark.parametrize("scheme", SCHEMES, ids=name_of)
@pytest.mark.parametrize("value", [0.1, -1.0 / 3.0, 1e30])
def test_constants_are_kept_exactly(scheme: dict, value: float, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    for periodic, boundary in ((False, None), (True, None), (False, ms.Open()), (False, ms.Prescribed(float(dtype(value))))):
        g = grid_of(dimension, periodic=periodic)
        f, v = ms.CellField(g, dtype, boundary), random_velocity(g, dtype, rng, ms.ZeroGradient())
        f.array = dtype(value)
        for cfl in (0.3, 3.7):
            for limiter in ("none", "clamp", "reversion"):
                advect(f, v, cfl * g.spacing, limiter=limiter, **scheme)
                assert (f.array == dtype(value)).all()


@pytest.mark.parametrize("scheme", [s for s in SCHEMES if "upwind" not in s.values()], ids=name_of)
@pytest.mark.parametrize("kind", ["cell", "node"])
def test_whole_shifts_are_exact(scheme: dict, kind: str, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    for cells in (7, 25):
        g = grid_of(dimension, periodic=True, spacing=0.25, shape=(cells, 5, 3)[:dimension])
        f = random_scalar(kind, g, dtype, rng)
        for shift in ((1, 0, 0), (-2, 1, 0), (3, -4, 2), (cells + 2, -11, 7), (-3 * cells - 1, 26, -10)):
            v = ms.MacField(g, dtype)
            for d in range(dimension):
                v.component(d)[...] = shift[d]
            moved = f.copy()
            advect(moved, v, g.spacing, limiter="none", **scheme)
            last = (slice(1, None) if kind == "node" else slice(None),) * dimension
            expected = np.roll(f.array[last], shift[:dimension], axis=tuple(range(dimension)))
            assert same_bits(moved.array[last], expected)


def test_whole_shifts_of_velocities_are_exact(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension, periodic=True)
    f, v = random_velocity(g, dtype, rng), ms.MacField(g, dtype)
    v.u = 9
    v.v = -4
    before = components(f)
    advect(f, v, g.spacing)
    for d, (old, new) in enumerate(zip(before, components(f), strict=True)):
        own = tuple(slice(int(a == d), None) for a in range(dimension))
        assert same_bits(new[own], np.roll(old[own], (9, -4), axis=(0, 1)))
        assert same_bits(np.take(new, 0, axis=d), np.take(new, -1, axis=d))


@settings(max_examples=150)
@given(data=st.data())
def test_limited_schemes_make_no_new_extrema(data: st.DataObject) -> None:
    dimension = data.draw(st.sampled_from([2, 3]), "dimension")
    dtype = data.draw(st.sampled_from(scalar_types(dimension)), "dtype")
    scheme = data.draw(st.sampled_from(SCHEMES), "scheme")
    limiter = data.draw(st.sampled_from(["clamp", "reversion"]), "limiter")
    trace = data.draw(st.sampled_from(["euler", "midpoint", "rk3"]), "trace")
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=dimension, max_size=dimension), "shape"))
    periodic = tuple(data.draw(st.lists(st.booleans(), min_size=dimension, max_size=dimension), "periodic"))
    boundary = data.draw(st.sampled_from([None, ms.Open(), ms.ZeroGradient(), ms.Prescribed(0.5)]), "boundary")
    cfl = data.draw(st.floats(0.01, 30), "cfl")
    rng = np.random.default_rng(data.draw(st.integers(0, 999), "seed"))
    g = grid_of(dimension, periodic=periodic, shape=shape)
    f = random_scalar("cell", g, dtype, rng, boundary)
    f.array[...] = rng.choice([-1.0, 0.25, 1.0], f.shape)
    v = random_velocity(g, dtype, rng, data.draw(st.sampled_from([None, ms.Open()]), "velocity boundary"))
    low, high = min(f.array.min(), 0.5), max(f.array.max(), 0.5)
    for _ in range(2):
        advect(f, v, cfl * g.spacing, limiter=limiter, trace=trace, **scheme)
        assert f.array.min() >= low
        assert f.array.max() <= high


@pytest.mark.parametrize("method", ["bfecc", "maccormack"])
@pytest.mark.parametrize("block", ["semi-lagrangian", "upwind"])
def test_limiters_act_where_the_bounds_are_left(method: str, block: str, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension, periodic=True, shape=(24, 20, 6)[:dimension])
    f, v = random_scalar("cell", g, dtype, rng), random_velocity(g, dtype, rng)
    f.array[...] = np.sign(f.array)
    dt = 0.4 * g.spacing
    first, low, high = (f.copy() for _ in range(3))
    (semi_lagrangian if block == "semi-lagrangian" else upwind)(f, v, dt, out=first, lower=low, upper=high)
    results = {}
    for limiter in ("none", "clamp", "reversion"):
        results[limiter] = f.copy()
        advect(results[limiter], v, dt, method=method, block=block, limiter=limiter)
    free = results["none"].array
    inside = (free >= low.array) & (free <= high.array)
    assert 0 < inside.sum() < inside.size
    assert same_bits(results["clamp"].array, np.clip(free, low.array, high.array))
    assert same_bits(results["reversion"].array, np.where(inside, free, first.array))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("periodic", [False, True])
def test_a_velocity_may_carry_itself(method: str, periodic: bool, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension, periodic=periodic)
    v = random_velocity(g, dtype, rng, {"x-": ms.Open(), "y+": ms.Wall((0.5,) * dimension, "no-slip")})
    wind, carried = v.copy(), v.copy()
    for cfl in (0.3, 3.0):
        advect(v, v, cfl * g.spacing, method=method)
        advect(carried, wind, cfl * g.spacing, method=method)
        assert same_bits(components(v), components(carried))
        wind = v.copy()


@pytest.mark.parametrize("method", METHODS)
def test_prescribed_faces_have_their_values_afterwards(method: str, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    def moving(x: np.ndarray, t: float) -> np.ndarray:
        return 0.25 * np.sin(x) + 0.5 * t

    g = grid_of(dimension)
    wall = (0.5, -0.25, 0.125)[:dimension]
    v = random_velocity(g, dtype, rng, {"x-": ms.Wall(wall), "x+": ms.Open(), "y-": ms.Wall(moving), "y+": ms.Prescribed(moving)})
    dt = 0.5 * g.spacing
    advect(v, v, dt, method=method, time=2.0)
    after = components(v)
    v.enforce_boundary(2.0 + dt)
    assert same_bits(components(v), after)
    assert (v.u[0] == 0.5).all()
    y = g.face_centers(1)[1]
    prescribed_value = 0.25 * np.sin(y.ravel()[-1]) + 0.5 * (2.0 + dt)
    np.testing.assert_allclose(v.v[:, -1], prescribed_value, rtol=4 * np.finfo(dtype).eps)
    if dimension == 3:
        assert not v.w[:, :, 0].any()
        assert not v.w[:, :, -1].any()


@pytest.mark.parametrize("method", METHODS)
def test_the_velocity_is_not_changed(method: str, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension)
    v, f = random_velocity(g, dtype, rng), random_velocity(g, dtype, rng)
    before = components(v)
    advect(f, v, g.spacing, method=method)
    advect(random_scalar("node", g, dtype, rng), v, g.spacing, method=method)
    assert same_bits(components(v), before)


@pytest.mark.parametrize("method", METHODS)
def test_ghost_contents_do_not_matter(method: str, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension)
    f, v = random_scalar("cell", g, dtype, rng), random_velocity(g, dtype, rng)
    spoiled, wind = f.copy(), v.copy()
    spoiled.with_ghosts[...] = np.nan
    spoiled.array[...] = f.array
    for d in range(dimension):
        wind.component_with_ghosts(d)[...] = np.nan
        wind.component(d)[...] = v.component(d)
    advect(f, v, 2 * g.spacing, method=method)
    advect(spoiled, wind, 2 * g.spacing, method=method)
    assert same_bits(f.array, spoiled.array)


@pytest.mark.parametrize("scheme", SCHEMES, ids=name_of)
def test_a_workspace_is_reused(scheme: dict, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g, space = grid_of(dimension), ms.Workspace()
    f, v = random_scalar("cell", g, dtype, rng), random_velocity(g, dtype, rng)
    seen = Visibility(**{n: rng.random(f.shape) < 0.8 for n in ("active", "visible", "first_order")})
    plain = f.copy()

    def step(field: Any, workspace: Any) -> None:
        advect(field, v, 1.5 * g.spacing, workspace=workspace, **scheme)
        advect(field, v, 1.5 * g.spacing, workspace=workspace, **scheme, visibility=seen)

    step(f, space)
    step(plain, None)
    held = space.nbytes
    assert held > 0
    before = ms.core.block_allocations()
    for _ in range(3):
        step(f, space)
    assert ms.core.block_allocations() == before
    assert space.nbytes == held
    for _ in range(3):
        step(plain, None)
    assert same_bits(f.array, plain.array)
    space.clear()
    assert space.nbytes == 0
