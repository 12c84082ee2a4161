"""Torture of solvers for solids: teleports, pulses of 100 g and bodies within each other, with finite and bounded results.

Implicit Euler and Newmark are in `integrators/test_implicit_steps.py` and `test_budget.py`, position based dynamics and shape matching in
`position/test_position_methods.py`.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.motion import random_rotation

import meniscus as ms
from meniscus.numerics.solve import ConvergenceError
from meniscus.solids import (
    DeformableBody,
    DistanceConstraints,
    PositionBody,
    ReducedBody,
    RigidBody,
    RigidSystem,
    TetElements,
    World,
)
from meniscus.surface import HalfSpace, KinematicSolid, Pose, Sphere, Twist

FLOOR = HalfSpace((0, 0, 0), (0, 0, 1))
DT = 1 / 60


class Jumps:
    """A path that is somewhere else every quarter of a second."""

    def __init__(self, seed: int) -> None:
        self.places = np.random.default_rng(seed).uniform((-0.5, -0.5, 0.1), (0.5, 0.5, 1.0), (2000, 3))

    def __call__(self, t: float) -> Pose:
        return Pose(tuple(self.places[int(4 * t) % len(self.places)]))


def pulse(rng: np.random.Generator) -> np.ndarray:
    return 980.0 * rng.normal(size=3) if rng.random() < 0.1 else np.array([0.0, 0.0, -9.8])


def torture_rigid(steps: int) -> float:
    """A plate that jumps, pulses, and every 50 steps all bodies in one place; returns the top speed."""
    rng = np.random.default_rng(5)
    system = RigidSystem(gravity=(0, 0, -9.8))
    system.add_obstacle(FLOOR, friction=0.5)
    bodies = [system.add(RigidBody.box(rng.uniform(0.1, 0.3, 3), 10 ** rng.uniform(1, 4)), friction=0.5) for _ in range(4)]
    bodies += [system.add(RigidBody.sphere(0.1, 500), friction=0.5), system.add(RigidBody.box((0.01, 0.2, 0.5), 100), friction=0.1)]
    system.add(RigidBody.box((0.4, 0.4, 0.1), motion=Jumps(1)), friction=0.5)
    top = 0.0
    for k in range(steps):
        gravity = pulse(rng)
        for body in bodies:
            body.gravity = gravity
            if k % 50 == 0:
                body.pose = Pose((0.0, 0.0, 0.3), random_rotation(rng))
                body.twist = Twist(tuple(rng.normal(size=3)), tuple(20 * rng.normal(size=3)))
        system.step(DT)
        for body in bodies:
            assert np.isfinite(body.state_row).all()
            top = max(top, float(np.linalg.norm(body.velocity)))
    return top


def torture_reduced(steps: int) -> float:
    """A ball that jumps through the body, pulses, and starts bent by half of its size; returns the top speed of nodes.

    Of the steps at most a twentieth are refused.
    """
    rng = np.random.default_rng(6)
    mesh = ms.mesh.tet_block(3, 2, 2, (0.4, 0.2, 0.2), origin=(-0.2, -0.1, 0.1))
    body = ReducedBody(mesh, modes=6, size=10, youngs_modulus=1e5, density=500, stiffness_damping=0.005)
    ball = KinematicSolid(Sphere((0, 0, 0), 0.15), motion=Jumps(2))
    top, refused = 0.0, 0
    for k in range(steps):
        body.gravity = pulse(rng)
        if k % 100 == 0:
            # Bent by as much as it is long, in the ground.
            body.pose = Pose((0.0, 0.0, 0.0), random_rotation(rng))
            body.coordinates[...] = body.model.sample_poses(1, 0.5, k)[0]
            body.rates[...] = body.momentum[...] = body.angular_momentum[...] = 0.0
        before = body.coordinates.copy()
        try:
            body.step(DT, obstacles=[KinematicSolid(FLOOR), ball], friction=0.5, method="implicit-euler", max_iterations=30)
        except ConvergenceError:
            # Newton's method finds no solution from some states that are torn apart; the step says so, and changes nothing.
            refused += 1
            np.testing.assert_array_equal(body.coordinates, before)
            body.coordinates[...] = body.rates[...] = 0.0
        assert np.isfinite(body.positions).all()
        top = max(top, float(np.linalg.norm(body.velocities, axis=1).max()))
    assert refused <= 0.05 * steps
    return top


def torture_world(steps: int) -> float:
    """Bodies of all types with pulses of 100 g and a ball that jumps; certified at all times; returns the top speed."""
    rng = np.random.default_rng(7)
    world = World(gravity=(0, 0, -9.8), elasticity="full-step", tolerance=1e-5, steps_per_loop=4, raise_on_failure=False)
    block = ms.mesh.tet_block(1, 1, 1, (0.15, 0.15, 0.15), origin=(-0.075, -0.075, 0.01))
    jelly = DeformableBody(block, density=500)
    jelly.add(TetElements(block, youngs_modulus=5e4, poissons_ratio=0.3, damping=0.01))
    sheet = ms.mesh.cloth_mesh(4, 4, (0.3, 0.3), origin=(-0.15, -0.15, 0.5))
    cloth = PositionBody(sheet, density=0.5)
    cloth.add(DistanceConstraints(sheet))
    model = ms.mesh.tet_block(2, 1, 1, (0.2, 0.1, 0.1), origin=(-0.1, -0.05, 0.2))
    reduced = ReducedBody(model, modes=6, youngs_modulus=1e5, density=500, stiffness_damping=0.005)
    box = RigidBody.box((0.15, 0.1, 0.1), 300, pose=Pose((0.0, 0.0, 0.4)))
    bodies = [world.add(body) for body in (jelly, cloth, reduced)] + [world.add(box, friction=0.5)]
    for number, (point, normal) in enumerate((((0, 0, 0), (0, 0, 1)), ((0, 0, 2), (0, 0, -1)))):
        world.add_obstacle(HalfSpace(point, normal), friction=0.2 + 0.2 * number)
    for axis in (0, 1):
        for side in (-1.0, 1.0):
            normal = np.zeros(3)
            normal[axis] = side
            world.add_obstacle(HalfSpace(tuple(-normal), tuple(normal)), friction=0.3)
    top = 0.0
    for _ in range(steps):
        gravity = pulse(rng)
        for body in bodies:
            body.gravity = gravity
        info = world.step(1 / 200)
        top = max(top, info.max_speed, float(np.linalg.norm(box.velocity)))
        assert np.isfinite(top)
        if info.contact.loop_ended:
            assert not len(world.surface.movable_pairs(world.audit()))
    return top


def test_rigid_bodies_survive_torture() -> None:
    assert torture_rigid(400) < 1e3


def test_reduced_bodies_survive_torture() -> None:
    assert torture_reduced(300) < 1e3


@pytest.mark.slow
def test_a_world_of_all_types_survives_torture() -> None:
    assert torture_world(300) < 1e3


@pytest.mark.slow
def test_rigid_bodies_survive_long_torture() -> None:
    assert torture_rigid(10_000) < 1e3


@pytest.mark.slow
def test_reduced_bodies_survive_long_torture() -> None:
    assert torture_reduced(10_000) < 1e3


@pytest.mark.slow
def test_a_world_of_all_types_survives_long_torture() -> None:
    assert torture_world(10_000) < 1e3
