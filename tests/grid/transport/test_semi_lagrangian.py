"""Semi-Lagrangian transport, and BFECC and MacCormack on top of it, against plain references, near and far beyond the ghosts."""

from typing import Any

import numpy as np
import pytest
from support.build import components, grid_of, random_scalar, random_velocity, same_bits
from support.reference import Transport, transport_of
from support.variants import slow

import meniscus as ms
from meniscus.grid import advect, semi_lagrangian

TRACES = ["euler", "midpoint", "rk3"]
TIME = 0.5


def inflow(x: np.ndarray, t: float) -> np.ndarray:
    return np.sin(2 * x[:, 0] - t) + 0.5 * np.cos(x[:, -1])


def wind(x: np.ndarray, t: float) -> np.ndarray:
    return 0.8 * np.sin(x + t) * np.ones(x.shape[1])


# name: (periodic axes, boundary of the scalar, boundary of the velocity)
DOMAINS: dict[str, Any] = {
    "walls": (False, None, None),
    "no-slip": (False, None, ms.Wall(slip="no-slip")),
    "periodic": (True, None, None),
    "half periodic": ((False, True, False), ms.ZeroGradient(), None),
    "open": (False, ms.Open(), ms.Open()),
    "constant": (False, ms.Prescribed(0.75), ms.Open()),
    "function": (False, ms.Prescribed(inflow), {"x-": ms.Prescribed(wind), "x+": ms.Open(), "y-": ms.Wall(wind, "no-slip")}),
    "mixed": (
        False,
        {"x-": ms.Prescribed(inflow), "y+": ms.Open()},
        {"x-": ms.Prescribed((0.5, 0.25, -0.5)), "x+": ms.ZeroGradient(), "y-": ms.Wall((0.25, 0.0, 0.5), "no-slip")},
    ),
}


def cut(boundary: Any, dimension: int) -> Any:
    """Drop the third number of constant vectors in 2-D."""
    if isinstance(boundary, dict):
        return {k: cut(b, dimension) for k, b in boundary.items()}
    if isinstance(boundary, ms.Wall) and isinstance(boundary.velocity, tuple):
        return ms.Wall(boundary.velocity[:dimension], boundary.slip)
    if isinstance(boundary, ms.Prescribed) and isinstance(boundary.value, tuple):
        return ms.Prescribed(boundary.value[:dimension])
    return boundary


def problem(domain: str, kind: str, dimension: int, dtype: type, seed: int) -> tuple[Any, ms.MacField]:
    periodic, scalar, vector = DOMAINS[domain]
    rng = np.random.default_rng(seed)
    g = grid_of(dimension, periodic=periodic if isinstance(periodic, bool) else periodic[:dimension])
    velocity = random_velocity(g, dtype, rng, cut(vector, dimension))
    return random_scalar(kind, g, dtype, rng, cut(scalar, dimension)), velocity


def tolerance(dtype: type, cfl: float, trace: str, scale: float = 4.0) -> float:
    """Rounding of a displacement grows with the displacement, and with it again in every stage of the trace."""
    stages = {"euler": 1, "midpoint": 2, "rk3": 3}[trace]
    return float(8 * np.finfo(dtype).eps * scale * (1 + cfl) ** stages)


def reference(field: Any, velocity: ms.MacField, cfl: float, **options: Any) -> tuple[float, Transport]:
    dt = cfl * field.grid.spacing / ms.grid.max_speed(velocity)
    return dt, transport_of(field, velocity, dt, pad=int(2 * cfl) + 6, time=TIME, **options)


@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
@pytest.mark.parametrize(("cfl", "dimension"), [(0.3, 2), (0.3, 3), (2.5, 2), (2.5, 3), (20.0, 2), slow(20.0, 3)])
@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("domain", DOMAINS)
def test_against_reference(domain: str, trace: str, cfl: float, interpolation: str, dimension: int) -> None:
    for kind in ("cell", "node"):
        field, velocity = problem(domain, kind, dimension, np.float64, 11)
        dt, plain = reference(field, velocity, cfl, trace=trace, interpolation=interpolation)
        out, low, high = (field.copy() for _ in range(3))
        semi_lagrangian(field, velocity, dt, out=out, lower=low, upper=high, trace=trace, interpolation=interpolation, time=TIME)
        value, smallest, largest = plain.first_order()
        atol = tolerance(np.float64, cfl, trace)
        np.testing.assert_allclose(out.array, value, rtol=0, atol=atol)
        np.testing.assert_allclose(low.array, smallest, rtol=0, atol=atol)
        np.testing.assert_allclose(high.array, largest, rtol=0, atol=atol)
        assert (low.array <= out.array).all()
        assert (out.array <= high.array).all()
        carried = field.copy()
        advect(carried, velocity, dt, method="semi-lagrangian", trace=trace, interpolation=interpolation, time=TIME)
        assert same_bits(carried.array, out.array)


@pytest.mark.parametrize("cfl", [0.3, 2.5])
@pytest.mark.parametrize("domain", ["walls", "periodic", "function"])
@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
@pytest.mark.parametrize("dimension", [3])
def test_single_precision(domain: str, interpolation: str, cfl: float, dimension: int) -> None:
    field, velocity = problem(domain, "cell", dimension, np.float32, 12)
    dt, plain = reference(field, velocity, cfl, trace="rk3", interpolation=interpolation)
    advect(field, velocity, dt, method="semi-lagrangian", trace="rk3", interpolation=interpolation, time=TIME)
    assert field.dtype == np.float32
    np.testing.assert_allclose(field.array, plain.first_order()[0], rtol=0, atol=tolerance(np.float32, cfl, "rk3"))


@pytest.mark.parametrize("cfl", [0.3, 2.5])
def test_backwards(cfl: float, dimension: int) -> None:
    field, velocity = problem("mixed", "cell", dimension, np.float64, 13)
    dt, _ = reference(field, velocity, cfl)
    plain = transport_of(field, velocity, -dt, pad=int(2 * cfl) + 6, time=TIME)
    out = field.copy()
    semi_lagrangian(field, velocity, -dt, out=out, time=TIME)
    np.testing.assert_allclose(out.array, plain.first_order()[0], rtol=0, atol=tolerance(np.float64, cfl, "midpoint"))


@pytest.mark.parametrize("limiter", ["none", "clamp", "reversion"])
@pytest.mark.parametrize("method", ["bfecc", "maccormack"])
@pytest.mark.parametrize("domain", ["walls", "periodic", "open", "function", "mixed"])
def test_corrected_schemes(domain: str, method: str, limiter: str, dimension: int) -> None:
    for cfl in (0.7, 2.5):
        field, velocity = problem(domain, "cell", dimension, np.float64, 14)
        dt, plain = reference(field, velocity, cfl)
        advect(field, velocity, dt, method=method, limiter=limiter, time=TIME)
        expected = plain.corrected(method, limiter)
        np.testing.assert_allclose(field.array, expected, rtol=0, atol=10 * tolerance(np.float64, cfl, "midpoint"))


@pytest.mark.parametrize("method", ["semi-lagrangian", "maccormack"])
@pytest.mark.parametrize("domain", ["walls", "no-slip", "periodic", "open", "function", "mixed"])
def test_velocities(domain: str, method: str, dimension: int) -> None:
    cfl = 2.5
    _, velocity = problem(domain, "cell", dimension, np.float64, 15)
    field = random_velocity(velocity.grid, np.float64, np.random.default_rng(16), velocity.boundary)
    dt = cfl * field.grid.spacing / ms.grid.max_speed(velocity)
    expected = []
    for d in range(dimension):
        plain = transport_of(field, velocity, dt, d, pad=int(2 * cfl) + 6, time=TIME)
        expected.append(plain.first_order()[0] if method == "semi-lagrangian" else plain.corrected(method, "reversion"))
    given = field.copy()
    for d in range(dimension):
        given.component(d)[...] = expected[d]
    given.enforce_boundary(TIME + dt)
    advect(field, velocity, dt, method=method, time=TIME)
    for mine, its in zip(components(field), components(given), strict=True):
        np.testing.assert_allclose(mine, its, rtol=0, atol=10 * tolerance(np.float64, cfl, "midpoint"))


def test_a_far_trace_asks_prescribed_functions_at_the_right_place_and_time(dimension: int) -> None:
    """A linear function beyond the inflow side is reproduced exactly, however far the trace goes."""
    g = ms.Grid((9, 4, 4)[:dimension], 0.5)
    field = ms.CellField(g, boundary={"x-": ms.Prescribed(lambda x, t: 3 * x[:, 0] - 2 * x[:, 1] + t), "y-": ms.ZeroGradient()})
    x = np.broadcast_arrays(*field.coordinates())
    field.array[...] = 3 * x[0] - 2 * x[1] + 0.25
    velocity = ms.MacField(g, boundary=ms.ZeroGradient())
    velocity.u = 1.0
    for shift in (0.6, 2.9, 7.3, 40.1):
        out = field.copy()
        semi_lagrangian(field, velocity, shift * g.spacing, out=out, time=0.25)
        np.testing.assert_allclose(out.array, 3 * (x[0] - shift * g.spacing) - 2 * x[1] + 0.25, rtol=0, atol=1e-12)
