"""Reduced bodies on obstacles: rest, friction, moving floors. Source: Müller et al. 2008, chapters 6 and 7."""

from __future__ import annotations

import numpy as np
import pytest

from meniscus.mesh import tet_block
from meniscus.solids import ReducedBody, ReducedModel
from meniscus.surface import HalfSpace, KinematicSolid, Pose

MODEL = ReducedModel(tet_block(4, 2, 2, (2.0, 1.0, 1.0), pattern="five"), modes=8, size=20, youngs_modulus=5e5)
FLOOR = KinematicSolid(HalfSpace((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)))


def jelly(height, gravity=(0.0, 0.0, -9.81), rotation=None):
    return ReducedBody(MODEL, pose=Pose((0, 0, height), rotation), gravity=gravity, mass_damping=0.5, stiffness_damping=0.005)


def test_a_body_that_falls_on_its_edge_comes_to_rest_on_the_floor():
    body = jelly(1.2, rotation=(0.8, 0.6, 0.0, 0.0))
    lowest = []
    for _ in range(400):
        body.step(0.01, obstacles=FLOOR, friction=0.5, method="implicit-euler")
        lowest.append(body.positions[:, 2].min())
    assert min(lowest) > -0.01
    assert lowest[-1] == pytest.approx(0, abs=1e-4)
    assert np.abs(body.velocities).max() < 0.01
    # Its weight is on the floor: the momentum does not change.
    before = body.momentum.copy()
    body.step(0.01, obstacles=FLOOR, friction=0.5, method="implicit-euler")
    assert np.abs(body.momentum - before).max() < 0.01 * body.mass * 9.81 * 0.01


def test_friction_on_a_slope():
    """At an angle of tan 0.3: with a coefficient of 0.4 the body stays, with 0.1 it slides with g (sin - 0.1 cos)."""
    angle = np.arctan(0.3)
    gravity = 9.81 * np.array([np.sin(angle), 0, -np.cos(angle)])
    for friction in (0.4, 0.1):
        body = jelly(0.0, gravity)
        for _ in range(100):
            body.step(0.01, obstacles=FLOOR, friction=friction, method="implicit-euler")
        start = body.momentum[0] / body.mass
        for _ in range(50):
            body.step(0.01, obstacles=FLOOR, friction=friction, method="implicit-euler")
        gained = body.momentum[0] / body.mass - start
        expected = 0.0 if friction == 0.4 else 0.5 * 9.81 * (np.sin(angle) - 0.1 * np.cos(angle))
        assert gained == pytest.approx(expected, abs=0.02)
        assert (start < 0.01) == (friction == 0.4)


def test_a_floor_that_rises_lifts_the_body():
    lift = KinematicSolid(HalfSpace((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), lambda t: (0.0, 0.0, 0.3 * t))
    body = jelly(0.0)
    for _ in range(200):
        body.step(0.01, obstacles=[lift], method="implicit-euler")
    assert body.momentum[2] / body.mass == pytest.approx(0.3, abs=0.01)
    assert body.positions[:, 2].min() == pytest.approx(0.6, abs=0.01)


@pytest.mark.parametrize("dt", [0.01, 0.001])
def test_a_body_that_begins_inside_the_floor_comes_out_slowly(dt):
    """The speed is that of an edge per second, whatever the step: a part of the depth per step threw the body up at up to 30 m/s."""
    body = jelly(-0.2)
    fastest = 0.0
    for k in range(int(0.7 / dt)):
        body.step(dt, obstacles=FLOOR, method="implicit-euler")
        fastest = max(fastest, body.momentum[2] / body.mass)
        if k == int(0.1 / dt):
            assert body.positions[:, 2].min() < -0.1
    assert fastest < 1.2
    assert body.positions[:, 2].min() > -0.01
