"""Pose targets: bodies that are pulled, and bodies that are led."""

from __future__ import annotations

import math

import numpy as np
import pytest

import meniscus as ms
from meniscus.solids import KinematicPath
from meniscus.solids.interaction.pose_target import turn_between
from meniscus.surface import Pose, Twist
from tests.support.interaction.playground import empty_world, rigid_world


def turned(angle: float, axis: tuple[float, float, float] = (0, 0, 1)) -> list[float]:
    a = np.array(axis) / np.linalg.norm(axis)
    return [math.cos(angle / 2), *(math.sin(angle / 2) * a)]


def test_turns_between_rotations() -> None:
    for angle in (0.0, 1e-9, 0.3, 2.0, math.pi - 1e-6):
        r = np.array(Pose((0, 0, 0), turned(angle, (1, 2, -1))).rotation)
        np.testing.assert_allclose(turn_between(np.eye(3), r), angle * np.array([1, 2, -1]) / math.sqrt(6), atol=1e-9)


def test_a_body_comes_to_its_pose() -> None:
    box = ms.solids.RigidBody.box((0.3, 0.2, 0.1), twist=Twist((0, 0, 0), (2, 0, 0)))
    world = empty_world(box)
    target = world.interaction.aim(box, Pose((0.3, 0.1, -0.2), turned(2.0, (1, 1, 0))))
    for _ in range(200):
        world.step(0.01)
    np.testing.assert_allclose(box.pose.translation, (0.3, 0.1, -0.2), atol=1e-5)
    np.testing.assert_allclose(turn_between(box.rotation, np.array(target.target.rotation)), 0, atol=1e-4)
    np.testing.assert_allclose(world.interaction.impulse, box.momentum, atol=1e-12)
    target.release()
    assert not world.interaction.pulls


def test_force_and_torque_have_limits() -> None:
    box = ms.solids.RigidBody.box((0.3, 0.2, 0.1))
    world = empty_world(box)
    world.interaction.aim(box, Pose((30, 40, 0), turned(3.0)), stiffness=1e12, torsion=1e12, max_force=5.0, max_torque=0.2)
    world.step(0.01)
    np.testing.assert_allclose(box.momentum, (0.03, 0.04, 0), atol=1e-12)
    np.testing.assert_allclose(box.angular_momentum, (0, 0, 2e-3), atol=1e-12)


@pytest.mark.parametrize("stiffness", [1e9, 1e12])
def test_stiff_aims_are_there_at_once_and_stay(stiffness: float) -> None:
    box = ms.solids.RigidBody.box((0.3, 0.2, 0.1))
    world = empty_world(box)
    wide = {"max_force": math.inf, "max_torque": math.inf, "max_speed": math.inf, "max_spin": math.inf}
    world.interaction.aim(
        box, Pose((0.01, 0, 0), turned(0.1, (0, 0, 1))), stiffness=stiffness, damping=0, torsion=stiffness, torsion_damping=0, **wide
    )
    for _ in range(5):
        world.step(0.01)
        np.testing.assert_allclose(box.center, (0.01, 0, 0), atol=1e-6)
        np.testing.assert_allclose(turn_between(np.eye(3), box.rotation), (0, 0, 0.1), atol=1e-6)


def test_led_bodies_have_the_velocity_that_leads_there() -> None:
    body = ms.solids.RigidBody.box((0.2, 0.2, 0.2), motion=KinematicPath(Pose((0, 0, 0))))
    world = empty_world(body)
    target = world.interaction.aim(body, Pose((0.02, 0, 0)))
    world.step(0.01)
    np.testing.assert_allclose(body.center, (0.02, 0, 0), atol=1e-15)
    np.testing.assert_allclose(body.velocity, (2, 0, 0), atol=1e-12)
    target.target = Pose((0.02, 0, 0), turned(0.1))
    world.step(0.01)
    np.testing.assert_allclose(body.velocity, 0, atol=1e-12)
    np.testing.assert_allclose(body.angular_velocity, (0, 0, 10), atol=1e-10)
    world.step(0.01)
    np.testing.assert_allclose(body.velocity, 0, atol=1e-12)
    target.target = Pose((5, 0, 0), turned(math.pi, (0, 1, 0)))
    for _ in range(4):
        world.step(0.01)
    np.testing.assert_allclose(body.center, (5, 0, 0), atol=1e-12)
    assert not world.interaction.impulse.any()


def test_led_bodies_go_no_faster_than_they_may() -> None:
    body = ms.solids.RigidBody.box((0.2, 0.2, 0.2), motion=KinematicPath(max_speed=2.0, max_spin=3.0))
    world = empty_world(body)
    world.interaction.aim(body, Pose((1, 0, 0), turned(1.5)))
    for k in range(1, 60):
        world.step(0.01)
        assert abs(body.center[0] - min(0.02 * k, 1.0)) < 1e-12
        np.testing.assert_allclose(turn_between(np.eye(3), body.rotation), (0, 0, min(0.03 * k, 1.5)), atol=1e-9)


def test_led_bodies_push_others() -> None:
    world = rigid_world(1)
    pusher = world.add(ms.solids.RigidBody.box((0.1, 0.3, 0.1), motion=KinematicPath(Pose((-0.3, 0, 0.15)))))
    target = world.interaction.aim(pusher, Pose((-0.3, 0, 0.15)))
    for k in range(100):
        target.target = Pose((-0.3 + 0.004 * k, 0, 0.15))
        world.step(0.01)
    box = world.rigid.bodies[0]
    assert abs(box.center[0] - (0.096 + 0.2)) < 0.01
    assert abs(box.velocity[0] - 0.4) < 0.05


def test_a_new_aim_takes_the_place_of_the_old_one() -> None:
    box = ms.solids.RigidBody.box((0.2, 0.2, 0.2))
    world = empty_world(box, ms.solids.RigidBody.sphere(0.1, motion="fixed", pose=Pose((3, 0, 0))))
    first = world.interaction.aim(box, Pose((1, 0, 0)))
    second = world.interaction.aim(box, Pose((2, 0, 0)))
    assert not first.active
    assert list(world.interaction.pulls.values()) == [second]
    with pytest.raises(ValueError, match="KinematicPath"):
        world.interaction.aim(world.rigid.bodies[1], Pose((0, 0, 0)))
