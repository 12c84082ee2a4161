"""Implicit steps: Newton's method, stiff springs, energies, and input on which explicit steps would fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.bodies import flat_net, net
from support.variants import slow_but

from meniscus.mesh import cloth_mesh
from meniscus.solids import DeformableBody, DihedralBending, EdgeSprings, SpringOptions


def chain(n: int, stiffness: float, *, damping: float = 0.0, gravity: Any = None, length: float = 0.1, mass: float = 0.1) -> DeformableBody:
    """n nodes down the y axis, the first one pinned."""
    x = np.zeros((n, 3))
    x[:, 1] = -length * np.arange(n)
    body = DeformableBody(x, masses=mass, gravity=gravity)
    edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1).astype(np.int32)
    body.add(EdgeSprings(edges, SpringOptions(spring_constant=stiffness, damping=damping), x))
    body.pin([0])
    return body


def cloth(rows: int = 8, columns: int = 9, stiffness: float = 200.0, damping: float = 0.0) -> DeformableBody:
    x, edges = net(rows, columns)
    body = DeformableBody(x, masses=0.01, gravity=(0.0, -9.8, 0.0))
    body.add(EdgeSprings(edges, SpringOptions(spring_constant=stiffness, damping=damping), flat_net(rows, columns)))
    body.pin([0, columns - 1])
    return body


@pytest.mark.parametrize(
    ("dt", "tangent"),
    [(0.01, "definite"), (0.1, "definite"), (1.0, "definite"), (0.01, "exact"), (0.1, "exact"), (1.0, "exact"), (0.01, "frozen")],
)
def test_newton_solves_the_equation_of_the_step(dt: float, tangent: str) -> None:
    body = cloth()
    body.velocities = np.random.default_rng(5).normal(size=(len(body), 3))
    body.velocities[[0, 8]] = 0.0
    x0, v0 = body.positions.copy(), body.velocities.copy()
    options: dict[str, Any] = {"tangent": tangent, "newton_tolerance": 1e-11, "max_newton": 500}
    info = body.step(dt, "implicit-euler", **options)
    assert info.newton is not None
    assert info.newton.converged
    np.testing.assert_allclose(body.positions, x0 + dt * body.velocities, rtol=0, atol=1e-15 + 1e-15 * dt * info.max_speed)
    forces = body.forces[0].forces(body.positions) + 0.01 * body.gravity
    residual = (0.01 * (body.velocities - v0) - dt * forces)[1:]
    free = np.setdiff1d(np.arange(len(body)), [0, 8]) - 1
    scale = dt * (np.linalg.norm(forces) + np.linalg.norm(0.01 * body.gravity) * np.sqrt(len(body)))
    assert np.linalg.norm(residual[free]) < 1e-10 * scale


def test_newton_converges_quadratically() -> None:
    residuals = []
    for iterations in range(1, 12):
        body = cloth(stiffness=50.0)
        body.positions[:, 1] += 0.02 * np.random.default_rng(6).normal(size=len(body))
        body.velocities[:, 2] = 1.0
        info = body.step(
            0.02, "implicit-euler", tangent="exact", max_newton=iterations, newton_tolerance=1e-30, tolerance=1e-13, raise_on_failure=False
        )
        assert info.newton is not None
        residuals.append(info.newton.residual)
    logs = np.log10(np.array([r for r in residuals if r > 1e-13]))
    drops = -np.diff(logs)
    # Each of the last drops is about twice the one before.
    assert drops[-1] > 1.6 * drops[-2]
    assert min(residuals) < 1e-12


def test_an_indefinite_tangent_is_replaced() -> None:
    body = chain(6, 1e4)
    body.positions = 0.3 * body.positions
    body.positions[:, 0] = 1e-3 * np.sin(np.arange(6.0)) * (np.arange(6) > 0)
    info = body.step(0.05, "implicit-euler", tangent="exact")
    assert info.used_definite_tangent
    assert info.converged
    assert body.energy()["total"] < 0.5 * 1e4 * 5 * 0.07**2


@pytest.mark.parametrize("dt", [0.05, 0.5, 5.0])
def test_a_hanging_chain_comes_to_rest_at_its_known_length(dt: float) -> None:
    n, k, m, g = 12, 40.0, 0.1, 9.8
    body = chain(n, k, gravity=(0.0, -g, 0.0), mass=m)
    for _ in range(round(150.0 / dt) + 20):
        body.step(dt, "implicit-euler", newton_tolerance=1e-12)
    stretch = m * g * np.arange(n - 1, 0, -1) / k
    np.testing.assert_allclose(-np.diff(body.positions[:, 1]), 0.1 + stretch, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(body.positions[:, [0, 2]], 0.0)


def test_one_linearisation_of_a_linear_chain_is_backward_euler() -> None:
    n, k, b, m, dt = 9, 300.0, 0.7, 0.1, 0.03
    body = chain(n, k, damping=b, gravity=(0.0, -9.8, 0.0), mass=m)
    body.velocities[1:, 1] = np.sin(np.arange(1.0, n))
    body.positions[1:, 1] *= 1.1
    y, v = body.positions[1:, 1].copy(), body.velocities[1:, 1].copy()
    rest = -0.1 * np.arange(1, n)
    difference = np.eye(n - 1) - np.eye(n - 1, k=-1)
    laplace = difference.T @ difference
    matrix = m * np.eye(n - 1) + dt * b * laplace + dt * dt * k * laplace
    new = np.linalg.solve(matrix, m * v + dt * (-k * laplace @ (y - rest) - m * 9.8))
    body.step(dt, "implicit-euler", newton=False, tolerance=1e-14)
    np.testing.assert_allclose(body.velocities[1:, 1], new, rtol=0, atol=1e-12)
    np.testing.assert_allclose(body.positions[1:, 1], y + dt * new, rtol=0, atol=1e-13)


def swing(stiffness: float, **options: Any) -> tuple[float, float]:
    """Top speed and greatest length of a spring of a chain of 2 m that swings for 10 s with one step per frame."""
    body = chain(20, stiffness, gravity=(0.0, -9.8, 0.0), mass=0.01)
    body.positions[:, 0], body.positions[:, 1] = -body.positions[:, 1].copy(), 0.0
    speed = length = 0.0
    for _ in range(240):
        speed = max(speed, body.step(1 / 24, "newmark", tolerance=1e-8, max_iterations=5000, **options).max_speed)
        length = max(length, float(np.linalg.norm(np.diff(body.positions, axis=0), axis=1).max()))
    return speed, length


@pytest.mark.parametrize("stiffness", slow_but([1e2, 1e5, 1e8], 1e2, 1e5))
@pytest.mark.parametrize("finish", ["trapezoid", "backward-euler"])
def test_stiff_springs_take_one_step_per_frame(stiffness: float, finish: str) -> None:
    """Selle 2008, figure 5.5, with tension across the springs implicit too; it falls 2 m, so with at most 10 m/s or so."""
    speed, length = swing(stiffness, elasticity="full-step", finish=finish)
    assert speed < 12.0
    assert length < 0.2


def test_frozen_directions_leave_tension_explicit() -> None:
    """As printed, directions are frozen: the tension of a chain, which acts across its springs, is then explicit and limits the step."""
    options: dict[str, Any] = {"elasticity": "full-step", "tangent": "frozen", "raise_on_failure": False}
    assert swing(1e5, safeguard=False, **options)[0] > 1e6
    assert swing(1e5, **options)[0] < 12.0


def test_implicit_euler_never_gains_energy() -> None:
    body = cloth(damping=0.01)
    energy = [body.energy()["total"]]
    for _ in range(300):
        body.step(0.01, "implicit-euler", newton_tolerance=1e-10)
        energy.append(body.energy()["total"])
    e = np.array(energy)
    assert (np.diff(e) <= 1e-12 * np.abs(e).max()).all()
    assert e[-1] < e[0]


@pytest.mark.parametrize("elasticity", ["half-step", "full-step"])
def test_backward_euler_in_the_velocities_loses_energy_on_a_linear_chain(elasticity: str) -> None:
    body = chain(9, 300.0)
    body.velocities[1:, 1] = np.sin(np.arange(1.0, 9.0))
    before = body.energy()["total"]
    for _ in range(200):
        body.step(0.05, "implicit-euler", newton=False, tangent="frozen", tolerance=1e-12)
        now = body.energy()["total"]
        assert now <= before * (1 + 1e-12)
        before = now
    # It is at rest by now: Newmark's method begins anew.
    assert before < 1e-12
    body.velocities[1:, 1] = np.sin(np.arange(1.0, 9.0))
    start = body.energy()["total"]
    for _ in range(200):
        body.step(0.05, "newmark", elasticity=elasticity, tolerance=1e-12)
    assert 0 < body.energy()["total"] <= 1e-11 * start


def run_down(integrator: str, steps: int, **options: Any) -> np.ndarray:
    """The largest energy of each slowest period of a damped chain, from a rough start (RK2 alone would gain energy at long steps)."""
    n, k, m = 8, 400.0, 0.1
    body = chain(n, k, damping=0.02, mass=m)
    rng = np.random.default_rng(7)
    body.velocities[1:] = 0.01 * rng.normal(size=(n - 1, 3)) * [0.0, 1.0, 0.0]
    slowest = 2 * np.sqrt(k / m) * np.sin(np.pi / (2 * (2 * n - 1)))
    dt = (0.1 if integrator == "rk2" else 0.5) * body.max_dt("newmark", cfl=1.0, max_strain=1e9)
    per = int(np.ceil(2 * np.pi / slowest / dt))
    energies = np.empty(steps)
    for s in range(steps):
        body.step(dt, integrator, **options)
        energies[s] = body.energy()["total"]
    whole = steps // per * per
    return energies[:whole].reshape(-1, per).max(axis=1)


DAMPED: list[tuple[str, dict[str, Any]]] = [
    ("symplectic-euler", {}),
    ("rk2", {}),
    ("rk4", {}),
    ("velocity-verlet", {}),
    ("newmark", {"tolerance": 1e-10}),
    ("newmark", {"elasticity": "half-step", "tolerance": 1e-10}),
    ("implicit-euler", {"newton": False, "tangent": "frozen", "tolerance": 1e-10}),
]


@pytest.mark.parametrize(("integrator", "options"), slow_but(DAMPED, DAMPED[0], DAMPED[4], DAMPED[6]))
def test_energy_of_a_damped_chain_does_not_rise(integrator: str, options: dict[str, Any]) -> None:
    top = run_down(integrator, 5000, **options)
    assert top[-1] < 0.55 * top[0]  # measured 0.5 with the short steps of RK2, else at most 0.18
    assert (np.diff(top) <= 1e-9 * top[:-1] + 1e-28).all()


@pytest.mark.slow
@pytest.mark.parametrize(("integrator", "options"), DAMPED)
def test_energy_of_a_damped_chain_does_not_rise_in_a_long_run(integrator: str, options: dict[str, Any]) -> None:
    top = run_down(integrator, 100_000, **options)
    assert (np.diff(top) <= 1e-9 * top[:-1] + 1e-28).all()


@pytest.mark.slow
def test_energy_falls_monotonically_over_many_implicit_steps() -> None:
    body = chain(6, 400.0, damping=0.05, gravity=(0.0, -9.8, 0.0))
    body.positions[:, 0], body.positions[:, 1] = -body.positions[:, 1], 0.0
    before = start = body.energy()["total"]
    scale = 0.1 * 9.8 * 0.5 * 6
    for _ in range(100_000):
        body.step(0.01, "implicit-euler")
        now = body.energy()["total"]
        assert now <= before + 1e-12 * scale
        before = now
    assert before < start - 0.5 * scale


def torture(steps: int, **options: Any) -> float:
    """Random teleports of moved nodes, pulses of 100 g, and a start with all nodes in one point; returns the top speed."""
    rng = np.random.default_rng(8)
    x, edges = net(5, 6)
    body = DeformableBody(np.zeros_like(x), masses=0.01)
    body.add(EdgeSprings(edges, SpringOptions(spring_constant=2000.0, damping=0.05), flat_net(5, 6)))
    dt, top = 1 / 30, 0.0
    for s in range(steps):
        body.gravity = 980.0 * rng.normal(size=3) if rng.random() < 0.1 else np.array([0.0, -9.8, 0.0])
        if rng.random() < 0.2:
            body.move([0, 29], rng.uniform(-2.0, 2.0, (2, 3)))
        if rng.random() < 0.02:
            body.positions[1:29] = body.positions[0]
        if s % 500 == 499:
            body.release()
            body.velocities = np.zeros((30, 3))
            body.move([0, 29], rng.uniform(-2.0, 2.0, (2, 3)))
        info = body.step(dt, "implicit-euler", raise_on_failure=False, **options)
        top = max(top, info.max_speed)
        assert np.isfinite(body.positions).all()
    return top


@pytest.mark.parametrize("options", [{"max_newton": 8, "max_iterations": 100}, {"newton": False, "max_iterations": 100}])
def test_implicit_euler_survives_torture(options: dict[str, Any]) -> None:
    assert torture(300, **options) < 1e4


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"max_newton": 8, "max_iterations": 100}, {"newton": False, "max_iterations": 100}])
def test_implicit_euler_survives_long_torture(options: dict[str, Any]) -> None:
    assert torture(10_000, **options) < 1e4


@pytest.mark.parametrize("held", [False, True])
def test_newmark_takes_steps_of_cloth_of_a_millimetre(held: bool) -> None:
    """Stiffness over mass is so large that rounding leaves 2e-6 of the right-hand side: no solve comes nearer, and none has to."""
    mesh = cloth_mesh(6, 6, (1e-3, 1e-3))
    body = DeformableBody(mesh, density=0.2, gravity=(0.0, 0.0, -9.8))
    body.add(EdgeSprings(mesh, SpringOptions(stiffness=1000.0, damping_fraction=0.5, masses=body.masses)))
    body.add(DihedralBending(mesh, SpringOptions(stiffness=1e-3)))
    if held:
        body.pin([0, 6])
    dt, before = 1 / 48, body.positions.copy()
    infos = [body.step(dt, "newmark", elasticity="full-step") for _ in range(2)]
    assert max(solve.residual for info in infos for solve in info.solves) > 1e-6
    if held:
        # A stiff plate on a hinge, which the first steps turn.
        lengths = [np.linalg.norm(x[0] - x[-1]) for x in (before, body.positions)]
        assert lengths[1] == pytest.approx(lengths[0], rel=1e-3)
        assert body.velocities[:, 2].mean() < 0
    else:
        np.testing.assert_allclose(body.velocities, np.tile([0, 0, -2 * dt * 9.8], (len(body), 1)), rtol=0, atol=1e-6)
