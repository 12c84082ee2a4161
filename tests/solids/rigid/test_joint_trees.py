"""Chains and trees of joints, solved at once. Source: Baraff 1996; Müller et al. 2008, section 6.6."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from support.motion import random_rotation
from support.variants import slow_but

from meniscus.solids import MassProperties, RigidBody, RigidOptions, RigidSystem
from meniscus.surface import HalfSpace, Pose, Sphere, Twist


def chain(links, down=False, **options):
    system = RigidSystem(RigidOptions(**options), gravity=(0, 0, -9.81))
    for k in range(links):
        hanging = Pose((0, 0, -0.05 - 0.1 * k), [[0, 0, 1], [0, 1, 0], [-1, 0, 0]])
        pose = hanging if down else Pose((0.05 + 0.1 * k, 0, 0))
        body = RigidBody(properties=MassProperties.box((0.1, 0.02, 0.02)), shape=Sphere((0, 0, 0), 0.001), pose=pose)
        point = (0, 0, -0.1 * k) if down else (0.1 * k, 0, 0)
        before = system.bodies[-1] if k else None
        system.add(body)
        if before is None:
            system.join(body, None, "ball", point=point)
        else:
            system.join(before, body, "ball", point=point)
    return system


def largest_gap(system):
    ends = [b.positions(np.array([[-0.05, 0, 0], [0.05, 0, 0]])) for b in system.bodies]
    first = float(np.linalg.norm(ends[0][0]))
    return max([first] + [float(np.linalg.norm(p[1] - q[0])) for p, q in pairwise(ends)])


@pytest.mark.parametrize(("dt", "most"), slow_but([(0.01, 0.06), (0.005, 0.03)], (0.01, 0.06)))
def test_a_chain_that_swings_does_not_tear(dt, most):
    system = chain(15)
    energy, worst = system.energy, 0.0
    for _ in range(round(4 / dt)):
        info = system.step(dt)
        worst = max(worst, largest_gap(system))
        assert info.residual < 1e-9
        assert system.energy < energy + 0.02 * 15 * 0.04 * 9.81
    # It cracks like a whip: its end goes at some 10 m/s.
    assert worst < most
    assert largest_gap(system) < 0.01


def test_a_long_chain_hangs_as_it_is_placed():
    system = chain(60, down=True)
    for _ in range(50):
        info = system.step(0.01)
    assert largest_gap(system) < 1e-9
    assert info.residual < 1e-10
    # Each joint carries what hangs on it.
    weight = 1000 * 0.1 * 0.02**2 * 9.81 * 0.01
    np.testing.assert_allclose(np.abs(system.joint_memory[:, 2]), weight * np.arange(60, 0, -1), rtol=1e-5)


def test_impulses_of_a_tree_in_flight_keep_momenta():
    """A star of seven bodies, joints of all kinds; no force: momentum, angular momentum and energy but for the step."""
    rng = np.random.default_rng(5)
    system = RigidSystem()
    hub = system.add(RigidBody.box((0.3, 0.3, 0.3)))
    for k, kind in enumerate(("ball", "hinge", "slider", "fixed", "ball", "hinge")):
        arm = system.add(RigidBody.box((0.4, 0.1, 0.1), pose=Pose(tuple(rng.normal(0, 0.5, 3)), random_rotation(rng))))
        named = {"point": tuple(0.5 * arm.center)} if kind in ("ball", "hinge") else {}
        if kind in ("hinge", "slider"):
            named["axis"] = tuple(rng.normal(size=3))
        system.join(arm if k % 2 else hub, hub if k % 2 else arm, kind, **named)
        arm.twist = Twist(tuple(rng.normal(size=3)), tuple(rng.normal(size=3)))

    def spin():
        return sum(np.cross(b.center, b.momentum) + b.angular_momentum for b in system.bodies)

    before, turning = system.momentum, spin()
    info = system.step(1e-6)
    assert info.residual < 1e-10
    np.testing.assert_allclose(system.momentum, before, atol=1e-12 * np.abs(before).max() * 10)
    np.testing.assert_allclose(spin(), turning, atol=1e-4 * np.abs(turning).max())
    energy = system.energy
    for _ in range(200):
        system.step(0.002)
    np.testing.assert_allclose(system.momentum, before, atol=1e-11 * np.abs(before).max())
    assert system.energy == pytest.approx(energy, rel=0.02)


def test_loops_and_trees_together():
    """Four bars in a ring that hangs: one joint closes the loop and is swept."""
    system = RigidSystem(gravity=(0, 0, -9.81))
    places = [(0.5, 0, 0), (1, 0, -0.5), (0.5, 0, -1), (0, 0, -0.5)]
    bars = [
        system.add(RigidBody.box((1 if k % 2 == 0 else 0.05, 0.05, 0.05 if k % 2 == 0 else 1), pose=Pose(p))) for k, p in enumerate(places)
    ]
    system.join(bars[0], None, "fixed")
    for k, p in enumerate([(1, 0, 0), (1, 0, -1), (0, 0, -1), (0, 0, 0)]):
        system.join(bars[k], bars[(k + 1) % 4], "hinge", point=p, axis=(0, 1, 0))
    for _ in range(100):
        info = system.step(0.01)
    assert info.residual < 1e-6
    np.testing.assert_allclose([b.center for b in bars], places, atol=1e-4)


def test_impulses_change_with_the_step():
    """What rests, rests while the length of the step changes, with few sweeps."""
    system = chain(8, down=True)
    boxes = RigidSystem(RigidOptions(iterations=4), gravity=(0, 0, -9.81))
    boxes.add_obstacle(HalfSpace((0, 0, 0), (0, 0, 1)))
    for k in range(3):
        boxes.add(RigidBody.box((1, 1, 1), pose=Pose((0, 0, 0.5 + k))))
    for k in range(300):
        for s in (system, boxes):
            s.step((1 / 60, 1 / 120)[k % 2])
            assert k < 200 or max(np.linalg.norm(b.velocity) for b in s.bodies) < 1e-4


def test_without_a_warm_start_joints_begin_anew():
    ends = []
    for warm in (True, False):
        system = chain(6, warm_start=warm, iterations=1)
        system.join(system.bodies[0], system.bodies[5], "ball", point=(0.3, 0, 0))
        for _ in range(20):
            system.step(0.01)
        ends.append(np.array([b.state_row for b in system.bodies]))
    assert np.abs(ends[0] - ends[1]).max() > 1e-9
