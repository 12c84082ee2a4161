"""Joints of rigid bodies. Source: Müller et al. 2008, section 6.6 (impulses); closed forms of pendulums and springs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.motion import random_rotation

from meniscus.solids import MassProperties, RigidBody, RigidOptions, RigidSystem
from meniscus.surface import HalfSpace, Pose, Sphere, Twist

G = 9.81


def double_pendulum(dt, seconds=1.0):
    system = RigidSystem(gravity=(0, 0, -G))
    arms = [system.add(RigidBody.box((1, 0.1, 0.1), pose=Pose((x, 0, 0)))) for x in (0.5, 1.5)]
    system.join(arms[0], None, "hinge", point=(0, 0, 0), axis=(0, 1, 0))
    system.join(*arms, "hinge", point=(1, 0, 0), axis=(0, 1, 0))
    for _ in range(round(seconds / dt)):
        system.step(dt)
    return np.array([math.atan2(-b.rotation[2, 0], b.rotation[0, 0]) for b in arms]), system


def exact_double_pendulum(seconds=1.0):
    """Angles below the horizontal, by a Runge-Kutta method of fourth order."""
    m, length = 10.0, 1.0
    inertia = m / 12 * (length**2 + 0.01)

    def rate(y):
        a, b, u, v = y
        c, s = math.cos(a - b), math.sin(a - b)
        mass = np.array([[inertia + 1.25 * m, 0.5 * m * c], [0.5 * m * c, inertia + 0.25 * m]])
        force = [1.5 * m * G * math.cos(a) - 0.5 * m * s * v * v, 0.5 * m * G * math.cos(b) + 0.5 * m * s * u * u]
        return np.array([u, v, *np.linalg.solve(mass, force)])

    y, h = np.zeros(4), 1e-3
    for _ in range(round(seconds / h)):
        k1 = rate(y)
        k2 = rate(y + 0.5 * h * k1)
        k3 = rate(y + 0.5 * h * k2)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(y + h * k3))
    return y[:2]


def test_a_double_pendulum_converges():
    exact = exact_double_pendulum()
    errors = []
    for dt in (0.01, 0.005, 0.0025):
        angles, system = double_pendulum(dt)
        errors.append(np.abs((angles - exact + math.pi) % (2 * math.pi) - math.pi).max())
        for b in system.bodies:
            assert abs(b.center[1]) < 1e-10
    assert errors[2] < 2e-4
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 1.9).all()


def top_in_steady_precession(dt, spin=150.0, seconds=0.8):
    """Largest deviation of the tilt, and that of the precession at the end, rad, of a fast top on a ball joint at 37 degrees."""
    m, i1, i3, arm, tilt = 2.0, 0.005 + 2 * 0.02**2 / 12, 0.01, 0.15, math.radians(37)
    a, b = (i1 + m * arm**2) * math.cos(tilt), i3 * spin
    rate = (b - math.sqrt(b * b - 4 * a * m * 9.81 * arm)) / (2 * a)
    axis = np.array([math.sin(tilt), 0, math.cos(tilt)])
    omega = spin * axis + rate * (np.array([0, 0, 1.0]) - math.cos(tilt) * axis)
    system = RigidSystem(gravity=(0, 0, -9.81))
    pose = Pose(tuple(arm * axis), (math.cos(tilt / 2), 0, math.sin(tilt / 2), 0))
    properties = MassProperties(m, np.zeros(3), np.diag([i1, i1, i3]))
    twist = Twist(tuple(np.cross(omega, arm * axis)), tuple(omega))
    body = system.add(RigidBody(properties=properties, shape=Sphere((0, 0, 0), 0.02), pose=pose, twist=twist))
    system.join(body, None, "ball", point=(0, 0, 0))
    energy, worst = system.energy, 0.0
    for _ in range(round(seconds / dt)):
        system.step(dt)
        worst = max(worst, abs(math.acos(body.rotation[2, 2]) - tilt))
        assert system.energy == pytest.approx(energy, rel=1e-5)
    u = body.rotation[:, 2]
    return worst, abs((math.atan2(u[1], u[0]) - rate * seconds + math.pi) % (2 * math.pi) - math.pi)


def test_a_top_precesses_at_its_tilt():
    """It fell over; with steps of a tenth it was off by degrees."""
    worst, turned = top_in_steady_precession(0.005, seconds=4.19)
    assert worst < 0.005 * math.radians(37)
    assert turned < 0.05


def test_a_top_is_of_second_order():
    # Steps in which it turns by less than a quarter of a radian are not divided.
    errors = [top_in_steady_precession(dt)[1] for dt in (0.0016, 0.0008, 0.0004)]
    assert (np.log2(np.array(errors[:-1]) / errors[1:]) > 1.7).all()


@pytest.mark.parametrize("kind", ["ball", "hinge", "slider", "fixed"])
def test_joints_hold_and_conserve(kind):
    rng = np.random.default_rng(7)
    system = RigidSystem(RigidOptions(iterations=5))
    a = RigidBody.box((1, 0.5, 0.3), 300, pose=Pose((0, 0, 0), random_rotation(rng)))
    b = RigidBody.box((0.4, 0.8, 0.6), 900, pose=Pose((1.2, 0.3, 0), random_rotation(rng)))
    for body in (a, b):
        body.twist = Twist(tuple(0.3 * rng.normal(size=3)), tuple(rng.normal(size=3)))
        system.add(body)
    axis = np.array([0.6, 0, 0.8])
    point = np.array([0.6, 0.2, 0.1])
    given = {"point": point, "axis": axis} if kind in ("hinge", "slider") else {"point": point}
    joint = system.join(a, b, kind, **given)
    own = [(x.rotation.T @ (point - x.center), x.rotation.T @ axis) for x in (a, b)]
    turn = a.rotation.T @ b.rotation

    def spin():
        return sum(np.cross(x.center, x.momentum) + x.angular_momentum for x in (a, b))

    momentum, angular = system.momentum, spin()
    for _ in range(200):
        system.step(0.005)
    ends = [x.center + x.rotation @ p for x, (p, _) in zip((a, b), own, strict=True)]
    axes = [x.rotation @ d for x, (_, d) in zip((a, b), own, strict=True)]
    gap = ends[0] - ends[1]
    if kind == "slider":
        np.testing.assert_allclose(np.cross(gap, axes[1]), 0, atol=2e-3)
        assert joint.place == pytest.approx(gap @ axes[1], abs=1e-12)
        assert abs(joint.place) > 0.01
    else:
        np.testing.assert_allclose(gap, 0, atol=2e-3)
    if kind == "hinge":
        np.testing.assert_allclose(axes[0], axes[1], atol=2e-3)
        assert abs(joint.place) > 0.1
    if kind in ("slider", "fixed"):
        np.testing.assert_allclose(a.rotation.T @ b.rotation, turn, atol=2e-3)
    np.testing.assert_allclose(system.momentum, momentum, rtol=0, atol=1e-12 * np.abs(b.momentum).max())
    np.testing.assert_allclose(spin(), angular, rtol=0, atol=0.02 * np.linalg.norm(angular))


def test_limits_of_a_hinge():
    system = RigidSystem(gravity=(0, 0, -G))
    door = system.add(RigidBody.box((1, 0.1, 0.1), pose=Pose((0.5, 0, 0))))
    joint = system.join(door, None, "hinge", point=(0, 0, 0), axis=(0, 1, 0), limits=(-0.2, 0.5))
    for _ in range(300):
        system.step(0.01)
    # It falls by turning about +y, as far as it may.
    assert joint.place == pytest.approx(0.5, abs=1e-6)
    assert np.abs(door.velocity).max() < 1e-6


def test_limits_of_a_slider():
    system = RigidSystem(gravity=(0, 0, -G))
    box = system.add(RigidBody.box((1, 1, 1)))
    joint = system.join(box, None, "slider", axis=(0, 0, 1), limits=(-0.25, 1.0))
    for _ in range(100):
        system.step(0.01)
    assert joint.place == pytest.approx(-0.25, abs=1e-6)
    np.testing.assert_allclose(box.center, [0, 0, -0.25], atol=1e-6)


def test_motors():
    system = RigidSystem(gravity=(0, 0, -G))
    wheel = system.add(RigidBody.box((1, 1, 1)))
    joint = system.join(wheel, None, "hinge", point=(0, 0, 0), axis=(0, 1, 0), motor=(3.0, 100.0))
    inertia = wheel.mass / 6
    for _ in range(10):
        system.step(0.01)
    # The limit gives the angular acceleration until the speed is reached.
    np.testing.assert_allclose(wheel.angular_velocity, [0, 0.1 * 100 / inertia, 0], rtol=1e-9, atol=1e-12)
    joint.motor = (3.0, 1e6)
    for _ in range(10):
        system.step(0.01)
    np.testing.assert_allclose(wheel.angular_velocity, [0, 3, 0], atol=1e-9)
    assert joint.motor == (3.0, 1e6)
    lift = RigidSystem(gravity=(0, 0, -G))
    cage = lift.add(RigidBody.box((1, 1, 1)))
    lift.join(cage, None, "slider", axis=(0, 0, 1), motor=(0.5, 1.01 * cage.mass * G))
    for _ in range(1000):
        lift.step(0.01)
    np.testing.assert_allclose(cage.velocity, [0, 0, 0.5], atol=1e-9)


def test_springs():
    """Far from each other, one without and one with critical damping."""
    system = RigidSystem()
    boxes = [system.add(RigidBody.box((1, 1, 1), 1.0, pose=Pose((0, y, 0)))) for y in (0.0, 10.0)]
    k = 40.0
    joint, damped = (
        system.join(box, None, "slider", axis=(1, 0, 0), spring=(k, damping, 0.3))
        for box, damping in zip(boxes, (0.0, 2 * math.sqrt(k)), strict=True)
    )
    dt, places = 1e-3, []
    for _ in range(3000):
        system.step(dt)
        places.append(joint.place)
    # It swings about 0.3 with the period of mass and spring.
    crossings = np.flatnonzero(np.diff(np.sign(np.array(places) - 0.3)) > 0)
    assert np.diff(crossings).mean() * dt == pytest.approx(2 * math.pi / math.sqrt(k), rel=2e-3)
    assert damped.place == pytest.approx(0.3, abs=1e-5)


def test_errors():
    system = RigidSystem()
    a, b = (system.add(RigidBody.box((1, 1, 1), pose=Pose((2.0 * k, 0, 0)))) for k in range(2))
    with pytest.raises(ValueError, match="a hinge needs an axis"):
        system.join(a, b, "hinge", point=(0, 0, 0))
    with pytest.raises(ValueError, match="a ball joint needs a point"):
        system.join(a, b, "ball")
    with pytest.raises(ValueError, match="a ball joint has no motor"):
        system.join(a, b, "ball", point=(0, 0, 0), motor=(1, 1))
    with pytest.raises(ValueError, match="has no place for limits"):
        system.join(a, b, "fixed", limits=(0, 1))
    with pytest.raises(ValueError, match="between -pi and pi"):
        system.join(a, b, "hinge", point=(0, 0, 0), axis=(0, 0, 1), limits=(-4, 4))
    with pytest.raises(ValueError, match="cannot be joined to itself"):
        system.join(a, a, "fixed")
    with pytest.raises(ValueError, match="add them first"):
        system.join(a, RigidBody.box((1, 1, 1)), "fixed")
    fixed = [system.add(RigidBody.box((1, 1, 1), pose=Pose((0, 5.0 + 2 * k, 0)), motion="fixed")) for k in range(2)]
    with pytest.raises(ValueError, match="at least one body that forces move"):
        system.join(*fixed, "fixed")


def hinged_board(angle, speed, gravity, dt):
    """A board on a hinge at the height of its lower face, above smooth ground on which it bounces flat; its least energy is 0."""
    system = RigidSystem(gravity=(0, 0, -gravity))
    system.add_obstacle(HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.0)
    half = 0.5 * angle
    turn = np.array([[math.cos(angle), 0, -math.sin(angle)], [0, 1, 0], [math.sin(angle), 0, math.cos(angle)]])
    arm = turn @ [0.5, 0, 0.05]
    omega = np.array([0, speed, 0])
    pose, twist = Pose(tuple(arm), (math.cos(half), 0, -math.sin(half), 0)), Twist(tuple(np.cross(omega, arm)), tuple(omega))
    board = system.add(RigidBody.box((1, 0.3, 0.1), pose=pose, twist=twist), friction=0.0, restitution=1.0)
    system.join(board, None, "hinge", point=(0, 0, 0), axis=(0, 1, 0))
    return system, board


def test_a_board_on_a_hinge_bounces_flat():
    """Its free corners alone would take what the hinge had to give: 0.26 of the energy was left."""
    system, board = hinged_board(0.02, 1.0, 0.0, 0.005)
    energy, impacts = system.energy, 0
    for _ in range(10):
        impacts += system.step(0.005).impacts
    assert impacts > 0
    # Its end touches the ground at the hinge: velocities hold it there, which takes the square of a turn.
    assert board.angular_velocity[1] == pytest.approx(-1.0, rel=1e-4)
    assert system.energy == pytest.approx(energy, rel=2e-4)


@pytest.mark.parametrize("spring", [None, (0.0, 0.01, 0.0)])
@pytest.mark.parametrize("dt", [0.1, 0.3])
def test_joints_do_not_open_in_long_steps(dt, spring):
    """Three bars that turn by more than a radian in a step, with dampers by velocities; they were a hundred arms apart."""
    system = RigidSystem(gravity=(0, 0, -G))
    before = None
    for k in range(3):
        bar = system.add(RigidBody.box((1, 0.1, 0.1), pose=Pose((0.5 + k, 0, 0))))
        system.join(bar, before, "hinge", point=(k, 0, 0), axis=(0, 1, 0), spring=spring)
        before = bar
    worst = 0.0
    for _ in range(round(10 / dt)):
        system.step(dt)
        ends = [b.positions(np.array([[-0.5, 0, 0], [0.5, 0, 0]])) for b in system.bodies]
        gaps = [ends[0][0], ends[0][1] - ends[1][0], ends[1][1] - ends[2][0]]
        worst = max(worst, max(float(np.linalg.norm(g)) for g in gaps))
    assert worst < 0.1
