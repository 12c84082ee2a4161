"""Balls and other rounded bodies: substeps, oblique impacts, spin. Exact solutions."""

from __future__ import annotations

import numpy as np
import pytest

from meniscus.solids import MassProperties, RigidBody, RigidOptions, RigidSystem
from meniscus.surface import Capsule, HalfSpace, Pose, Twist

FLOOR = HalfSpace((0, 0, 0), (0, 0, 1))


@pytest.mark.parametrize("substeps", [1, 2, 10])
def test_without_friction_nothing_spins_up_nor_sinks(substeps):
    system = RigidSystem(RigidOptions(substeps=substeps), gravity=(0, 0, -9.81))
    system.add_obstacle(FLOOR, friction=0.0)
    slides = system.add(RigidBody.sphere(0.1, pose=Pose((0, 0, 0.1)), twist=Twist((1, 0, 0), (0, 0, 0))), friction=0.0)
    spins = system.add(RigidBody.sphere(0.1, pose=Pose((0, 5, 0.1)), twist=Twist((0, 0, 0), (0, 200, 0))), friction=0.0)
    for _ in range(100):
        system.step(0.01)
    np.testing.assert_allclose(slides.angular_velocity, 0, atol=1e-9)
    np.testing.assert_allclose(slides.velocity, [1, 0, 0], atol=1e-9)
    np.testing.assert_allclose(slides.center, [1, 0, 0.1], atol=2e-4)
    np.testing.assert_allclose(spins.center, [0, 5, 0.1], atol=2e-4)
    np.testing.assert_allclose(spins.angular_velocity, [0, 200, 0], rtol=1e-12)


@pytest.mark.parametrize("substeps", [1, 4])
@pytest.mark.parametrize("dt", [1 / 60, 0.01, 0.003])
def test_an_oblique_impact_has_the_normal_of_its_time(dt, substeps):
    """Offset 0.12 of the sum of radii 0.2: the other ball goes off along the line of centres, (0.8, -0.6), with 0.8 of 5 m/s."""
    system = RigidSystem(RigidOptions(substeps=substeps))
    other = system.add(RigidBody.sphere(0.1), friction=0.0, restitution=1.0)
    ball = system.add(RigidBody.sphere(0.1, pose=Pose((-1, 0.12, 0)), twist=Twist((5, 0, 0), (0, 0, 0))), friction=0.0, restitution=1.0)

    def spin():
        return sum(np.cross(b.center, b.momentum) + b.angular_momentum for b in (other, ball))

    before = spin()
    for _ in range(round(0.4 / dt)):
        system.step(dt)
    np.testing.assert_allclose(other.velocity, [3.2, -2.4, 0], atol=1e-9)
    np.testing.assert_allclose(ball.velocity, [1.8, 2.4, 0], atol=1e-9)
    np.testing.assert_allclose([b.angular_velocity for b in (other, ball)], 0, atol=1e-9)
    np.testing.assert_allclose(spin(), before, rtol=1e-9, atol=1e-12)


def test_balls_that_pass_each_other_do_not_touch():
    system = RigidSystem()
    system.add(RigidBody.sphere(0.1))
    ball = system.add(RigidBody.sphere(0.1, pose=Pose((-1, 0.2001, 0)), twist=Twist((37, 0, 0), (0, 0, 0))))
    for _ in range(10):
        system.step(0.01)
    np.testing.assert_array_equal(system.bodies[0].momentum, 0)
    np.testing.assert_allclose(ball.velocity, [37, 0, 0], rtol=1e-15)


@pytest.mark.parametrize("dt", [1 / 24, 0.01, 1 / 240])
@pytest.mark.parametrize("restitution", [0.5, 1.0])
def test_what_lands_flat_does_not_turn(dt, restitution):
    system = RigidSystem(gravity=(0, 0, -9.81))
    system.add_obstacle(FLOOR, friction=0.0)
    capsule = RigidBody(
        properties=MassProperties.capsule(0.1, 1.0),
        shape=Capsule((0, 0, -0.5), (0, 0, 0.5), 0.1),
        pose=Pose((9, 0, 1.1), [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]),
    )
    for body in (RigidBody.box((0.4, 0.4, 0.2), pose=Pose((0, 0, 1.1))), capsule):
        system.add(body, friction=0.0, restitution=restitution)
    top, hit = np.zeros(2), False
    for _ in range(int((1 + 1.2 * restitution) * 0.4515 / dt)):
        hit = system.step(dt).impacts > 0 or hit
        for k, b in enumerate(system.bodies):
            assert np.abs(b.angular_velocity).max() < 1e-9
            # The parabola that the body is on.
            top[k] = max(top[k], b.center[2] + b.velocity[2] ** 2 / 19.62 - 0.1) if hit else 0
    np.testing.assert_allclose(top, restitution**2, rtol=1e-9)


@pytest.mark.parametrize(("size", "dt"), [((0.01,) * 3, 1 / 24), ((1e-4,) * 3, 0.01), ((1, 1, 0.001), 0.01), ((0.5, 0.5, 0.005), 1 / 24)])
def test_small_and_thin_boxes_stay_where_they_rest(size, dt):
    """Gravity in a step leads farther than they are high: all corners are near the ground."""
    system = RigidSystem(gravity=(0, 0, -9.81))
    system.add_obstacle(FLOOR)
    boxes = [system.add(RigidBody.box(size, pose=Pose((0, 0, (0.5 + k) * size[2])))) for k in range(2 if size[2] == 0.001 else 1)]
    for _ in range(100):
        system.step(dt)
    for k, b in enumerate(boxes):
        assert b.center[2] == pytest.approx((0.5 + k) * size[2], abs=0.03 * size[2])
        assert b.rotation[2, 2] == pytest.approx(1, abs=1e-5)
        assert np.hypot(*b.center[:2]) < 0.01 * size[2]
