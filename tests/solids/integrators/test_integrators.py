"""Orders, stability limits and amplification of every integrator, on oscillators whose motion is known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.bodies import oscillator

import meniscus as ms

EXACT: dict[str, Any] = {"tolerance": 1e-14}
ALL: list[tuple[str, dict[str, Any]]] = [
    ("explicit-euler", {}),
    ("symplectic-euler", {}),
    ("rk2", {}),
    ("rk4", {}),
    ("verlet", {}),
    ("verlet", {"form": "velocities"}),
    ("velocity-verlet", {}),
    ("newmark", EXACT),
    ("newmark", {"elasticity": "half-step", **EXACT}),
    ("newmark", {"elasticity": "full-step", **EXACT}),
    ("newmark", {"elasticity": "first-half-step", **EXACT}),
    ("newmark", {"elasticity": "half-step", "finish": "backward-euler", **EXACT}),
    ("implicit-euler", {"newton_tolerance": 1e-13, **EXACT}),
    ("implicit-euler", {"newton": False, **EXACT}),
]


def matrix(z: float, integrator: str, **options: Any) -> np.ndarray:
    """The matrix that takes (x, v) over one step dt = z of an oscillator of frequency 1, column by column."""
    columns = []
    for x, v in ((1.0, 0.0), (0.0, 1.0)):
        body = oscillator(1.0, position=np.array([x, 0.0, 0.0]), velocity=np.array([v, 0.0, 0.0]))
        body.step(z, integrator, **{"safeguard": False} | options)
        columns.append((body.positions[1, 0], body.velocities[1, 0]))
    return np.array(columns).T


def radius(a: np.ndarray) -> float:
    return float(np.abs(np.linalg.eigvals(a)).max())


def expected(z: float, integrator: str, elasticity: str = "explicit", finish: str = "trapezoid", **_: Any) -> np.ndarray:
    """The same matrix by hand, for frequency 1 and dt = z."""
    one = np.eye(2)
    a = np.array([[0.0, z], [-z, 0.0]])
    if integrator == "explicit-euler":
        return one + a
    if integrator == "symplectic-euler":
        return np.array([[1 - z * z, z], [-z, 1.0]])
    if integrator == "rk2":
        return one + a + a @ a / 2
    if integrator == "rk4":
        return one + a + a @ a / 2 + a @ a @ a / 6 + a @ a @ a @ a / 24
    if integrator == "velocity-verlet":
        return np.array([[1 - z * z / 2, z], [-z + z**3 / 4, 1 - z * z / 2]])
    if integrator == "implicit-euler":
        return np.linalg.inv(one - a)
    ahead = {"explicit": 0.0, "half-step": z / 2, "full-step": z, "first-half-step": z / 2, "first-full-step": z}[elasticity]
    later = 0.0 if elasticity.startswith("first") else ahead
    # Rows that give the velocity in the middle from (x, v), then the new position.
    half = np.array([-z / 2, 1.0]) / (1 + z / 2 * ahead)
    x1 = np.array([1.0, 0.0]) + z * half
    if finish == "backward-euler":
        return np.array([x1, (np.array([0.0, 1.0]) - z * x1) / (1 + z * later)])
    middle = (np.array([1.0, 0.0]) + x1) / 2
    return np.array([x1, 2 * (np.array([0.0, 1.0]) - z / 2 * middle) / (1 + z / 2 * later) - np.array([0.0, 1.0])])


@pytest.mark.parametrize("z", [0.1, 0.5, 1.0, 1.9])
@pytest.mark.parametrize(("integrator", "options"), [a for a in ALL if a[0] != "verlet"])
def test_amplification_matrices(integrator: str, options: dict[str, Any], z: float) -> None:
    np.testing.assert_allclose(matrix(z, integrator, **options), expected(z, integrator, **options), rtol=0, atol=1e-12)


# Selle 2008, section 5.5: spectral radii of one step, worked out by hand for these variants.
SPRINGS = {
    "explicit": [1.0, 1.0, 1.0, 1.0, 1.8773, 22.96, 398.0, 9998.0],
    "half-step": [0.9975, 0.9430, 0.8246, 0.7080, 0.7079, 0.8730, 0.9901, 0.9996],
    "full-step": [0.9950, 0.8889, 0.6667, 0.3565, 0.3120, 0.8398, 0.9900, 0.9996],
    "first-half-step": [1.0] * 8,
    "first-full-step": [1.0] * 8,
}


@pytest.mark.parametrize("elasticity", SPRINGS)
def test_implicit_springs_have_the_known_spectral_radii(elasticity: str) -> None:
    for z, wanted in zip([0.1, 0.5, 1.0, 1.9, 2.1, 5.0, 20.0, 100.0], SPRINGS[elasticity], strict=True):
        found = radius(matrix(z, "newmark", elasticity=elasticity, **EXACT))
        assert found == pytest.approx(wanted, abs=5.1e-5 if wanted <= 2 else 5e-4 * wanted), z


def test_the_trapezoidal_rule_loses_no_energy() -> None:
    z = 3.7
    trapezoid = np.linalg.solve([[1.0, -z / 2], [z / 2, 1.0]], [[1.0, z / 2], [-z / 2, 1.0]])
    found = matrix(z, "newmark", elasticity="first-half-step", **EXACT)
    # The same up to a change of variables: equal trace and determinant.
    assert np.trace(found) == pytest.approx(np.trace(trapezoid), abs=1e-12)
    assert np.linalg.det(found) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("z", [0.1, 0.5, 1.0, 1e4])
@pytest.mark.parametrize("newton", [False, True])
def test_implicit_euler_shrinks_as_it_should(z: float, newton: bool) -> None:
    found = radius(matrix(z, "implicit-euler", newton=newton, tolerance=1e-14))
    assert found == pytest.approx(1 / math.hypot(1.0, z), rel=1e-9)


LIMITS = [
    ("symplectic-euler", 1.99, 2.01, 1.2213),
    ("verlet", 1.99, 2.01, None),
    ("velocity-verlet", 1.99, 2.01, 1.2213),
    ("newmark", 1.99, 2.01, None),
    ("rk4", 2.82, 2.84, 1.029),
]


@pytest.mark.parametrize(("integrator", "below", "above", "growth"), LIMITS)
def test_stability_limits(integrator: str, below: float, above: float, growth: float | None) -> None:
    def largest(z: float) -> float:
        body = oscillator(1.0)
        return max(abs(body.step(z, integrator, safeguard=False) and body.positions[1, 0]) for _ in range(400))

    assert largest(below) < 25.0
    assert largest(above) > 1e4
    if growth is not None:
        assert radius(matrix(above, integrator)) == pytest.approx(growth, abs=5e-4)


def test_methods_without_a_stable_step() -> None:
    for z in (0.1, 0.5, 1.5):
        assert radius(matrix(z, "explicit-euler")) == pytest.approx(math.sqrt(1 + z * z), rel=1e-13)
        assert radius(matrix(z, "rk2")) == pytest.approx(math.sqrt(1 + z**4 / 4), rel=1e-13)
    assert radius(matrix(2.82, "rk4")) == pytest.approx(0.979, abs=5e-4)


# Mueller et al. 2008, chapter 3: errors at T = 0.9 for w = 2 pi with n = 200, 400, 800 steps.
ERRORS = [
    ("explicit-euler", {}, (6.63e-2, 3.28e-2, 1.63e-2)),
    ("symplectic-euler", {}, (8.42e-3, 4.18e-3, 2.08e-3)),
    ("rk2", {}, (4.55e-4, 1.12e-4, 2.79e-5)),
    ("rk4", {}, (1.83e-8, 1.12e-9, 6.97e-11)),
    ("verlet", {}, (1.11e-4, 2.77e-5, 6.92e-6)),
    ("verlet", {"form": "velocities"}, (8.42e-3, 4.18e-3, 2.08e-3)),
    ("velocity-verlet", {}, (1.11e-4, 2.77e-5, 6.92e-6)),
    ("implicit-euler", {"newton": False, **EXACT}, (6.30e-2, 3.19e-2, 1.61e-2)),
    ("implicit-euler", {"newton_tolerance": 1e-12, **EXACT}, (6.30e-2, 3.19e-2, 1.61e-2)),
]


def position_error(integrator: str, n: int, **options: Any) -> float:
    w, end = 2 * math.pi, 0.9
    body = oscillator(w)
    for _ in range(n):
        body.step(end / n, integrator, **options)
    return abs(body.positions[1, 0] - math.cos(w * end))


@pytest.mark.parametrize(("integrator", "options", "wanted"), ERRORS)
def test_errors_of_an_oscillator(integrator: str, options: dict[str, Any], wanted: tuple[float, ...]) -> None:
    for n, error in zip((200, 400, 800), wanted, strict=True):
        assert position_error(integrator, n, **options) == pytest.approx(error, rel=6e-3), n


ORDERS = [
    ("explicit-euler", {}, 1),
    ("symplectic-euler", {}, 1),
    ("rk2", {}, 2),
    ("rk4", {}, 4),
    ("velocity-verlet", {}, 2),
    ("newmark", EXACT, 2),
    ("newmark", {"elasticity": "first-half-step", **EXACT}, 2),
    ("newmark", {"elasticity": "half-step", **EXACT}, 1),
    ("newmark", {"elasticity": "full-step", **EXACT}, 1),
    ("newmark", {"finish": "backward-euler", **EXACT}, 1),
    ("implicit-euler", {"newton_tolerance": 1e-12, **EXACT}, 1),
]


@pytest.mark.parametrize(("integrator", "options", "order"), ORDERS)
def test_order_with_damping(integrator: str, options: dict[str, Any], order: int) -> None:
    """Position and velocity of a damped oscillator."""
    w, decay, end = 5.0, 1.5, 0.8
    wd = math.sqrt(w * w - decay * decay)
    c, s, e = math.cos(wd * end), math.sin(wd * end), math.exp(-decay * end)
    x0 = 0.3
    exact = np.array([x0 * e * (c + decay / wd * s), -x0 * e * w * w / wd * s])

    def error(n: int) -> float:
        body = oscillator(w, decay, position=np.array([x0, 0.0, 0.0]))
        for _ in range(n):
            body.step(end / n, integrator, **options)
        found = np.array([body.positions[1, 0] - 1.0, body.velocities[1, 0]])
        return float(np.abs(found - exact).max())

    coarse = 40 if order == 4 else 200
    measured = math.log2(error(coarse) / error(2 * coarse))
    assert measured == pytest.approx(order, abs=0.12)


@pytest.mark.parametrize(("integrator", "options"), ALL)
def test_free_flight_is_exact_where_it_should_be(integrator: str, options: dict[str, Any]) -> None:
    g, v = np.array([0.3, -9.8, 0.1]), np.array([[1.0, 2.0, 3.0], [0.0, -1.0, 0.5]])
    body = ms.solids.DeformableBody(np.array([[0.1, 0.2, 0.3], [4.0, 5.0, 6.0]]), masses=np.array([0.3, 7.0]), gravity=g)
    start = body.positions.copy()
    body.velocities = v
    end = 0.0
    steps = (0.1, 0.05, 0.13, 0.02, 0.2)
    for dt in steps:
        body.step(dt, integrator, **options)
        end += dt
    assert body.time == pytest.approx(end, rel=1e-15)
    exact = start + end * v + 0.5 * end**2 * g
    if integrator != "verlet":
        np.testing.assert_allclose(body.velocities, v + end * g, rtol=0, atol=1e-14)
    second = integrator in ("rk2", "rk4", "velocity-verlet", "newmark") or (integrator == "verlet" and not options)
    if second:
        np.testing.assert_allclose(body.positions, exact, rtol=0, atol=2e-14)
    else:
        # Each step takes the velocity of its end, or of its start: too far or not far enough by g dt^2 / 2.
        late = (-0.5 if integrator == "explicit-euler" else 0.5) * sum(dt * dt for dt in steps)
        np.testing.assert_allclose(body.positions, exact + late * g, rtol=0, atol=2e-14)


def test_verlet_runs_backwards_to_its_start() -> None:
    body = oscillator(3.0, position=np.array([0.4, 0.3, -0.2]), velocity=np.array([0.1, -1.0, 0.5]))
    start = body.positions.copy()
    for _ in range(1000):
        body.step(0.01, "verlet")
    s = body.snapshot()
    # Swap the last two positions; the velocity is their difference.
    previous = s["previous"]
    s["positions"], previous["positions"] = previous["positions"], s["positions"]
    s["velocities"] = (s["positions"] - previous["positions"]) / 0.01
    body.restore(s)
    for _ in range(999):
        body.step(0.01, "verlet")
    np.testing.assert_allclose(body.positions, start, rtol=0, atol=1e-12)

    body = oscillator(3.0, position=np.array([0.4, 0.3, -0.2]), velocity=np.array([0.1, -1.0, 0.5]))
    for _ in range(1000):
        body.step(0.01, "velocity-verlet")
    body.velocities = -body.velocities
    for _ in range(1000):
        body.step(0.01, "velocity-verlet")
    np.testing.assert_allclose(body.positions, start, rtol=0, atol=1e-12)


def test_verlet_starts_anew_where_the_body_was_changed() -> None:
    """A step after a change of velocity equals the first step of a body that begins there."""
    body = oscillator(2.0)
    for _ in range(5):
        body.step(0.1, "verlet")
    body.velocities[1] = (0.5, 0.25, 0.0)
    fresh = oscillator(2.0, position=body.positions[1].copy(), velocity=np.array([0.5, 0.25, 0.0]))
    body.step(0.1, "verlet")
    fresh.step(0.1, "verlet")
    np.testing.assert_array_equal(body.positions, fresh.positions)


def test_verlet_with_steps_of_changing_length_keeps_its_order() -> None:
    w, end = 2 * math.pi, 0.9

    def error(n: int) -> float:
        body = oscillator(w)
        # Smoothly varying steps that add up to the end.
        weights = 1 + 0.5 * np.sin(2 * np.pi * (np.arange(n) + 0.5) / n)
        for dt in end * weights / weights.sum():
            body.step(float(dt), "verlet")
        return abs(float(body.positions[1, 0]) - math.cos(w * end))

    assert error(200) / error(400) == pytest.approx(4.0, abs=0.1)


@pytest.mark.parametrize("integrator", ["symplectic-euler", "velocity-verlet", "newmark"])
def test_energy_stays_bounded(integrator: str) -> None:
    assert_bounded(integrator, 5000)


@pytest.mark.slow
@pytest.mark.parametrize(("integrator", "periods"), [("symplectic-euler", 100_000), ("velocity-verlet", 10_000), ("newmark", 10_000)])
def test_energy_stays_bounded_over_many_periods(integrator: str, periods: int) -> None:
    assert_bounded(integrator, round(periods * 4.0 * math.pi))


def assert_bounded(integrator: str, steps: int) -> None:
    """The largest energy in ten pieces of a run with a frequency times dt of 1/2 is the same."""
    body = oscillator(1.0)
    high = []
    for _ in range(10):
        for _ in range(max(steps // 10 - 400, 0)):
            body.step(0.5, integrator)
        top = 0.0
        for _ in range(400):
            body.step(0.5, integrator)
            top = max(top, body.energy()["total"])
        high.append(top)
    # As far as 400 samples find the largest.
    assert max(high) == pytest.approx(min(high), rel=1e-4)


def test_the_discrete_frequency_of_symplectic_euler() -> None:
    z = 0.5
    a = matrix(z, "symplectic-euler")
    angle = abs(np.angle(np.linalg.eigvals(a)[0]))
    assert math.sin(angle / 2) == pytest.approx(z / 2, rel=1e-13)
