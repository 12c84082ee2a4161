"""Shape matching: best fits, momenta, degenerate point sets, clusters. Source: Müller et al. 2008, section 5.4.5."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import meniscus as ms
from meniscus.solids import AttachmentConstraints, PositionBody, ShapeMatching, near_clusters

MOTIONS = ("rigid", "linear", "quadratic")
BASIS = [lambda q: q[:, 0], lambda q: q[:, 1], lambda q: q[:, 2]]
BASIS += [lambda q: q[:, 0] ** 2, lambda q: q[:, 1] ** 2, lambda q: q[:, 2] ** 2]
BASIS += [lambda q: q[:, 0] * q[:, 1], lambda q: q[:, 1] * q[:, 2], lambda q: q[:, 2] * q[:, 0]]


def rotation(seed=0):
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


def cloud(n=20, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.random(n) + 0.2


def momenta(masses, moves, places):
    return masses @ moves, np.cross(places, masses[:, None] * moves).sum(axis=0)


@pytest.mark.parametrize("motion", MOTIONS)
def test_a_moved_shape_is_its_own_goal(motion):
    x, m = cloud()
    y = x @ rotation().T + np.array([3.0, -2, 1])
    np.testing.assert_allclose(ShapeMatching(x, motion=motion, softness=0.7).goals(y, m), y, atol=3e-14)


def test_the_rigid_goal_fits_best():
    """No other turn and no other centre fits better; goals do not depend on the order of the points."""
    x, m = cloud()
    y = x @ rotation(3).T + 0.4 * np.random.default_rng(2).normal(size=x.shape)
    match = ShapeMatching(x)
    g = match.goals(y, m)
    least = (m * ((g - y) ** 2).sum(axis=1)).sum()
    center = m @ g / m.sum()
    for k in range(30):
        turn = np.random.default_rng(k).normal(size=3) * 10.0 ** -(k % 4)
        angle = np.linalg.norm(turn)
        axis = np.array([[0, -turn[2], turn[1]], [turn[2], 0, -turn[0]], [-turn[1], turn[0], 0]]) / angle
        r = np.eye(3) + np.sin(angle) * axis + (1 - np.cos(angle)) * axis @ axis
        other = (g - center) @ r.T + center + 0.1 * turn
        assert (m * ((other - y) ** 2).sum(axis=1)).sum() >= least
    order = np.random.default_rng(7).permutation(len(x))
    np.testing.assert_allclose(ShapeMatching(x[order]).goals(y[order], m[order]), g[order], atol=1e-14)


@pytest.mark.parametrize("softness", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("motion", MOTIONS)
def test_momenta(motion, softness):
    x, m = cloud(30)
    y = x @ rotation().T + 0.3 * np.random.default_rng(0).normal(size=x.shape)
    clusters = [np.arange(16), np.arange(8, 24), np.arange(14, 30)]
    g = ShapeMatching(x, motion=motion, softness=softness, clusters=clusters).goals(y, m)
    linear, angular = momenta(m, g - y, y)
    np.testing.assert_allclose(linear, 0, atol=2e-13)
    np.testing.assert_allclose(angular, 0, atol=4e-13)
    assert np.abs(g - y).max() > 0.1


def test_shared_nodes_need_shared_masses():
    """Whole masses in every cluster, and the mean of their goals, push the centre of mass."""
    x, m = cloud(30)
    y = x + 0.3 * np.random.default_rng(0).normal(size=x.shape)
    clusters = [np.arange(20), np.arange(12, 30)]
    count = np.bincount(np.concatenate(clusters), minlength=30)
    goals = np.zeros_like(x)
    for c in clusters:
        goals[c] += ShapeMatching(x[c]).goals(y[c], m[c])
    naive = goals / count[:, None]
    right = ShapeMatching(x, clusters=clusters).goals(y, m)
    assert np.abs(m @ (naive - y)).max() > 1e-3
    np.testing.assert_allclose(m @ (right - y), 0, atol=1e-13)


def test_linear_motion_and_its_volume():
    x, m = cloud()
    a = np.array([[1.2, 0.3, 0], [0, 0.9, 0.2], [0.1, 0, 1.1]])
    exact = a / np.cbrt(np.linalg.det(a))
    y = x @ exact.T
    np.testing.assert_allclose(ShapeMatching(x, motion="linear", softness=1).goals(y, m), y, atol=1e-13)
    y = x @ (1.3 * a).T + np.array([1, 2, 3])
    center = m @ y / m.sum()
    g = ShapeMatching(x, motion="linear", softness=1).goals(y, m) - center
    found = np.linalg.lstsq(x - m @ x / m.sum(), g, rcond=None)[0].T
    assert np.linalg.det(found) == pytest.approx(1, abs=1e-12)
    free = ShapeMatching(x, motion="linear", softness=1, keep_volume=False).goals(y, m)
    np.testing.assert_allclose(free, y, atol=1e-13)
    # A mirror image has no volume to keep: its goal is the turned shape.
    np.testing.assert_allclose(ShapeMatching(x, motion="linear", softness=1).goals(-x, m), ShapeMatching(x).goals(-x, m), atol=1e-13)


def test_each_of_the_27_modes_is_its_own_goal():
    """And the printed basis, whose squares have a mean, moves the centre of mass (erratum 24)."""
    x, m = cloud(40)
    q = x - m @ x / m.sum()
    lost = 0.0
    for f in BASIS:
        for d in range(3):
            y = x.copy()
            y[:, d] += 0.2 * f(q)
            np.testing.assert_allclose(ShapeMatching(x, motion="quadratic", softness=1).goals(y, m), y, atol=1e-12)
            printed = ShapeMatching(x, motion="quadratic", softness=1, basis="printed").goals(y, m)
            lost = max(lost, np.abs(m @ (printed - y)).max() / m.sum())
    assert lost > 0.01


def test_printed_corrections_lose_momentum_of_unequal_masses():
    """Errata 21 and 22: the correction of a link along the gradient alone, with 1 + 1 below, keeps the middle, not the centre of mass."""
    x, m = np.array([[0.0, 0, 0], [2, 0, 0]]), np.array([1.0, 3.0])
    n, c = np.array([-1.0, 0, 0]), 1.0
    printed = x + np.array([-c / 2 * n, c / 2 * n])
    assert abs(m @ (printed - x)[:, 0]) > 0.9
    body = PositionBody(x, masses=m)
    body.add(ms.solids.DistanceConstraints(x / 2, edges=np.array([[0, 1]], np.int32)))
    body.step(1.0, substeps=1)
    assert np.ptp(body.positions[:, 0]) == pytest.approx(1, abs=1e-15)
    np.testing.assert_allclose(m @ (body.positions - x), 0, atol=1e-15)


DEGENERATE = {
    "flat": lambda x: x * [1, 1, 0],
    "tilted": lambda x: (x * [1, 1, 0]) @ rotation(5).T,
    "straight": lambda x: x * [1, 0, 0],
    "point": lambda x: x * 0,
    "cube": lambda _: np.array([[i, j, k] for i in (0.0, 1) for j in (0.0, 1) for k in (0.0, 1)]),
}


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("shape", DEGENERATE)
def test_degenerate_shapes(shape, motion):
    x = DEGENERATE[shape](cloud(8)[0])
    m = np.linspace(1, 2, 8)
    match = ShapeMatching(x, motion=motion, softness=0.8)
    turned = x @ rotation(1).T + 0.5
    np.testing.assert_allclose(match.goals(turned, m), turned, atol=1e-12)
    y = x + 0.3 * np.random.default_rng(0).normal(size=x.shape)
    g = match.goals(y, m)
    assert np.isfinite(g).all()
    linear, angular = momenta(m, g - y, y)
    np.testing.assert_allclose(linear, 0, atol=1e-12)
    np.testing.assert_allclose(angular, 0, atol=1e-12)
    # Everything at one place.
    assert np.isfinite(match.goals(np.zeros_like(x), m)).all()


def test_flat_shapes_keep_their_area():
    x = cloud(10)[0] * [1, 1, 0]
    y = (x * [1.5, 1.2, 0]) @ rotation().T
    g = ShapeMatching(x, motion="linear", softness=1).goals(y)
    found = np.linalg.lstsq((x - x.mean(axis=0))[:, :2], g - g.mean(axis=0), rcond=None)[0].T
    assert np.linalg.norm(np.cross(found[:, 0], found[:, 1])) == pytest.approx(1, abs=1e-12)


def test_a_single_node_and_an_inverted_shape():
    body = PositionBody(np.ones((1, 3)), masses=1.0)
    body.add(ShapeMatching(body.positions.astype(float)))
    body.velocities[...] = [1, 2, 3]
    body.step(0.1)
    np.testing.assert_allclose(body.positions[0], [1.1, 1.2, 1.3], atol=1e-14)
    mesh = ms.mesh.tet_block(2, 2, 2)
    for motion in MOTIONS:
        body = PositionBody(mesh, density=100.0)
        body.add(ShapeMatching(mesh, motion=motion))
        body.positions[:, 0] *= -1
        for _ in range(30):
            body.step(0.1, substeps=1, iterations=3)
            body.velocities[...] = 0
        p = body.positions[mesh.tets]
        assert (np.linalg.det(p[:, 1:] - p[:, :1]) > 0).all()


@pytest.mark.parametrize("k", [0.2, 0.7])
def test_printed_stiffness_leaves_a_part_of_the_error(k):
    """1 - k of it, whatever the number of iterations."""
    x, m = cloud()
    start = x + 0.2 * np.random.default_rng(3).normal(size=x.shape)
    goal = ShapeMatching(x).goals(start, m)
    for iterations in (1, 5):
        body = PositionBody(x, masses=m)
        body.positions[...] = start
        body.add(ShapeMatching(x, stiffness=k))
        body.step(1.0, substeps=1, iterations=iterations, method="printed")
        np.testing.assert_allclose(body.positions - goal, (1 - k) * (start - goal), atol=1e-14)


def test_a_compliant_step_is_one_of_implicit_euler():
    """m (x - x~) / dt^2 = m (g(x) - x) / compliance, after one projection, which further ones do not change."""
    x, m = cloud()
    dt, compliance = 0.05, 0.01
    start = x @ rotation().T + 0.2 * np.random.default_rng(3).normal(size=x.shape)
    for iterations in (1, 4):
        body = PositionBody(x, masses=m)
        match = body.add(ShapeMatching(x, compliance=compliance))
        body.positions[...] = start
        body.step(dt, substeps=1, iterations=iterations)
        g = match.goals(body.positions, m)
        np.testing.assert_allclose((body.positions - start) / dt**2, (g - body.positions) / compliance, atol=1e-10)


def test_overlapping_clusters_hang_together():
    mesh = ms.mesh.tet_block(10, 3, 3, (1.0, 0.3, 0.3))
    clusters = near_clusters(mesh.vertices, 0.15)
    assert set(np.concatenate(clusters)) == set(range(len(mesh.vertices)))
    count = np.bincount(np.concatenate(clusters))
    assert count.min() >= 1
    assert count.max() >= 4
    body = PositionBody(mesh, density=1000.0, gravity=(0, 0, -9.81))
    body.add(ShapeMatching(mesh, clusters=clusters, motion="linear", compliance=1e-6))
    body.pin(np.flatnonzero(mesh.vertices[:, 0] < 0.01))
    for _ in range(40):
        body.step(1 / 60, substeps=2, iterations=4, damping=3.0)
    tip = body.positions[mesh.vertices[:, 0] > 0.99, 2].mean()
    assert 0.01 < mesh.vertices[mesh.vertices[:, 0] > 0.99, 2].mean() - tip < 0.8
    body = PositionBody(mesh, density=1000.0)
    body.add(ShapeMatching(mesh, clusters=clusters))
    body.velocities[...] = np.random.default_rng(1).normal(size=body.velocities.shape)
    before = body.momentum
    for _ in range(10):
        body.step(1 / 60)
    np.testing.assert_allclose(body.momentum, before, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_give_the_same_bits(dtype):
    mesh = ms.mesh.tet_block(12, 8, 8)
    found, before = [], ms.num_threads()
    try:
        for threads in (1, 2, 3, 5, 8):
            ms.set_num_threads(threads)
            body = PositionBody(mesh, density=100.0, gravity=(0, 0, -9.81), dtype=dtype)
            # One cluster of several pieces, and many.
            body.add(ShapeMatching(mesh, compliance=1e-3, motion="quadratic"))
            body.add(ShapeMatching(mesh, clusters=near_clusters(mesh.vertices, 0.3), motion="linear"))
            body.add(AttachmentConstraints([0], [[0.0, 0, 0.2]]))
            for _ in range(2):
                body.step(1 / 60, substeps=2)
            found.append(body.nodes.tobytes())
    finally:
        ms.set_num_threads(before)
    assert len(set(found)) == 1


def test_copies_and_pickles_go_on_alike():
    mesh = ms.mesh.tet_block(3, 2, 2)
    body = PositionBody(mesh, density=100.0, gravity=(0, 0, -9.81))
    body.add(ShapeMatching(mesh, motion="quadratic", clusters=near_clusters(mesh.vertices, 0.5), compliance=1e-4))
    body.pin([0])
    body.step(1 / 60)
    others = [body.copy(), pickle.loads(pickle.dumps(body))]
    body.step(1 / 60)
    for other in others:
        other.step(1 / 60)
        np.testing.assert_array_equal(other.nodes, body.nodes)


def test_errors():
    x, m = cloud(5)
    with pytest.raises(ValueError, match="cluster 1 must be a list of nodes from 0 to 4"):
        ShapeMatching(x, clusters=[[0, 1], [5]])
    with pytest.raises(ValueError, match="cluster 0 has node 2 twice"):
        ShapeMatching(x, clusters=[[1, 2, 2]]).goals(x, m)
    with pytest.raises(ValueError, match="masses of matched shapes must be positive and finite, but node 1"):
        PositionBody(x, masses=[1, np.inf, 1, 1, 1]).add(ShapeMatching(x))
    with pytest.raises(ValueError, match="softness must be from 0 to 1"):
        ShapeMatching(x, softness=2)
    with pytest.raises(ValueError, match="the shape has 5 nodes at rest, but the body 4"):
        PositionBody(x[:4], masses=1.0).add(ShapeMatching(x, clusters=[[0, 1]]))
    with pytest.raises(ValueError, match="reach must be at least half the spacing"):
        near_clusters(x, 1.0, 0.4)
