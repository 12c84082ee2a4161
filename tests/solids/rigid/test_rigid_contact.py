"""Rigid bodies in contact against closed forms. Source: Müller, Stam, James and Thürey 2008, sections 6.3 to 6.6."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.motion import random_rotation

from meniscus.solids import RigidBody, RigidFriction, RigidOptions, RigidSystem
from meniscus.surface import HalfSpace, Pose, Twist

G = 9.81


def on_ground(normal=(0, 0, 1), friction=0.5, gravity=(0, 0, -G), **options):
    system = RigidSystem(RigidOptions(**options), gravity=gravity)
    system.add_obstacle(HalfSpace((0, 0, 0), normal), friction=friction)
    return system


def slope(angle, direction=0.0):
    """Axes of a slope as columns: down it, across it, out of it."""
    c, s = math.cos(angle), math.sin(angle)
    turn = np.array([[math.cos(direction), -math.sin(direction), 0], [math.sin(direction), math.cos(direction), 0], [0, 0, 1]])
    return turn @ np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


# --- two bodies --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("restitution", [0.0, 0.3, 1.0])
def test_two_bodies_keep_momenta_and_lose_the_energy_of_the_formula(restitution):
    rng = np.random.default_rng(3)
    for _ in range(20):
        system = RigidSystem(RigidOptions(restitution_speed=0.0, iterations=50))
        r = random_rotation(rng)
        box = RigidBody.box((1, 0.6, 0.8), 500, pose=Pose((0, 0, 0), r), twist=Twist(tuple(rng.normal(size=3)), tuple(rng.normal(size=3))))
        corner = box.positions()[np.argmax(box.positions()[:, 0])]
        ball = RigidBody.sphere(
            0.3, 900, pose=Pose((corner[0] + 0.3 - 1e-12, corner[1], corner[2])), twist=Twist((-4, 0.1, 0.2), (0, 1, 0))
        )
        system.add(box, friction=0.0, restitution=restitution)
        system.add(ball, friction=0.0)
        n = np.array([-1.0, 0, 0])

        def approach(box=box, ball=ball, corner=corner, n=n):
            at = corner[None]
            return float(n @ (box.velocities(at) - ball.velocities(at))[0])

        before, energy, u = system.momentum, system.energy, approach()
        spin = sum(np.cross(b.center, b.momentum) + b.angular_momentum for b in (box, ball))
        response = float(n @ (box.inverse_mass(corner[None]) + ball.inverse_mass(corner[None]))[0] @ n)
        assert u < -0.5
        dt = 1e-13
        system.step(dt)
        assert len(system.contacts) == 1
        assert approach() == pytest.approx(-restitution * u, abs=1e-11)
        assert energy - system.energy == pytest.approx(0.5 * (1 - restitution**2) * u**2 / response, rel=1e-11, abs=1e-9)
        np.testing.assert_allclose(system.momentum, before, rtol=0, atol=1e-12 * np.abs(ball.momentum).max())
        after = sum(np.cross(b.center, b.momentum) + b.angular_momentum for b in (box, ball))
        np.testing.assert_allclose(after, spin, rtol=0, atol=1e-9)


def test_equal_balls_swap_velocities_and_a_cradle_passes_them_on():
    for forward in (True, False):
        system = RigidSystem()
        balls = [system.add(RigidBody.sphere(0.1, pose=Pose((0.2 * k, 0, 0))), restitution=1.0, friction=0.0) for k in range(5)]
        first, last = (balls[0], balls[4]) if forward else (balls[4], balls[0])
        speed = 1.0 if forward else -1.0
        first.twist = Twist((speed, 0, 0), (0, 0, 0))
        system.step(0.01)
        np.testing.assert_allclose(last.velocity, [speed, 0, 0], atol=1e-14)
        for b in balls:
            if b is not last:
                np.testing.assert_allclose(b.velocity, 0, atol=1e-14)


def test_two_balls_into_a_cradle_move_two():
    system = RigidSystem()
    balls = [system.add(RigidBody.sphere(0.1, pose=Pose((0.2 * k, 0, 0))), restitution=1.0, friction=0.0) for k in range(5)]
    for b in balls[:2]:
        b.twist = Twist((1, 0, 0), (0, 0, 0))
    system.step(0.01)
    np.testing.assert_allclose([b.velocity[0] for b in balls], [0, 0, 0, 1, 1], atol=1e-14)


@pytest.mark.slow
def test_a_ball_bounces_to_the_heights_of_its_restitution():
    system = on_ground()
    ball = system.add(RigidBody.sphere(0.1, pose=Pose((0, 0, 1.1))), restitution=0.8)
    tops, before = [], 0.0
    for _ in range(2800):
        system.step(1e-3)
        v = float(ball.velocity[2])
        if before > 0 >= v:
            tops.append(ball.center[2] - 0.1 + v**2 / (2 * G))
        before = v
    np.testing.assert_allclose(tops[:5], 0.64 ** np.arange(1, 6), rtol=1e-9)


def test_a_rod_struck_at_its_end():
    rod = RigidBody.box((2.0, 0.1, 0.1), 100)
    m, impulse = rod.mass, 3.0
    rod.apply_impulses(np.array([[1.0, 0, 0]]), np.array([[0, 0, impulse]]))
    np.testing.assert_allclose(rod.velocity, [0, 0, impulse / m], atol=1e-15)
    # 6 P / (M L) of a thin rod; the inertia of this one is 1 + 1 / 400 times as large.
    assert -rod.angular_velocity[1] == pytest.approx(6 * impulse / (m * 2.0) / (1 + 0.01 / 4), rel=1e-14)


# --- friction ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("degrees", "static", "dynamic"), [(20, 0.37, 0.37), (20, 0.36, 0.3), (30, 0.4, 0.4), (35, 0.3, 0.25)])
def test_a_block_on_a_slope(degrees, static, dynamic):
    angle = math.radians(degrees)
    axes = slope(angle)
    rub = RigidFriction(static, dynamic)
    system = on_ground(axes[:, 2], rub)
    block = system.add(RigidBody.box((1, 1, 0.4), pose=Pose(tuple(0.2 * axes[:, 2]), axes.tolist())), friction=rub)
    for _ in range(100):
        system.step(0.01)
    speed = block.velocity @ axes
    if math.tan(angle) <= static:
        np.testing.assert_allclose(speed, 0, atol=1e-10)
        assert np.linalg.norm(block.center - 0.2 * axes[:, 2]) < 1e-5
    else:
        # From rest, static friction holds for one step, of a hundred.
        exact = G * (math.sin(angle) - dynamic * math.cos(angle))
        assert speed[0] == pytest.approx(exact, rel=1e-4 if static == dynamic else 0.01)
        np.testing.assert_allclose(speed[1:], 0, atol=1e-6)


def test_printed_static_friction_holds_what_must_slide():
    """As printed, what presses hard enough sticks, whatever pulls at it (erratum 29)."""
    angle = math.radians(35)
    axes = slope(angle)
    speeds = []
    for law in ("cone", "printed"):
        system = RigidSystem(RigidOptions(friction=law), gravity=(0, 0, -G))
        system.add_obstacle(HalfSpace((0, 0, 0), tuple(axes[:, 2])), friction=0.3)
        block = system.add(RigidBody.box((1, 1, 0.4), pose=Pose(tuple(0.2 * axes[:, 2]), axes.tolist())), friction=0.3)
        for _ in range(100):
            system.step(0.01)
        speeds.append(float(block.velocity @ axes[:, 0]))
    assert speeds[0] == pytest.approx(G * (math.sin(angle) - 0.3 * math.cos(angle)), rel=1e-3)
    assert abs(speeds[1]) < 1e-6


def test_friction_is_the_same_in_sixteen_directions():
    ways = []
    for k in range(16):
        a = 2 * math.pi * k / 16
        system = on_ground(friction=0.3)
        d = np.array([math.cos(a), math.sin(a), 0])
        block = system.add(RigidBody.box((1, 1, 0.2), pose=Pose((0, 0, 0.1))), friction=0.3)
        block.twist = Twist(tuple(2 * d), (0, 0, 0))
        for _ in range(100):
            system.step(0.01)
        ways.append(block.center @ d)
        assert abs(np.cross(d, block.center)[2]) < 1e-3
    # Steps add half of what one of them brakes: v dt / 2.
    exact = 4 / (2 * 0.3 * G)
    np.testing.assert_allclose(ways, exact, rtol=0.02)
    assert np.ptp(ways) < 2e-3 * exact


def test_friction_that_depends_on_the_direction():
    speeds = []
    for d in ((1.0, 0, 0), (0, 1.0, 0)):
        system = on_ground(friction=0.4)
        skate = RigidFriction(0.1, direction=(1, 0, 0), across=4.0)
        body = system.add(RigidBody.box((1, 1, 0.2), pose=Pose((0, 0, 0.1))), friction=skate)
        body.twist = Twist(tuple(5 * np.array(d)), (0, 0, 0))
        for _ in range(50):
            system.step(0.01)
        speeds.append(5 - body.velocity @ np.array(d))
    # Geometric means: 0.2 along, 0.8 across.
    np.testing.assert_allclose(speeds, [0.2 * G * 0.5, 0.8 * G * 0.5], rtol=2e-3)


def test_a_sliding_ball_rolls_at_five_sevenths():
    mu, v = 0.2, 2.0
    system = on_ground(friction=mu)
    ball = system.add(RigidBody.sphere(0.1, pose=Pose((0, 0, 0.1)), twist=Twist((v, 0, 0), (0, 0, 0))), friction=mu)
    time = None
    for _ in range(400):
        system.step(0.002)
        if time is None and abs(ball.velocity[0] - 0.1 * ball.angular_velocity[1]) < 1e-6:
            time = system.time
    assert ball.velocity[0] == pytest.approx(5 / 7 * v, rel=1e-9)
    assert time == pytest.approx(2 * v / (7 * mu * G), abs=0.004)


def test_rolling_and_spinning_friction():
    c = 0.002
    system = on_ground(friction=RigidFriction(0.5, rolling=c))
    ball = system.add(RigidBody.sphere(0.1, pose=Pose((0, 0, 0.1)), twist=Twist((1, 0, 0), (0, 10, 0))), friction=0.5)
    for _ in range(100):
        system.step(0.01)
    # The torque c m g slows rolling down: (7/5) m r a = c m g.
    assert 1 - ball.velocity[0] == pytest.approx(5 / 7 * c / 0.1 * G, rel=1e-3)
    system = on_ground(friction=RigidFriction(0.5, spinning=c))
    ball = system.add(RigidBody.sphere(0.1, pose=Pose((0, 0, 0.1)), twist=Twist((0, 0, 0), (0, 0, 10))), friction=0.5)
    for _ in range(100):
        system.step(0.01)
    assert 10 - ball.angular_velocity[2] == pytest.approx(c * G / (0.4 * 0.01), rel=1e-3)


# --- overlap -----------------------------------------------------------------------------------------------------------------


def test_overlap_decays_by_its_part_without_energy():
    system = on_ground(push=0.2, slop=1e-3)
    box = system.add(RigidBody.box((1, 1, 1), pose=Pose((0, 0, 0.45))))
    depths = []
    for _ in range(20):
        system.step(0.01)
        depths.append(0.5 - box.center[2] - 1e-3)
        assert np.abs(box.velocity).max() < 1e-7
    np.testing.assert_allclose(depths, 0.049 * 0.8 ** np.arange(1, 21), rtol=1e-6)


def test_weight_on_four_corners():
    system = on_ground()
    box = system.add(RigidBody.box((1, 2, 0.5), pose=Pose((0, 0, 0.25))))
    for _ in range(3):
        system.step(0.01)
    assert len(system.contacts) == 4
    np.testing.assert_allclose(system.contacts.impulses.sum(axis=0), [0, 0, box.mass * G * 0.01], atol=1e-9)
    np.testing.assert_allclose(box.velocity, 0, atol=1e-12)
