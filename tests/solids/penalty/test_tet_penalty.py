"""Penalty response with consistent penetration depths. Source: Müller et al. 2008, section 3.8; Heidelberger et al. 2004."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import meniscus as ms
from meniscus.mesh import TetMesh, tet_block
from meniscus.solids import TetPenalty

BASE = tet_block(4, 4, 2, (2.0, 2.0, 1.0))
TIP = TetMesh(np.array([[0.0, 0, 0], [-0.3, -0.2, 0.8], [0.4, -0.1, 0.8], [0, 0.4, 0.8]]), np.array([[0, 1, 2, 3]], np.int32))


def test_forces_and_torques_sum_up_to_zero():
    """Of bodies that overlap deeply and move, with damping and friction."""
    rng = np.random.default_rng(0)
    upper = tet_block(3, 3, 3, (1.0, 1.0, 1.0))
    x = [BASE.vertices, upper.vertices @ np.array([[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1]]) + (0.5, 0.7, 0.55)]
    v = [rng.normal(size=a.shape) for a in x]
    found = TetPenalty([BASE, upper], stiffness=1e3, damping=20.0, friction=0.4).forces(x, v)
    f, p = np.concatenate(found.forces), np.concatenate(x)
    size = np.abs(f).sum()
    assert size > 1000
    assert len(found.nodes) > 20
    np.testing.assert_allclose(f.sum(axis=0), 0, atol=1e-12 * size)
    np.testing.assert_allclose(np.cross(p, f).sum(axis=0), 0, atol=1e-12 * size)


def test_the_same_bits_on_any_threads_and_in_copies():
    upper = tet_block(6, 6, 6, (1.0, 1.0, 1.0))
    x = [BASE.vertices, np.ascontiguousarray(upper.vertices + np.array([0.51, 0.72, 0.53]))]
    v = [np.random.default_rng(1).normal(size=a.shape) for a in x]
    penalty, expected = TetPenalty([BASE, upper], stiffness=1e3, damping=20.0, friction=0.4), None
    before = ms.core.num_threads()
    try:
        for threads in (1, 2, 3, 5, 8):
            ms.set_num_threads(threads)
            for own in (penalty, pickle.loads(pickle.dumps(penalty))):
                found = np.concatenate(own.forces(x, v).forces)
                expected = found if expected is None else expected
                np.testing.assert_array_equal(found, expected)
    finally:
        ms.set_num_threads(before)
    assert np.abs(expected).max() > 10


def test_depths_below_a_plane_are_exact():
    """Nodes far from any edge through the surface too: depths are heights below it, where neighbours agree on the direction."""
    upper = tet_block(2, 2, 4, (0.5, 0.5, 1.2))
    x = upper.vertices + np.array([0.7, 0.8, 0.25])
    found = TetPenalty([BASE, upper], stiffness=1.0).forces([BASE.vertices, np.ascontiguousarray(x)])
    own = found.nodes >= len(BASE.vertices)
    heights = x[found.nodes[own] - len(BASE.vertices), 2]
    assert len(np.unique(np.round(heights, 6))) > 1
    np.testing.assert_allclose(found.depths[own], 1 - heights, atol=1e-12)
    np.testing.assert_allclose(found.directions[own], np.tile([0, 0, 1], (own.sum(), 1)), atol=1e-12)


def test_a_tip_settles_at_the_depth_that_carries_it():
    """m g / k, from a fall, damped."""
    mass, k = 2.0, 400.0
    penalty = TetPenalty([BASE, TIP], stiffness=k, damping=20.0)
    height, speed, dt = 1.05, 0.0, 0.005
    for _ in range(1500):
        x = np.ascontiguousarray(TIP.vertices + np.array([0.9, 1.1, height]))
        v = np.tile([0.0, 0, speed], (4, 1))
        f = penalty.forces([BASE.vertices, x], [np.zeros_like(BASE.vertices), v]).forces[1].sum(axis=0)
        speed += dt * (f[2] / mass - 9.81)
        height += dt * speed
    assert 1 - height == pytest.approx(mass * 9.81 / k, rel=1e-6)


def test_friction_has_a_cap_and_forces_never_pull():
    x = [BASE.vertices, np.ascontiguousarray(TIP.vertices + np.array([0.9, 1.1, 0.95]))]
    still = np.zeros_like(BASE.vertices)
    for speed in (1e-3, 10.0):
        found = TetPenalty([BASE, TIP], stiffness=100.0, damping=5.0, friction=0.3).forces(x, [still, np.tile([speed, 0, 0], (4, 1))])
        push = found.forces[1][0]
        assert push[2] == pytest.approx(5.0, rel=1e-9)
        assert push[0] == pytest.approx(-min(5.0 * speed, 0.3 * 5.0), rel=1e-9)
    away = TetPenalty([BASE, TIP], stiffness=100.0, damping=5.0).forces(x, [still, np.tile([0.0, 0, 10], (4, 1))])
    assert not np.concatenate(away.forces).any()


def test_equal_lattices_shifted_by_whole_cells_feel_each_other():
    """Nodes lie exactly on faces of the other body: their way to the surface is zero, and its weight must not overflow."""
    mesh = tet_block(3, 3, 3, (1.0, 1.0, 1.0))
    penalty = TetPenalty([mesh, mesh], stiffness=100.0)

    def force(shift):
        found = penalty.forces([mesh.vertices, np.ascontiguousarray(mesh.vertices + shift)])
        assert np.isfinite(found.directions).all()
        np.testing.assert_allclose(found.forces[0].sum(axis=0), -found.forces[1].sum(axis=0), atol=1e-9)
        return found.forces[1].sum(axis=0)

    for shift in (1 / 3, 2 / 3):
        near = [force((shift + d, 0, 0))[0] for d in (-0.01, 0.01)]
        aligned = force((shift, 0, 0))
        assert aligned[0] > 0.9 * min(near)
        np.testing.assert_allclose(aligned[1:], 0, atol=1e-6 * aligned[0])
    assert (force((1 / 3, 1 / 3, 1 / 3)) > 100).all()
