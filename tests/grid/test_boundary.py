"""Boundary conditions: every ghost sample against a plain reference, and faulty boundary functions."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.build import FIELD_TYPES, components, grid_of, random_scalar, random_velocity, same_bits, scalar_types
from support.reference import wide_component, wide_scalar
from support.variants import SLOW_IN_SINGLE

import meniscus as ms

TIME = 0.75


def scalar_function(x: np.ndarray, t: float) -> np.ndarray:
    return np.sin(3 * x[:, 0]) + x[:, -1] ** 2 + t


def vector_function(x: np.ndarray, t: float) -> np.ndarray:
    return np.cos(x) * (1 + t) + x[:, ::-1] * np.arange(1, x.shape[1] + 1)


def scalar_conditions() -> dict[str, Any]:
    return {
        "wall": ms.Wall(),
        "no-slip": ms.Wall((1.0, 2.0, 3.0), "no-slip"),
        "open": ms.Open(2.0),
        "zero-gradient": ms.ZeroGradient(),
        "constant": ms.Prescribed(-2.5),
        "function": ms.Prescribed(scalar_function),
    }


def velocity_conditions(dimension: int) -> dict[str, Any]:
    w = (0.5, -1.5, 2.25)[:dimension]
    return {
        "wall": ms.Wall(),
        "no-slip": ms.Wall(slip="no-slip"),
        "moving": ms.Wall(w),
        "moving no-slip": ms.Wall(w, "no-slip"),
        "function wall": ms.Wall(vector_function),
        "function no-slip": ms.Wall(vector_function, "no-slip"),
        "open": ms.Open(),
        "zero-gradient": ms.ZeroGradient(),
        "constant": ms.Prescribed(w),
        "function": ms.Prescribed(vector_function),
    }


def for_dimension(condition: Any, dimension: int) -> Any:
    if isinstance(condition, ms.Wall) and isinstance(condition.velocity, tuple):
        return ms.Wall(condition.velocity[:dimension], condition.slip)
    return condition


def assert_ghosts(stored: np.ndarray, expected: np.ndarray, dtype: type) -> None:
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(stored, expected, rtol=0, atol=8 * eps * (1 + np.abs(expected).max()))


def check_scalar(kind: str, grid: ms.Grid, dtype: type, boundary: Any, rng: np.random.Generator) -> None:
    f = random_scalar(kind, grid, dtype, rng, boundary)
    before = f.array.copy()
    f.with_ghosts[...] = np.nan
    f.array[...] = before
    f.fill_ghosts(TIME)
    assert same_bits(f.array, before)
    assert_ghosts(f.with_ghosts, wide_scalar(f, TIME, 3).samples, dtype)


def check_velocity(grid: ms.Grid, dtype: type, boundary: Any, rng: np.random.Generator) -> None:
    v = random_velocity(grid, dtype, rng, boundary)
    before = components(v)
    for d in range(grid.dimension):
        v.component_with_ghosts(d)[...] = np.nan
        v.component(d)[...] = before[d]
    v.fill_ghosts(TIME)
    assert same_bits(components(v), before)
    for d in range(grid.dimension):
        assert_ghosts(v.component_with_ghosts(d), wide_component(v, d, TIME, 3).samples, dtype)


@pytest.mark.parametrize("kind", FIELD_TYPES)
@pytest.mark.parametrize("name", scalar_conditions())
def test_scalar_ghosts(kind: str, name: str, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    check_scalar(kind, grid_of(dimension), dtype, for_dimension(scalar_conditions()[name], dimension), rng)


@pytest.mark.parametrize("name", velocity_conditions(2))
def test_velocity_ghosts(name: str, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    check_velocity(grid_of(dimension), dtype, velocity_conditions(dimension)[name], rng)


@pytest.mark.parametrize("kind", [*FIELD_TYPES, "mac"])
def test_periodic_ghosts(kind: str, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    for periodic in itertools.product((False, True), repeat=dimension):
        g = grid_of(dimension, periodic=periodic)
        if kind == "mac":
            check_velocity(g, dtype, ms.Wall((0.5,) * dimension, "no-slip"), rng)
        else:
            check_scalar(kind, g, dtype, ms.Prescribed(scalar_function), rng)


@pytest.mark.parametrize("kind", ["node", "mac"])
def test_the_last_of_two_periodic_copies_is_the_owner(kind: str, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension, periodic=True)
    if kind == "node":
        f = random_scalar("node", g, dtype, rng)
        a, fill = f.array, f.fill_ghosts
    else:
        v = random_velocity(g, dtype, rng)
        a, fill = v.u, v.fill_ghosts
    a[0] = 100.0
    last = a[-1].copy()
    fill()
    assert same_bits(a[0], last)
    assert same_bits(a[-1], last)


@settings(max_examples=150)
@given(data=st.data())
def test_mixed_sides_narrow_grids_and_corners(data: st.DataObject) -> None:
    dimension = data.draw(st.sampled_from([2, 3]), "dimension")
    shape = tuple(data.draw(st.lists(st.sampled_from([1, 1, 2, 3, 5]), min_size=dimension, max_size=dimension), "shape"))
    periodic = tuple(data.draw(st.lists(st.sampled_from([False, False, True]), min_size=dimension, max_size=dimension), "periodic"))
    kind = data.draw(st.sampled_from(["cell", "node", "mac"]), "kind")
    dtype = data.draw(st.sampled_from(scalar_types(dimension)), "dtype")
    choices = velocity_conditions(dimension) if kind == "mac" else scalar_conditions()
    sides = [a + s for a in "xyz"[:dimension] for s in "-+"]
    boundary = {s: for_dimension(choices[data.draw(st.sampled_from(list(choices)), s)], dimension) for s in sides}
    rng = np.random.default_rng(data.draw(st.integers(0, 99), "seed"))
    g = grid_of(dimension, periodic=periodic, shape=shape)
    if kind == "mac":
        check_velocity(g, dtype, boundary, rng)
    else:
        check_scalar(kind, g, dtype, boundary, rng)


@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize("periodic", [False, True])
@SLOW_IN_SINGLE
def test_narrow_axes(cells: int, periodic: bool, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    for axis in range(dimension):
        shape = tuple(cells if d == axis else 4 for d in range(dimension))
        g = grid_of(dimension, shape=shape, periodic=tuple(periodic and d == axis for d in range(dimension)))
        for condition in velocity_conditions(dimension).values():
            check_velocity(g, dtype, condition, rng)
        for kind in FIELD_TYPES:
            for condition in scalar_conditions().values():
                check_scalar(kind, g, dtype, for_dimension(condition, dimension), rng)


def test_enforce_boundary(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension)
    wall = (0.5, -1.5, 2.25)[:dimension]
    boundary = {"x-": ms.Wall(wall), "x+": ms.Prescribed(vector_function), "y-": ms.Open(), "y+": ms.Wall(vector_function, "no-slip")}
    v = ms.MacField(g, dtype, boundary)
    for d in range(dimension):
        v.component(d)[...] = rng.random(v.component(d).shape)
    before = components(v)
    v.enforce_boundary(TIME)
    assert (v.u[0] == dtype(wall[0])).all()
    for component, axis, index in ((0, 0, -1), (1, 1, -1)):
        x = [np.broadcast_to(c, v.component(component).shape) for c in g.face_centers(component)]
        face = [np.take(c, index, axis=axis).ravel() for c in x]
        given_values = vector_function(np.stack(face, 1), TIME)[:, component]
        np.testing.assert_allclose(np.take(v.component(component), index, axis=axis).ravel(), given_values, rtol=4 * np.finfo(dtype).eps)
    assert same_bits(v.u[1:-1], before[0][1:-1])
    assert same_bits(v.v[:, :-1], before[1][:, :-1])
    if dimension == 3:
        assert not v.w[..., 0].any()
        assert not v.w[..., -1].any()
        assert same_bits(v.w[..., 1:-1], before[2][..., 1:-1])


def test_functions_get_all_positions_of_a_side_at_once_and_the_time(dimension: int) -> None:
    calls: list[tuple[np.ndarray, float]] = []

    def record(x: np.ndarray, t: float) -> float:
        calls.append((x.copy(), t))
        return 1.0

    g = grid_of(dimension)
    f = ms.CellField(g, boundary={"x-": ms.Prescribed(record)})
    f.fill_ghosts(2.5)
    assert len(calls) == 1
    x, t = calls[0]
    assert t == 2.5
    assert x.dtype == np.float64
    assert x.shape == (3 * np.prod(g.shape[1:]), dimension)
    expected = g.origin[0] - g.spacing * np.array([0.5, 1.5, 2.5])
    np.testing.assert_allclose(np.unique(x[:, 0]), np.sort(expected), rtol=1e-14)


class FunctionError(Exception):
    """Raised by a boundary function."""


def raising(x: np.ndarray, t: float) -> np.ndarray:
    raise FunctionError("no value today")


def far_only(bad: Any) -> Any:
    """A function that is well-behaved in the ghost layers and answers `bad` farther out."""

    def f(x: np.ndarray, t: float) -> Any:
        if (x[:, 0] < -3.0).any():
            return bad(x, t) if callable(bad) else bad
        return np.zeros(len(x))

    return f


BAD_VALUES = [
    (lambda x, t: np.zeros(len(x) + 1), ValueError, "boundary function must return values that broadcast"),
    (lambda x, t: np.full(len(x), np.nan), ValueError, "boundary function returned nan"),
    (lambda x, t: np.full(len(x), np.inf), ValueError, "boundary function returned inf"),
    (lambda x, t: "text", (TypeError, ValueError), "boundary function|could not convert"),
    (raising, FunctionError, "no value today"),
]


@pytest.mark.parametrize(("function", "error", "words"), BAD_VALUES)
@pytest.mark.parametrize("method", ["semi-lagrangian", "bfecc", "upwind"])
def test_misbehaving_scalar_functions(function: Any, error: Any, words: str, method: str, dimension: int, dtype: type) -> None:
    rng = np.random.default_rng(5)
    g = grid_of(dimension)
    f = random_scalar("cell", g, dtype, rng, {"y+": ms.Prescribed(function)})
    before = f.array.copy()
    with pytest.raises(error, match=words):
        ms.grid.advect(f, random_velocity(g, dtype, rng), 0.1, method=method)
    assert same_bits(f.array, before)


@pytest.mark.parametrize(("function", "error", "words"), BAD_VALUES)
def test_misbehaving_functions_of_far_traces(function: Any, error: Any, words: str, dimension: int, dtype: type) -> None:
    rng = np.random.default_rng(6)
    g = ms.Grid((8,) * dimension, 1.0)
    f = random_scalar("cell", g, dtype, rng, {"x-": ms.Prescribed(far_only(function))})
    v = ms.MacField(g, dtype, ms.ZeroGradient())
    v.u = 1.0
    before = f.array.copy()
    ms.grid.advect(f.copy(), v, 2.0)
    with pytest.raises(error, match=words):
        ms.grid.advect(f, v, 12.0)
    assert same_bits(f.array, before)


@pytest.mark.parametrize(("function", "error", "words"), BAD_VALUES)
def test_misbehaving_velocity_functions(function: Any, error: Any, words: str, dimension: int, dtype: type) -> None:
    rng = np.random.default_rng(7)
    g = grid_of(dimension)

    def later(x: np.ndarray, t: float) -> Any:
        if t < 0.5:
            return np.zeros(x.shape)
        bad = function(x, t)
        return bad[:, None] * np.ones(x.shape[1]) if isinstance(bad, np.ndarray) else bad

    v = random_velocity(g, dtype, rng, {"x+": ms.Wall(later)})
    before = components(v)
    with pytest.raises(error, match=words):
        ms.grid.advect(v, v, 0.6)
    assert same_bits(components(v), before)
    with pytest.raises(error, match=words):
        v.enforce_boundary(1.0)
    assert same_bits(components(v), before)


@pytest.mark.parametrize("method", ["semi-lagrangian", "maccormack", "bfecc"])
def test_long_traces_ask_functions_in_batches(method: str) -> None:
    calls: list[int] = []

    def profile(x: np.ndarray, t: float) -> np.ndarray:
        calls.append(len(x))
        return np.sin(7.0 * x[:, 0]) + t

    def stream(x: np.ndarray, t: float) -> np.ndarray:
        calls.append(len(x))
        return np.tile([1.0, 0.3], (len(x), 1))

    g = ms.Grid((40, 30), 0.1)
    f = ms.CellField(g, boundary={"x-": ms.Prescribed(profile), "y-": ms.Prescribed(profile)})
    v = ms.MacField(g, boundary=ms.Prescribed(stream))
    v.u, v.v = 1.0, 0.3
    ms.grid.advect(f, v, 1.2, method=method)  # 12 cells
    # Ghosts and what lies farther out: a few calls per side, component and pass, however many samples they are for.
    assert len(calls) <= 2 * (4 * 2) + 3 * 2 * 2
    assert sum(calls) > 40 * 12
