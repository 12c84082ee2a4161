"""Steps within a budget of time: they end early where it is short, and change no bit where it is long."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.solids import DeformableBody, EdgeSprings, SpringOptions

STIFF: list[tuple[str, dict[str, Any]]] = [
    ("newmark", {"elasticity": "full-step"}),
    ("newmark", {"elasticity": "half-step", "finish": "backward-euler"}),
    ("newmark", {"elasticity": "full-step", "safeguard": False}),
    ("implicit-euler", {}),
    ("implicit-euler", {"newton": False}),
]


def cloth(n: int = 12) -> DeformableBody:
    flat = ms.mesh.cloth_mesh(n, n)
    mesh = ms.mesh.TriangleMesh(np.ascontiguousarray(flat.vertices[:, [0, 2, 1]]), flat.triangles)
    body = DeformableBody(mesh, density=0.2, gravity=(0.0, -9.8, 0.0))
    body.add(EdgeSprings(mesh, SpringOptions(stiffness=2e4, damping=1e-3)))
    body.pin([0, n])
    body.velocities[1:n, 0] = 3.0
    return body


@pytest.mark.parametrize(("integrator", "options"), STIFF)
def test_a_short_budget_ends_the_step_early(integrator: Any, options: dict[str, Any]) -> None:
    """With no time at all there is hardly an iteration; the step is taken, says so, and does not explode."""
    whole, body = cloth(), cloth()
    full = whole.step(1 / 24, integrator, tolerance=1e-12, raise_on_failure=False, **options)
    info = body.step(1 / 24, integrator, tolerance=1e-12, budget=1e-9, **options)
    assert info.out_of_time
    assert not full.out_of_time
    assert not info.converged
    assert sum(s.iterations for s in info.solves) <= 4
    assert sum(s.iterations for s in full.solves) > 20
    assert body.time == whole.time
    for _ in range(20):
        info = body.step(1 / 24, integrator, budget=1e-9, **options)
        assert np.isfinite(body.positions).all()
    if options.get("safeguard", True) and options.get("newton", True):
        assert info.max_speed < 30.0


@pytest.mark.parametrize(("integrator", "options"), [*STIFF, ("rk4", {}), ("verlet", {})])
def test_a_long_budget_changes_no_bit(integrator: Any, options: dict[str, Any]) -> None:
    dt = 1 / 24 if options or integrator == "implicit-euler" else 1e-5
    one, other = cloth(6), cloth(6)
    for _ in range(5):
        a = one.step(dt, integrator, **options)
        b = other.step(dt, integrator, budget=1e9, **options)
        assert not b.out_of_time
        assert (a.converged, a.retaken) == (b.converged, b.retaken)
    np.testing.assert_array_equal(one.positions, other.positions)
    np.testing.assert_array_equal(one.velocities, other.velocities)


@pytest.mark.parametrize("budget", [0.0, -1.0, np.nan])
def test_bad_budgets_are_refused(budget: float) -> None:
    with pytest.raises(ValueError, match="budget"):
        cloth(4).step(0.01, budget=budget)


def torture(steps: int, **options: Any) -> float:
    """Random teleports of moved nodes, pulses of 100 g, and nodes that fall into one point; returns the top speed."""
    rng = np.random.default_rng(8)
    body = cloth(4)
    body.release()
    n = len(body)
    body.move([0, n - 1], body.positions[[0, n - 1]].copy())
    top = 0.0
    for s in range(steps):
        body.gravity = 980.0 * rng.normal(size=3) if rng.random() < 0.1 else np.array([0.0, -9.8, 0.0])
        if rng.random() < 0.2:
            body.move([0, n - 1], rng.uniform(-2.0, 2.0, (2, 3)))
        if rng.random() < 0.02:
            body.positions[1 : n - 1] = body.positions[0]
        if s % 200 == 199:
            body.velocities[1 : n - 1] = 0.0
        top = max(top, body.step(1 / 30, raise_on_failure=False, **options).max_speed)
        assert np.isfinite(body.positions).all()
    return top


OPTIONS: list[dict[str, Any]] = [
    {"elasticity": "full-step", "max_iterations": 100, "max_newton": 8},
    {"elasticity": "first-half-step", "max_iterations": 100, "max_newton": 8},
    {"elasticity": "half-step", "tangent": "exact", "budget": 0.004},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_newmark_survives_torture(options: dict[str, Any]) -> None:
    assert torture(150, **options) < 1e4


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS)
def test_newmark_survives_long_torture(options: dict[str, Any]) -> None:
    assert torture(10_000, **options) < 1e4
