"""What wakes rigid bodies that sleep, and what may sleep at all. Source: Müller et al. 2008, section 6.6."""

from __future__ import annotations

import numpy as np
import pytest

from meniscus.solids import RigidBody, RigidOptions, RigidSystem
from meniscus.surface import Box, HalfSpace, KinematicSolid, Pose, Twist

FLOOR = HalfSpace((0, 0, 0), (0, 0, 1))


@pytest.mark.parametrize("restitution", [0.0, 1.0])
@pytest.mark.parametrize("count", [1, 4])
def test_momentum_passes_into_sleepers_that_are_hit_within_a_step(restitution, count):
    system = RigidSystem(RigidOptions(sleep_after=0.1), gravity=(0, 0, 0))
    row = [system.add(RigidBody.sphere(0.1, pose=Pose((0.2001 * k, 0, 0))), restitution=restitution) for k in range(count)]
    ball = system.add(RigidBody.sphere(0.1, pose=Pose((-1.003, 0, 0)), twist=Twist((2, 0, 0), (0, 0, 0))), restitution=restitution)
    before = system.momentum[0]
    asleep = 0
    for _ in range(80):
        asleep = max(asleep, system.step(0.01).asleep)
    assert asleep == count
    assert system.momentum[0] == pytest.approx(before, rel=1e-12)
    if restitution == 1.0:
        assert row[-1].velocity[0] == pytest.approx(2, rel=1e-9)
    else:
        assert ball.velocity[0] <= row[0].velocity[0] + 1e-9


def carried(kind, path, seconds=4.0, **box):
    system = RigidSystem(RigidOptions(sleep_after=0.5), gravity=(0, 0, -9.81))
    if kind == "body":
        system.add(RigidBody.box((2, 2, 0.2), motion=path))
    else:
        system.add_obstacle(KinematicSolid(Box((-1, -1, -0.1), (1, 1, 0.1)), path))
    body = system.add(RigidBody.box((0.2, 0.2, 0.2), pose=Pose((0, 0, 0.1))))
    most = 0
    for _ in range(round(seconds / 0.01)):
        info = system.step(0.01)
        most = max(most, info.asleep)
    assert most == 1
    return body, info


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["body", "solid"])
def test_what_begins_to_move_takes_sleepers_along(kind):
    for speed in (0.1, 0.005, -0.1):
        body, info = carried(kind, lambda t, v=speed: Pose((0, 0, -0.1 + v * max(0, t - 2))))
        assert body.center[2] == pytest.approx(0.1 + 2 * speed, abs=2e-3)
        assert info.asleep == 0
    body, _ = carried(kind, lambda t: Pose((0.2 * max(0, t - 2), 0, -0.1)))
    assert body.center[0] == pytest.approx(0.4, abs=0.02)
    body, _ = carried(kind, lambda t: Pose((0, 0, -0.1 if t < 2 else -100.0)), 3.0)
    assert body.center[2] < -3


def test_belts_and_pushers_wake():
    system = RigidSystem(RigidOptions(sleep_after=0.5), gravity=(0, 0, -9.81))
    system.add_obstacle(KinematicSolid(FLOOR, velocity=lambda t: Twist((0.5 if t > 2 else 0.008, 0, 0), (0, 0, 0))))
    box = system.add(RigidBody.box((0.2, 0.2, 0.2), pose=Pose((0, 0, 0.1))))
    for _ in range(200):
        system.step(0.01)
    assert box.center[0] == pytest.approx(0.016, abs=1e-3)
    for _ in range(100):
        system.step(0.01)
    assert box.velocity[0] == pytest.approx(0.5, abs=1e-3)
    system = RigidSystem(RigidOptions(sleep_after=0.5), gravity=(0, 0, -9.81))
    system.add_obstacle(FLOOR)
    system.add(RigidBody.box((0.2, 0.2, 0.2), motion=lambda t: Pose((-2 + 0.8 * t, 0, 0.2))))
    box = system.add(RigidBody.box((0.2, 0.2, 0.2), pose=Pose((0, 0, 0.1))))
    for _ in range(300):
        system.step(0.01)
    assert box.center[0] > 0.59


def sleepers(dt=0.01, friction=0.4):
    system = RigidSystem(RigidOptions(sleep_after=0.2), gravity=(0, 0, -9.81))
    system.add_obstacle(FLOOR, friction=friction)
    boxes = [system.add(RigidBody.box((0.2, 0.2, 0.2), pose=Pose((0, 0, z))), friction=friction) for z in (0.1, 0.3)]
    for _ in range(round(0.5 / dt)):
        info = system.step(dt)
    assert info.asleep == 2
    return system, *boxes


def test_what_loses_its_hold_falls():
    system, lower, upper = sleepers()
    lower.pose = Pose((5, 0, 0.1))
    for _ in range(100):
        system.step(0.01)
    assert upper.center[2] == pytest.approx(0.1, abs=2e-3)
    system, lower, upper = sleepers()
    upper.gravity = (0, 0, 9.81)
    for _ in range(100):
        system.step(0.01)
    assert upper.center[2] > 5
    # So slowly at first that the fall looks like rest.
    system, lower, upper = sleepers(1 / 2000, 0.0)
    lower.momentum[...] = (4000, 0, 0)
    for _ in range(700):
        system.step(1 / 2000)
    assert upper.center[2] == pytest.approx(0.1, abs=2e-3)
    system = RigidSystem(RigidOptions(sleep_after=0.2), gravity=(0, 0, -9.81))
    arm = system.add(RigidBody.box((1, 0.1, 0.1), pose=Pose((0.5, 0, 0))))
    joint = system.join(arm, None, "hinge", point=(0, 0, 0), axis=(0, 1, 0), motor=(0.0, 1e5))
    for _ in range(60):
        info = system.step(0.01)
    assert info.asleep == 1
    joint.motor = (0.0, 0.0)
    for _ in range(50):
        system.step(0.01)
    assert joint.place > 1


@pytest.mark.parametrize("gravity", [0.0, 0.001, 0.02])
def test_what_touches_nothing_never_sleeps(gravity):
    system = RigidSystem(RigidOptions(sleep_after=0.5), gravity=(0, 0, -gravity))
    box = system.add(RigidBody.box((0.2, 0.2, 0.2), pose=Pose((0, 0, 2)), twist=Twist((0.009, 0, 0), (0, 0, 0))))
    for _ in range(300):
        assert system.step(0.01).asleep == 0
    np.testing.assert_allclose(box.center, [0.027, 0, 2 - 0.5 * gravity * 9], atol=1e-12)
