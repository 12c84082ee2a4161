"""Contact at ends of loops and repulsion within them give elastic bodies no energy that they have not taken from motion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.variants import slow_but

import meniscus as ms
from meniscus.solids import DeformableBody, EdgeSprings, RigidBody, SpringOptions, TetElements, World
from meniscus.surface import Pose, Twist

DT = 1 / 300


def cloth(n: int, stiffness: float, size: float = 0.5) -> DeformableBody:
    mesh = ms.mesh.cloth_mesh(n, n, (size, size), origin=(-size / 2, -size / 2, 0))
    body = DeformableBody(mesh, density=0.05 / size**2)
    body.add(EdgeSprings(mesh, SpringOptions(stiffness=stiffness, damping_fraction=10.0, masses=body.masses)))
    return body


def struck(n: int, stiffness: float, mass: float, speed: float = 3.0, **options: Any) -> World:
    """Return cloth of 0.05 kg and a box on its way to it."""
    world = World(**{"elasticity": "full-step", **options})
    world.add(cloth(n, stiffness), thickness=0.01)
    pose, twist = Pose((0.013, 0.007, 0.08)), Twist((0, 0, -speed), (0.3, 0.2, 0.1))
    world.add(RigidBody.box((0.1, 0.1, 0.1), mass / 1e-3, pose=pose, twist=twist), friction=0.4)
    return world


def momentum(world: World) -> np.ndarray:
    return sum((b.momentum() for b in world.bodies), np.zeros(3)) + sum((b.momentum for b in world.rigid.bodies), np.zeros(3))


@pytest.mark.parametrize(
    ("n", "stiffness", "mass", "steps"),
    slow_but(
        [(8, 20, 0.9, 8), (16, 20, 0.9, 8), (16, 200, 0.05, 8), (8, 2000, 20.0, 8), (12, 200, 0.9, 2), (8, 200, 0.05, 1)],
        (8, 20, 0.9, 8),
        (8, 2000, 20.0, 8),
        (12, 200, 0.9, 2),
        (8, 200, 0.05, 1),
    ),
)
def test_a_box_that_hits_free_cloth_gives_it_no_energy_that_it_had_not(n: int, stiffness: float, mass: float, steps: int) -> None:
    world = struck(n, stiffness, mass, steps_per_loop=steps)
    start, before = world.energy()["total"], momentum(world)
    touched = 0
    for _ in range(32):
        contact = world.step(DT).contact
        touched += contact.impulses
        if contact.loop_ended:
            assert contact.certified
            assert not len(world.audit())
            assert world.energy()["total"] <= start * (1 + 1e-3)
    assert touched > 0
    # With velocity solves that stop at the default tolerance.
    np.testing.assert_allclose(momentum(world), before, atol=1e-12 * np.abs(before).max())


@pytest.mark.parametrize("held", slow_but(["corners", "hem", "ground"], "hem", "ground"))
def test_nor_does_one_that_hits_cloth_that_is_held(held: str) -> None:
    world = struck(12, 200, 0.9, gravity=(0, 0, -9.81), steps_per_loop=8)
    x = world.bodies[0].positions
    on_hem = np.abs(np.abs(x[:, :2]) - 0.25) < 1e-9
    if held == "ground":
        world.add_obstacle(ms.surface.HalfSpace((0, 0, -0.05), (0, 0, 1)), friction=0.5)
    else:
        world.bodies[0].pin(np.flatnonzero(on_hem.all(axis=1) if held == "corners" else on_hem.any(axis=1)))
    start, kinetic = world.energy()["total"], world.rigid.bodies[0].kinetic_energy
    for _ in range(40):
        if world.step(DT).contact.loop_ended:
            assert not len(world.audit())
            assert world.energy()["total"] <= start + 1e-3 * kinetic


@pytest.mark.parametrize("other", slow_but(["sheet", "jelly"], "jelly"))
def test_nor_do_deformable_bodies_each_other(other: str) -> None:
    world = struck(12, 200, 0.9, steps_per_loop=8)
    if other == "sheet":
        mesh = ms.mesh.cloth_mesh(9, 9, (0.4, 0.4), origin=(-0.18, -0.22, -0.03))
        body = DeformableBody(mesh, density=0.2)
        body.add(EdgeSprings(mesh, SpringOptions(stiffness=100, damping_fraction=10.0, masses=body.masses)))
    else:
        mesh = ms.mesh.tet_block(3, 3, 2, (0.2, 0.2, 0.1), origin=(-0.1, -0.1, -0.16))
        body = DeformableBody(mesh, density=300)
        body.add(TetElements(mesh, youngs_modulus=2e5, poissons_ratio=0.3, damping=0.01))
    body.velocities[:, 2] = 2.0
    world.add(body, thickness=0.01)
    start, before = world.energy()["total"], momentum(world)
    impulses = 0
    for _ in range(32):
        contact = world.step(DT).contact
        impulses += contact.impulses
        if contact.loop_ended:
            assert not len(world.audit())
            assert world.energy()["total"] <= start * (1 + 1e-3)
    assert impulses > 0
    np.testing.assert_allclose(momentum(world), before, atol=1e-12 * np.abs(before).max())
