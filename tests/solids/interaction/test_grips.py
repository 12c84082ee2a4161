"""Points of bodies of every type: velocities, inverse masses and impulses against what impulses really do; attachments of any two."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.solids.interaction.grip import grip_type
from meniscus.solids.interaction.picking import nearest, surface_of_body
from meniscus.solids.interaction.rigid_grips import TurnGrip
from tests.support.interaction.bench import Bench
from tests.support.interaction.playground import KINDS, angular_momentum_of, body_of, momentum_of

RNG = np.random.default_rng(7)


def grip_of(body: Any, count: int = 5) -> Any:
    surface = surface_of_body(body)
    assert surface is not None
    rng = np.random.default_rng(5)
    triangles = rng.integers(0, len(surface.triangles), count).astype(np.int32)
    return grip_type(body).on(body, surface, triangles, rng.dirichlet(np.ones(3), count))


@pytest.mark.parametrize("kind", KINDS)
def test_points_move_as_their_rows_say(kind: str) -> None:
    body = body_of(kind)
    grip = grip_of(body)
    before, inverse = grip.velocities, grip.inverse_mass
    if kind == "box":
        np.testing.assert_allclose(before, body.velocities(grip.positions), rtol=1e-13)
        np.testing.assert_allclose(inverse, body.inverse_mass(grip.positions), rtol=1e-12, atol=1e-14)
    else:
        np.testing.assert_allclose(before, np.einsum("kc,kcd->kd", grip.weights, body.velocities[grip.nodes]), rtol=1e-12, atol=1e-14)
    p, total, turn = np.array([0.3, -0.2, 0.5]), momentum_of(body), angular_momentum_of(body)
    for k in range(len(grip)):
        start = grip.velocities[k]
        impulses = np.zeros((len(grip), 3))
        impulses[k] = p
        grip.apply_impulses(impulses)
        np.testing.assert_allclose(grip.velocities[k] - start, inverse[k] @ p, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(momentum_of(body) - total, len(grip) * p, rtol=1e-12)
    expected = np.cross(grip.positions, p).sum(axis=0)
    np.testing.assert_allclose(angular_momentum_of(body) - turn, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_grips_move_with_their_bodies(kind: str) -> None:
    body = body_of(kind, (0.1, 0.2, 0.3))
    grip = grip_of(body)
    start, v = grip.positions, grip.velocities
    h = 1e-6
    body.step(h)
    np.testing.assert_allclose((grip.positions - start) / h, v, atol=2e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_nearest_points_are_on_the_surface(kind: str) -> None:
    body = body_of(kind)
    surface = surface_of_body(body)
    assert surface is not None
    grip = nearest(body, surface, RNG.uniform(-1, 1, (20, 3)))
    distances = ms.collision.closest_point(surface.vertices, surface.triangles, np.ascontiguousarray(grip.positions)).distances
    assert distances.max() < 1e-14


def amount_of_motion(body: Any) -> float:
    v = body.velocities(body.positions()) if isinstance(body, ms.solids.RigidBody) else body.velocities
    mass = body.mass if isinstance(body, (ms.solids.RigidBody, ms.solids.ReducedBody)) else body.masses.sum()
    return float(mass * np.linalg.norm(v, axis=1).mean())


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations_with_replacement(KINDS, 2)))
def test_any_two_bodies_hold_together_and_keep_their_momentum(first: str, second: str) -> None:
    bench = Bench(body_of(first), body_of(second, (0.02, 0.0, -0.32)))
    points = np.array([[0.05, 0.02, 0.0], [0.15, 0.02, 0.0], [0.1, 0.15, 0.0]])
    attachment = bench.attach(points)
    apart = attachment.gaps.max()
    assert apart < 1e-15
    before = sum(momentum_of(body) for body in bench.bodies)
    # Of all nodes, without regard to directions: what rounding is relative to.
    scale = sum(amount_of_motion(body) for body in bench.bodies)
    gaps = []
    for _ in range(20):
        bench.step(1e-3)
        gaps.append(attachment.gaps.max())
    after = sum(momentum_of(body) for body in bench.bodies)
    assert np.abs(after - before).max() < 1e-12 * scale
    bench.interaction.act(bench.time, 1e-3, lambda body: None)
    assert np.abs(sum(momentum_of(body) for body in bench.bodies) - after).max() < 1e-14 * scale
    assert np.abs(attachment.impulse).max() > 0
    # What is left is what bodies do within a step: of first order in it.
    assert max(gaps) < 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_points_of_a_held_attachment_stand_still(kind: str) -> None:
    """Right after the solve the velocities of all points are those that close the gap in the step."""
    body = body_of(kind)
    bench = Bench(body)
    attachment = bench.attach(grip_of(body, 3).positions)
    bench.interaction.iterations = 10000
    bench.interaction.act(0.0, 0.01, lambda body: None)
    assert np.abs(attachment.grip.velocities).max() < 1e-9


@pytest.mark.parametrize("compliance", [1e-3, 1e-6])
def test_a_compliant_attachment_is_an_implicit_spring(compliance: float) -> None:
    box = ms.solids.RigidBody.box((0.2, 0.2, 0.2), density=100)
    bench = Bench(box)
    attachment = bench.attach(np.array([[0.0, 0.0, 0.1]]), compliance=compliance)
    attachment.target = (0.0, 0.0, 0.2)
    x, v, m, k, dt = 0.0, 0.0, box.mass, 1 / compliance, 0.01
    for _ in range(50):
        bench.step(dt)
        v = (v + dt / m * k * (0.1 - x)) / (1 + dt**2 * k / m)
        x += dt * v
        assert abs(box.center[2] - x) < 1e-12
        assert abs(box.velocity[2] - v) < 1e-10


def test_the_turn_of_a_body_is_a_grip() -> None:
    box = body_of("box")
    turn = TurnGrip(box, {"local": np.zeros((1, 3))})
    np.testing.assert_allclose(turn.velocities[0], box.angular_velocity, rtol=1e-14)
    before = box.angular_velocity
    turn.apply_impulses(np.array([[0.1, 0.2, 0.3]]))
    np.testing.assert_allclose(box.angular_velocity - before, turn.inverse_mass[0] @ (0.1, 0.2, 0.3), rtol=1e-11)


def test_held_nodes_do_not_yield() -> None:
    cloth = body_of("cloth")
    cloth.pin([0])
    cloth.slide([1], (0, 0, 1))
    cloth.masses[2] = np.inf
    grip = grip_type(cloth)(cloth, {"nodes": np.array([[0], [1], [2], [3]], np.int32), "weights": np.ones((4, 1))})
    w = 1 / cloth.masses
    expected = [np.zeros((3, 3)), w[1] * np.diag([1.0, 1, 0]), np.zeros((3, 3)), w[3] * np.eye(3)]
    np.testing.assert_allclose(grip.inverse_mass, expected, atol=1e-15)


def test_what_is_no_body_has_no_grips() -> None:
    with pytest.raises(TypeError, match="a body must be one of DeformableBody"):
        grip_type(3)
