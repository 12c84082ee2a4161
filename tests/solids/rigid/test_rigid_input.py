"""What rigid bodies and their systems refuse, in one sentence each, and that nothing has changed then."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms
from meniscus.solids import MassProperties, RigidBody, RigidOptions, RigidSystem, World
from meniscus.surface import HalfSpace, Pose

NAN = np.full((1, 3), np.nan)
FLOOR = HalfSpace((0, 0, 0), (0, 0, 1))


def test_bodies():
    b = RigidBody.box((1, 1, 1))
    before = b.state_row.copy()
    for call in (lambda: b.apply_impulses(NAN, np.ones((1, 3))), lambda: b.inverse_mass(NAN)):
        with pytest.raises(ValueError, match="points must be finite"):
            call()
    for wrong in (np.zeros((3, 3)), 2 * np.eye(3), np.diag([1, 1, -1.0])):
        with pytest.raises(ValueError, match="must be a rotation matrix"):
            b.set_rotation(wrong)
    with pytest.raises(ValueError, match="rotation must be finite"):
        b.set_rotation(np.full((3, 3), np.nan))
    with pytest.raises(ValueError, match=r"rotation must have shape \(3, 3\)"):
        b.set_rotation(np.eye(2))
    with pytest.raises(TypeError, match="momentum must hold 3 numbers"):
        b.momentum = 5
    with pytest.raises(TypeError, match="angular_momentum must hold 3 numbers"):
        b.angular_momentum = 5
    with pytest.raises(TypeError, match="gravity must hold 3 numbers"):
        b.gravity = 3
    with pytest.raises(ValueError, match=r"points must have shape \(n, 3\)"):
        b.positions(np.zeros((2, 2)))
    np.testing.assert_array_equal(b.state_row, before)
    b.state_row[3:7] = 0
    with pytest.raises(ValueError, match="the orientation of the body must be a unit quaternion"):
        b.step(0.01)


def test_mass_properties():
    with pytest.raises(TypeError, match="inertia"):
        MassProperties(1, (0, 0, 0), "x")
    with pytest.raises(ValueError, match="one for each of the 3 points"):
        MassProperties.of_points(np.eye(3), [1, 1])
    with pytest.raises(ValueError, match="one for each of the 20 elements"):
        MassProperties.of_mesh(ms.mesh.icosphere(0), [1, 2], shell=True)


def test_systems():
    system = RigidSystem()
    a = system.add(RigidBody.box((1, 1, 1)))
    for limits, error in (((1,), ValueError), (3, ValueError), (("a", "b"), TypeError), ((np.inf, np.inf), ValueError)):
        with pytest.raises(error, match="limits"):
            system.join(a, None, "slider", axis=(0, 0, 1), limits=limits)
    system.join(a, None, "hinge", point=(0, 0, 0), axis=(0, 0, 1e200))
    assert system.joints[-1].axes[0] == (0, 0, 1)
    with pytest.raises(ValueError, match="iterations"):
        RigidOptions(iterations=2**40)
    system.forces = np.zeros((7, 3))
    with pytest.raises(ValueError, match=r"forces must have shape \(2, 3\), a row for each part"):
        system.step(0.01)
    system.forces = np.zeros((2, 3))
    a.state_row[3:7] = 0
    with pytest.raises(ValueError, match="the orientation of part 0 of the system must be a unit quaternion"):
        system.step(0.01)


def test_gravity_of_one_body_is_its_own():
    world = World(gravity=(0, 0, -9.81))
    a, b = (world.add(RigidBody.box((1, 1, 1), pose=Pose((3.0 * k, 0, 0)))) for k in range(2))
    a.gravity[2] = 0
    c = world.add(RigidBody.box((1, 1, 1), pose=Pose((6, 0, 0))))
    for g in (b.gravity, c.gravity, world.rigid.gravity, world.gravity):
        np.testing.assert_array_equal(g, [0, 0, -9.81])


def test_a_body_has_one_system():
    world, system = World(), RigidSystem()
    body = world.add(RigidBody.box((1, 1, 1)))
    with pytest.raises(ValueError, match="another system has this body"):
        system.add(body)
    system.add(body.copy())


def test_worlds_refuse_obstacles_at_once():
    world = World(gravity=(0, 0, -9.81))
    with pytest.raises(ValueError, match="restitution must be from 0 to 1"):
        world.add_obstacle(FLOOR, restitution=2.0)
    plate = RigidBody.box((1, 1, 0.1)).mesh
    world.add_obstacle(plate, sides="both", motion=lambda t: Pose((0, 0, t)))
    with pytest.raises(ValueError, match="a mesh on a path that rigid bodies touch is a RigidBody"):
        world.add(RigidBody.box((0.2, 0.2, 0.2)))
    assert len(world.rigid.parts) == 0


def test_a_pinch_does_not_end_the_guarantee():
    """Two plates on paths pinch a box: the step names the pair, and later ones go on and name it as long as both meet."""
    system = RigidSystem()
    for s in (1, -1):
        system.add(
            RigidBody.box((1, 1, 0.2), motion=lambda t, s=s: Pose((0, 0, s * (0.3 + abs(0.3 - t) * 0.3)))), form="mesh", thickness=0.02
        )
    system.add(RigidBody.box((0.3, 0.3, 0.5)), form="mesh", thickness=0.02)
    pinched = 0
    for _ in range(50):
        info = system.step(0.01, guarantee=True)
        pinched += bool(info.unresolved)
        meeting = {tuple(p) for p in system.audit().tolist()}
        assert meeting <= set(info.unresolved)
        assert info.certified == (not info.unresolved)
    assert pinched > 1
