"""Thin rigid bodies, whose moments of inertia differ by much: energy in flight and on the ground."""

from __future__ import annotations

import numpy as np
import pytest
from support.motion import random_rotation

from meniscus.solids import RigidBody, RigidSystem
from meniscus.surface import HalfSpace, Pose, Twist


@pytest.mark.parametrize(("side", "speed", "dt"), [(0.02, 20, 0.01), (0.005, 5, 0.01), (0.005, 20, 1 / 24)])
@pytest.mark.parametrize("method", ["midpoint", "fourth-order"])
def test_a_rod_in_flight_keeps_its_energy(side, speed, dt, method):
    """Of a rod with two equal moments, the middle of the step keeps the energy: the angle between rod and momentum stays."""
    rod = RigidBody.box((1, side, side), twist=Twist((0, 0, 0), (0.1 * speed, speed, 0.5 * speed)))
    energy, spin = rod.kinetic_energy, rod.angular_momentum.copy()
    for _ in range(200):
        rod.step(dt, method=method)
        assert rod.kinetic_energy == pytest.approx(energy, rel=1e-9)
    np.testing.assert_array_equal(rod.angular_momentum, spin)


def test_a_blade_in_flight_keeps_its_energy():
    """Three different moments: the energy of a symmetric method does not drift."""
    blade = RigidBody.box((1, 0.03, 0.01), twist=Twist((0, 0, 0), (2, 7, 5)))
    energy = blade.kinetic_energy
    found = []
    for _ in range(1000):
        blade.step(0.01)
        found.append(blade.kinetic_energy / energy)
    assert max(found) < 1.001
    assert min(found) > 0.999


def test_newton_and_iteration_agree():
    """Where both converge: small steps of a body that needs the one in a large step."""
    ends = []
    for parts in (1, 200):
        rod = RigidBody.box((1, 0.1, 0.05), twist=Twist((0, 0, 0), (2, 3, 1)))
        for _ in range(20 * parts):
            rod.step(0.01 / parts)
        ends.append(rod.state_row.copy())
    np.testing.assert_allclose(ends[0][3:7], ends[1][3:7], atol=2e-3)


@pytest.mark.parametrize(("side", "dt"), [(0.01, 0.01), (0.005, 0.01), (0.01, 1 / 24)])
def test_rods_that_fall_gain_no_energy(side, dt):
    rng = np.random.default_rng(3)
    system = RigidSystem(gravity=(0, 0, -9.81))
    system.add_obstacle(HalfSpace((0, 0, 0), (0, 0, 1)))
    for k in range(6):
        system.add(RigidBody.box((1, side, side), pose=Pose((3.0 * k, 0, 1), random_rotation(rng))))
    start = [b.mass * 9.81 for b in system.bodies]
    for _ in range(int(1.5 / dt)):
        system.step(dt)
        for b, e in zip(system.bodies, start, strict=True):
            assert b.kinetic_energy + b.mass * 9.81 * b.center[2] < 1.001 * e
