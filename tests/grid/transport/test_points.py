"""Interpolation of fields at scattered points, and advection of points."""

import itertools
from typing import Any

import numpy as np
import pytest
from support.build import grid_of, random_scalar, random_velocity, same_bits
from support.reference import cubic, linear, wide_component, wide_scalar
from support.variants import SLOW_IN_SINGLE

import meniscus as ms
from meniscus.grid import sample, trace

PAD = 14
CONDITIONS: dict[str, Any] = {
    "walls": (False, None),
    "no-slip": (False, ms.Wall(slip="no-slip")),
    "periodic": (True, None),
    "open": (False, ms.Open()),
    "function": (False, "function"),
}


def condition(name: str, kind: str) -> Any:
    boundary = CONDITIONS[name][1]
    if boundary != "function":
        return boundary
    return ms.Prescribed((lambda x, t: np.sin(x) + t) if kind == "mac" else (lambda x, t: np.sin(x[:, 0]) + t))


def scattered(grid: ms.Grid, dtype: Any, rng: np.random.Generator, n: int = 300, margin: float = 0.0) -> np.ndarray:
    """Random points in the domain, or up to `margin` cells around it."""
    low = np.array(grid.origin) - margin * grid.spacing
    size = np.array(grid.extent) + 2 * margin * grid.spacing
    return (low + size * rng.random((n, grid.dimension))).astype(dtype)


def at_points(wide: Any, grid: ms.Grid, points: np.ndarray, interpolation: str = "linear") -> np.ndarray:
    q = (points.astype(np.float64) - grid.origin) / grid.spacing - 0.5 * (1 - np.array(wide.on_side))
    cell = np.floor(q).astype(int)
    fraction = list((q - cell).T)
    reach = range(2) if interpolation == "linear" else range(-1, 3)
    offsets = itertools.product(reach, repeat=grid.dimension)
    values = {o: wide.samples[tuple((cell + np.array(o) + wide.pad).T)] for o in offsets}
    return linear(values, fraction) if interpolation == "linear" else cubic(values, fraction, interpolation == "cubic")


@pytest.mark.parametrize("kind", ["cell", "node"])
@pytest.mark.parametrize("interpolation", ["linear", "cubic", "catmull-rom"])
@pytest.mark.parametrize("name", CONDITIONS)
@SLOW_IN_SINGLE
def test_sample_against_reference(name: str, interpolation: str, kind: str, dimension: int, dtype: type) -> None:
    rng = np.random.default_rng(21)
    g = grid_of(dimension, periodic=CONDITIONS[name][0])
    f = random_scalar(kind, g, dtype, rng, condition(name, kind))
    for margin in (0.0, 10.0):
        x = scattered(g, dtype, rng, margin=margin)
        expected = at_points(wide_scalar(f, 0.5, PAD), g, x, interpolation)
        values = sample(f, x, interpolation=interpolation, time=0.5)
        assert values.dtype == dtype
        assert values.shape == (len(x),)
        np.testing.assert_allclose(values, expected, rtol=0, atol=32 * np.finfo(dtype).eps * (1 + margin))


@pytest.mark.parametrize("name", CONDITIONS)
def test_sample_velocity_against_reference(name: str, dimension: int, dtype: type) -> None:
    rng = np.random.default_rng(22)
    g = grid_of(dimension, periodic=CONDITIONS[name][0])
    v = random_velocity(g, dtype, rng, condition(name, "mac"))
    for margin in (0.0, 10.0):
        x = scattered(g, dtype, rng, margin=margin)
        values = sample(v, x, time=0.5)
        assert values.shape == x.shape
        for d in range(dimension):
            expected = at_points(wide_component(v, d, 0.5, PAD), g, x)
            np.testing.assert_allclose(values[:, d], expected, rtol=0, atol=32 * np.finfo(dtype).eps * (1 + margin))


def test_linear_fields_are_reproduced(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension)
    f, v = ms.NodeField(g, dtype), ms.MacField(g, dtype)
    slope = np.array([2.0, -3.0, 0.5])[:dimension]
    f.array[...] = sum(s * c for s, c in zip(slope, f.coordinates(), strict=True)) + 1
    for d in range(dimension):
        v.component(d)[...] = sum((s + d) * c for s, c in zip(slope, g.face_centers(d), strict=True)) - d
    x = scattered(g, dtype, rng, margin=-1.0)  # the cubic of a cell at a wall sees the mirrored samples
    eps = 64 * float(np.finfo(dtype).eps)
    for interpolation in ("linear", "cubic"):
        np.testing.assert_allclose(sample(f, x, interpolation=interpolation), x @ slope + 1, rtol=0, atol=eps)
    for d in range(dimension):
        np.testing.assert_allclose(sample(v, x)[:, d], x @ (slope + d) - d, rtol=0, atol=2 * eps)


def test_samples_are_met_exactly(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = ms.Grid((6, 5, 4)[:dimension], 0.5)
    for kind in ("cell", "node"):
        f = random_scalar(kind, g, dtype, rng)
        x = np.stack([c.ravel() for c in np.broadcast_arrays(*f.coordinates())], axis=1).astype(dtype)
        for interpolation in ("linear", "cubic"):
            assert (sample(f, x, interpolation=interpolation) == f.array.ravel()).all()


def test_sample_writes_to_out(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension)
    f, v, x = random_scalar("cell", g, dtype, rng), random_velocity(g, dtype, rng), scattered(g, dtype, rng, 50)
    for field, shape in ((f, (50,)), (v, x.shape)):
        out = np.empty(shape, dtype)
        assert sample(field, x, out=out) is out
        assert same_bits(out, sample(field, x))
        for bad in (np.empty(51, dtype), np.empty(shape, np.int64), np.empty((*shape, 2), dtype)[..., 0], [0.0] * 50):
            with pytest.raises(TypeError, match="out must be a C-contiguous"):
                sample(field, x, out=bad)
        out.flags.writeable = False
        with pytest.raises(ValueError, match="writ"):
            sample(field, x, out=out)


@pytest.mark.parametrize("method", ["euler", "midpoint", "rk3"])
@pytest.mark.parametrize("name", ["walls", "periodic", "open", "function"])
def test_trace_against_reference(name: str, method: str, dimension: int, dtype: type) -> None:
    rng = np.random.default_rng(23)
    g = grid_of(dimension, periodic=CONDITIONS[name][0])
    v = random_velocity(g, dtype, rng, condition(name, "mac"))
    wide = [wide_component(v, d, 0.5, PAD) for d in range(dimension)]

    def velocity(x: np.ndarray) -> np.ndarray:
        return np.stack([at_points(w, g, x) for w in wide], axis=1)

    for cfl in (0.5, -3.0):
        x = scattered(g, dtype, rng)
        dt = cfl * g.spacing
        y = x.astype(np.float64)
        k1 = velocity(y)
        k2 = velocity(y + 0.5 * dt * k1)
        k3 = velocity(y + 0.75 * dt * k2)
        moved = y + dt * {"euler": k1, "midpoint": k2, "rk3": (2 * k1 + 3 * k2 + 4 * k3) / 9}[method]
        if g.periodic[0]:
            moved = g.origin + np.mod(moved - g.origin, g.extent)
        trace(x, v, dt, method=method, outside="keep", time=0.5)
        atol = 64 * float(np.finfo(dtype).eps) * (1 + abs(cfl)) ** 3
        difference = np.abs(x - moved)
        if g.periodic[0]:  # a point on the seam may be at either end
            difference = np.minimum(difference, g.extent - difference)
        assert difference.max() < atol


@pytest.mark.parametrize(("method", "order", "constant"), [("euler", 1, 1 / 2), ("midpoint", 2, 1 / 6), ("rk3", 3, 1 / 24)])
def test_orders_in_a_rotation(method: str, order: int, constant: float) -> None:
    """In u' = i u a method of order p is off by |theta|^(p+1) / (p+1)! a step, so by theta^p / (p+1)! per radian."""
    g = ms.Grid((16, 16), 0.25, (-2.0, -2.0))
    v = ms.MacField(g, boundary=ms.Open())
    ms.fluids.rotation((0.0, 0.0), 1.0).sample(v, sampling="pointwise")
    errors = []
    for steps in (16, 32, 64):
        angle = 2.0
        x = np.array([[1.0, 0.0], [0.0, -0.75], [0.5, 0.5]])
        z = (x[:, 0] + 1j * x[:, 1]) * np.exp(1j * angle)
        for _ in range(steps):
            trace(x, v, angle / steps, method=method)
        error = np.abs(x[:, 0] + 1j * x[:, 1] - z) / np.abs(z)
        assert np.ptp(error) < 1e-11
        errors.append(error.max())
        assert errors[-1] == pytest.approx(constant * angle * (angle / steps) ** order, rel=0.15)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize(("method", "order"), [("euler", 1), ("midpoint", 2), ("rk3", 3)])
def test_forth_and_back_returns_to_the_order(method: str, order: int) -> None:
    """One step forth and one back miss the start by O(dt^(p+1)); for odd error terms that cancel, by more."""
    g = ms.Grid((16, 16), 0.25, (-2.0, -2.0))
    v = ms.MacField(g, boundary=ms.Open())
    ms.fluids.rotation((0.0, 0.0), 1.0).sample(v, sampling="pointwise")
    missed = []
    for dt in (0.2, 0.1, 0.05):
        x = np.array([[1.0, 0.25]])
        start = x.copy()
        trace(x, v, dt, method=method)
        assert np.abs(x - start).max() > 0.2 * dt
        trace(x, v, -dt, method=method)
        missed.append(np.abs(x - start).max())
    assert np.log2(missed[1] / missed[2]) > order + 0.9


def test_outside(dimension: int, dtype: type) -> None:
    g = ms.Grid((4, 4, 4)[:dimension], 0.5, (1.0, 2.0, 3.0)[:dimension], (False, True, False)[:dimension])
    v = ms.MacField(g, dtype, ms.Open())
    v.u = -1
    v.v = 2
    start = np.tile(np.array([1.5, 2.5, 3.5], dtype)[:dimension], (3, 1))
    start[1, 0] = 2.75
    for outside, first in (("clamp", 1.0), ("keep", 0.5)):
        x = start.copy()
        trace(x, v, 1.0, outside=outside)
        np.testing.assert_allclose(x[:, 0], [first, 1.75, first], rtol=1e-6)
        np.testing.assert_allclose(x[:, 1], 2.5, rtol=1e-6)  # once around
        if dimension == 3:
            assert same_bits(x[:, 2], start[:, 2])
    x = start.copy()
    trace(x, v, -5.25)
    assert (x[:, 0] == 3.0).all()
    np.testing.assert_allclose(x[:, 1], 2.0 + np.mod(0.5 - 10.5, 2.0), rtol=1e-6)


def test_points_stay_in_the_domain(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    for periodic in (False, True):
        g = grid_of(dimension, periodic=periodic)
        v = random_velocity(g, dtype, rng)
        x = scattered(g, dtype, rng)
        low, high = np.array(g.origin, dtype), (np.array(g.origin) + g.extent).astype(dtype)
        for _ in range(20):
            trace(x, v, 2.0)
            assert (x >= low).all()
            assert (x <= high).all()


def test_points_at_rest_do_not_move(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = ms.Grid((5, 5, 5)[:dimension], 0.1, (0.3, 0.7, -0.9)[:dimension], True)
    x = scattered(g, dtype, rng, margin=-0.1)
    before = x.copy()
    trace(x, ms.MacField(g, dtype), 1.0)
    trace(x, random_velocity(g, dtype, rng), 0.0)
    assert same_bits(x, before)


def test_particles_are_traced_in_place(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension)
    v, x = random_velocity(g, dtype, rng), scattered(g, dtype, rng)
    p = ms.Particles(x, mass=np.ones(len(x)))
    view, ids = p.positions, p.ids.copy()
    space = ms.Workspace()
    trace(p, v, 0.2, workspace=space)
    trace(x, v, 0.2)
    assert same_bits(p.positions, x)
    assert same_bits(view, x)
    assert same_bits(p.ids, ids)
    before = ms.core.block_allocations()
    trace(p, v, 0.2, workspace=space)
    assert ms.core.block_allocations() == before


@pytest.mark.parametrize("n", [0, 1, 7, 1000])
def test_any_number_of_points(n: int, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension)
    f, v, x = random_scalar("cell", g, dtype, rng), random_velocity(g, dtype, rng), scattered(g, dtype, rng, n)
    values, speeds, moved = sample(f, x), sample(v, x), x.copy()
    trace(moved, v, 0.3)
    for i in range(0, n, 97):
        one = x[i : i + 1].copy()
        assert same_bits(sample(f, one), values[i : i + 1])
        assert same_bits(sample(v, one), speeds[i : i + 1])
        trace(one, v, 0.3)
        assert same_bits(one, moved[i : i + 1])


def test_errors(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension)
    f, v, x = random_scalar("cell", g, dtype, rng), random_velocity(g, dtype, rng), scattered(g, dtype, rng, 20)
    other = np.float32 if dtype is np.float64 else np.float64
    bad: list[tuple[Any, type[Exception], str]] = [
        (x.tolist(), TypeError, "points must be a NumPy array"),
        (x.astype(other), TypeError, "points must be of dtype"),
        (x[:, :1], ValueError, "points must have shape"),
        (x[0], ValueError, "points must have shape"),
        (np.asfortranarray(x), TypeError, "points must be C-contiguous"),
        (x[::2], TypeError, "points must be C-contiguous"),
    ]
    for points, error, words in bad:
        for call in (lambda p: sample(f, p), lambda p: sample(v, p), lambda p: trace(p, v, 0.1)):
            with pytest.raises(error, match=words):
                call(points)
    for value in (np.nan, np.inf):
        y = x.copy()
        y[7, 1] = value
        before = y.copy()
        for call in (lambda p: sample(f, p), lambda p: sample(v, p), lambda p: trace(p, v, 0.1)):
            with pytest.raises(ValueError, match="points must be finite, but component 1 of point 7 is not"):
                call(y)
        assert same_bits(y, before)
    before = x.copy()
    for arguments, error, words in [
        ({"dt": np.nan}, ValueError, "dt must be finite"),
        ({"dt": "1"}, TypeError, "dt must be a number"),
        ({"method": "rk4"}, ValueError, "method must be one of 'euler', 'midpoint', 'rk3'"),
        ({"outside": "wrap"}, ValueError, "outside must be one of 'keep', 'clamp'"),
        ({"time": np.inf}, ValueError, "time must be finite"),
        ({"workspace": 1}, TypeError, "workspace must be a Workspace"),
        ({"velocity": f}, TypeError, "velocity must be a MacField"),
    ]:
        with pytest.raises(error, match=words):
            trace(x, **{"velocity": v, "dt": 0.1, **arguments})
    v.u[1, 1] = np.nan
    with pytest.raises(ValueError, match="velocity u must be finite"):
        trace(x, v, 0.1)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="points must be writable"):
        trace(x, random_velocity(g, dtype, rng), 0.1)
    assert same_bits(x, before)
    with pytest.raises(ValueError, match="interpolation='linear'"):
        sample(v, x, interpolation="cubic")
    with pytest.raises(ValueError, match="interpolation must be one of"):
        sample(f, x, interpolation="spline")
    with pytest.raises(TypeError, match="field must be a ScalarField or MacField"):
        sample(f.array, x)
