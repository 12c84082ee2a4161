"""Rigid bodies that touch deformable ones in a world: impulses, momentum, weight, certificates, state."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from support.motion import random_rotation
from support.variants import THREAD_COUNTS, slow_but

import meniscus as ms
from meniscus.collision import CollisionMesh, ContactNodes, resolve
from meniscus.solids import DeformableBody, EdgeSprings, RigidBody, SpringOptions, World
from meniscus.solids.contact.rigid_surfaces import RigidSurfaces
from meniscus.surface import HalfSpace, Pose, Twist

DT = 1 / 200


def cloth(n: int = 8, size: float = 0.5, height: float = 0.0, stiffness: float = 20.0, density: float = 0.3) -> DeformableBody:
    mesh = ms.mesh.cloth_mesh(n, n, (size, size), origin=(-size / 2, -size / 2, height))
    body = DeformableBody(mesh, density=density)
    body.add(EdgeSprings(mesh, SpringOptions(stiffness=stiffness, damping_fraction=10.0, masses=body.masses)))
    return body


def world_of(gravity: Any = (0, 0, -9.8), tolerance: float = 1e-5, **options: Any) -> World:
    return World(gravity=gravity, elasticity="full-step", tolerance=tolerance, steps_per_loop=8, **options)


def momentum(world: World) -> np.ndarray:
    soft = sum((body.masses[:, None] * body.velocities).sum(axis=0) for body in world.bodies)
    return soft + sum(body.momentum for body in world.rigid.bodies)


def kinetic_energy(world: World) -> float:
    soft = sum(0.5 * float((body.masses[:, None] * body.velocities**2).sum()) for body in world.bodies)
    return soft + sum(body.kinetic_energy for body in world.rigid.bodies)


@pytest.mark.parametrize("seed", range(8))
def test_an_impulse_moves_a_rigid_body_as_its_inverse_mass_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = rng.uniform(0.2, 1.0, 3)
    body = RigidBody.box(size, 10 ** rng.uniform(1, 3), pose=Pose(tuple(rng.normal(size=3)), random_rotation(rng)))
    world = world_of()
    world.add(body)
    behind = RigidSurfaces(world.rigid)
    surface, rows = behind.surfaces[0], behind.rigid_rows()
    # A vertex of mass 1 / w on the way into a triangle of the box, somewhere within it.
    x = body.positions()
    a, b, c = x[surface.triangles[int(rng.integers(12))]]
    n = np.cross(b - a, c - a) / np.linalg.norm(np.cross(b - a, c - a))
    at = np.array(rng.dirichlet((2, 2, 2))) @ np.array([a, b, c])
    w = 10 ** rng.uniform(-3, 1)
    nodes = np.zeros((5, 3))
    behind.place(nodes[:4])
    nodes[4] = at + 1e-3 * n
    end = nodes.copy()
    end[4] -= 2e-3 * n
    of_vertices = np.vstack([surface.nodes, np.tile([4, 4, 4, 4], (1, 1))])
    shares = np.concatenate([surface.weights.ravel(), [1.0]])
    first = np.concatenate([4 * np.arange(9), [33]])
    contact = ContactNodes(np.r_[behind.inverse_masses, w], first=first, node=np.r_[of_vertices[:8].ravel(), 4], weight=shares)
    contact.set_rigid(*rows)
    out, info = resolve(CollisionMesh(None, surface.triangles), nodes, end, contact)
    assert info.end == "free"
    assert info.impulses == 1
    moved = out - end
    inverse = w + n @ body.inverse_mass(at[None])[0] @ n
    size_of_impulse = -((end[4] - nodes[4]) @ n) / inverse
    np.testing.assert_allclose(moved[4], w * size_of_impulse * n, rtol=1e-9, atol=1e-15)
    impulse = -size_of_impulse * n
    twist = rows.inverse_inertias[0] @ np.cross(at - body.center, impulse)
    expected = impulse / body.mass + np.cross(twist, rows.arms[0])
    # The contact is where the paths meet, up to their length from the point chosen.
    np.testing.assert_allclose(moved[:4], expected, rtol=1e-2, atol=1e-2 * np.abs(expected).max())
    np.testing.assert_allclose(body.mass * moved[:4].mean(axis=0) + moved[4] / w, 0.0, atol=1e-15 * max(body.mass, 1 / w))


def test_four_nodes_have_the_inertia_of_the_body(rng: np.random.Generator) -> None:
    body = RigidBody.box((0.3, 0.5, 0.9), 700, pose=Pose((1, 2, 3), random_rotation(rng)))
    world = world_of()
    world.add(body)
    behind = RigidSurfaces(world.rigid)
    nodes = np.zeros((4, 3))
    behind.place(nodes)
    r = nodes - body.center
    np.testing.assert_allclose(r.sum(axis=0), 0, atol=1e-15)
    inertia = 0.25 * body.mass * ((r * r).sum() * np.eye(3) - r.T @ r)
    np.testing.assert_allclose(inertia, body.rotation @ body.properties.inertia @ body.rotation.T, rtol=1e-12, atol=1e-12)
    surface = behind.surfaces[0]
    np.testing.assert_allclose(surface.weights @ nodes, body.positions(), atol=1e-14)


@pytest.mark.parametrize("density", [3.0, 60.0, 3000.0])
def test_a_collision_keeps_momentum_and_gains_no_energy(density: float) -> None:
    world = world_of(None, 1e-6)
    world.add(cloth(), thickness=0.01)
    twist = Twist((0.3, 0.1, -2.0), (1, 2, 3))
    world.add(RigidBody.box((0.2, 0.15, 0.1), density, pose=Pose((0.05, 0.02, 0.12)), twist=twist), friction=0.5)
    start, energy = momentum(world), kinetic_energy(world)
    touched = 0
    for _ in range(48):
        contact = world.step(DT).contact
        touched += contact.repulsions + contact.impulses
        if contact.loop_ended:
            assert contact.certified
            assert not len(world.audit())
            assert kinetic_energy(world) <= energy * (1 + 1e-9)
    assert touched > 0
    assert contact.blocked == 0
    np.testing.assert_allclose(momentum(world), start, atol=1e-12 * np.abs(start).max())
    assert kinetic_energy(world) < energy * (1 - 1e-4)


def jelly() -> DeformableBody:
    mesh = ms.mesh.tet_block(3, 3, 2, (0.4, 0.4, 0.2), origin=(-0.2, -0.2, 0.001))
    body = DeformableBody(mesh, density=1000)
    body.add(ms.solids.TetElements(mesh, youngs_modulus=2e5, poissons_ratio=0.3, damping=0.01))
    return body


def layers(**options: Any) -> World:
    """Cloth on a box on a jelly on the ground."""
    world = world_of(**options)
    world.add(jelly(), thickness=0.005)
    world.add(RigidBody.box((0.2, 0.15, 0.1), 700, pose=Pose((0.03, 0.02, 0.256))), friction=0.5)
    world.add(cloth(10, 0.5, 0.314), thickness=0.005)
    world.add_obstacle(HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.5)
    return world


@pytest.mark.slow
def test_cloth_on_a_box_on_a_jelly_weigh_what_they_weigh() -> None:
    world = layers()
    mass = sum(body.masses.sum() for body in world.bodies) + world.rigid.bodies[0].mass
    pressed, steps = 0.0, 400
    for k in range(2 * steps):
        contact = world.step(DT).contact
        if k >= steps:
            pressed += contact.impulses_of_solids[:, 2].sum()
        if contact.loop_ended:
            assert not len(world.audit())
    assert pressed / (steps * DT) == pytest.approx(9.8 * mass, rel=1e-3)
    box = world.rigid.bodies[0]
    # On top of the jelly, level.
    assert box.center[2] == pytest.approx(world.bodies[0].positions[:, 2].max() + 0.05, abs=0.005)
    assert box.rotation[2, 2] > 0.9999


def random_world(seed: int) -> World:
    rng = np.random.default_rng(seed)
    world = world_of()
    soft = cloth(int(rng.integers(5, 10)), rng.uniform(0.4, 0.8), 0.3, rng.uniform(5, 50), 10 ** rng.uniform(-1, 1))
    world.add(soft, thickness=0.01)
    if seed % 2:
        soft.pin(np.flatnonzero(soft.positions[:, 0] == soft.positions[:, 0].min()))
    for i in range(int(rng.integers(1, 4))):
        options: dict[str, Any] = {"density": 10 ** rng.uniform(1, 3.5)}
        options["pose"] = Pose((*rng.uniform(-0.15, 0.15, 2), 0.45 + 0.3 * i), random_rotation(rng))
        options["twist"] = Twist(tuple(rng.normal(size=3) * 3), tuple(rng.normal(size=3) * 8))
        kind = rng.integers(3)
        if kind == 0:
            body = RigidBody.box(rng.uniform(0.05, 0.2, 3), **options)
        elif kind == 1:
            body = RigidBody.sphere(rng.uniform(0.04, 0.1), **options)
        else:
            ball = ms.mesh.icosphere(1, 0.1)
            body = RigidBody(ms.mesh.TriangleMesh(ball.vertices * rng.uniform(0.3, 1.2, 3), ball.triangles), **options)
        world.add(body, friction=rng.uniform(0, 0.8))
    world.add_obstacle(HalfSpace((0, 0, 0), (0, 0, 1)))
    return world


@pytest.mark.parametrize("seed", slow_but(range(10), 8, 9))
def test_rigid_bodies_never_pass_through_cloth(seed: int) -> None:
    world = random_world(seed)
    for _ in range(96):
        contact = world.step(DT).contact
        if contact.loop_ended:
            assert contact.certified
            assert not len(world.surface.movable_pairs(world.audit()))


def test_pinned_cloth_stops_a_box() -> None:
    world = world_of()
    sheet = world.add(cloth(6, 0.5), thickness=0.02)
    sheet.pin(np.arange(len(sheet)))
    box = world.add(RigidBody.box((0.1, 0.1, 0.1), 300, pose=Pose((0.03, 0.02, 0.08)), twist=Twist((0, 0, -3), (2, 1, 0))))
    for _ in range(96):
        world.step(DT)
        if world.loop.inner_steps == 0:
            assert not len(world.audit())
    assert box.center[2] > 0.05


def test_a_body_on_a_path_moves_cloth_as_a_mesh_on_that_path_does() -> None:
    def turning(t: float) -> Pose:
        c, s = np.cos(3 * t), np.sin(3 * t)
        return Pose((0.0, 0.0, 0.06), [[1, 0, 0], [0, c, -s], [0, s, c]])

    # Contacts that last are those with meshes on given paths alone.
    worlds = [world_of(rest="literal"), world_of(rest="literal")]
    for world in worlds:
        world.add(cloth(6, 0.4, 0.1), thickness=0.01)
    stick = RigidBody.box((0.6, 0.05, 0.05), motion=turning)
    worlds[0].add(stick, friction=0.4)
    mesh = stick.mesh
    worlds[1].add_obstacle(mesh, sides="both", motion=turning, thickness=0.0, friction=0.4)
    touched = 0
    for _ in range(32):
        for world in worlds:
            touched += world.step(DT).contact.repulsions
    x, y = (world.bodies[0].positions for world in worlds)
    # Obstacles have the mean velocity of a step, bodies on paths the one at its end.
    assert np.abs(x - y).max() < 5e-4
    assert np.abs(x - worlds[0].surface.rest[: len(x)]).max() > 0.05
    assert touched > 0


def state(world: World) -> list[np.ndarray]:
    return [p.copy() for b in world.bodies for p in (b.positions, b.velocities)] + [b.state_row.copy() for b in world.rigid.bodies]


def same(a: list[np.ndarray], b: list[np.ndarray]) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.slow
def test_copies_pickles_and_snapshots_go_on_with_the_same_bits() -> None:
    world = layers()
    for _ in range(43):
        world.step(DT)
    assert world.loop.inner_steps > 0
    others = [world.copy(), pickle.loads(pickle.dumps(world))]
    saved = world.snapshot()
    for _ in range(21):
        for each in (world, *others):
            each.step(DT)
    expected = state(world)
    assert all(same(state(each), expected) for each in others)
    world.restore(saved)
    for _ in range(21):
        world.step(DT)
    assert same(state(world), expected)


@THREAD_COUNTS
def test_bits_do_not_depend_on_the_number_of_threads(threads: tuple[int, ...]) -> None:
    found, before = [], ms.num_threads()
    try:
        for count in threads:
            ms.set_num_threads(count)
            world = layers()
            for _ in range(40):
                world.step(DT)
            found.append(state(world))
    finally:
        ms.set_num_threads(before)
    assert all(same(f, found[0]) for f in found[1:])


def test_what_does_not_go_together_is_refused() -> None:
    barrier = World(response="barrier")
    barrier.add(cloth())
    with pytest.raises(ValueError, match='response="impulses"'):
        barrier.add(RigidBody.sphere(0.1))
    rewinding = World(loop="rewind")
    rewinding.add(RigidBody.sphere(0.1))
    with pytest.raises(ValueError, match='loop="fixed"'):
        rewinding.add(cloth())
    with pytest.raises(ValueError, match="rigid bodies alone"):
        layers().step(DT, guarantee=True)
    nodes = ContactNodes(np.ones(8))
    with pytest.raises(ValueError, match="shares of all four nodes"):
        nodes.set_rigid([[0, 1, 2, 3]], np.zeros((1, 4, 3)), [1.0], np.eye(3)[None])
    with pytest.raises(ValueError, match="does not yield"):
        ContactNodes(np.zeros(4)).set_rigid([[0, 1, 2, 3]], np.zeros((1, 4, 3)), [1.0], np.eye(3)[None])
    with pytest.raises(ValueError, match="arm must have shape"):
        nodes.set_rigid([[0, 1, 2, 3]], np.zeros((1, 4)), [1.0], np.eye(3)[None])
