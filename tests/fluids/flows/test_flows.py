"""Procedural flows: formulas, potentials, sampling on grids, tracing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.build import components, same_bits, scalar_types

import meniscus as ms
from meniscus import fluids
from meniscus.fluids import (
    Flow,
    curl_noise,
    deformation,
    point_source,
    rotation,
    single_vortex,
    uniform_flow,
    vortex_ring,
)
from meniscus.numerics import FractalNoise

BOX2 = ((0.1, 0.2), (0.9, 0.8), 0.2)
BOX3 = ((0.1, 0.2, 0.1), (0.9, 0.8, 0.95), 0.2)
NOISE = FractalNoise(5, 0.4, 0.5, 2)
SMOOTH = FractalNoise(5, 0.8, 0.5, 2)

POTENTIAL_FLOWS: dict[str, tuple[int, Callable[[], Flow]]] = {
    "uniform 2d": (2, lambda: uniform_flow((1.0, -2.0))),
    "uniform 3d": (3, lambda: uniform_flow((1.0, -2.0, 0.5))),
    "rotation 2d": (2, lambda: rotation((0.4, 0.6), 2.0)),
    "rotation 3d": (3, lambda: rotation((0.4, 0.6, 0.5), (1.0, -2.0, 0.5))),
    "ring": (3, lambda: vortex_ring((0.5, 0.4, 0.6), (1.0, 2.0, -0.5), 0.3, 0.2)),
    "curl noise 2d": (2, lambda: curl_noise(2, SMOOTH, strength=0.1)),
    "curl noise 3d": (3, lambda: curl_noise(3, SMOOTH, strength=0.1)),
    "curl noise in a box 2d": (2, lambda: curl_noise(2, SMOOTH, strength=0.1, box=((0, 0), (1, 1), 0.3))),
    "curl noise in a box 3d": (3, lambda: curl_noise(3, SMOOTH, strength=0.1, box=((0, 0, 0), (1, 1, 1), 0.3))),
    "single vortex": (2, lambda: single_vortex(1.0, 2.0)),
    "deformation": (3, lambda: deformation(1.0, 2.0)),
    "sum 2d": (2, lambda: single_vortex() - 0.5 * rotation((0.4, 0.6), 2.0)),
    "sum 3d": (3, lambda: vortex_ring((0.5, 0.4, 0.6), (0, 1, 0), 0.3) + 2.0 * curl_noise(3, SMOOTH)),
}
TYPED_FLOWS = [(name, t) for name, (dimension, _) in POTENTIAL_FLOWS.items() for t in scalar_types(dimension)]


def points_in(dimension: int, n: int = 400, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).random((n, dimension))


def unit_velocity(dimension: int, cells: int, dtype: Any = np.float64) -> ms.MacField:
    return ms.MacField(ms.Grid((cells,) * dimension, 1.0 / cells), dtype, ms.Open())


def discrete_divergence(v: ms.MacField) -> np.ndarray:
    return sum(np.diff(c.astype(np.float64), axis=d) for d, c in enumerate(components(v))) / v.grid.spacing


def test_vortex_ring_formula() -> None:
    c, axis, r, s = np.array([0.3, 0.2, 0.7]), np.array([1.0, -2.0, 2.0]), 0.35, 1.7
    flow = vortex_ring(c, axis, r, s)
    a, y = axis / 3, points_in(3) - c
    along, q = y @ a, (y**2).sum(axis=1)
    expected = 2 * s * (r**2 * a + along[:, None] * y) / (r**2 + q)[:, None] ** 2
    np.testing.assert_allclose(flow(y + c), expected, rtol=0, atol=1e-12 * s / r**2)
    np.testing.assert_allclose(flow(c[None]), [2 * s / r**2 * a], rtol=1e-14)
    np.testing.assert_allclose(vortex_ring(c, 5 * axis, r, s)(y + c), expected, rtol=0, atol=1e-12 * s / r**2)


def test_vortex_ring_is_the_curl_of_the_printed_potential() -> None:
    """psi = (y3, 0, -y1) / ((r - d)^2 + 2 r d) for a ring around the y axis (Brochu 2012, section 5.4.2)."""
    r, h = 0.4, 1e-4

    def psi(x: np.ndarray) -> np.ndarray:
        d = np.linalg.norm(x, axis=1)
        return np.stack([x[:, 2], 0 * d, -x[:, 0]], 1) / ((r - d) ** 2 + 2 * r * d)[:, None]

    x = points_in(3) - 0.5
    j = [(psi(x + h * e) - psi(x - h * e)) / (2 * h) for e in np.eye(3)]
    curl = np.stack([j[1][:, 2] - j[2][:, 1], j[2][:, 0] - j[0][:, 2], j[0][:, 1] - j[1][:, 0]], axis=1)
    np.testing.assert_allclose(vortex_ring((0, 0, 0), (0, 1, 0), r)(x), curl, rtol=0, atol=1e-5)


def test_simple_formulas() -> None:
    x, y = points_in(2).T
    p = points_in(2)
    np.testing.assert_allclose(uniform_flow((3, -1))(p), np.tile([3.0, -1.0], (400, 1)))
    np.testing.assert_allclose(rotation((0.25, 0.5), 2.0)(p), 2 * np.stack([0.5 - y, x - 0.25], 1), atol=1e-15)
    q, w, c = points_in(3), np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.25, 0.75])
    np.testing.assert_allclose(rotation(c, w)(q), np.cross(w, q - c), atol=1e-14)
    u = np.stack([-(np.sin(np.pi * x) ** 2) * np.sin(2 * np.pi * y), np.sin(np.pi * y) ** 2 * np.sin(2 * np.pi * x)], 1)
    np.testing.assert_allclose(single_vortex()(p, 9.0), u, atol=1e-14)
    np.testing.assert_allclose(single_vortex(1.0, 8.0)(p, 2.0), u * np.cos(np.pi / 4), atol=1e-14)
    np.testing.assert_allclose(single_vortex(2.0)(2 * p), u, atol=1e-14)
    a, b, d = q.T
    s = np.sin
    v = np.stack(
        [
            2 * s(np.pi * a) ** 2 * s(2 * np.pi * b) * s(2 * np.pi * d),
            -s(2 * np.pi * a) * s(np.pi * b) ** 2 * s(2 * np.pi * d),
            -s(2 * np.pi * a) * s(2 * np.pi * b) * s(np.pi * d) ** 2,
        ],
        axis=1,
    )
    np.testing.assert_allclose(deformation()(q), v, atol=1e-14)
    np.testing.assert_allclose(deformation(1.0, 3.0)(q, 1.0), v * 0.5, atol=1e-14)


@pytest.mark.parametrize(("name", "dtype"), TYPED_FLOWS)
def test_discrete_divergence_vanishes(name: str, dtype: type) -> None:
    dimension, make = POTENTIAL_FLOWS[name]
    flow = make()
    assert flow.dimension == dimension
    assert flow.divergence_free
    v = unit_velocity(dimension, 20, dtype)
    flow.sample(v, 0.3)
    plain = v.copy()
    flow.sample(plain, 0.3, sampling="discrete-curl")
    assert same_bits(components(plain), components(v))
    speed = ms.grid.max_speed(v)
    assert speed > 0.01
    # Potentials of size A have circulations that are exact to a few ulp(A) / h, and a divergence of those over h.
    assert np.abs(discrete_divergence(v)).max() < 200 * np.finfo(dtype).eps * (speed + 1) * 20


@pytest.mark.fast_cases("*2d", "single vortex", "deformation", "ring", "rotation 3d", "uniform 3d")
@pytest.mark.parametrize("name", POTENTIAL_FLOWS)
def test_discrete_curl_converges_to_the_velocity(name: str) -> None:
    """The curl that is known in closed form and the one of the potential around faces agree to second order."""
    dimension, make = POTENTIAL_FLOWS[name]
    flow, errors, sizes = make(), [], (10, 20, 40) if dimension == 3 else (32, 64, 128)
    for cells in sizes:
        a, b = unit_velocity(dimension, cells), unit_velocity(dimension, cells)
        flow.sample(a, 0.7, sampling="pointwise")
        flow.sample(b, 0.7, sampling="discrete-curl")
        squares = [((x - y) ** 2).mean() for x, y in zip(components(a), components(b), strict=True)]
        errors.append(float(np.sqrt(sum(squares))))
    scale = ms.grid.max_speed(a)
    if errors[-1] < 1e-12 * scale:  # linear velocities are met exactly
        assert max(errors) < 1e-12 * scale
    else:
        # Fields with a kink in the second derivative (noise cells, ramps) lose a little.
        assert 1.8 < np.log2(errors[-2] / errors[-1]) < 2.3
        assert errors[-1] < 0.03 * scale


@pytest.mark.parametrize(("name", "dtype"), TYPED_FLOWS)
def test_pointwise_sampling_is_the_flow_at_the_faces(name: str, dtype: type) -> None:
    dimension, make = POTENTIAL_FLOWS[name]
    v = ms.MacField(ms.Grid((7, 6, 5)[:dimension], 0.1, (0.1, 0.2, 0.3)[:dimension]), dtype)
    flow = make()
    flow.sample(v, 0.4, sampling="pointwise")
    for d in range(dimension):
        x = np.stack([c.ravel() for c in np.broadcast_arrays(*v.grid.face_centers(d))], axis=1)
        assert same_bits(v.component(d).ravel(), flow(x, 0.4)[:, d].astype(dtype))


@pytest.mark.parametrize("box", [BOX2, BOX3])
def test_nothing_flows_through_the_sides_of_the_box(box: Any) -> None:
    lower, upper, _ = box
    dimension = len(lower)
    flow = curl_noise(dimension, NOISE, box=box)
    inside = np.array(lower) + points_in(dimension) * (np.array(upper) - lower)
    assert np.abs(flow(inside, 0.3)).max() > 0.5
    for d in range(dimension):
        for corner in (lower, upper):
            x = inside.copy()
            x[:, d] = corner[d]
            v = flow(x, 0.3)
            assert np.abs(v[:, d]).max() < 1e-12
            assert np.abs(v).max() > 0.1
            x[:, d] = corner[d] + (0.05 if corner is upper else -0.05)
            assert not flow(x, 0.3).any()
    free = curl_noise(dimension, NOISE)
    middle = 0.5 * (np.array(lower) + upper) + 0.05 * (points_in(dimension) - 0.5)
    np.testing.assert_allclose(flow(middle, 0.3), free(middle, 0.3), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_closed_box_of_curl_noise_has_no_flow_through_its_faces(dimension: int) -> None:
    v = ms.MacField(ms.Grid((12,) * dimension, 1 / 12))
    curl_noise(dimension, NOISE, box=((0.0,) * dimension, (1.0,) * dimension, 0.25)).sample(v, 0.2)
    for d in range(dimension):
        assert np.abs(np.take(v.component(d), [0, -1], axis=d)).max() < 1e-12
    assert ms.grid.max_speed(v) > 0.1


@pytest.mark.parametrize("variation", [0.0, 0.5])
def test_point_source(dimension: int, variation: float) -> None:
    c, r, s = np.full(dimension, 0.5), 0.3, 2.0
    flow = point_source(c, r, s, variation=variation, noise=NOISE)
    assert not flow.divergence_free
    x = points_in(dimension)
    y = x - c
    d = np.linalg.norm(y, axis=1)
    amount = s * (1 + variation * NOISE(x, 0.2)) * np.maximum(0, r - d)
    np.testing.assert_allclose(flow(x, 0.2), amount[:, None] * y / d[:, None], rtol=0, atol=1e-14)
    assert not flow(x[d >= r], 0.2).any()
    assert not flow(c[None]).any()
    assert (flow(x[d < r], 0.2) * y[d < r]).sum(axis=1).min() > 0


def test_a_source_pours_out_inside_its_radius_only(dimension: int) -> None:
    r = 0.3
    flow = point_source((0.5,) * dimension, r)
    v = unit_velocity(dimension, 40)
    flow.sample(v)
    divergence = discrete_divergence(v)
    d = np.sqrt(sum((x - 0.5) ** 2 for x in np.broadcast_arrays(*v.grid.cell_centers())))
    h = v.grid.spacing
    # div v = (n - 1) r / d - n is positive up to d = r (n - 1) / n; beyond it the outflow slows down, beyond r there is none.
    assert (divergence[(d < r * (dimension - 1) / dimension - h)] > 0).all()
    assert not divergence[d > r + h].any()
    expected = (dimension - 1) * r / np.maximum(d, h) - dimension
    ring = (d > 0.1) & (d < r - h)
    np.testing.assert_allclose(divergence[ring], expected[ring], atol=0.1)
    with pytest.raises(ValueError, match="has no potential"):
        flow.sample(v, sampling="discrete-curl")
    assert not (flow + uniform_flow((1.0,) * dimension)).divergence_free


def test_sums_and_multiples(dimension: int) -> None:
    x = points_in(dimension)
    a = curl_noise(dimension, NOISE)
    b = rotation((0.5,) * dimension, 1.0 if dimension == 2 else (1.0, 2.0, 3.0))
    c = point_source((0.4,) * dimension, 0.5)
    va, vb, vc = a(x, 0.1), b(x, 0.1), c(x, 0.1)
    close = {"rtol": 0, "atol": 1e-14}
    np.testing.assert_allclose((a + b)(x, 0.1), va + vb, **close)
    np.testing.assert_allclose((a - b)(x, 0.1), va - vb, **close)
    np.testing.assert_allclose((-a)(x, 0.1), -va, **close)
    np.testing.assert_allclose((2.5 * a)(x, 0.1), 2.5 * va, **close)
    np.testing.assert_allclose((a * 2.5)(x, 0.1), 2.5 * va, **close)
    np.testing.assert_allclose((0.5 * (a + 2 * b) - 3 * c)(x, 0.1), 0.5 * va + vb - 3 * vc, **close)
    assert (a + b).divergence_free
    assert not (a + c).divergence_free
    v, w = unit_velocity(dimension, 6), unit_velocity(dimension, 6)
    (a + 2 * b).sample(v, 0.1)
    a.sample(w, 0.1)
    expected = components(w)
    b.sample(w, 0.1)
    for mine, first, second in zip(components(v), expected, components(w), strict=True):
        np.testing.assert_allclose(mine, first + 2 * second, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("method", "order"), [("euler", 1), ("midpoint", 2), ("rk3", 3)])
def test_order_of_tracing(method: str, order: int) -> None:
    """Around a centre that turns ever faster: v = cos(pi t / T) times the vortex, against very small steps."""
    flow = single_vortex(1.0, 2.0)
    start = 0.3 + 0.4 * points_in(2, 50)
    exact = start.copy()
    for i in range(400):
        flow.trace(exact, 0.25 + i / 400, 1 / 400)
    errors = []
    for steps in (10, 20, 40):
        x = start.copy()
        for i in range(steps):
            flow.trace(x, 0.25 + i / steps, 1 / steps, method=method)
        errors.append(np.abs(x - exact).max())
    assert np.log2(errors[1] / errors[2]) == pytest.approx(order, abs=0.25)
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.4)


@pytest.mark.parametrize(("make", "dimension"), [(single_vortex, 2), (deformation, 3)])
def test_a_full_period_leads_back_to_the_start(make: Callable[..., Flow], dimension: int) -> None:
    flow = make(1.0, 3.0)
    x = points_in(dimension, 200)
    start, errors = x.copy(), []
    for steps in (60, 120):
        x = start.copy()
        farthest = 0.0
        for i in range(steps):
            flow.trace(x, 3.0 * i / steps, 3.0 / steps)
            farthest = max(farthest, np.abs(x - start).max())
        assert farthest > 0.2
        errors.append(np.abs(x - start).max())
    assert errors[0] / errors[1] > 6
    assert errors[1] < 2e-3


def test_tracing_back(dimension: int) -> None:
    flow = curl_noise(dimension, NOISE, strength=0.1)
    x = points_in(dimension, 100)
    start = x.copy()
    space = ms.Workspace()
    for i in range(100):
        flow.trace(x, i / 100, 1 / 100, workspace=space)
    assert np.abs(x - start).max() > 0.1
    held = ms.core.block_allocations()
    for i in range(100):
        flow.trace(x, 1 - i / 100, -1 / 100, workspace=space)
    assert ms.core.block_allocations() == held
    assert np.abs(x - start).max() < 1e-3


def test_repr_tells_how_it_was_made() -> None:
    flow = 2.0 * uniform_flow((1.0, 0.0)) + single_vortex()
    assert repr(flow) == "2 * (uniform_flow((1.0, 0.0))) + single_vortex(1.0, 0.0)"


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: uniform_flow((1.0,)), ValueError, "velocity must hold 2 or 3 numbers"),
        (lambda: uniform_flow(1.0), ValueError, "velocity must hold 2 or 3 numbers"),
        (lambda: uniform_flow((1.0, np.nan)), ValueError, r"velocity\[1\] must be finite"),
        (lambda: rotation((0.0, 0.0), (1.0, 0.0, 0.0)), TypeError, "angular_velocity must be a number"),
        (lambda: rotation((0.0, 0.0, 0.0), 1.0), TypeError, "angular_velocity must hold 3 numbers"),
        (lambda: rotation((0.0,), 1.0), ValueError, "center must hold 2 or 3 numbers"),
        (lambda: vortex_ring((0.0, 0.0), (0, 1, 0), 1.0), ValueError, "center must hold 3 numbers"),
        (lambda: vortex_ring((0, 0, 0), (0, 0, 0), 1.0), ValueError, "axis must not be zero"),
        (lambda: vortex_ring((0, 0, 0), (0, 1, 0), 0.0), ValueError, "radius must be positive"),
        (lambda: vortex_ring((0, 0, 0), (0, 1, 0), 1.0, np.inf), ValueError, "strength must be finite"),
        (lambda: point_source((0, 0), -1.0), ValueError, "radius must be positive"),
        (lambda: point_source((0, 0), 1.0, noise=3), TypeError, "noise must be a FractalNoise"),
        (lambda: curl_noise(4, NOISE), ValueError, "dimension must be 2 or 3"),
        (lambda: curl_noise(2, "perlin"), TypeError, "noise must be a FractalNoise"),
        (lambda: curl_noise(2, NOISE, box=((0, 0, 0), (1, 1), 0.1)), ValueError, "lower corner of the box must hold 2"),
        (lambda: curl_noise(2, NOISE, box=((0, 0), (1, 1), 0.0)), ValueError, "width of the ramp must be positive"),
        (lambda: curl_noise(2, NOISE, box=((0, 0), (1, 0), 0.1)), ValueError, "upper corner of a ramp box must lie above"),
        (lambda: single_vortex(0.0), ValueError, "length must be positive"),
        (lambda: single_vortex(1.0, -1.0), ValueError, "period must be finite and not negative"),
        (lambda: deformation(1.0, np.nan), ValueError, "period must be finite"),
        (lambda: uniform_flow((1.0, 0.0)) * np.nan, ValueError, "factor must be finite"),
        (lambda: uniform_flow((1.0, 0.0)) * "2", TypeError, "factor must be a number"),
        (lambda: uniform_flow((1.0, 0.0)) + uniform_flow((1.0, 0.0, 0.0)), ValueError, "must be 2-D like the flow"),
        (lambda: uniform_flow((1.0, 0.0)) + 1.0, TypeError, "unsupported operand"),
        (lambda: uniform_flow((1.0, 0.0)) - 1.0, TypeError, "unsupported operand"),
    ],
)
def test_bad_flows(make: Callable[[], Flow], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_bad_arguments(dimension: int) -> None:
    flow = uniform_flow((1.0,) * dimension)
    x = points_in(dimension)
    for points, error, words in [
        (x.astype(np.float32), TypeError, "points must be of dtype float64"),
        (x[:, :1], ValueError, "points must have shape"),
        (np.full((3, dimension), np.nan), ValueError, "points must be finite"),
        (x.tolist(), TypeError, "points must be a NumPy array"),
        (np.asfortranarray(x), TypeError, "points must be C-contiguous"),
    ]:
        with pytest.raises(error, match=words):
            flow(points)
        with pytest.raises(error, match=words):
            flow.trace(points, 0.0, 0.1)
    for arguments, error, words in [
        ({"dt": np.inf}, ValueError, "dt must be finite"),
        ({"time": np.nan}, ValueError, "time must be finite"),
        ({"method": "rk4"}, ValueError, "method must be one of 'euler', 'midpoint', 'rk3'"),
        ({"workspace": 1}, TypeError, "workspace must be a Workspace"),
    ]:
        before = x.copy()
        with pytest.raises(error, match=words):
            flow.trace(x, **{"time": 0.0, "dt": 0.1, **arguments})
        assert same_bits(x, before)
    v = unit_velocity(dimension, 4)
    with pytest.raises(ValueError, match=f"velocity must be {dimension}-D"):
        flow.sample(unit_velocity(5 - dimension, 4))
    with pytest.raises(TypeError, match="velocity must be a MacField"):
        flow.sample(v.u)
    with pytest.raises(ValueError, match="sampling must be one of 'auto', 'pointwise', 'discrete-curl'"):
        flow.sample(v, sampling="exact")
    with pytest.raises(ValueError, match="time must be finite"):
        flow.sample(v, np.nan)
    assert not any(c.any() for c in components(v))


def test_transport_is_found_here_too() -> None:
    assert fluids.advect is ms.grid.advect
