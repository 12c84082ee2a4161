"""Contact in position based dynamics: thickness, sides, friction, restitution, solids. Source: Müller et al. 2008, section 5.4.3."""

from __future__ import annotations

import numpy as np
import pytest
from support.variants import THREAD_COUNTS, slow_but

import meniscus as ms
from meniscus.collision import CollisionMesh, point_triangle_distance
from meniscus.solids import BendingConstraints, DistanceConstraints, PositionBody, PositionContacts, ShapeMatching
from meniscus.solids.contact.obstacles import obstacle_of
from meniscus.solids.position.node_planes import find_planes

G = (0, 0, -9.81)


def sheet(n, size, height=0.0, dtype=np.float64, density=0.3, gravity=G):
    mesh = ms.mesh.cloth_mesh(n, n, (size, size))
    mesh = ms.mesh.TriangleMesh(mesh.vertices + np.array([-size / 2, -size / 2, height]), mesh.triangles)
    body = PositionBody(mesh, density=density, gravity=gravity, dtype=dtype)
    body.add(DistanceConstraints(mesh, compliance=1e-7))
    body.add(BendingConstraints(mesh, compliance=1.0))
    return body


def least_distance(body, rest, thickness):
    """Least distance of a vertex from a face it is not near at rest, by brute force."""
    t = body.mesh.triangles
    v, f = (a.ravel() for a in np.meshgrid(np.arange(len(body)), np.arange(len(t)), indexing="ij"))
    apart = (v[:, None] != t[f]).all(axis=1)
    v, f = v[apart], f[apart]
    far = point_triangle_distance(rest[v], rest[t[f]]).distances > thickness / 0.9
    x = body.positions.astype(float)
    return point_triangle_distance(x[v[far]], x[t[f[far]]]).distances.min()


def triangle_and_point(height, masses=(1.0, 1, 1, 1)):
    """A triangle in the plane z = 0, and a vertex above it."""
    x = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    flat = PositionBody(ms.mesh.TriangleMesh(x, np.array([[0, 1, 2]], np.int32)), masses=masses[:3])
    y = np.array([[0.3, 0.3, height], [0.3, 0.3, height + 1], [0.3, 1.3, height + 1]])
    other = PositionBody(ms.mesh.TriangleMesh(y, np.array([[0, 1, 2]], np.int32)), masses=[masses[3], 1e6, 1e6])
    return flat, other


@pytest.mark.parametrize("side", [1, -1])
def test_a_vertex_keeps_its_distance_from_a_face(side):
    """C >= 0 after a few projections, momentum stays, and it is the same from above and from below."""
    h = 0.05
    flat, tip = triangle_and_point(0.2)
    if side < 0:
        for b in (flat, tip):
            b.positions[:, 2] *= -1
    contacts = PositionContacts([flat, tip], thickness=h, recovery=1e3)
    # In one step to the other side, by far more than the thickness.
    tip.velocities[0, 2] = -3.5 * side
    before = flat.momentum + tip.momentum
    contacts.step(0.1, substeps=1, iterations=30)
    gap = side * (tip.positions[0, 2] - flat.positions[:, 2] @ [0.4, 0.3, 0.3])
    assert gap == pytest.approx(h, rel=0.02)
    np.testing.assert_allclose(flat.momentum + tip.momentum, before, atol=1e-12)
    assert contacts.report().passed == 0


def test_gradients_are_those_of_the_distance():
    """Unequal masses: one projection moves the four vertices along w times the gradient of the printed C."""
    masses = (0.7, 1.3, 2.0, 0.4)
    flat, tip = triangle_and_point(0.03, masses)
    start = np.concatenate([flat.positions, tip.positions[:1]])
    contacts = PositionContacts([flat, tip], thickness=0.05, friction=0.0, recovery=1e3)
    contacts.note_start()
    for body in (flat, tip):
        body.predict(1.0)
    contacts.find(1.0, 1.0)
    contacts.project()
    moved = np.concatenate([flat.positions, tip.positions[:1]]) - start
    c = 0.03 - 0.05
    gradient = np.array([[0, 0, -0.4], [0, 0, -0.3], [0, 0, -0.3], [0, 0, 1]])
    w = 1 / np.array(masses)
    expected = -c * w[:, None] * gradient / (w * (gradient**2).sum(axis=1)).sum()
    np.testing.assert_allclose(moved, expected, atol=1e-15)


def test_edges_keep_their_distance():
    x = np.array([[-1.0, 0, 0], [1, 0, 0]])
    y = np.array([[0.0, -1, 0.2], [0, 1, 0.2]])
    line = np.array([[0, 1]], np.int32)
    a, b = (PositionBody(ms.mesh.SegmentMesh(p, line), masses=1.0) for p in (x, y))
    contacts = PositionContacts([a, b], thickness=0.05, friction=0.0)
    b.velocities[:, 2] = -8
    contacts.step(0.1, substeps=1, iterations=20)
    assert b.positions[0, 2] - a.positions[0, 2] == pytest.approx(0.05, rel=1e-3)
    np.testing.assert_allclose(a.momentum + b.momentum, [0, 0, -16], atol=1e-12)


def test_what_has_passed_comes_back():
    """A pair that is moved to the wrong side by hand is on its old side in later steps, also in those that go on from a snapshot."""
    flat, tip = triangle_and_point(0.06)
    contacts = PositionContacts([flat, tip], thickness=0.05, recovery=1.0)
    contacts.step(1e-4, substeps=1)
    tip.positions[0, 2] = -0.02
    saved = contacts.snapshot(), flat.snapshot(), tip.snapshot()
    ends = []
    for _ in range(2):
        for owner, state in zip((contacts, flat, tip), saved, strict=True):
            owner.restore(state)
        assert contacts.report().passed == 1
        for _ in range(30):
            contacts.step(1 / 100, substeps=2)
        ends.append(tip.positions.copy())
        assert contacts.report().passed == 0
        assert tip.positions[0, 2] > flat.positions[:, 2] @ [0.4, 0.3, 0.3] + 0.04
    np.testing.assert_array_equal(*ends)
    # Without that memory it stays below.
    for owner, state in zip((contacts, flat, tip), saved, strict=True):
        owner.restore(state)
    contacts.forget()
    for _ in range(30):
        contacts.step(1 / 100, substeps=2)
    assert tip.positions[0, 2] < flat.positions[:, 2] @ [0.4, 0.3, 0.3]


def dropped_on_itself(dtype=np.float64, n=16, frames=40):
    """A sheet in upright folds of 10 cm that falls together on a table."""
    mesh = ms.mesh.cloth_mesh(n, n, (0.4, 0.4))
    s = mesh.vertices[:, 1]
    to_and_fro = 0.1 - np.abs(np.mod(s, 0.2) - 0.1)
    upright = np.stack([mesh.vertices[:, 0], 0.8 * to_and_fro, 0.6 * s + 0.01], axis=1)
    body = PositionBody(ms.mesh.TriangleMesh(upright, mesh.triangles), density=0.3, gravity=G, dtype=dtype)
    body.add(DistanceConstraints(mesh, compliance=1e-7))
    body.add(BendingConstraints(mesh, compliance=3e4))
    contacts = PositionContacts(body, thickness=0.008, friction=0.3)
    contacts.add_obstacle(lambda p: p[:, 2], friction=0.5)
    for _ in range(frames):
        body.step(1 / 60, substeps=10, iterations=2, damping=1.0, contacts=contacts)
    return body, contacts


@pytest.mark.slow
def test_a_cloth_dropped_on_itself_keeps_its_thickness():
    start, _ = dropped_on_itself(frames=0)
    body, contacts = dropped_on_itself()
    x = body.positions
    assert x[:, 2].max() < 0.06
    assert x[:, 2].min() > -1e-3
    report = contacts.report()
    assert report.active > 40
    assert report.passed == 0
    assert least_distance(body, start.positions, 0.008) >= 0.9 * 0.008
    assert len(CollisionMesh(None, body.mesh.triangles).self_intersections(np.ascontiguousarray(x))) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@THREAD_COUNTS
def test_threads_give_the_same_bits(threads, dtype):
    found, before = [], ms.num_threads()
    try:
        for count in threads:
            ms.set_num_threads(count)
            body, _ = dropped_on_itself(dtype, 12, 14)
            found.append(body.nodes.tobytes() + body.velocities.tobytes())
    finally:
        ms.set_num_threads(before)
    assert len(set(found)) == 1


def test_steps_go_on_alike_from_snapshots():
    body, contacts = dropped_on_itself(n=10, frames=12)
    saved = body.snapshot(), contacts.snapshot()
    ends = []
    for _ in range(2):
        for _ in range(4):
            body.step(1 / 60, substeps=5, contacts=contacts)
        ends.append(body.nodes.tobytes())
        body.restore(saved[0])
        contacts.restore(saved[1])
    again = PositionContacts(body, thickness=0.008, friction=0.3)
    again.add_obstacle(lambda p: p[:, 2], friction=0.5)
    again.restore(saved[1])
    for _ in range(4):
        body.step(1 / 60, substeps=5, contacts=again)
    ends.append(body.nodes.tobytes())
    assert len(set(ends)) == 1


@pytest.mark.parametrize(("friction", "slides"), [(0.2, True), (0.6, False)])
def test_friction_on_an_incline(friction, slides):
    """An angle of 0.4 rad has a tangent of 0.42: below that, acceleration is g (sin - mu cos); above, nothing moves."""
    angle = 0.4
    mesh = ms.mesh.tet_block(2, 2, 1, (0.2, 0.2, 0.1))
    body = PositionBody(mesh, density=500.0, gravity=(9.81 * np.sin(angle), 0, -9.81 * np.cos(angle)))
    body.add(ShapeMatching(mesh))
    contacts = PositionContacts(body)
    contacts.add_obstacle(lambda p: p[:, 2], friction=friction)
    start = body.positions[:, 0].mean()
    for _ in range(30):
        body.step(1 / 60, contacts=contacts)
    way, t = body.positions[:, 0].mean() - start, 0.5
    if slides:
        assert way == pytest.approx(0.5 * 9.81 * (np.sin(angle) - friction * np.cos(angle)) * t * t, rel=0.03)
    else:
        assert abs(way) < 1e-4


@pytest.mark.parametrize("restitution", slow_but([0.0, 0.5, 1.0], 0.5))
def test_restitution_at_a_solid(restitution):
    body = PositionBody(np.array([[0.0, 0, 1]]), masses=2.0, gravity=G)
    contacts = PositionContacts(body, restitution=restitution, friction=0.0)
    contacts.add_obstacle(lambda p: p[:, 2])
    top = 0.0
    for k in range(120):
        body.step(1 / 120, substeps=20, contacts=contacts)
        if k > 60:
            top = max(top, float(body.positions[0, 2]))
    assert top == pytest.approx(restitution**2, abs=0.03)


def test_restitution_of_two_bodies():
    """Two plates meet head on and part with half of their speed; linear momentum stays."""
    a, b = sheet(3, 0.3, 0.0, gravity=None), sheet(3, 0.3, 0.06, gravity=None, density=0.6)
    for body in (a, b):
        body.add(ShapeMatching(body.mesh))
    a.velocities[:, 2] = 1.0
    b.velocities[:, 2] = -1.0
    contacts = PositionContacts([a, b], thickness=0.02, restitution=0.5, friction=0.0)
    before = a.momentum + b.momentum
    for _ in range(10):
        contacts.step(1 / 120, substeps=10, iterations=2)
    np.testing.assert_allclose(a.momentum + b.momentum, before, atol=1e-12)
    speed = b.momentum[2] / b.masses.sum() - a.momentum[2] / a.masses.sum()
    assert speed == pytest.approx(1.0, rel=0.1)


@pytest.mark.parametrize("restitution", [0.5, 1.0])
@pytest.mark.parametrize("dt", slow_but([1 / 60, 1 / 600], 1 / 60))
def test_a_block_bounces_as_a_whole(restitution, dt):
    """The nodes at the bottom collide, and the others of the shape leave with them: h = e^2."""
    mesh = ms.mesh.tet_block(2, 2, 2, (0.2, 0.2, 0.2), origin=(0, 0, 1.0))
    body = PositionBody(mesh, density=1000.0, gravity=G)
    body.add(ShapeMatching(mesh))
    contacts = PositionContacts(body, thickness=0.01, restitution=restitution)
    contacts.add_obstacle(ms.surface.HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.0)
    top, hit = 0.0, False
    for _ in range(int((1 + restitution) * 0.4515 / dt)):
        contacts.step(dt)
        hit |= body.velocities[0, 2] > 0
        top = max(top, float(body.positions[:, 2].min())) if hit else 0.0
    assert top == pytest.approx(restitution**2, rel=0.03)


def test_a_stack_of_sheets():
    """Four sheets and a table: each lies on the one below, at its thickness."""
    h = 0.01
    bodies = [sheet(5, 0.2, 0.015 * (k + 1)) for k in range(4)]
    contacts = PositionContacts(bodies, thickness=h)
    contacts.add_obstacle(lambda p: p[:, 2], thickness=h, friction=0.5)
    for _ in range(40):
        contacts.step(1 / 60, substeps=10, iterations=2, damping=2.0)
    heights = [b.positions[:, 2] for b in bodies]
    for k, z in enumerate(heights):
        np.testing.assert_allclose(z, h * (k + 1), atol=0.1 * h)
    assert contacts.report().least >= 0.9


def test_deep_overlap_comes_apart_slowly():
    """Two sheets that begin nearly in each other do not explode: they part at the velocity of recovery."""
    a, b = sheet(6, 0.3, 0.0, gravity=None), sheet(6, 0.3, 0.001, gravity=None)
    contacts = PositionContacts([a, b], thickness=0.02, recovery=0.1)
    for _ in range(60):
        contacts.step(1 / 60, substeps=4)
        assert np.abs(b.velocities).max() < 0.3
    assert contacts.report().least > 0.95


def test_a_body_sleeps_on_a_table_and_wakes():
    mesh = ms.mesh.tet_block(1, 1, 1, (0.2, 0.2, 0.2))
    body = PositionBody(mesh, density=500.0, gravity=G, sleep=(0.01, 0.2))
    body.add(ShapeMatching(mesh))
    contacts = PositionContacts(body)
    contacts.add_obstacle(lambda p: p[:, 2])
    for _ in range(60):
        body.step(1 / 60, contacts=contacts)
    assert body.asleep
    contacts.add_obstacle(ms.surface.Sphere((0.1, 0.1, 0.0), 0.12))
    body.step(1 / 60, contacts=contacts)
    assert not body.asleep


def test_a_fast_sheet_does_not_fall_through():
    """10 m/s, a thickness of 5 mm, 17 cm a step."""
    floor = sheet(8, 0.6)
    floor.pin(np.arange(len(floor)))
    cloth = sheet(10, 0.3, 0.3)
    cloth.velocities[:, 2] = -10
    contacts = PositionContacts([floor, cloth], thickness=0.005)
    for _ in range(8):
        contacts.step(1 / 60, substeps=4, iterations=3)
    assert (cloth.positions[:, 2] > 0.002).all()


def test_errors():
    body = sheet(3, 0.3)
    other = sheet(3, 0.3, 0.1)
    with pytest.raises(ValueError, match="the contacts must be those of this body alone"):
        body.step(0.1, contacts=PositionContacts([body, other]))
    with pytest.raises(ValueError, match="bodies must be at least one, each once"):
        PositionContacts([body, body])
    with pytest.raises(ValueError, match="thickness must be one finite number that is not negative, or one for each of the 2 bodies"):
        PositionContacts([body, other], thickness=[0.1, 0.1, 0.1])
    with pytest.raises(ValueError, match="restitution must be from 0 to 1"):
        PositionContacts(body, restitution=2.0)
    with pytest.raises(TypeError, match="bodies must be"):
        PositionContacts([body, 3])


def test_planes_are_where_nodes_enter_solids_and_come_with_their_motion():
    """A ball that moves, nodes that enter it, begin inside or pass by; normals, offsets and ways by hand."""
    ball = ms.surface.KinematicSolid(ms.surface.Sphere((0, 0, 0), 0.5), motion=lambda t: ms.surface.Pose((0.0, 0.0, 2.0 * t)))
    dt, time, velocity = 0.01, 0.5, np.array([0, 0, 2.0])
    centre = time * velocity
    start = centre + np.array([[0.0, 0, 0.6], [0.3, 0, 0.2], [2.0, 0, 0], [0.0, 0, 0.62]])
    end = centre + np.array([[0.0, 0, 0.4], [0.3, 0, 0.2], [2.0, 0, 0], [0.0, 0.0, 0.52]])
    obstacle = obstacle_of(ball, friction=0.3)
    rows, planes = find_planes([obstacle], start, end, np.arange(4, dtype=np.int32), time, dt, 0.1, 1.0)
    np.testing.assert_array_equal(rows, [0, 1, 3])
    inward = np.array([0.3, 0, 0.2]) / np.hypot(0.3, 0.2)
    np.testing.assert_allclose(planes[:, :3], [[0, 0, 1], inward, [0, 0, 1]], atol=1e-9)
    np.testing.assert_allclose(planes[:, 4:7], np.tile(dt * velocity, (3, 1)), atol=1e-9)
    # What began inside, as the ball was then, comes out at 1 m/s.
    depth = np.hypot(0.3, 0.2) - 0.5 + dt * velocity @ inward
    least = [centre[2] + 0.5, centre @ inward + 0.5 + depth + dt * 1.0, centre[2] + 0.5]
    np.testing.assert_allclose(planes[:, 3], least, atol=1e-9)
    np.testing.assert_allclose(planes[:, 7:], np.tile([0.3, 0, 0, 0, 0], (3, 1)))
