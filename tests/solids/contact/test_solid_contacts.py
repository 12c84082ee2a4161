"""Contact of nodes with solids: velocities after contact, positions that turn at surfaces, solids that move."""

import numpy as np
import pytest
from support.variants import slow_but

import meniscus as ms
from meniscus.collision import points_of_bodies
from meniscus.solids.contact.obstacles import SolidObstacle
from meniscus.solids.contact.solid_contacts import SolidContacts, meet_solids
from meniscus.surface import HalfSpace, KinematicSolid, Pose, Sphere


def contacts(normals: np.ndarray, velocities: np.ndarray, friction: float, nodes: np.ndarray | None = None) -> SolidContacts:
    k = len(normals)
    where = np.arange(k, dtype=np.int32) if nodes is None else nodes
    zeros = np.zeros(k, np.int32)
    return SolidContacts(where, zeros, normals, velocities, np.full(k, friction), zeros.astype(bool))


def test_velocities_after_contact() -> None:
    up = np.array([[0.0, 1.0, 0.0]])
    for body, expected in ((np.zeros((1, 3)), (2.0, 0.0, 0.0)), (np.array([[1.0, 0.5, 0.0]]), (1.75, 0.5, 0.0))):
        v = np.array([[3.0, -2.0, 0.0]])
        contacts(up, body, 0.5).apply(v)
        assert np.allclose(v[0], expected, rtol=0, atol=1e-15)


def test_contact_with_random_planes_holds_up_and_takes_energy() -> None:
    rng = np.random.default_rng(1)
    n = 4000
    normals = rng.normal(size=(n, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    body = rng.normal(size=(n, 3)) * (np.arange(n) % 2)[:, None]
    v = rng.normal(size=(n, 3))
    before = v.copy()
    contacts(normals, body, 0.7).apply(v)
    along = np.einsum("nd,nd->n", v - body, normals)
    assert along.min() > -1e-14
    into = -np.einsum("nd,nd->n", before - body, normals)
    assert np.array_equal(v[into <= 0], before[into <= 0])
    # Seen from the solid, energy falls; the change stays within the cone of friction, and does not turn the motion around.
    assert (np.linalg.norm(v - body, axis=1) <= np.linalg.norm(before - body, axis=1) + 1e-14).all()
    change = v - before
    push = np.einsum("nd,nd->n", change, normals)
    rub = change - push[:, None] * normals
    assert (np.linalg.norm(rub, axis=1) <= 0.7 * push + 1e-14).all()
    slide = (v - body) - along[:, None] * normals
    was = (before - body) + into[:, None] * normals
    assert (np.einsum("nd,nd->n", slide, was) >= -1e-15).all()
    assert np.allclose(np.cross(slide, was), 0, atol=1e-14)


def test_nodes_in_a_wedge_leave_neither_plane_violated() -> None:
    rng = np.random.default_rng(2)
    normals = np.array([[np.sin(0.6), 0, np.cos(0.6)], [-np.sin(0.6), 0, np.cos(0.6)]])
    v = np.ascontiguousarray(rng.normal(size=(500, 3)) - [0, 0, 2])
    both = contacts(np.tile(normals, (500, 1)), np.zeros((1000, 3)), 0.2, np.repeat(np.arange(500), 2).astype(np.int32))
    energy = (v**2).sum(axis=1)
    both.apply(v)
    assert (v @ normals.T).min() > -1e-3 * np.sqrt(energy.max())
    assert ((v**2).sum(axis=1) <= energy).all()


def test_a_node_turns_where_it_meets_the_surface() -> None:
    plane = [SolidObstacle(KinematicSolid(HalfSpace((0, 0, 0), (0, 0, 1))), 0.0, 0.5)]
    start = np.array([[0.0, 0, 1], [0, 0, 1], [0, 0, 0], [0, 0, -0.1]])
    end = np.array([[2.0, 0, -1], [2, 0, 0.5], [1, 0, -1], [1, 0, -0.3]])
    ends = end.copy()
    found = meet_solids(plane, start, ends, 0.5, 0.5, np.arange(4, dtype=np.int32))
    assert found.nodes.tolist() == [0, 2, 3]
    # Half of its way to the surface, then with half of its speed less friction: 1 + 0.5 (2 - 0.5 2).
    assert np.allclose(ends[0], [1.5, 0, 0], atol=1e-15)
    assert np.array_equal(ends[1], end[1])
    assert np.allclose(ends[2], [0.5, 0, 0], atol=1e-15)
    # What begins inside goes along the surface, and a part of its depth outward.
    assert ends[3, 0] == pytest.approx(0.9, abs=1e-12)
    assert ends[3, 2] == pytest.approx(-0.09, abs=1e-12)


def test_many_solids_find_the_contacts_that_each_alone_does() -> None:
    rng = np.random.default_rng(3)
    centres = rng.random((40, 3))
    solids = [SolidObstacle(KinematicSolid(Sphere(tuple(c), 0.05)), 0.01, 0.3) for c in centres]
    solids.append(SolidObstacle(KinematicSolid(HalfSpace((0, 0, 0.05), (0, 0, 1))), 0.0, 0.3))
    start = rng.random((3000, 3))
    start[:, 2] += 1
    end = start - [0, 0, 1] + 0.05 * rng.normal(size=start.shape)
    nodes = np.arange(3000, dtype=np.int32)
    found = meet_solids(solids, start, end.copy(), 0.1, 0.1, nodes, "projection")
    expected = [(i, k) for k, s in enumerate(solids) for i in np.flatnonzero(s.distance(end, 0.1) < 0)]
    assert sorted(expected) == list(zip(found.nodes.tolist(), found.obstacles.tolist(), strict=True))
    assert len(expected) > 100
    near = points_of_bodies(np.stack([s.box(0.1) for s in solids[:-1]]), end)
    assert len(near.points) < 0.02 * len(nodes) * len(solids)


def falling(height: float, friction: float = 0.0, gravity: float = 9.8, **obstacle: object) -> ms.solids.World:
    body = ms.solids.DeformableBody(np.array([[0.0, 0, height]]), masses=1.0)
    world = ms.solids.World(gravity=(0, 0, -gravity))
    world.add(body)
    world.add_obstacle(obstacle.get("solid", HalfSpace((0, 0, 0), (0, 0, 1))), friction=friction)
    return world


def test_a_dropped_node_does_not_go_through_the_floor() -> None:
    world = falling(0.3)
    lowest, energies = np.inf, []
    for _ in range(200):
        world.step(1 / 200)
        lowest = min(lowest, world.bodies[0].positions[0, 2])
        energies.append(world.bodies[0].energy()["total"])
    assert lowest >= -1e-12
    assert (np.diff(energies) <= 1e-12).all()
    assert abs(world.bodies[0].positions[0, 2]) < 1e-12


def test_a_belt_carries_a_node_along() -> None:
    belt = KinematicSolid(HalfSpace((0, 0, 0), (0, 0, 1)), velocity=(2.0, 0.0, 0.0))
    world = falling(0.0, friction=0.5, gravity=10.0, solid=belt)
    body = world.bodies[0]
    # Friction accelerates it by 5 m/s^2 for 0.4 s.
    for k in range(1, 101):
        world.step(0.01)
        expected = min(5.0 * 0.01 * k, 2.0)
        assert body.velocities[0, 0] == pytest.approx(expected, abs=1e-12)
    assert body.positions[0, 0] == pytest.approx(0.4 + 2.0 * 0.6, abs=1e-3)


def lift(time: float) -> Pose:
    return Pose((0.0, 0.0, 0.3 * time))


def test_a_platform_lifts_what_stands_on_it() -> None:
    platform = KinematicSolid(HalfSpace((0, 0, 0), (0, 0, 1)), lift)
    world = falling(0.0, solid=platform)
    for _ in range(50):
        world.step(0.01)
    assert world.bodies[0].positions[0, 2] == pytest.approx(0.15, abs=1e-9)
    assert world.bodies[0].velocities[0, 2] == pytest.approx(0.3, abs=1e-9)


@pytest.mark.parametrize("kind", slow_but(["shape", "mesh", "level set"], "shape"))
def test_a_node_slides_down_a_ball_on_its_surface(kind: str) -> None:
    ball = Sphere((0.0, 0.0, 0.0), 1.0)
    solid, tolerance = {"shape": (ball, 1e-3), "mesh": (None, 2e-2), "level set": (None, 5e-3)}[kind]
    if kind == "mesh":
        grid = ms.Grid((48, 48, 48), 2.4 / 48, origin=(-1.2, -1.2, -1.2))
        phi = ms.surface.LevelSet(grid)
        ball.sample(phi.field)
        solid = ms.surface.extract(phi)
    elif kind == "level set":
        grid = ms.Grid((40, 40, 40), 2.4 / 40, origin=(-1.2, -1.2, -1.2))
        solid = ms.surface.LevelSet(grid)
        ball.sample(solid.field)
    body = ms.solids.DeformableBody(np.array([[0.3, 0.0, np.sqrt(1 - 0.09)]]), masses=1.0)
    world = ms.solids.World(gravity=(0, 0, -9.8))
    world.add(body)
    world.add_obstacle(solid, friction=0.0)
    height = body.positions[0, 2]
    for _ in range(200):
        world.step(1 / 500)
    x, v = body.positions[0], body.velocities[0]
    assert np.linalg.norm(x) == pytest.approx(1.0, abs=tolerance)
    # Without friction it keeps its energy, and stays on the meridian.
    assert 0.5 * v @ v == pytest.approx(9.8 * (height - x[2]), rel=0.05)
    assert abs(x[1]) < tolerance


def test_pinned_and_sliding_nodes_keep_their_constraints() -> None:
    body = ms.solids.DeformableBody(np.array([[0.0, 0, -0.1], [1, 0, -0.29], [2, 0, -0.59]]), masses=1.0)
    body.pin([0])
    body.slide([1], (1.0, 0.0, 0.0))
    body.velocities[1:] = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    world = ms.solids.World(gravity=(0, 0, -9.8))
    world.add(body)
    world.add_obstacle(HalfSpace((0, 0, 0), (0.3, 0, 1)), friction=0.3)
    for _ in range(20):
        world.step(0.01)
    assert body.positions[0].tolist() == [0.0, 0.0, -0.1]
    assert body.positions[1, 0] == pytest.approx(1.0, abs=1e-12)
    assert body.velocities[1, 0] == pytest.approx(0.0, abs=1e-12)
    assert 0 < body.velocities[1, 1] < 1
