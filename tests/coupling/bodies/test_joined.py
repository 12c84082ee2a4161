"""Joints of bodies that a fluid moves: they hold within the solve for the pressure."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from support.fluids.floating import G, beam, in_air, pool
from support.same_bits import everywhere

from meniscus.coupling import FluidWorld
from meniscus.coupling.bodies.body_forms import inertia_of
from meniscus.solids import RigidBody
from meniscus.surface import Pose

H = 1 / 32


def test_two_halves_that_are_fixed_together_are_one_body() -> None:
    """Their cells are cut in the middle as well, by two bodies; way and turn are those of the whole within 2 % of the way."""
    whole = pool([beam((0.4, 0.2), 400.0, (0.5, 0.47), 0.2)], (32, 32), H, 0.5, tolerance=1e-10)
    c, s = np.cos(0.2), np.sin(0.2)
    halves = [beam((0.2, 0.2), 400.0, (0.5 + k * 0.1 * c, 0.47 + k * 0.1 * s), 0.2) for k in (-1, 1)]
    both = pool(halves, (32, 32), H, 0.5, tolerance=1e-10)
    both.world.join(*halves, "fixed")
    one = whole.bodies[0]
    start = one.center.copy()
    for _ in range(30):
        whole.step(0.005)
        both.step(0.005)
    middle = 0.5 * (halves[0].center + halves[1].center)
    assert np.linalg.norm(one.center - start) > 0.01
    assert np.linalg.norm(middle - one.center) < 0.02 * np.linalg.norm(one.center - start) + 1e-4
    turn = np.arctan2(*(halves[1].center - halves[0].center)[[1, 0]])
    assert turn == pytest.approx(np.arctan2(one.matrix[1, 0], one.matrix[0, 0]), abs=3e-3)
    assert np.linalg.norm(halves[1].center - halves[0].center) == pytest.approx(0.2, rel=1e-4)


def test_a_body_that_is_fixed_to_the_world_is_a_wall() -> None:
    """The pressure around it is that around one that nothing moves, and its force is the lift."""
    held, still = beam((0.2, 0.2), 300.0, (0.5, 0.3)), RigidBody.box((0.2, 0.2, 1.0), 300.0, motion="fixed", pose=Pose((0.5, 0.3, 0.0)))
    a, b = (pool([body], (32, 32), H, 0.6, tolerance=1e-12) for body in (held, still))
    a.world.join(held, None, "fixed")
    for _ in range(3):
        a.step(0.01)
        b.step(0.01)
    assert held.center[:2] == pytest.approx([0.5, 0.3], abs=1e-12)
    p, q = a.fluid.pressure.array, b.fluid.pressure.array
    assert np.abs(p - q).max() < 1e-8 * np.abs(q).max()
    assert a.report.forces[held].force[1] == pytest.approx(0.04 * 1000 * G, rel=1e-3)


def test_a_hinge_turns_a_float_about_its_axis() -> None:
    """A light beam hinged at its end rises like a compound pendulum with the inertia of its fluid, and the hinge stays closed.

    Its first acceleration is the moment about the hinge of the reported force, less that of its weight, over its inertia there.
    """
    arm = beam((0.3, 0.12), 200.0, (0.5, 0.35))
    both = pool([arm], (32, 32), H, 0.7, tolerance=1e-12)
    hinge = both.world.join(arm, None, "hinge", point=(0.37, 0.35, 0.0), axis=(0.0, 0.0, 1.0))
    both.step(0.005)
    told = both.report.forces[arm]
    torque = told.torque[2] + 0.13 * told.force[1] - 0.13 * arm.mass * G
    inertia = inertia_of(arm)[2, 2] + arm.mass * 0.13**2
    assert torque > 0
    assert arm.angular_velocity[2] == pytest.approx(0.005 * torque / inertia, rel=0.02)
    for _ in range(60):
        both.step(0.005)
    way = arm.center[:2] - (0.37, 0.35)
    assert np.linalg.norm(way) == pytest.approx(0.13, rel=1e-4)
    assert hinge.place > 0.2
    assert np.abs(arm.center[2]) < 1e-12


def test_momentum_of_joined_bodies_in_closed_gas_stays() -> None:
    bodies = [beam((0.2, 0.1), density, (x, 0.5), angle) for density, x, angle in ((0.3, 0.3, 0.3), (40.0, 0.55, -0.2))]
    both = in_air(bodies, 32, 2, gravity=(0.0, 0.0, 0.0))
    both.world.join(*bodies, "ball", point=(0.42, 0.5, 0.0))
    bodies[0].momentum[:2] = (0.0005, 0.001)
    # What moves along with the bodies is known after a step.
    both.step(0.01)
    before = both.ledger.momentum.copy()
    for _ in range(50):
        both.step(0.01)
    assert np.abs(both.ledger.momentum - before).max() < 1e-12
    assert np.linalg.norm(bodies[1].velocity) > 1e-4


def test_same_bits_on_threads() -> None:
    def run() -> list[np.ndarray]:
        links = [beam((0.12, 0.06), 700.0 - 200 * k, (0.3 + 0.13 * k, 0.45)) for k in range(4)]
        both: FluidWorld = pool(links, (32, 32), H, 0.5)
        for a, b in pairwise(links):
            both.world.join(a, b, "hinge", point=(0.5 * (a.center[0] + b.center[0]), 0.45, 0.0), axis=(0.0, 0.0, 1.0))
        for _ in range(5):
            both.step(0.01)
        return [both.fluid.velocity.u.copy(), *(b.state_row.copy() for b in links)]

    everywhere(run)
