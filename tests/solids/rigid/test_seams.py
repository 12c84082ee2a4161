"""What moves over the seam of two boxes side by side, as over tiles of a floor."""

from __future__ import annotations

import numpy as np
import pytest

from meniscus.solids import RigidBody, RigidSystem
from meniscus.surface import Pose, Twist


def floor(friction=0.4, step=0.0):
    system = RigidSystem(gravity=(0, 0, -9.81))
    for x, z in ((-1, -0.5), (1, -0.5 + step)):
        system.add(RigidBody.box((2, 2, 1), pose=Pose((x, 0, z)), motion="fixed"), friction=friction)
    return system


@pytest.mark.parametrize("speed", [1.0, 3.0, 10.0])
@pytest.mark.parametrize("dt", [0.01, 1 / 60])
def test_a_ball_rolls_over_a_seam(speed, dt):
    """It jumped, by 64 mm at 10 m/s."""
    system = floor()
    start, turning = Pose((-0.5, 0.03, 0.2)), Twist((speed, 0, 0), (0, speed / 0.2, 0))
    ball = system.add(RigidBody.sphere(0.2, pose=start, twist=turning), friction=0.4)
    heights = []
    while ball.center[0] < 0.5:
        system.step(dt)
        heights.append(ball.center[2])
    assert np.abs(np.array(heights) - 0.2).max() < 1e-3 * 0.2
    assert ball.velocity[0] == pytest.approx(speed, rel=1e-6)


def test_a_box_slides_over_a_seam():
    system = floor(0.0)
    box = system.add(RigidBody.box((0.3, 0.3, 0.2), pose=Pose((-0.5, 0.03, 0.1 - 2e-4)), twist=Twist((2.0, 0, 0))), friction=0.0)
    while box.center[0] < 0.5:
        system.step(0.01)
        assert abs(box.center[2] - 0.1) < 1e-3
    assert box.velocity[0] == pytest.approx(2.0, rel=1e-6)


def test_a_step_of_a_centimetre_still_stops_a_box():
    system = floor(0.0, 0.01)
    box = system.add(RigidBody.box((0.3, 0.3, 0.2), pose=Pose((-0.5, 0.03, 0.1)), twist=Twist((0.5, 0, 0))), friction=0.0)
    for _ in range(200):
        system.step(0.01)
    assert box.center[0] < -0.14
    assert box.velocity[0] < 1e-3
