"""Attachments in a world: bodies that hang on each other and on places that move."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.surface import Pose
from tests.support.interaction.playground import empty_world


def hanging(**options: Any) -> tuple[Any, Any, Any]:
    world = ms.solids.World(gravity=(0, 0, -10))
    box = world.add(ms.solids.RigidBody.box((0.2, 0.2, 0.2), density=125, pose=Pose((0, 0, -0.1))))
    return world, box, world.interaction.attach(box, None, (0, 0, 0), **options)


def test_a_box_hangs_on_a_place_that_moves() -> None:
    world, box, attachment = hanging(max_speed=1.0)
    dt = 0.01
    for _ in range(50):
        world.step(dt)
        # What free flight goes within a step is closed in the next one.
        assert attachment.gaps[0] < 10 * dt**2
    np.testing.assert_allclose(attachment.force, (0, 0, 10 * box.mass), rtol=1e-9)
    attachment.target = (0.3, 0, 0.2)
    for _ in range(100):
        world.step(dt)
    # It swings: at 1 m/s and 0.1 m from the point, another 10 m/s^2.
    np.testing.assert_allclose(attachment.grip.positions[0], (0.3, 0, 0.2), atol=20 * dt**2)
    attachment.release()
    before = box.velocity
    world.step(dt)
    np.testing.assert_allclose(box.velocity - before, (0, 0, -10 * dt), atol=1e-12)
    assert repr(attachment) == "<Attachment, released>"


def test_a_compliant_attachment_stretches_by_its_load() -> None:
    world, _, attachment = hanging(compliance=1e-3, damping=20.0)
    for _ in range(400):
        world.step(0.005)
    # 10 N on 1000 N/m; half of the gravity of a step is known in advance.
    assert abs(attachment.gaps[0] - 0.01) < 2e-4
    assert abs(np.linalg.norm(attachment.force) - 10) < 0.2


def test_a_chain_of_three_bodies_swings_as_one() -> None:
    """Energy of a chain without gravity stays bounded, linear momentum to rounding."""
    bodies = [ms.solids.RigidBody.box((0.3, 0.05, 0.05), pose=Pose((0.3 * k, 0, 0))) for k in range(3)]
    bodies[2].momentum[1] = 0.5
    world = empty_world(*bodies)
    held = [world.interaction.attach(bodies[k], bodies[k + 1], (0.3 * k + 0.15, 0, 0)) for k in range(2)]
    for _ in range(300):
        world.step(0.005)
        assert max(a.gaps.max() for a in held) < 0.01
        assert world.report.pulls.rows == 2
    total = sum(b.momentum for b in bodies)
    np.testing.assert_allclose(total, (0, 0.5, 0), atol=1e-12)
    assert sum(b.kinetic_energy for b in bodies) < 0.5**2 / (2 * bodies[0].mass) * (1 + 1e-9)


@pytest.mark.slow
def test_cloth_hangs_on_a_box() -> None:
    sheet = ms.mesh.cloth_mesh(6, 6, (0.4, 0.4), origin=(0, 0, 0))
    cloth = ms.solids.DeformableBody(sheet, density=0.4, gravity=(0, 0, -9.81))
    cloth.add(ms.solids.EdgeSprings(sheet, ms.solids.SpringOptions(stiffness=30, damping_fraction=3, masses=cloth.masses)))
    box = ms.solids.RigidBody.box((0.1, 0.6, 0.1), motion="fixed", pose=Pose((-0.06, 0.2, 0.0)))
    world = ms.solids.World(gravity=(0, 0, -9.81), elasticity="full-step", steps_per_loop=4)
    world.add(cloth, thickness=0.01)
    world.add(box, thickness=0.005)
    edge = sheet.vertices[sheet.vertices[:, 0] == 0]
    attachment = world.interaction.attach(cloth, box, edge)
    assert len(attachment.gaps) == 7
    for _ in range(160):
        world.step(1 / 200)
    # An edge node carries a column of the cloth, 14 times its mass.
    assert attachment.gaps.max() < 14 * 9.81 / 200**2
    assert cloth.positions[:, 2].min() < -0.3
    # The box carries the cloth: the mean force is its weight, once it hangs still.
    pulled = []
    start = attachment.impulse.copy()
    for _ in range(400):
        world.step(1 / 200)
        pulled.append(attachment.force[2])
    mean = (attachment.impulse - start)[2] / 2.0
    assert abs(mean - 9.81 * cloth.masses.sum()) < 0.05 * 9.81 * cloth.masses.sum()


def test_points_that_are_apart_stay_apart() -> None:
    a = ms.solids.DeformableBody(ms.mesh.cloth_mesh(2, 2, (0.2, 0.2)), density=1.0)
    b = ms.solids.DeformableBody(ms.mesh.cloth_mesh(2, 2, (0.2, 0.2), origin=(0, 0, 0.1)), density=1.0)
    world = empty_world(a, b)
    attachment = world.interaction.attach(a, b, [(0.1, 0.1, 0.05)])
    assert attachment.gaps.max() == 0
    a.velocities[:, 2] = 1.0
    for _ in range(10):
        world.step(0.002)
    np.testing.assert_allclose(attachment.other.positions - attachment.grip.positions, [(0, 0, 0.1)], atol=5e-3)
    np.testing.assert_allclose(a.momentum() + b.momentum(), (0, 0, 0.04), atol=1e-14)


def test_what_cannot_be_attached() -> None:
    a, b = (ms.solids.RigidBody.sphere(0.1, pose=Pose((x, 0, 0))) for x in (0, 1))
    world = empty_world(a, b)
    bare = world.add(ms.solids.DeformableBody(np.zeros((1, 3)), masses=1.0))
    with pytest.raises(ValueError, match="another one"):
        world.interaction.attach(a, a, (0, 0, 0))
    with pytest.raises(ValueError, match="no surface"):
        world.interaction.attach(bare, None, (0, 0, 0))
    with pytest.raises(ValueError, match="shape"):
        world.interaction.attach(a, b, (0, 0))
    with pytest.raises(ValueError, match="compliance must not be negative"):
        world.interaction.attach(a, b, (0, 0, 0), compliance=-1)
    with pytest.raises(ValueError, match="no target"):
        world.interaction.attach(a, b, (0.5, 0, 0)).target = (0, 0, 0)
