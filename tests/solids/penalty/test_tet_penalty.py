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


@pytest.mark.parametrize("response", ["consistent", "ray"])
def test_forces_and_torques_sum_up_to_zero(response):
    """Of bodies that overlap deeply and move, with damping and friction."""
    rng = np.random.default_rng(0)
    upper = tet_block(3, 3, 3, (1.0, 1.0, 1.0))
    x = [BASE.vertices, upper.vertices @ np.array([[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1]]) + (0.5, 0.7, 0.55)]
    v = [rng.normal(size=a.shape) for a in x]
    found = TetPenalty([BASE, upper], stiffness=1e3, damping=20.0, friction=0.4, response=response).forces(x, v)
    f, p = np.concatenate(found.forces), np.concatenate(x)
    size = np.abs(f).sum()
    assert size > 1000
    assert len(found.nodes) > 20
    np.testing.assert_allclose(f.sum(axis=0), 0, atol=1e-12 * size)
    np.testing.assert_allclose(np.cross(p, f).sum(axis=0), 0, atol=1e-12 * size)


@pytest.mark.parametrize("response", ["consistent", "ray"])
def test_the_same_bits_on_any_threads_and_in_copies(response):
    upper = tet_block(6, 6, 6, (1.0, 1.0, 1.0))
    x = [BASE.vertices, np.ascontiguousarray(upper.vertices + np.array([0.51, 0.72, 0.53]))]
    v = [np.random.default_rng(1).normal(size=a.shape) for a in x]
    penalty, expected = TetPenalty([BASE, upper], stiffness=1e3, damping=20.0, friction=0.4, response=response), None
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


@pytest.mark.parametrize("response", ["consistent", "ray"])
def test_a_tip_settles_at_the_depth_that_carries_it(response):
    """m g / k, from a fall, damped."""
    mass, k = 2.0, 400.0
    tip = TIP
    if response == "ray":  # upright, so that the ray from the tip is: the planes of its faces are symmetric
        ends = [[0.3 * np.cos(a), 0.3 * np.sin(a), 0.8] for a in 2 * np.pi / 3 * np.arange(3)]
        tip = TetMesh(np.array([[0.0, 0, 0], *ends]), np.array([[0, 1, 2, 3]], np.int32))
    penalty = TetPenalty([BASE, tip], stiffness=k, damping=20.0, response=response)
    height, speed, dt = 1.05, 0.0, 0.005
    for _ in range(1500):
        x = np.ascontiguousarray(tip.vertices + np.array([0.9, 1.1, height]))
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


def brute_force_rays(meshes, x):
    """RTP-12 as printed, by loops: per surface node inside of another body, the ray against its normal to that body's nearest exit."""
    found = {}
    first = np.concatenate([[0], np.cumsum([len(m.vertices) for m in meshes])])
    for a, own in enumerate(meshes):
        normals = np.zeros_like(x[a])
        for t in own.boundary.triangles:
            p = x[a][t]
            n = np.cross(p[1] - p[0], p[2] - p[0])
            for c in range(3):
                u, w = p[(c + 1) % 3] - p[c], p[(c + 2) % 3] - p[c]
                normals[t[c]] += np.arccos(u @ w / np.linalg.norm(u) / np.linalg.norm(w)) * n / np.linalg.norm(n)
        for b, other in enumerate(meshes):
            inside = [] if a == b else np.flatnonzero(ms.collision.TetLocator(x[b], other.tets).locate(x[a]).tets >= 0)
            for i in inside:
                if not normals[i].any():
                    continue
                d = -normals[i] / np.linalg.norm(normals[i])
                hits = []
                for t in other.boundary.triangles:
                    p = x[b][t]
                    m = np.column_stack([d, p[0] - p[1], p[0] - p[2]])
                    if np.linalg.det(m) == 0 or np.cross(p[1] - p[0], p[2] - p[0]) @ d <= 0:
                        continue
                    s, v, w = np.linalg.solve(m, p[0] - x[a][i])
                    if min(v, w, 1 - v - w, s) >= 0:
                        hits.append((s, t, np.array([1 - v - w, v, w])))
                s, t, beta = min(hits, key=lambda h: h[0])
                found[first[a] + i] = (s, d, first[b] + t, beta)
    return found


def test_rays_are_those_of_the_text_by_brute_force():
    upper = tet_block(3, 3, 3, (1.0, 1.0, 1.0))
    turned = upper.vertices @ np.array([[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1]]) + np.array([0.5, 0.7, 0.55])
    x, k = [BASE.vertices, np.ascontiguousarray(turned)], 70.0
    rays = brute_force_rays([BASE, upper], x)
    found = TetPenalty([BASE, upper], stiffness=k, response="ray").forces(x)
    assert found.nodes.tolist() == sorted(rays)
    assert len(rays) > 20
    f = np.zeros((len(BASE.vertices) + len(upper.vertices), 3))
    for at, depth, direction in zip(found.nodes, found.depths, found.directions, strict=True):
        s, d, t, beta = rays[at]
        assert depth == pytest.approx(s, rel=1e-9)
        np.testing.assert_allclose(direction, d, atol=1e-12)
        f[at] += k * s * d
        f[t] -= k * s * beta[:, None] * d
    np.testing.assert_allclose(np.concatenate(found.forces), f, atol=1e-9)


def test_rays_lead_back_to_where_a_corner_came_in():
    """A thin leg through the middle of a plate: the closest surface is the far side, and pushes it through; its rays do not."""
    plate, leg = tet_block(4, 4, 1, (2.0, 2.0, 0.2)), tet_block(1, 1, 4, (0.2, 0.2, 0.8))
    x = np.ascontiguousarray(leg.vertices + np.array([0.93, 0.97, 0.02]))
    found = TetPenalty([plate, leg], stiffness=100.0, response="ray").forces([plate.vertices, x])
    low = found.nodes >= len(plate.vertices)
    assert (x[found.nodes[low] - len(plate.vertices), 2] < 0.1).all()
    assert (found.directions[low, 2] > 0).all()
    assert found.forces[1].sum(axis=0)[2] > 10


@pytest.mark.parametrize("response", ["consistent", "ray"])
def test_a_body_collides_with_itself(response):
    """A horseshoe whose ends are pressed into each other; each feels the other, and only if told to."""
    bar = tet_block(24, 2, 2, (6.0, 0.5, 0.5))
    s, r = bar.vertices[:, 0], 6.0 / (2.04 * np.pi)
    angle = s / r
    # The one end is thinner, so that it is inside of the other and not on its faces.
    across = (bar.vertices[:, 1:] - 0.25) * np.where(s > 5, 0.7, 1.0)[:, None]
    radius = r - across[:, 0]
    x = np.ascontiguousarray(np.column_stack([radius * np.cos(angle), radius * np.sin(angle), across[:, 1]]))
    assert not TetPenalty([bar], stiffness=1e3, response=response).forces([x]).nodes.size
    found = TetPenalty([bar], stiffness=1e3, response=response, self_collision=True).forces([x])
    f = found.forces[0]
    tips = np.isin(found.nodes, np.flatnonzero((s < 0.3) | (s > 5.7)))
    assert tips.all()
    assert len(found.nodes) == 10
    # Around the ring: back for the end, on for the start.
    tangent = np.column_stack([-np.sin(angle), np.cos(angle), 0 * angle])
    along = np.einsum("ij,ij->i", f, tangent)
    assert along[s < 1].sum() > 10
    assert along[s > 5].sum() < -10
    size = np.abs(f).sum()
    np.testing.assert_allclose(f.sum(axis=0), 0, atol=1e-12 * size)
    np.testing.assert_allclose(np.cross(x, f).sum(axis=0), 0, atol=1e-12 * size)


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
