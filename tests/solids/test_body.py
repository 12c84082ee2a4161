"""Deformable bodies: state, constraints, and steps that fail."""

from __future__ import annotations

import gc
import pickle
from typing import Any

import numpy as np
import pytest
from support.bodies import flat_net, net, oscillator
from support.forces.checks import matrix

import meniscus as ms
from meniscus.solids import DeformableBody, EdgeSprings, SpringOptions

INTEGRATORS: list[tuple[str, dict[str, Any]]] = [
    ("explicit-euler", {}),
    ("symplectic-euler", {}),
    ("rk2", {}),
    ("rk4", {}),
    ("verlet", {}),
    ("velocity-verlet", {}),
    ("newmark", {}),
    ("newmark", {"elasticity": "half-step"}),
    ("newmark", {"elasticity": "half-step", "finish": "backward-euler"}),
    ("implicit-euler", {}),
    ("implicit-euler", {"newton": False}),
    ("implicit-euler", {"tangent": "exact"}),
]


def cloth(
    rows: int = 8, columns: int = 9, damping: float = 0.02, gravity: tuple[float, float, float] | None = (0.0, -9.8, 0.0)
) -> DeformableBody:
    x, edges = net(rows, columns)
    body = DeformableBody(x, masses=0.01, gravity=gravity)
    body.add(EdgeSprings(edges, SpringOptions(spring_constant=20.0, damping=damping), flat_net(rows, columns)))
    return body


def test_views_share_the_memory_of_the_body() -> None:
    body = cloth()
    x, v, m = body.positions, body.velocities, body.masses
    for view, again in ((x, body.positions), (v, body.velocities), (m, body.masses)):
        assert np.shares_memory(view, again)
        assert view.flags.writeable
        assert view.flags.c_contiguous
    before = x.copy()
    v[:, 0] = 2.0
    body.step(0.001)
    assert np.abs(x - before).max() > 1e-3
    np.testing.assert_array_equal(x, body.positions)
    last = x.copy()
    del body
    gc.collect()
    np.testing.assert_array_equal(x, last)
    other = cloth()
    other.positions = other.positions + 1.0
    np.testing.assert_allclose(other.positions, before + 1.0, rtol=0, atol=1e-15)


def test_energies_and_momenta() -> None:
    body = cloth()
    rng = np.random.default_rng(1)
    body.velocities = rng.normal(size=(len(body), 3))
    x, v, m = body.positions, body.velocities, body.masses
    e = body.energy()
    assert e["kinetic"] == pytest.approx(0.5 * (m[:, None] * v**2).sum(), rel=1e-13)
    assert e["gravity"] == pytest.approx(9.8 * (m * x[:, 1]).sum(), rel=1e-13)
    _, edges = net(8, 9)
    flat = flat_net(8, 9)
    length, rest = (np.linalg.norm(p[edges[:, 1]] - p[edges[:, 0]], axis=1) for p in (x, flat))
    assert e["elastic"] == pytest.approx(0.5 * 20.0 * ((length - rest) ** 2).sum(), rel=1e-12)
    assert e["elastic"] > 0
    assert e["total"] == e["kinetic"] + e["elastic"] + e["gravity"]
    np.testing.assert_allclose(body.momentum(), (m[:, None] * v).sum(axis=0), rtol=1e-13, atol=1e-15)
    about = np.array([0.3, -1.0, 2.0])
    np.testing.assert_allclose(body.angular_momentum(about), np.cross(x - about, m[:, None] * v).sum(axis=0), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("integrator", "options"), INTEGRATORS)
def test_momentum_is_conserved(integrator: str, options: dict[str, Any]) -> None:
    body = cloth(gravity=None)
    rng = np.random.default_rng(2)
    body.velocities = rng.normal(size=(len(body), 3))
    p, angular, scale = body.momentum(), body.angular_momentum(), 0.01 * np.abs(body.velocities).sum()
    if integrator in ("newmark", "implicit-euler"):
        options = {"tolerance": 1e-14, "raise_on_failure": False, **options}
    for _ in range(10):
        body.step(0.002, integrator, **options)
    np.testing.assert_allclose(body.momentum(), p, rtol=0, atol=1e-13 * scale)
    # Both are symmetric in position and velocity, as angular momentum asks; without springs' own damping all the way through.
    if integrator == "symplectic-euler":
        np.testing.assert_allclose(body.angular_momentum(), angular, rtol=0, atol=1e-13 * scale)


@pytest.mark.parametrize(("integrator", "options"), INTEGRATORS)
def test_constrained_nodes_do_exactly_what_they_should(integrator: str, options: dict[str, Any]) -> None:
    body = cloth()
    rng = np.random.default_rng(3)
    body.velocities = rng.normal(size=(len(body), 3))
    body.pin([0, 5])
    body.slide([10, 11], (0.0, 1.0, 0.0))
    body.slide([11], (0.0, 0.3, 2.0))
    body.slide([20], np.array([1.0, 2.0, -2.0]))
    start = body.positions.copy()

    def path(t: float) -> tuple[np.ndarray, np.ndarray]:
        return start[[30, 40]] + np.array([0.5 * t * t, 0.0, np.sin(t)]), np.tile([t, 0.0, np.cos(t)], (2, 1))

    body.move([30, 40], path)
    body.masses[50] = np.inf
    flying = body.velocities[50].copy()
    for _ in range(5):
        here = body.positions[50].copy()
        body.move([60], start[[60]] + body.time)
        body.step(0.002, integrator, **options)
        np.testing.assert_array_equal(body.velocities[50], flying)
        np.testing.assert_allclose(body.positions[50], here + 0.002 * flying, rtol=0, atol=1e-15)
        np.testing.assert_array_equal(body.positions[60], start[60] + (body.time - 0.002))
    np.testing.assert_array_equal(body.positions[[0, 5]], start[[0, 5]])
    np.testing.assert_array_equal(body.velocities[[0, 5]], 0.0)
    np.testing.assert_array_equal(body.positions[10, 1], start[10, 1])
    np.testing.assert_array_equal(body.positions[11, 1:], start[11, 1:])
    assert abs(body.positions[11, 0] - start[11, 0]) > 1e-5
    assert abs((body.positions[20] - start[20]) @ [1.0, 2.0, -2.0]) < 1e-15
    assert np.abs(body.positions[20] - start[20]).max() > 1e-5
    x, v = path(body.time)
    np.testing.assert_array_equal(body.positions[[30, 40]], x)
    np.testing.assert_array_equal(body.velocities[[30, 40]], v)


ORDERS = [("rk4", {}, 4), ("rk2", {}, 2), ("velocity-verlet", {}, 2), ("newmark", {"tolerance": 1e-14}, 2), ("symplectic-euler", {}, 1)]


@pytest.mark.parametrize("given", ["velocities", "positions only"])
@pytest.mark.parametrize(("integrator", "options", "order"), ORDERS)
def test_a_driven_oscillator_keeps_the_order(integrator: str, options: dict[str, Any], order: int, given: str) -> None:
    """x'' = -w^2 (x - s(t)) - b (x' - s'(t)) with a support s(t) that swings."""
    w, b, f, end = 4.0, 0.9, 3.0, 1.0
    body: DeformableBody

    def support(t: float) -> Any:
        x, v = np.zeros((1, 3)), np.zeros((1, 3))
        x[0, 0], v[0, 0] = 0.2 * np.sin(f * t), 0.2 * f * np.cos(f * t)
        return (x, v) if given == "velocities" else x

    # The exact solution: particular part by complex amplitudes, homogeneous part from the start.
    amplitude = 0.2 * (w * w + 1j * b * f) / (w * w - f * f + 1j * b * f)
    particular = lambda t: (amplitude * np.exp(1j * f * t)).imag  # noqa: E731
    slope = lambda t: (1j * f * amplitude * np.exp(1j * f * t)).imag  # noqa: E731
    wd = np.sqrt(w * w - b * b / 4)
    a0 = 0.3 - particular(0.0)
    a1 = (0.0 - slope(0.0) + b / 2 * a0) / wd
    exact = particular(end) + np.exp(-b / 2 * end) * (a0 * np.cos(wd * end) + a1 * np.sin(wd * end))

    def error(n: int) -> float:
        nonlocal body
        body = DeformableBody(np.array([[0.0, 0.0, 0.0], [1.3, 0.0, 0.0]]), masses=1.0)
        body.add(EdgeSprings(np.array([[0, 1]], np.int32), SpringOptions(spring_constant=w * w, damping=b), rest_lengths=1.0))
        body.move([0], support)
        for _ in range(n):
            body.step(end / n, integrator, **options)
        return abs(float(body.positions[1, 0]) - 1.0 - exact)

    if order == 4 and given == "positions only":
        order = 2
    n = 40 if order == 4 else 100
    assert np.log2(error(n) / error(2 * n)) > order - 0.15


def test_moved_nodes_stay_where_they_came_and_can_be_released() -> None:
    body = cloth()
    target = body.positions[[3, 4]] + 0.01
    body.move([3, 4], target)
    body.step(0.01)
    np.testing.assert_allclose(body.velocities[[3, 4]], 1.0, rtol=1e-9)
    body.step(0.01)
    np.testing.assert_array_equal(body.positions[[3, 4]], target)
    np.testing.assert_array_equal(body.velocities[[3, 4]], 0.0)
    np.testing.assert_array_equal(body.constrained, [3, 4])
    body.release([3])
    body.step(0.01)
    assert not np.array_equal(body.positions[3], target[0])
    np.testing.assert_array_equal(body.positions[4], target[1])
    body.release()
    assert len(body.constrained) == 0


def test_three_sliding_directions_hold_a_node() -> None:
    body = cloth()
    where = body.positions[7].copy()
    for normal in ((1.0, 1.0, 0.0), (1.0, 1.0, 1e-14), (0.0, 1.0, 1.0), (1.0, 0.0, 1.0)):
        body.slide([7], normal)
    for _ in range(3):
        body.step(0.01)
    np.testing.assert_array_equal(body.positions[7], where)


@pytest.mark.parametrize(("integrator", "options"), INTEGRATORS)
def test_a_restart_repeats_every_bit(integrator: str, options: dict[str, Any]) -> None:
    body = cloth()
    body.pin([0, 8])
    body.slide([20], (0.0, 1.0, 1.0))
    for _ in range(3):
        body.step(0.003, integrator, **options)
    saved = body.snapshot()
    double = body.copy()
    for _ in range(3):
        body.step(0.003, integrator, **options)
    x, v = body.positions.copy(), body.velocities.copy()
    body.restore(saved)
    np.testing.assert_array_equal(body.positions, saved["positions"])
    for again in (body, double):
        for _ in range(3):
            again.step(0.003, integrator, **options)
        np.testing.assert_array_equal(again.positions, x)
        np.testing.assert_array_equal(again.velocities, v)
        assert again.time == pytest.approx(0.018)


def lift(time: float) -> np.ndarray:
    return np.array([[0.0, time, 0.0], [0.1, time, 0.0]])


def test_pickles_and_copies_keep_what_holds_the_nodes() -> None:
    body = DeformableBody(np.random.default_rng(9).normal(size=(9, 3)), masses=np.arange(1.0, 10.0), gravity=(1.0, 2.0, 3.0))
    body.velocities = np.random.default_rng(10).normal(size=(9, 3))
    body.masses[8] = np.inf
    body.pin([0])
    body.slide([1, 2], (1.0, 2.0, 2.0))
    body.slide([2], (0.0, 1.0, 5.0))
    body.move([4, 3], lift)
    body.move([5], np.ones((1, 3)))
    for other in (pickle.loads(pickle.dumps(body)), body.copy()):
        np.testing.assert_array_equal(other.constrained, body.constrained)
        assert not np.shares_memory(other.positions, body.positions)
        here = body.snapshot()
        for _ in range(2):
            other.step(0.1)
            body.step(0.1)
        np.testing.assert_array_equal(other.positions, body.positions)
        np.testing.assert_array_equal(other.positions[5], 1.0)
        np.testing.assert_array_equal(other.positions[[4, 3]], lift(0.2))
        body.restore(here)
        body.move([5], np.ones((1, 3)))


@pytest.mark.parametrize(("integrator", "options"), INTEGRATORS)
def test_the_same_bits_on_any_number_of_threads(integrator: str, options: dict[str, Any]) -> None:
    results = []
    before = ms.num_threads()
    try:
        for threads in (1, 2, 3, 5, 8):
            ms.set_num_threads(threads)
            body = cloth(80, 90)
            body.pin([0, 89])
            body.slide([2000], (1.0, 1.0, 1.0))
            for _ in range(2):
                body.step(0.002, integrator, **options)
            results.append((body.positions.tobytes(), body.velocities.tobytes(), str(body.energy())))
    finally:
        ms.set_num_threads(before)
    assert len(set(results)) == 1


@pytest.mark.parametrize(("integrator", "options"), INTEGRATORS)
def test_repeated_steps_take_no_new_blocks(integrator: str, options: dict[str, Any]) -> None:
    body = cloth()
    body.pin([0, 8])
    for _ in range(2):
        body.step(0.002, integrator, **options)
    body.max_dt()
    before = ms.core.block_allocations()
    for _ in range(5):
        body.step(0.002, integrator, **options)
        body.max_dt()
    assert ms.core.block_allocations() == before


def test_stages_make_the_step() -> None:
    whole, parts = cloth(), cloth()
    for body in (whole, parts):
        body.pin([0, 8])
        body.slide([20], (0.0, 1.0, 1.0))
        body.velocities[30] = (1.0, 2.0, 3.0)
    dt = 0.004
    whole.step(dt, "newmark", elasticity="half-step", tolerance=1e-13)
    start = parts.velocities.copy()
    half, info = ms.solids.solve_velocity(parts, dt / 2, elastic_dt=dt / 2, tolerance=1e-13)
    assert info.converged
    x = ms.solids.advance_positions(parts, dt, half)
    middle = 0.5 * (parts.positions + x)
    half, _ = ms.solids.solve_velocity(parts, dt / 2, middle, elastic_dt=dt / 2, tolerance=1e-13)
    speed = ms.solids.commit(parts, dt, x, ms.solids.extrapolate_velocity(half, start))
    # The second solve of a whole step begins where the first ended; otherwise all is the same.
    np.testing.assert_allclose(parts.positions, whole.positions, rtol=0, atol=1e-15)
    np.testing.assert_allclose(parts.velocities, whole.velocities, rtol=0, atol=1e-11)
    assert parts.time == whole.time
    assert speed == pytest.approx(np.linalg.norm(parts.velocities, axis=1).max(), rel=1e-15)


def test_a_failed_step_changes_nothing() -> None:
    body = cloth()
    body.velocities[:, 1] = 1.0
    body.pin([0])
    x, v = body.positions.copy(), body.velocities.copy()
    with pytest.raises(ms.ConvergenceError, match=r"in 1 iterations.*limit of iterations") as caught:
        body.step(0.01, elasticity="half-step", max_iterations=1, tolerance=1e-12)
    assert caught.value.info.iterations == 1
    with pytest.raises(ms.ConvergenceError, match="Newton"):
        body.step(0.05, "implicit-euler", max_newton=1)
    body.velocities[4, 1] = 1e308
    with pytest.raises(ValueError, match=r"node \d with a position or velocity that is not finite"):
        body.step(10.0, "symplectic-euler")
    body.velocities[4, 1] = 1.0
    body.move([8], lambda t: t / 0)
    with pytest.raises(ZeroDivisionError):
        body.step(0.01)
    body.release([8])
    np.testing.assert_array_equal(body.positions, x)
    np.testing.assert_array_equal(body.velocities, v)
    assert body.time == 0.0
    info = body.step(0.01, elasticity="half-step", max_iterations=1, tolerance=1e-12, raise_on_failure=False)
    assert not info.converged
    assert body.time == 0.01


def test_wrong_arguments() -> None:
    body = cloth()
    for dt in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="dt must be"):
            body.step(dt)
    with pytest.raises(ValueError, match="integrator must be one of"):
        body.step(0.1, "leapfrog")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="elasticity must be one of"):
        body.step(0.1, elasticity="half")
    with pytest.raises(TypeError, match="unexpected keyword"):
        body.step(0.1, gravity=3)
    body.positions[5, 2] = np.nan
    with pytest.raises(ValueError, match="positions must be finite, but that of node 5"):
        body.step(0.1)
    body.positions[5, 2] = 0.0
    body.masses[7] = 0.0
    with pytest.raises(ValueError, match="masses must be positive, but that of node 7 is 0"):
        body.step(0.1)
    for nodes in ([72], [-1], [1, 1]):
        with pytest.raises(ValueError, match="node"):
            body.pin(nodes)
    with pytest.raises(TypeError, match="nodes must be"):
        body.pin([0.5])
    with pytest.raises(ValueError, match="normal of node 3"):
        body.slide([3], (0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="path must have shape"):
        body.move([3], np.zeros((2, 3)))
    with pytest.raises(TypeError, match="force must be a force"):
        body.add("gravity")
    with pytest.raises(ValueError, match="has this force already"):
        body.add(body.forces[0])
    with pytest.raises(ValueError, match="force acts on node 71, but the body has 3 nodes"):
        DeformableBody(np.zeros((3, 3)), masses=1.0).add(body.forces[0])
    with pytest.raises(ValueError, match="masses must be positive, but that of node 1"):
        DeformableBody(np.zeros((3, 3)), masses=np.array([1.0, -1.0, 1.0]))
    with pytest.raises(TypeError, match="float64"):
        DeformableBody(np.zeros((3, 3), np.float32), masses=1.0)
    with pytest.raises(ValueError, match="positions must be finite"):
        DeformableBody(np.full((2, 3), np.inf), masses=1.0)
    with pytest.raises(ValueError, match="velocities in the snapshot must be finite"):
        body.restore({**body.snapshot(), "velocities": np.full((72, 3), np.nan)})
    with pytest.raises(ValueError, match="a snapshot of DeformableBody must hold"):
        body.restore({"positions": body.positions})
    assert "72 nodes, 0 constrained, EdgeSprings, t = 0 s" in repr(body)


def test_an_empty_body_and_one_without_forces() -> None:
    empty = DeformableBody(np.zeros((0, 3)), masses=1.0)
    free = DeformableBody(np.ones((1, 3)), masses=1.0)
    for integrator, options in INTEGRATORS:
        assert empty.step(0.1, integrator, **options).max_speed == 0.0
        free.step(0.1, integrator, **options)
    assert empty.energy()["total"] == 0.0
    assert free.max_dt() == np.inf
    assert free.limits().cause == "none"
    np.testing.assert_array_equal(free.positions, 1.0)


def test_time_step_limits() -> None:
    k, m = 300.0, 0.02
    body = DeformableBody(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), masses=m)
    body.add(EdgeSprings(np.array([[0, 1]], np.int32), SpringOptions(spring_constant=k), rest_lengths=1.0))
    w = np.sqrt(2 * k / m)
    limits = body.limits(cfl=1.0)
    assert limits.cause == "frequency"
    assert limits.dt == body.max_dt(cfl=1.0)
    # The bound of the frequency is the frequency itself here.
    assert limits.dt == pytest.approx(2 / w, rel=1e-12)
    assert body.max_dt("rk4", cfl=1.0) == pytest.approx(8**0.5 / w, rel=1e-12)
    assert body.max_dt("implicit-euler") == body.max_dt("newmark", elasticity="half-step") == np.inf
    # Unequal masses: safe, and not absurdly small.
    body.masses[1] = 1.7
    w = np.sqrt(k * (1 / m + 1 / 1.7))
    assert 1 / w <= body.max_dt(cfl=1.0) <= 2 / w
    body.pin([0])
    assert body.max_dt(cfl=1.0) == pytest.approx(2 / np.sqrt(2 * k / 1.7), rel=1e-12)
    body.velocities[1] = (-50.0, 3.0, 0.0)
    limits = body.limits(max_strain=0.2)
    assert (limits.cause, limits.dt) == ("strain", pytest.approx(0.2 / 50.0, rel=1e-12))
    body.release()
    body.velocities = np.zeros((2, 3))
    body.move([0], lambda t: (np.array([[0.0, 2.0 * t, 0.0]]), np.array([[0.0, 2.0, 0.0]])))
    body.step(1e-4)
    limits = body.limits(max_motion=1e-3)
    assert (limits.cause, limits.dt) == ("motion", pytest.approx(1e-3 / 2.0, rel=1e-12))


def test_bodies_stay_bounded_up_to_the_limit() -> None:
    """The bound of the frequency holds for a whole net: at 0.99 of it nothing grows, in no direction."""
    body = cloth(damping=0.0, gravity=None)
    body.velocities = 1e-6 * np.random.default_rng(4).normal(size=(len(body), 3))
    body.positions = flat_net(8, 9)
    stiffness = -matrix(lambda d: body.forces[0].differentials(body.positions, d), len(body))
    limit = 2 / np.sqrt(np.linalg.eigvalsh(stiffness).max() / 0.01)
    dt = body.max_dt(cfl=0.99)
    # Safe, and not far from the real limit, beyond which it grows.
    assert 0.65 * limit <= dt <= 0.99 * limit
    beyond = body.copy()
    start = body.energy()["total"]
    for _ in range(2000):
        body.step(dt, "newmark")
    assert np.abs(body.velocities).max() < 1e-4
    assert body.energy()["total"] > 0.1 * start
    for _ in range(30):
        beyond.step(1.02 * limit, "newmark", safeguard=False)
    assert np.abs(beyond.velocities).max() > 1e-3


def test_oscillator_of_the_support_module() -> None:
    body = oscillator(2.0)
    assert body.energy()["elastic"] == pytest.approx(2.0, rel=1e-15)
