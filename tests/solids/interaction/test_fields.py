"""Fields of force on bodies of all types: closed forms, accounts, and bounds."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support.variants import slow_but

import meniscus as ms
from meniscus.solids import Attractor, Explosion, Fan, FunctionField, Wind
from meniscus.solids.interaction.picking import surface_of_body
from meniscus.solids.interaction.rigid_group import RigidGroup
from tests.support.interaction.playground import KINDS, angular_momentum_of, body_of, empty_world, momentum_of


def mass_of(body: Any) -> float:
    return float(body.mass) if isinstance(body, (ms.solids.RigidBody, ms.solids.ReducedBody)) else float(body.masses.sum())


def act(field: Any, body: Any, dt: float = 0.01, time: float = 0.0) -> Any:
    if isinstance(body, ms.solids.RigidBody):
        return field.act_on_rigid(RigidGroup([body]), 0.0, time, dt)[0]
    return field.act(body, surface_of_body(body), 0.0, time, dt)


@pytest.mark.parametrize("kind", KINDS)
def test_uniform_accelerations_are_those_of_gravity(kind: str) -> None:
    body = body_of(kind)
    before, turn = momentum_of(body), angular_momentum_of(body)
    center = body.center if kind == "box" else body.frame[:3] if kind == "reduced" else body.masses @ body.positions / body.masses.sum()
    field = FunctionField(name="g", function=lambda x, v, t: np.broadcast_to((1.0, -2.0, 3.0), x.shape))
    given = act(field, body)
    np.testing.assert_allclose(given, 0.01 * mass_of(body) * np.array([1.0, -2, 3]), rtol=1e-12)
    np.testing.assert_allclose(momentum_of(body) - before, given, rtol=1e-10)
    np.testing.assert_allclose(angular_momentum_of(body) - turn, np.cross(center, given), rtol=1e-9, atol=1e-12)


def test_linear_fields_turn_rigid_bodies_as_their_points_would() -> None:
    """A field that is linear in space gives a rigid body the force and torque that its mass gives it, by a fine mesh."""
    rng = np.random.default_rng(1)
    slope, offset = rng.standard_normal((3, 3)), rng.standard_normal(3)
    body = body_of("box")
    before, turn = body.momentum.copy(), body.angular_momentum.copy()
    act(FunctionField(name="f", function=lambda x, v, t: x @ slope.T + offset), body, 1.0)
    fine = ms.mesh.tet_block(12, 12, 12, (0.3, 0.2, 0.1), origin=(-0.15, -0.1, -0.05))
    corners = fine.vertices[fine.tets]
    volume = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])) / 6
    # Exact for quadratic functions on each tetrahedron: four points.
    a, b = 0.5854101966249685, 0.1381966011250105
    weights = np.full((4, 4), b) + (a - b) * np.eye(4)
    points = body.positions((weights @ corners).reshape(-1, 3))
    masses = np.repeat(250 * volume, 4)
    forces = masses[:, None] * (points @ slope.T + offset)
    np.testing.assert_allclose(body.momentum - before, forces.sum(axis=0), rtol=1e-10)
    np.testing.assert_allclose(body.angular_momentum - turn, np.cross(points - body.center, forces).sum(axis=0), rtol=1e-9, atol=1e-10)


def test_an_explosion_gives_its_speed() -> None:
    world = empty_world(ms.solids.DeformableBody(np.array([[0.5, 0, 0], [0, 0, -0.25], [0, 2.0, 0]]), masses=1.0))
    applied = world.interaction.add_field(Explosion((0, 0, 0), speed=8, radius=1, duration=0.05))
    # Places hardly change while it lasts.
    for _ in range(400):
        world.bodies[0].positions[...] = [[0.5, 0, 0], [0, 0, -0.25], [0, 2.0, 0]]
        world.step(0.005)
    np.testing.assert_allclose(world.bodies[0].velocities, [[4, 0, 0], [0, 0, -6], [0, 0, 0]], atol=1e-10)
    np.testing.assert_allclose(applied.impulse, (4, 0, -6), atol=1e-10)
    np.testing.assert_allclose(world.interaction.impulse, (4, 0, -6), atol=1e-10)


@pytest.mark.slow
def test_an_attractor_holds_what_comes_near() -> None:
    world = empty_world(ms.solids.DeformableBody(np.array([[1.0, 0, 0]]), masses=1.0))
    world.interaction.add_field(Attractor((0, 0, 0), strength=4, core=0.5, damping=4.0))
    for _ in range(1500):
        world.step(0.005)
    assert np.abs(world.bodies[0].positions).max() < 1e-3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("drag", slow_but([1e-3, 1.0, 1e3, 1e12, 1e300], 1.0, 1e300))
def test_wind_carries_no_faster_than_itself(kind: str, drag: float) -> None:
    """Normal velocities of triangles go towards those of the wind, and not beyond; the account has it all."""
    body = body_of(kind)
    if kind == "box":
        body.angular_momentum[...] = 0
    wind = np.array([3.0, 1.0, -4.0])
    total = np.zeros(3)
    before = momentum_of(body)
    for _ in range(200):
        total += act(Wind(tuple(wind), drag), body)
    np.testing.assert_allclose(momentum_of(body) - before, total, rtol=1e-9, atol=1e-12)
    v = body.velocities(body.positions()) if kind == "box" else body.velocities
    assert np.isfinite(v).all()
    assert np.linalg.norm(v, axis=1).max() < 3 * np.linalg.norm(wind)
    if drag >= 1e12 and kind in ("cloth", "box", "reduced"):
        # A closed body goes with the wind; a flat sheet along its normal. (Nodes alone, without elements, do not go together.)
        mean = momentum_of(body) / mass_of(body)
        np.testing.assert_allclose(mean[2] if kind == "cloth" else mean, wind[2] if kind == "cloth" else wind, rtol=0.02)


def test_wind_on_a_plate_is_quadratic() -> None:
    plate = ms.solids.RigidBody(ms.mesh.cloth_mesh(3, 3, (0.5, 0.4)), shell=True, density=2.0)
    # Linearised implicitly: j = b u / (1 + b/m), b = drag |u| A dt.
    b = 1.3 * 5 * 0.2 * 0.01
    given = act(Wind((2.0, 0.0, 5.0), 1.3), plate)
    np.testing.assert_allclose(given, (0, 0, b * 5 / (1 + b / plate.mass)), rtol=1e-12, atol=1e-15)


def test_a_fan_blows_in_a_cone() -> None:
    fan = Fan((0, 0, 6.0), position=(0, 0, 0), angle=0.5, reach=2.0)
    x = np.array([[0, 0, 1.0], [0, 0, 2.5], [0, 0, -1.0], [np.sin(0.25), 0, np.cos(0.25)], [1.0, 0, 1.0], [0, 0, 0.0]])
    v = fan.at(x)
    np.testing.assert_allclose(v[0], (0, 0, 3))
    np.testing.assert_allclose(v[3], 1.5 * x[3])
    assert not v[[1, 2, 4, 5]].any()


HUGE = (
    FunctionField(name="inf", function=lambda x, v, t: np.full(x.shape, np.inf)),
    FunctionField(name="far", function=lambda x, v, t: 1e300 * (x - 0.1)),
    Explosion((0, 0, 0), speed=1e300, radius=1e300),
    Attractor((0.05, 0, 0), strength=1e300, core=1e-12),
    Wind((1e300, 0, -1e300), 1e300),
    Fan((0, 0, 1e200), drag=1e200, reach=1e9),
)


@pytest.mark.parametrize(("kind", "field"), list(itertools.product(KINDS, HUGE)))
def test_huge_fields_never_give_more_than_their_largest_speed(kind: str, field: Any) -> None:
    body = body_of(kind)
    for k in range(20):
        act(field, body, 0.01, 0.01 * k)
    v = body.velocities(body.positions()) if kind == "box" else np.asarray(body.velocities)
    assert np.isfinite(v).all()
    assert np.linalg.norm(v, axis=1).max() < 50 * 4


def test_fields_end_change_and_refuse() -> None:
    world = empty_world(ms.solids.DeformableBody(np.zeros((1, 3)), masses=2.0))

    def up(x: Any, v: Any, t: float) -> Any:
        return np.broadcast_to((0, 0, 1.0), x.shape)

    applied = world.interaction.add_field(up)
    world.step(0.5)
    np.testing.assert_allclose(world.bodies[0].velocities, [[0, 0, 0.5]])
    applied.field = FunctionField(name="up", function=up, max_acceleration=0.5)
    world.step(0.5)
    np.testing.assert_allclose(world.bodies[0].velocities, [[0, 0, 0.75]])
    applied.remove()
    applied.remove()
    world.step(0.5)
    np.testing.assert_allclose(world.bodies[0].velocities, [[0, 0, 0.75]])
    np.testing.assert_allclose(applied.impulse, (0, 0, 1.5))
    world.interaction.add_field(lambda x, v, t: np.full(x.shape, np.nan), name="nan")
    with pytest.raises(ValueError, match="no numbers; nothing has changed"):
        world.step(0.5)
    np.testing.assert_allclose(world.bodies[0].velocities, [[0, 0, 0.75]])
    with pytest.raises(ValueError, match="another function is known"):
        world.interaction.add_field(lambda x, v, t: x, name="nan")
    with pytest.raises(TypeError, match="belong to fields that are functions"):
        world.interaction.add_field(Wind(), name="w")
    with pytest.raises(ValueError, match="angle"):
        Fan(angle=3.0)
