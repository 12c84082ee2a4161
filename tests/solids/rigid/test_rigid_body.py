"""Flight of rigid bodies, their momenta, impulses and state. Source: Müller et al. 2008, sections 6.1 to 6.3."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import meniscus as ms
from meniscus.solids import MassProperties, RigidBody
from meniscus.surface import Pose, Twist

# Turns over after every half period of an elliptic function: 2 K(k) / rate.
FLIP = 19.5529


def tumbling():
    """A body that spins about its middle axis, nearly."""
    body = RigidBody(properties=MassProperties(1.0, np.zeros(3), np.diag([1.0, 2, 3])))
    body.twist = Twist((0, 0, 0), (0.01, 1, 0.01))
    return body


def flips(body, dt, duration, method):
    """Times at which the spin about the middle axis changes its sign, and relative energies after each step."""
    times, energies, last = [], [], 1.0
    first = body.kinetic_energy
    for k in range(round(duration / dt)):
        body.step(dt, method=method)
        r = body.matrix
        spin = (r.T @ body.angular_momentum)[1] / 2 if method == "explicit-euler" else (body.rotation.T @ body.angular_velocity)[1]
        if spin * last < 0:
            times.append((k + 1) * dt - dt * abs(spin) / (abs(spin) + abs(last)))
        last = spin
        energies.append(body.kinetic_energy / first - 1)
    return np.array(times), np.array(energies)


@pytest.mark.slow
def test_a_tumbling_body_flips_in_time():
    times, energies = flips(tumbling(), 0.01, 40, "midpoint")
    assert np.diff(times) == pytest.approx([FLIP], abs=0.02)
    assert abs(energies[-1]) < 1e-6
    # During a flip the energy leaves and comes back.
    assert np.abs(energies).max() < 5e-6
    times, energies = flips(tumbling(), 0.01, 40, "fourth-order")
    assert np.diff(times) == pytest.approx([FLIP], abs=1e-4)
    assert np.abs(energies).max() < 1e-6


def test_orders():
    """Of the orientation at the end, against a run with a tenth of the smallest step."""

    def end(dt, method):
        body = tumbling()
        body.step(dt, steps=round(12 / dt), method=method)
        return body.rotation

    exact = end(0.0025, "fourth-order")
    for method, order in (("midpoint", 2), ("fourth-order", 4)):
        errors = [np.abs(end(dt, method) - exact).max() for dt in (0.2, 0.1, 0.05)]
        np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), order, atol=0.35)


def test_the_printed_form_fails():
    """Its columns grow by sqrt(1 + (dt omega)^2) in each step, and energy with them."""
    body = RigidBody.box((1, 1, 1))
    body.twist = Twist((0, 0, 0), (0, 0, 10))
    body.step(1 / 60, method="explicit-euler")
    assert np.linalg.norm(body.matrix[:, 0]) == pytest.approx(np.sqrt(1 + (10 / 60) ** 2), rel=1e-12)
    times, _ = flips(tumbling(), 0.01, 40, "explicit-euler")
    assert len(times) < 2 or abs(times[1] - times[0] - FLIP) > 1
    grown = np.linalg.svd(body.matrix)[1]
    assert grown[0] > 1.01


def test_momentum_and_rotation_over_a_million_steps():
    body = tumbling()
    before = body.angular_momentum.copy()
    body.step(0.01, steps=1_000_000)
    np.testing.assert_array_equal(body.angular_momentum, before)
    np.testing.assert_allclose(body.rotation @ body.rotation.T, np.eye(3), atol=1e-14)
    assert body.kinetic_energy == pytest.approx(tumbling().kinetic_energy, rel=1e-5)


@pytest.mark.parametrize("speed", [30.0, 300.0, 1e4])
@pytest.mark.parametrize("method", ["midpoint", "fourth-order"])
def test_fast_tumbling_keeps_its_energy(speed, method):
    """Steps of 1/24 s, in which the body turns up to 66 times."""
    body = tumbling()
    body.twist = Twist((0, 0, 0), (0.3 * speed, speed, -0.2 * speed))
    before, momentum = body.kinetic_energy, body.angular_momentum.copy()
    for _ in range(100):
        body.step(1 / 24, method=method)
        assert body.kinetic_energy == pytest.approx(before, rel=0.01 if method == "midpoint" else 1e-3)
    np.testing.assert_array_equal(body.angular_momentum, momentum)


@pytest.mark.parametrize(("size", "spin"), [((0.3, 0.1, 0.03), 14.0), ((0.3, 0.1, 0.03), 90.0)])
def test_plates_turn_over_with_their_energy(size, spin):
    """Steps that are divided in other parts while the body turns faster gave 1.6 % and 15 % more, and 609 turnovers for 107."""
    body = RigidBody.box(size)
    w = np.full(3, 0.03 * spin)
    w[1] = spin
    body.twist = Twist((0, 0, 0), tuple(w))
    energy, turnovers, last = body.kinetic_energy, 0, spin
    for _ in range(round(100 * 2 * np.pi / spin / 0.005)):
        body.step(0.005)
        now = (body.rotation.T @ body.angular_velocity)[1]
        turnovers += now * last < 0
        last = now
        assert body.kinetic_energy == pytest.approx(energy, rel=1e-12)
    # By an integrator of eighth order.
    assert turnovers == 40


def test_free_fall_is_exact():
    body = RigidBody.box((0.1, 0.2, 0.3), gravity=(0, 0, -9.81), twist=Twist((1, 2, 3), (4, 5, 6)))
    body.step(0.01, steps=150)
    np.testing.assert_allclose(body.center, np.array([1, 2, 3]) * 1.5 - [0, 0, 9.81 * 1.5**2 / 2], rtol=1e-13)
    np.testing.assert_allclose(body.velocity, [1, 2, 3 - 9.81 * 1.5], rtol=1e-13)


def test_a_heavy_top_precesses():
    """About the vertical, with M g r / (J3 omega3), as it spins fast."""
    r, m, spin = 0.1, 2.0, 800.0
    inertia = np.diag([0.02, 0.02, 0.01])
    body = RigidBody(properties=MassProperties(m, np.zeros(3), inertia), pose=Pose((0, 0, 0), [[0, 0, 1], [1, 0, 0], [0, 1, 0]]))
    omega = m * 9.81 * r / (0.01 * spin)
    # Spins about the horizontal x; the momentum of the precession itself belongs to the steady motion.
    body.twist = Twist((0, 0, 0), (spin, 0, omega))
    dt, turned = 1e-3, 0.0
    for _ in range(2000):
        axis = body.rotation[:, 2]
        body.step(dt, torque=np.cross(r * axis, [0, 0, -m * 9.81]))
        new = body.rotation[:, 2]
        turned += np.arctan2(axis[0] * new[1] - axis[1] * new[0], axis @ new)
    assert turned / 2.0 == pytest.approx(omega, rel=2e-3)
    assert abs(body.rotation[2, 2]) < 5e-3


def test_a_rod_struck_at_its_end():
    length, p = 2.0, 3.0
    properties = MassProperties.box((length, 1e-4, 1e-4), 1e8)
    body = RigidBody(properties=properties)
    body.apply_impulses(np.array([[length / 2, 0, 0]]), np.array([[0, p, 0]]))
    np.testing.assert_allclose(body.velocity, [0, p / body.mass, 0], rtol=1e-14)
    np.testing.assert_allclose(body.angular_velocity, [0, 0, 6 * p / (body.mass * length)], rtol=1e-7)


def test_inverse_mass_is_the_answer_to_an_impulse():
    rng = np.random.default_rng(4)
    body = RigidBody.box((0.3, 0.7, 1.2), pose=Pose((3, 2, 1), [[0, -1, 0], [1, 0, 0], [0, 0, 1]]), twist=Twist((1, 0, 2), (3, -1, 2)))
    x = rng.normal(size=(6, 3)) + body.center
    k = body.inverse_mass(x)
    np.testing.assert_allclose(k, k.transpose(0, 2, 1), atol=1e-18)
    for i in range(6):
        other, j = body.copy(), rng.normal(size=(1, 3))
        other.apply_impulses(x[i : i + 1], j)
        np.testing.assert_allclose((other.velocities(x[i : i + 1]) - body.velocities(x[i : i + 1]))[0], k[i] @ j[0], rtol=1e-11, atol=1e-15)


def test_paths_and_fixed_bodies():
    def path(t):
        c, s = np.cos(2 * t), np.sin(2 * t)
        return Pose((t, 0, 0), [[c, -s, 0], [s, c, 0], [0, 0, 1]])

    body = RigidBody.box((1, 1, 1), motion=path, gravity=(0, 0, -9.81))
    corners = body.mesh.vertices
    start = path(0.0).apply(corners)
    body.step(0.1, force=(9, 9, 9), steps=3)
    np.testing.assert_allclose(body.positions(), path(0.3).apply(corners), atol=1e-14)
    assert body.angular_velocity == pytest.approx([0, 0, 2])
    assert np.abs(start - body.positions()).max() > 0.2
    body.apply_impulses(np.zeros((1, 3)), np.ones((1, 3)))
    assert body.angular_velocity == pytest.approx([0, 0, 2])
    assert not body.inverse_mass(np.zeros((2, 3))).any()
    still = RigidBody.sphere(0.4, motion="fixed", pose=Pose((1, 1, 1)), gravity=(0, 0, -9.81))
    still.step(1.0, torque=(1, 2, 3))
    np.testing.assert_array_equal(still.center, [1, 1, 1])
    assert still.time == 1.0


def test_prediction_snapshot_and_copies():
    body = RigidBody.box((0.3, 0.7, 1.2), pose=Pose((0, 0, 1)), twist=Twist((1, 0, 2), (3, -1, 2)), gravity=(0, 0, -9.81))
    row, time = body.state_row.copy(), body.time
    pose, twist = body.predict(0.05, force=(1, 2, 3), torque=(0.1, 0, 0))
    np.testing.assert_array_equal(body.state_row, row)
    assert body.time == time
    saved = body.snapshot()
    again = pickle.loads(pickle.dumps(body))
    for b in (body, body.copy(), again):
        b.step(0.05, force=(1, 2, 3), torque=(0.1, 0, 0))
        assert (b.pose.translation, b.pose.rotation) == (pose.translation, pose.rotation)
        assert b.twist == twist
    body.restore(saved)
    np.testing.assert_array_equal(body.state_row, row)


def test_as_an_obstacle():
    """A ball as a solid: its surface and velocity are those of the body, now and shortly after."""
    body = RigidBody.sphere(0.5, pose=Pose((1, 0, 0)), twist=Twist((0, 2, 0), (0, 0, 3)))
    body.step(0.25)
    solid = body.as_solid()
    points = np.array([[1, 0.5, 0], [2, 0.5, 0], [1.0, 1.3, 0.0]])
    np.testing.assert_allclose(solid.signed_distance(points, body.time), [-0.5, 0.5, 0.3], atol=1e-14)
    np.testing.assert_allclose(solid.velocity(points, body.time), body.velocities(points), atol=1e-12)
    np.testing.assert_allclose(
        solid.signed_distance(points, body.time + 0.1), np.linalg.norm(points - [1, 0.7, 0], axis=1) - 0.5, atol=1e-14
    )
    tetrahedra = RigidBody(ms.mesh.tet_block(1, 1, 1, (1, 1, 1)), twist=Twist((1, 0, 0), (0, 1, 0)))
    inside = np.array([[0.5, 0.5, 0.9]])
    assert tetrahedra.as_solid().signed_distance(inside)[0] == pytest.approx(-0.1)
    np.testing.assert_allclose(tetrahedra.as_solid().velocity(inside), tetrahedra.velocities(inside))


@pytest.mark.parametrize("seed", range(20))
def test_poses_and_twists_come_back(seed):
    rng = np.random.default_rng(seed)
    q = rng.normal(size=4)
    if seed < 4:  # half turns, about the axes too
        q[0] = 0
        q[1:] = np.eye(4)[seed, 1:] + (seed == 0)
    body = RigidBody(ms.mesh.tet_block(1, 2, 1, (1, 2, 3)), twist=Twist((0, 0, 0), (1, 2, 3)))
    body.pose = Pose(tuple(rng.normal(size=3)), tuple((q / np.linalg.norm(q)).tolist()))
    np.testing.assert_allclose(body.angular_velocity, [1, 2, 3], rtol=1e-13)
    r = np.array(body.pose.rotation)
    np.testing.assert_allclose(r @ r.T, np.eye(3), atol=1e-15 * 4)
    np.testing.assert_allclose(body.pose.apply(body.mesh.vertices), body.positions(), atol=1e-14)
    body.twist = Twist((1, -2, 0.5), (0.3, 0.2, 0.1))
    np.testing.assert_allclose(body.velocities(body.positions(np.zeros((1, 3))))[0], [1, -2, 0.5], atol=1e-14)
    np.testing.assert_allclose(body.twist.linear, [1, -2, 0.5], atol=1e-14)


def test_errors():
    with pytest.raises(ValueError, match="a rigid body needs a mesh, or its properties"):
        RigidBody()
    with pytest.raises(ValueError, match="must be closed"):
        RigidBody(ms.mesh.cloth_mesh(2, 2))
    body = RigidBody.box((1, 1, 1))
    before = body.state_row.copy()
    for call in (lambda: body.step(0.0), lambda: body.step(0.1, (np.nan, 0, 0)), lambda: body.step(1.0, (1e308,) * 3, steps=9)):
        with pytest.raises(ValueError, match=r"dt must be positive|must be finite|not finite"):
            call()
        np.testing.assert_array_equal(body.state_row, before)
        assert body.time == 0
    with pytest.raises(ValueError, match="method must be one of 'midpoint'"):
        body.step(0.1, method="rk4")
    with pytest.raises(ValueError, match="motion must be one of 'dynamic', 'fixed'"):
        RigidBody.box((1, 1, 1), motion="static")
    assert RigidBody(ms.mesh.cloth_mesh(2, 2), shell=True, density=1.0).mass == pytest.approx(1)


def _circle(time: float) -> Pose:
    """About an axis 1 m away from the middle of the body."""
    a = 2.0 * time
    turn = [[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]]
    return Pose((np.cos(a), np.sin(a), 0), turn)


@pytest.mark.parametrize("steps", [1, 50])
def test_a_body_on_a_path_has_the_velocity_of_the_last_step(steps):
    body = RigidBody(box_around((-1.0, 0.0, 0.0)), motion=_circle)
    body.step(0.01, steps=steps)
    np.testing.assert_allclose(body.angular_velocity, [0, 0, 2], rtol=0, atol=1e-12)
    # The centre stays on the axis, although the origin of the rest pose goes round it.
    np.testing.assert_allclose(body.center, 0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(body.velocity, 0, rtol=0, atol=1e-11)
    origin = np.array([_circle(body.time).translation])
    np.testing.assert_allclose(body.velocities(origin)[0], [-2 * origin[0, 1], 2 * origin[0, 0], 0], rtol=0, atol=1e-11)


def box_around(center):
    mesh = RigidBody.box((0.2, 0.3, 0.4)).mesh
    return mesh.moved(mesh.vertices + np.array(center))


def test_an_obstacle_on_a_path_has_its_velocity_without_steps():
    solid = RigidBody.box((0.2, 0.2, 0.2), motion=lambda t: Pose((3 * t, 0, 0))).as_solid()
    at = np.array([[1.5, 0, 0.1]])
    np.testing.assert_allclose(solid.signed_distance(at, 0.5), 0, atol=1e-12)
    for dt in (0.1, -0.1):
        np.testing.assert_allclose(solid.velocity(at, 0.5, dt), [[3, 0, 0]], rtol=0, atol=1e-12)


def test_only_what_forces_move_has_a_velocity_of_its_own():
    for motion in ("fixed", lambda t: Pose((0, 0, 0))):
        with pytest.raises(ValueError, match="has no velocity of its own"):
            RigidBody.box((1, 1, 1), motion=motion, twist=Twist((0, 0, 1), (0, 0, 0)))


def test_an_open_surface_is_no_obstacle():
    with pytest.raises(ValueError, match="closed surface, which the body has not"):
        RigidBody(ms.mesh.cloth_mesh(2, 2), shell=True).as_solid()


def test_momenta_are_assignable():
    body = RigidBody.box((1, 1, 1))
    body.momentum += [1.0, 2.0, 3.0]
    body.angular_momentum = (4.0, 5.0, 6.0)
    np.testing.assert_array_equal(body.state_row[7:], [1, 2, 3, 4, 5, 6])
