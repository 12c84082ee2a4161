"""Edges inside of flat surfaces are none: bodies slide over triangles as over a plane."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms
from meniscus.solids import RigidBody, RigidSystem
from meniscus.surface import Pose, Twist


def floor_of(system, cells, closed, thickness):
    if closed:
        mesh = ms.mesh.tet_block(cells, cells, 1, (6.0, 6.0, 0.5), origin=(-3, -3, -0.5)).boundary
        system.add(RigidBody(mesh, motion="fixed"), form="mesh", thickness=thickness, friction=0.0)
    else:
        system.add_obstacle(ms.mesh.cloth_mesh(cells, cells, (6.0, 6.0), origin=(-3, -3, 0)), thickness=thickness, friction=0.0)


@pytest.mark.parametrize("cells", [2, 10, 41])
@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("thickness", [0.01, 0.001])
def test_a_box_slides_over_triangles(cells, closed, thickness):
    system = RigidSystem(gravity=(0, 0, -9.81))
    floor_of(system, cells, closed, thickness)
    box = system.add(RigidBody.box((0.3, 0.3, 0.1), pose=Pose((-2, 0.03, 0.05 + thickness / 2)), twist=Twist((2, 0.1, 0), (0, 0, 0))))
    for _ in range(100):
        system.step(0.01)
        assert box.rotation[2, 2] > 1 - 1e-6
        assert abs(box.velocity[2]) < 1e-3
    np.testing.assert_allclose(box.velocity[:2], [2, 0.1], atol=1e-5)


@pytest.mark.parametrize("closed", [False, True])
def test_a_ball_rolls_over_triangles(closed):
    system = RigidSystem(gravity=(0, 0, -9.81))
    floor_of(system, 20, closed, 0.001)
    ball = system.add(RigidBody.sphere(0.1, pose=Pose((-2, 0.03, 0.1005)), twist=Twist((2, 0.1, 0), (-1, 20, 0))))
    for _ in range(100):
        system.step(0.01)
    np.testing.assert_allclose(ball.velocity, [2, 0.1, 0], atol=1e-6)


def test_edges_that_are_there_still_hold():
    """The rim of a plate that lies across an edge of a prism."""
    system = RigidSystem(gravity=(0, 0, -9.81))
    system.add(
        RigidBody.hull([(-1, -1, -1), (1, -1, -1), (0, -1, 0), (-1, 1, -1), (1, 1, -1), (0, 1, 0)], motion="fixed"),
        form="mesh",
        thickness=0.02,
    )
    plate = system.add(RigidBody.box((1, 0.4, 0.1), pose=Pose((0, 0, 0.07))), form="mesh", thickness=0.02)
    for _ in range(50):
        system.step(0.01)
    assert plate.center[2] == pytest.approx(0.07, abs=3e-3)
