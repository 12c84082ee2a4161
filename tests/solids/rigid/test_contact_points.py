"""Points of contact of pairs of forms. Sources: Ericson 2005, chapters 5 and 8; Guendelman, Bridson and Fedkiw 2003."""

from __future__ import annotations

import numpy as np
import pytest
from support.meshes import real_mesh
from support.motion import random_rotation

import meniscus as ms
from meniscus.solids import MassProperties, RigidBody, RigidOptions, RigidSystem
from meniscus.surface import Box, Capsule, HalfSpace, Pose, Sphere, Twist

OPTIONS = RigidOptions(slop=0.0)


def capsule(radius, length, **options):
    shape = Capsule((0, 0, -length / 2), (0, 0, length / 2), radius)
    return RigidBody(properties=MassProperties.capsule(radius, length), shape=shape, **options)


def touch(*bodies, form="auto", options=OPTIONS, dt=1e-3, **added):
    """Contacts of bodies as they are; moved by nothing."""
    system = RigidSystem(options)
    for b in bodies:
        system.add(b, form=form, **added)
    system.begin(dt)
    system.find_contacts(dt)
    return system.contacts_now


def test_boxes_face_to_face():
    a = RigidBody.box((2, 2, 1))
    b = RigidBody.box((1, 1, 1), pose=Pose((0.2, 0.1, 0.99)))
    c = touch(a, b)
    assert len(c) == 4
    np.testing.assert_allclose(c.normals, np.tile([0, 0, -1], (4, 1)), atol=1e-15)
    np.testing.assert_allclose(c.gaps, -0.01, atol=1e-15)
    corners = sorted(map(tuple, c.points.round(12).tolist()))
    assert corners == [(-0.3, -0.4, 0.495), (-0.3, 0.6, 0.495), (0.7, -0.4, 0.495), (0.7, 0.6, 0.495)]


def test_boxes_that_overlap_in_a_corner_of_their_faces():
    c = touch(RigidBody.box((1, 1, 1)), RigidBody.box((1, 1, 1), pose=Pose((0.6, 0.7, 0.98))))
    assert len(c) == 4
    np.testing.assert_allclose(np.ptp(c.points, axis=0), [0.4, 0.3, 0], atol=1e-14)


def test_boxes_edge_to_edge():
    """Edges that cross: one point, along the normal of both."""
    s = np.sqrt(0.5)
    about_x = [[1, 0, 0], [0, s, -s], [0, s, s]]
    about_y = [[s, 0, s], [0, 1, 0], [-s, 0, s]]
    c = touch(RigidBody.box((1, 1, 1), pose=Pose((0, 0, 0), about_x)), RigidBody.box((1, 1, 1), pose=Pose((0, 0, 2 * s - 0.01), about_y)))
    assert len(c) == 1
    np.testing.assert_allclose(c.normals[0], [0, 0, -1], atol=1e-14)
    np.testing.assert_allclose(c.points[0], [0, 0, s - 0.005], atol=1e-14)
    assert c.gaps[0] == pytest.approx(-0.01, abs=1e-14)


def test_gaps_of_random_boxes_are_their_separation():
    """Against the exact distance along the best axis of all faces and edges."""
    rng = np.random.default_rng(11)
    met = 0
    for _ in range(200):
        sizes = rng.uniform(0.3, 1.2, (2, 3))
        turns = [np.array(random_rotation(rng)) for _ in range(2)]
        x = rng.normal(size=3)
        x *= rng.uniform(0.4, 0.8) / np.linalg.norm(x)
        bodies = [RigidBody.box(s, pose=Pose(tuple(p), t.tolist())) for s, t, p in zip(sizes, turns, (np.zeros(3), x), strict=True)]
        corners = [b.positions() for b in bodies]
        axes = [*turns[0].T, *turns[1].T, *(np.cross(a, b) for a in turns[0].T for b in turns[1].T)]
        units = [a / np.linalg.norm(a) for a in axes if np.linalg.norm(a) > 1e-6]
        best = max(max((corners[1] @ a).min() - (corners[0] @ a).max(), (corners[0] @ a).min() - (corners[1] @ a).max()) for a in units)
        c = touch(*bodies)
        if best > 1e-9:
            assert not len(c)
            continue
        met += 1
        assert len(c) >= 1
        # Faces are preferred to edges that are better by less than 1/1000 of the size.
        assert c.gaps.min() == pytest.approx(best, abs=1.2e-3)
        # Moving the first one along a normal by the depth separates them, to the same tolerance.
        k = int(c.gaps.argmin())
        n = c.normals[k]
        assert (corners[0] @ n).min() - c.gaps[k] + 2e-3 > (corners[1] @ n).max() - 1e-9
    assert met > 60


def test_balls_and_capsules():
    c = touch(RigidBody.sphere(0.5), RigidBody.sphere(0.3, pose=Pose((0, 0.79, 0))))
    np.testing.assert_allclose(c.normals, [[0, -1, 0]], atol=1e-15)
    np.testing.assert_allclose(c.points, [[0, 0.495, 0]], atol=1e-15)
    assert c.gaps[0] == pytest.approx(-0.01, abs=1e-15)
    side = touch(capsule(0.2, 1.0), capsule(0.2, 1.0, pose=Pose((0.4, 0, 0.5))))
    assert len(side) == 2
    assert sorted(side.points[:, 2].round(12)) == [0.0, 0.5]
    np.testing.assert_allclose(side.gaps, 0, atol=1e-15)
    across = touch(capsule(0.2, 1.0), capsule(0.2, 1.0, pose=Pose((0.39, 0, 0), [[1, 0, 0], [0, 0, 1], [0, -1, 0]])))
    assert len(across) == 1
    np.testing.assert_allclose(across.points, [[0.195, 0, 0]], atol=1e-15)
    lying = touch(RigidBody.box((2, 2, 1)), capsule(0.2, 1.0, pose=Pose((0, 0, 0.69), [[0, 0, 1], [0, 1, 0], [-1, 0, 0]])))
    assert len(lying) == 2
    np.testing.assert_allclose(sorted(lying.points[:, 0]), [-0.5, 0.5], atol=1e-14)
    np.testing.assert_allclose(lying.gaps, -0.01, atol=1e-14)
    corner = touch(RigidBody.box((1, 1, 1)), RigidBody.sphere(0.5, pose=Pose((0.75, 0.75, 0.75))))
    np.testing.assert_allclose(corner.normals, -np.ones((1, 3)) / np.sqrt(3), atol=1e-14)
    assert corner.gaps[0] == pytest.approx(0.25 * np.sqrt(3) - 0.5)
    inside = touch(RigidBody.box((1, 1, 1)), RigidBody.sphere(0.1, pose=Pose((0.1, 0, 0.3))))
    np.testing.assert_allclose(inside.normals, [[0, 0, -1]], atol=1e-15)
    assert inside.gaps[0] == pytest.approx(-0.3, abs=1e-14)
    pierced = touch(RigidBody.box((1, 1, 1)), capsule(0.1, 3.0, pose=Pose((0.4, 0, 0))))
    assert len(pierced) >= 1
    np.testing.assert_allclose(pierced.normals[0], [-1, 0, 0], atol=1e-12)
    assert pierced.gaps[0] == pytest.approx(-0.2, abs=1e-12)


def test_hulls_have_faces_and_rest_on_them():
    rng = np.random.default_rng(6)
    cube = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    body = RigidBody.hull(np.concatenate([cube, rng.uniform(-0.4, 0.4, (30, 3))]))
    assert body.mass == pytest.approx(1000, rel=1e-12)
    system = RigidSystem(gravity=(0, 0, -9.81))
    system.add(body)
    assert system.parts[0].form.core.faces == 6
    system.add_obstacle(HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.5)
    stone = system.add(RigidBody.hull(rng.normal(size=(20, 3)), pose=Pose((4, 0, 3))), friction=0.5)
    body.pose = Pose((0, 0, 0.6))
    for _ in range(1000):
        system.step(0.01)
    assert body.center[2] == pytest.approx(0.5, abs=3e-3)
    assert stone.positions()[:, 2].min() == pytest.approx(0, abs=0.01)
    assert np.abs(stone.velocity).max() < 1e-6
    # At rest it stands on a face: three corners or more.
    assert (stone.positions()[:, 2] < 0.01).sum() >= 3
    with pytest.raises(ValueError, match="plane"):
        RigidBody.hull(np.array([(0.0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]))


def test_the_hull_of_a_mesh_as_its_form():
    near = RigidBody(data_ring()), capsule(0.1, 2.0)
    system = RigidSystem(OPTIONS)
    system.add(near[0], form="hull")
    system.add(near[1])
    system.begin(1e-3)
    system.find_contacts(1e-3)
    # The hull of a ring has no hole: a rod through it is stuck.
    assert len(system.contacts_now)


def test_features_last_and_keep_their_impulses():
    system = RigidSystem(gravity=(0, 0, -9.81))
    system.add_obstacle(HalfSpace((0, 0, 0), (0, 0, 1)))
    system.add(RigidBody.box((2, 2, 1), pose=Pose((0, 0, 0.5))))
    top = system.add(RigidBody.box((1, 1, 1), pose=Pose((0.2, 0.1, 1.5))))
    for _ in range(50):
        system.step(0.01)
    keys, before = system.contact_points[:, 16].copy(), system.contact_points[:, 7].copy()
    top.twist = Twist((0.05, 0, 0), (0, 0, 0.01))
    system.begin(0.01)
    system.find_contacts(0.01)
    now = system._core.contacts()[1]
    np.testing.assert_array_equal(now[:, 16].view(np.uint64), keys.view(np.uint64))
    np.testing.assert_array_equal(now[:, 7], before)


def test_meshes_touch_as_what_they_are():
    """Boxes as meshes and as polyhedra: same depth and direction."""
    a = RigidBody.box((2, 2, 1))
    b = RigidBody.box((1, 1, 1), pose=Pose((0.2, 0.1, 1.01)))
    c = touch(a, b, form="mesh", thickness=0.02)
    assert len(c) == 4
    np.testing.assert_allclose(c.normals, np.tile([0, 0, -1], (4, 1)), atol=1e-12)
    np.testing.assert_allclose(c.gaps, -0.01, atol=1e-12)
    ball = touch(RigidBody(ms.mesh.icosphere(3, 0.5)), RigidBody.sphere(0.3, pose=Pose((0, 0, 0.81))), form="auto", thickness=0.03)
    assert ball.gaps.min() == pytest.approx(0.01 - 0.03, abs=2e-3)
    np.testing.assert_allclose(ball.normals[ball.gaps.argmin()], [0, 0, -1], atol=0.05)


def test_a_mesh_with_a_hole_lets_a_rod_through():
    """A ring and a rod in its hole do not touch; their hulls overlap."""
    ring = data_ring()
    rod = capsule(0.1, 2.0)
    assert not len(touch(RigidBody(ring), rod, thickness=0.02))
    near = touch(RigidBody(ring), capsule(0.1, 2.0, pose=Pose((0.285, 0, 0))), thickness=0.03)
    assert len(near)
    assert (near.normals[:, 0] > 0.9).all()


def data_ring():
    """A torus around z: mean radius 0.5, tube 0.1."""
    n, m = 48, 16
    u, v = np.meshgrid(2 * np.pi * np.arange(n) / n, 2 * np.pi * np.arange(m) / m, indexing="ij")
    r = 0.5 + 0.1 * np.cos(v)
    x = np.stack([r * np.cos(u), r * np.sin(u), 0.1 * np.sin(v)], axis=-1).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(n), np.arange(m), indexing="ij")

    def at(a, b):
        return ((a % n) * m + b % m).ravel()

    quads = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]
    triangles = np.concatenate([np.stack([quads[k] for k in t], axis=1) for t in ((0, 1, 2), (0, 2, 3))])
    return ms.mesh.TriangleMesh(x, triangles.astype(np.int32))


def test_links_of_a_chain_hang():
    """Two rings through each other: no hull could do that."""
    system = RigidSystem(RigidOptions(substeps=2), gravity=(0, 0, -9.81))
    ring = data_ring()
    upright = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    system.add(RigidBody(ring, motion="fixed", pose=Pose((0, 0, 0), upright)), thickness=0.02, friction=0.5)
    # The second one in the plane across, its top through the hole of the first.
    across = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    link = system.add(RigidBody(ring, density=1000, pose=Pose((0, 0, -0.75), across)), thickness=0.02, friction=0.5)
    assert not len(system.audit())
    for _ in range(200):
        info = system.step(0.005, guarantee=True)
        assert info.certified
    assert not len(system.audit())
    # Tubes of 0.1 and a thickness of 0.02: the centres are 0.8 - 0.02 apart, on the tubes as polygons.
    assert link.center[2] == pytest.approx(-0.8 + 0.02, abs=0.02)


@pytest.mark.parametrize("up", [1, -1])
def test_an_open_shell_is_held_from_both_sides(up):
    """A rigid sheet without inside, on a ball or a box, either way up."""
    sheet = ms.mesh.cloth_mesh(8, 8, (1.0, 1.0), origin=(-0.5, -0.5, 0.0))
    mesh = sheet if up > 0 else ms.mesh.TriangleMesh(sheet.vertices, np.ascontiguousarray(sheet.triangles[:, ::-1]))
    system = RigidSystem(gravity=(0, 0, -9.81))
    system.add(RigidBody.box((0.6, 0.6, 0.2), motion="fixed"), friction=0.5)
    body = system.add(RigidBody(mesh, shell=True, density=5.0, pose=Pose((0, 0, 0.2))), friction=0.5, thickness=0.02)
    for _ in range(100):
        system.step(0.01)
    assert body.center[2] == pytest.approx(0.11, abs=2e-3)
    assert np.abs(body.velocity).max() < 1e-3


def test_obstacles_of_every_kind_hold_a_ball():
    floor = ms.mesh.TriangleMesh(np.array([[-2.0, -2, 0], [2, -2, 0], [2, 2, 0], [-2, 2, 0]]), np.array([[0, 1, 2], [0, 2, 3]], np.int32))
    kinds = {
        "half-space": HalfSpace((0, 0, 0), (0, 0, 1)),
        "box": Box((-2, -2, -1), (2, 2, 0)),
        "sphere": Sphere((0, 0, -5), 5.0),
        "capsule": Capsule((-2, 0, -1), (2, 0, -1), 1.0),
        "open mesh": floor,
        "union": Box((-2, -2, -1), (2, 2, 0)) | Sphere((5, 0, 0), 1.0),
    }
    for name, obstacle in kinds.items():
        system = RigidSystem(gravity=(0, 0, -9.81))
        thickness = 0.01 if name == "open mesh" else 0.0
        system.add_obstacle(obstacle, thickness=thickness)
        ball = system.add(RigidBody.sphere(0.1, pose=Pose((0, 0, 0.3))), friction=0.5)
        for _ in range(100):
            system.step(0.01)
        assert ball.center[2] == pytest.approx(0.1 + thickness / 2, abs=1e-3), name
        assert np.abs(ball.velocity).max() < 1e-3, name


def test_mesh_of_a_scan_lands():
    mesh = ms.mesh.TriangleMesh(*real_mesh("spot"))
    system = RigidSystem(gravity=(0, 0, -9.81))
    system.add_obstacle(HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.5)
    body = system.add(RigidBody(mesh, pose=Pose((0, 0, 1.2), [[1, 0, 0], [0, 0, -1], [0, 1, 0]])), friction=0.5)
    thickness = system.parts[1].thickness
    for _ in range(200):
        system.step(0.01)
    lowest = body.positions()[:, 2].min()
    assert lowest == pytest.approx(thickness / 2, abs=5e-3)
    assert np.linalg.norm(body.velocity) < 0.5
