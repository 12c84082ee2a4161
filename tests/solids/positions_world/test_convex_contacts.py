"""Nodes and convex rigid bodies: signed distances. Source: Müller et al. 2008, section 5.4.3."""

from __future__ import annotations

import numpy as np
import pytest
from support.variants import slow_but

import meniscus as ms
from meniscus.solids import BendingConstraints, DistanceConstraints, PositionBody, PositionsWorld, RigidBody
from meniscus.surface import Capsule, Pose

G = (0.0, 0.0, -9.81)
TURN = np.linalg.qr(np.array([[0.9, -0.3, 0.2], [0.3, 0.9, 0.4], [-0.3, 0.1, 1.0]]))[0]
TURN = (TURN * np.sign(np.linalg.det(TURN))).tolist()


def sheet(n, size, height, density=0.3):
    flat = ms.mesh.cloth_mesh(n, n, (size, size), origin=(-size / 2, -size / 2, height))
    body = PositionBody(flat, density=density)
    body.add(DistanceConstraints(flat, compliance=1e-7))
    body.add(BendingConstraints(flat, compliance=1e3))
    return body


def polyhedron_distance(body, x):
    """By brute force: the least distance to triangles, negative inside, of a convex body."""
    p = body.positions()
    t = np.asarray(body.mesh.triangles)
    a, b, c = p[t[:, 0]], p[t[:, 1]], p[t[:, 2]]
    n = np.cross(b - a, c - a)
    n /= np.linalg.norm(n, axis=1)[:, None]
    heights = np.einsum("td,ntd->nt", n, x[:, None] - a)
    foot = x[:, None] - heights[..., None] * n
    least = np.full(len(x), np.inf)
    inside = np.ones(heights.shape, bool)
    for q, r in ((a, b), (b, c), (c, a)):
        inside &= np.einsum("td,ntd->nt", np.cross(n, r - q), foot - q) >= 0
        along = np.clip(np.einsum("ntd,td->nt", x[:, None] - q, r - q) / ((r - q) ** 2).sum(axis=1), 0, 1)
        least = np.minimum(least, np.linalg.norm(x[:, None] - q - along[..., None] * (r - q), axis=2).min(axis=1))
    least = np.minimum(least, np.where(inside, np.abs(heights), np.inf).min(axis=1))
    return np.where(heights.max(axis=1) < 0, heights.max(axis=1), least)


def body_of(kind):
    """A body that is held, and the distance of points from it."""
    if kind == "sphere":
        body = RigidBody.sphere(0.08, motion=lambda t: Pose((0.0, 0.0, 0.0)))
        return body, lambda x: np.linalg.norm(x, axis=1) - 0.08
    if kind == "capsule":
        body = RigidBody(
            RigidBody.sphere(0.05).mesh, shape=Capsule((-0.06, 0, 0), (0.06, 0, 0), 0.05), motion=lambda t: Pose((0.0, 0.0, 0.0))
        )
        return body, lambda x: np.linalg.norm(x - np.clip(x[:, :1], -0.06, 0.06) * [[1, 0, 0]], axis=1) - 0.05
    if kind == "box":
        body = RigidBody.box((0.2, 0.14, 0.1), motion=lambda t: Pose((0.0, 0.0, 0.0), TURN))
    else:
        points = np.random.default_rng(3).normal(size=(14, 3))
        points *= 0.1 / np.linalg.norm(points, axis=1)[:, None]
        body = RigidBody.hull(points, motion=lambda t: Pose((0.0, 0.0, 0.0), TURN))
    return body, lambda x: polyhedron_distance(body, x)


@pytest.mark.parametrize("kind", slow_but(["sphere", "capsule", "box", "hull"], "box", "hull"))
def test_cloth_that_falls_on_a_convex_body_stays_half_a_thickness_away(kind):
    """Nodes keep their distance on faces, edges and corners, within what the other constraints push in a substep."""
    body, distance = body_of(kind)
    world = PositionsWorld(gravity=G, substeps=8, damping=1.0)
    world.add(body, thickness=0.0, friction=0.3)
    cloth = world.add(sheet(20, 0.4, 0.13), thickness=0.012, friction=0.3)
    least = np.inf
    for _ in range(45):
        world.step(1 / 60)
        least = min(least, float(distance(cloth.positions).min()))
    assert 0.006 * 0.85 < least < 0.0066


@pytest.mark.parametrize("speed", [3.0, 10.0])
def test_a_fast_box_does_not_pass_through_cloth(speed):
    """Ways of a substep are tested, not places: a box that goes 0.02 m in a substep takes the cloth along."""
    world = PositionsWorld(substeps=8)
    cloth = world.add(sheet(16, 0.3, 0.0), thickness=0.01)
    box = world.add(RigidBody.box((0.1, 0.1, 0.1), 300.0, pose=Pose((0.003, 0.002, 0.15))))
    box.momentum = box.mass * np.array([0.0, 0.0, -speed])
    before = world.momentum
    for _ in range(8):
        world.step(1 / 60)
        np.testing.assert_allclose(world.momentum, before, rtol=0, atol=1e-12 * np.abs(before).sum())
    middle = np.abs(cloth.positions[:, :2] - box.center[:2]).max(axis=1) < 0.04
    assert middle.sum() > 10
    assert (cloth.positions[middle, 2] < box.center[2] - 0.049).all()


def test_a_corner_is_held_by_one_large_triangle():
    """No node and no edge of it is near the box, which is on one corner."""
    world = PositionsWorld(substeps=8)
    corners = np.array([[-0.5, -0.4, 0.0], [0.6, -0.4, 0.0], [0.0, 0.7, 0.0]])
    loose = world.add(PositionBody(ms.mesh.TriangleMesh(corners, np.array([[0, 1, 2]], np.int32)), masses=np.full(3, 0.5)), thickness=0.02)
    turn = np.linalg.qr(np.array([[1.0, 1, 1], [1, -1, 0], [1, 1, -2]]).T)[0][:, [1, 2, 0]]
    turn = (turn * np.sign(np.linalg.det(turn))).T
    box = world.add(RigidBody.box((0.1, 0.1, 0.1), 300.0, pose=Pose((0.02, -0.03, 0.12), turn.tolist())), friction=0.0)
    box.momentum = box.mass * np.array([0.0, 0.0, -1.0])
    least = np.inf
    for _ in range(12):
        world.step(1 / 60)
        plane = np.cross(loose.positions[1] - loose.positions[0], loose.positions[2] - loose.positions[0])
        plane /= np.linalg.norm(plane)
        least = min(least, float(((box.positions() - loose.positions[0]) @ plane).min()))
    assert 0.0099 < least < 0.0101
    assert loose.velocities[:, 2].mean() == pytest.approx(-box.mass / (box.mass + 1.5), rel=0.02)


def test_nodes_inside_come_out_at_a_bounded_speed_and_keep_none_of_it():
    """What began inside moves out by `recovery`; no velocity of that throws the cloth off."""
    world = PositionsWorld(substeps=8, recovery=0.5)
    cloth = world.add(PositionBody(np.array([[0.01, 0.0, 0.04], [0.0, -0.02, 0.035]]), masses=np.full(2, 0.01)), thickness=0.01)
    box = world.add(RigidBody.box((0.1, 0.1, 0.1), 300.0), thickness=0.0)
    heights = [cloth.positions[:, 2].copy()]
    for _ in range(4):
        world.step(1 / 60)
        heights.append(cloth.positions[:, 2] - box.center[2])
    assert (np.diff(heights, axis=0) < 1.1 * 0.5 / 60).all()
    assert (heights[-1] > 0.0549).all()
    assert np.abs(cloth.velocities).max() < 0.05


def test_layers_of_cloth_rest_on_each_other_without_pairs_of_edges():
    """Two sheets on a table, found by the grid: a thickness apart everywhere, and with the same bits on any number of threads."""
    found, before = [], ms.num_threads()
    try:
        for threads in (1, 3):
            ms.set_num_threads(threads)
            world = PositionsWorld(gravity=G, substeps=6, damping=2.0, edges=False)
            world.add(RigidBody.box((0.5, 0.5, 0.1), motion=lambda t: Pose((0.0, 0.0, -0.05))), friction=0.3)
            low = world.add(sheet(10, 0.3, 0.02), thickness=0.01)
            high = world.add(sheet(10, 0.3, 0.045), thickness=0.01)
            world.advance(0.7)
            found.append(low.nodes.tobytes() + high.nodes.tobytes())
    finally:
        ms.set_num_threads(before)
    assert found[0] == found[1]
    inner = np.abs(low.positions[:, :2]).max(axis=1) < 0.12
    assert np.abs(low.positions[inner, 2] - 0.005).max() < 1e-3
    assert np.abs(high.positions[inner, 2] - 0.015).max() < 1.5e-3
