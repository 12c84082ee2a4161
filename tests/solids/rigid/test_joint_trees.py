"""Chains and trees of joints, solved at once. Source: Baraff 1996; Müller et al. 2008, section 6.6."""

from __future__ import annotations

import math
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
        # What touches is beside the plane of the chain, each elsewhere.
        body = RigidBody(properties=MassProperties.box((0.1, 0.02, 0.02)), shape=Sphere((0, 0.01 * k, 0), 0.001), pose=pose)
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


@pytest.mark.parametrize("dt", slow_but([0.01, 0.005], 0.01))
def test_a_chain_that_swings_does_not_tear(dt):
    system = chain(15)
    energy, worst = system.energy, 0.0
    for _ in range(round(4 / dt)):
        info = system.step(dt)
        worst = max(worst, largest_gap(system))
        assert info.residual < 1e-9
        assert system.energy == pytest.approx(energy, abs=1e-8 * 15 * 0.04 * 9.81)
    # It cracks like a whip: its end goes at some 10 m/s.
    assert worst < 1e-11


def pendulums(dt, seconds, amplitude, links=5, length=0.1):
    """A chain of bars on ball joints, held out straight and let go: angles from the vertical, and the system with its first energy."""
    system = RigidSystem(gravity=(0, 0, -9.81))
    turn = (math.cos(amplitude / 2), 0, -math.sin(amplitude / 2), 0)
    along = np.array([math.sin(amplitude), 0, -math.cos(amplitude)])
    before = None
    for k in range(links):
        pose = Pose(tuple((k + 0.5) * length * along), turn)
        body = RigidBody(properties=MassProperties.box((0.02, 0.02, length)), shape=Sphere((0, 0.01 * k, 0), 0.001), pose=pose)
        system.add(body)
        system.join(body, before, "ball", point=tuple(k * length * along))
        before = body
    energy = system.energy
    for _ in range(round(seconds / dt)):
        system.step(dt)
    angles = np.array([math.atan2(-b.rotation[0, 2], b.rotation[2, 2]) for b in system.bodies])
    return angles, system, energy


def exact_pendulums(seconds, amplitude, links=5, length=0.1):
    """The same by the equations of Lagrange in the angles."""
    integrate = pytest.importorskip("scipy.integrate").solve_ivp
    k = np.arange(links)
    # Of uniform bars of mass 1: how much hangs on the ends of both of two bars.
    carried = links - 1 - np.maximum.outer(k, k) + 0.5
    carried[k, k] = links - 1 - k + 1 / 3
    inertia = carried[k, k] + 0.02**2 / length**2 / 12

    def rate(_, y):
        a, u = y[:links], y[links:]
        d = np.subtract.outer(a, a)
        mass = carried * np.cos(d)
        mass[k, k] = inertia
        pull = -9.81 / length * (links - 1 - k + 0.5) * np.sin(a)
        return np.concatenate([u, np.linalg.solve(mass, pull - (carried * np.sin(d)) @ (u * u))])

    start = np.concatenate([np.full(links, amplitude), np.zeros(links)])
    return integrate(rate, (0, seconds), start, method="DOP853", rtol=1e-12, atol=1e-12).y[:links, -1]


def test_chains_are_of_second_order():
    exact = exact_pendulums(1.0, 0.6)
    errors = [np.abs(pendulums(dt, 1.0, 0.6)[0] - exact).max() for dt in (0.005, 0.0025, 0.00125)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (np.abs(orders - 2) < 0.2).all(), (errors, orders)
    # 0.005 is 1/12 of the period of its fastest oscillation.
    assert errors[0] < 0.05


def test_a_chain_of_five_keeps_its_energy():
    """In 100 s, at which it had lost nine tenths of it."""
    _, system, energy = pendulums(0.005, 20.0, 1.2)
    depth = sum(b.mass * 9.81 * 0.1 * (k + 0.5) for k, b in enumerate(system.bodies))
    assert abs(system.energy - energy) < 1e-9 * (energy + depth)


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
