"""Bodies of position based dynamics and reduced ones in a certified world: impulses, momentum, state, what is refused."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path

import numpy as np
import pytest
from support.contact.bodies import (
    DT,
    FLOOR,
    KINDS,
    cloth,
    kinetic_energy,
    lifted,
    momentum,
    reduced,
    run,
    sheet,
    throw,
    world_of,
)
from support.motion import random_rotation
from support.variants import THREAD_COUNTS, slow_but

import meniscus as ms
from meniscus.collision import CollisionMesh, ContactNodes, resolve
from meniscus.solids import (
    PositionBody,
    World,
)
from meniscus.solids.contact.coupling.reduced_surfaces import ReducedSurface
from meniscus.solids.contact.loop import coupled_ends
from meniscus.surface import Pose

PAIRS = [p for p in itertools.combinations_with_replacement(KINDS, 2) if p not in (("springs", "springs"), ("rigid", "rigid"))]
FAST = {("cloth", "rigid"), ("cloth", "reduced"), ("strands", "reduced"), ("rigid", "reduced"), ("springs", "cloth"), ("jelly", "reduced")}


def collision(first: str, second: str, thickness: float) -> World:
    """The second body, in a random pose, flies at the first one."""
    rng = np.random.default_rng(3)
    world = world_of(None, 1e-6)
    target, thrown = KINDS[first](), KINDS[second]()
    crossed = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    lifted(thrown, crossed if first == second == "strands" else np.array(random_rotation(rng)), np.array([0.02, 0.01, 0.45]))
    world.add(target, thickness=None if first == "rigid" else thickness)
    world.add(thrown, thickness=None if second == "rigid" else thickness)
    throw(thrown, (0.3, 0.1, -3.0))
    return world


@pytest.mark.parametrize("thickness", slow_but([0.008, 1e-4], 1e-4))
@pytest.mark.parametrize(("first", "second"), [pytest.param(*p, marks=() if p in FAST else pytest.mark.slow) for p in PAIRS])
def test_a_collision_keeps_momentum_and_gains_no_energy(first: str, second: str, thickness: float) -> None:
    """With the default tolerance of the velocity solves; with little thickness, impulses at the ends of loops do most of it."""
    world = collision(first, second, thickness)
    start, energy = momentum(world), kinetic_energy(world)
    touched = 0
    for _ in range(80):
        contact = world.step(DT).contact
        touched += contact.repulsions + contact.impulses
        if contact.loop_ended:
            assert contact.certified
            assert not len(world.audit())
    assert touched > 0
    assert contact.blocked == 0
    np.testing.assert_allclose(momentum(world), start, atol=1e-12 * np.abs(start).max())
    assert kinetic_energy(world) < energy * (1 + 1e-9)


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_an_impulse_moves_a_reduced_body_as_its_inverse_mass_says(seed: int, held: bool) -> None:
    rng = np.random.default_rng(seed)
    body = reduced(fixed=[0, 1, 2, 4, 5, 6] if held else ())
    body.pose = Pose(tuple(rng.normal(size=3)), random_rotation(rng))
    body.coordinates[...] = body.model.sample_poses(1, 0.05, seed)[0]
    body._moved()
    behind = ReducedSurface(body)
    rows = behind.coupled_rows(0.0)
    matrices = np.einsum("nid,njd->nij", rows.response, rows.response)
    np.testing.assert_allclose(matrices, body.inverse_mass(behind.nodes), atol=1e-12 * matrices.max())
    # A vertex of mass 1 / w on the way into a triangle of the body.
    surface, count = behind.surface, len(behind)
    free = surface.triangles[(behind.inverse_masses[surface.triangles] > 0).all(axis=1)]
    corners = free[int(rng.integers(len(free)))]
    x = body.positions[behind.nodes]
    a, b, c = x[corners]
    n = np.cross(b - a, c - a) / np.linalg.norm(np.cross(b - a, c - a))
    weights = np.array(rng.dirichlet((2, 2, 2)))
    at, w = weights @ x[corners], 10 ** rng.uniform(-3, 1)
    nodes = np.vstack([x, at + 1e-3 * n])
    end = nodes.copy()
    end[-1] -= 2e-3 * n
    first = np.concatenate([2 * np.arange(count + 1), [2 * count + 1]])
    contact = ContactNodes(
        np.r_[behind.inverse_masses, w], first=first, node=np.r_[surface.nodes.ravel(), count], weight=np.r_[surface.weights.ravel(), 1.0]
    )
    contact.set_coupled([(0, rows.lead, rows.response)])
    out, info = resolve(CollisionMesh(None, surface.triangles), nodes, end, contact)
    assert info.end == "free"
    assert info.impulses == 1
    moved = out - end
    inverse = w + n @ body.inverse_mass(behind.nodes[corners][None], weights[None])[0] @ n
    impulse = ((end[-1] - nodes[-1]) @ n) / inverse * n
    np.testing.assert_allclose(moved[-1], -w * impulse, rtol=1e-9, atol=1e-15)
    before = body.velocities
    body.apply_impulses(behind.nodes[corners][None], impulse[None], weights[None])
    expected = (body.velocities - before)[behind.nodes]
    # The contact is where the paths meet, up to their length from the point chosen.
    np.testing.assert_allclose(moved[:-1], expected, rtol=1e-2, atol=1e-2 * np.abs(expected).max())


def state(world: World) -> list[np.ndarray]:
    parts = [p.copy() for b in world.bodies for p in (b.positions, b.velocities)] + [b.state_row.copy() for b in world.rigid.bodies]
    return parts + [np.array(p) for o in world.others for p in (*o.body.state.values(), *list(o.state.values())[1:])]


def same(a: list[np.ndarray], b: list[np.ndarray]) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def mixed() -> World:
    """All kinds fall on each other."""
    world = world_of()
    world.add_obstacle(FLOOR, friction=0.5)
    for k, kind in enumerate(("jelly", "reduced", "rigid", "cloth", "strands", "springs")):
        body = KINDS[kind]()
        lifted(body, np.eye(3), np.array([0.02 * k, 0.01 * k, 0.03 + 0.13 * k]))
        world.add(body, thickness=None if kind == "rigid" else 0.008)
        throw(body, (0.0, 0.0, -1.0))
    return world


def test_copies_pickles_snapshots_and_checkpoints_go_on_with_the_same_bits(tmp_path: Path) -> None:
    world = mixed()
    for _ in range(43):
        world.step(DT)
    assert world.loop.inner_steps > 0
    others = [world.copy(), pickle.loads(pickle.dumps(world))]
    assert all(a.body is not b.body for other in others for a, b in zip(other.others, world.others, strict=True))
    saved = world.snapshot()
    ms.io.write_checkpoint(tmp_path / "world.h5", ms.io.Checkpoint("none", {}, "0", {"step": 43}, {"world": saved}))
    others.append(mixed())
    others[-1].restore(ms.io.read_checkpoint(tmp_path / "world.h5").state["world"])
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
            world = mixed()
            for _ in range(24):
                world.step(DT)
            found.append(state(world))
    finally:
        ms.set_num_threads(before)
    assert all(same(f, found[0]) for f in found[1:])


def test_a_world_of_one_body_steps_it_as_the_body_steps() -> None:
    """Where nothing touches, bodies move as on their own."""
    for make, options in ((cloth, {"substeps": 1, "iterations": 10}), (reduced, {"method": "implicit-euler"})):
        body = make(height=1.0)
        throw(body, (0.2, 0.1, 0.3))
        alone = body.copy()
        alone.gravity = np.array([0, 0, -9.8])
        world = world_of()
        world.add(body)
        world.advance(0.2)
        for _ in range(round(0.2 / world.report.dt)):
            alone.step(world.report.dt, **options)
        np.testing.assert_allclose(body.positions, alone.positions, atol=1e-12)
        assert world.time == body.time == pytest.approx(0.2)


def test_bodies_without_contact_keep_their_constraints_and_obstacles_apply() -> None:
    """Pinned and moved nodes, a solid and a mesh with two sides; a reduced body that is held."""
    world = world_of()
    sheet_body = world.add(cloth(8, 0.5, 0.3), thickness=0.01)
    sheet_body.pin([0, 8])
    sheet_body.move([72, 80], lambda t: sheet_body.mesh.vertices[[72, 80]] + [0.0, -0.2 * t, 0.0])
    shelf = world.add(reduced((0.4, 0.1, 0.05), 0.1, fixed=list(range(9))), thickness=0.005)
    plate = ms.mesh.cloth_mesh(2, 2, (0.3, 0.3), origin=(-0.15, -0.15, 0.05))
    world.add_obstacle(plate, sides="both", thickness=0.01)
    world.add_obstacle(FLOOR)
    held = shelf.positions[:9].copy()
    pinned = sheet_body.positions[[0, 8]].copy()
    run(world, 160)
    np.testing.assert_array_equal(sheet_body.positions[[0, 8]], pinned)
    np.testing.assert_allclose(sheet_body.positions[72], sheet_body.mesh.vertices[72] + [0, -0.2 * world.time, 0], atol=1e-12)
    np.testing.assert_allclose(shelf.positions[:9], held, atol=1e-12)
    assert sheet_body.positions[:, 2].min() > -1e-9
    assert np.abs(sheet_body.velocities).max() < 5.0


def test_what_is_not_finite_is_named_and_changes_nothing() -> None:
    world = mixed()
    run(world, 8)
    for k, (other, name) in enumerate(zip(world.others, ("rates", "velocities", "velocities"), strict=True)):
        saved = world.snapshot()
        getattr(other.body, name)[0] = np.nan
        with pytest.raises(ValueError, match=rf"{name} of a {type(other.body).__name__} must be finite, .* number {k}"):
            world.step(DT)
        world.restore(saved)
    world.bodies[1].velocities[3] = np.nan
    with pytest.raises(ValueError, match="that of node 3 of body 1 is not"):
        world.step(DT)


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(ValueError, match='response="impulses"'):
        World(response="barrier").add(cloth())
    with pytest.raises(ValueError, match='loop="fixed"'):
        World(loop="rewind").add(reduced())
    world = world_of()
    with pytest.raises(TypeError, match="one substep"):
        world.add(cloth(), substeps=4)
    with pytest.raises(TypeError, match="contacts is no option of a PositionBody"):
        world.add(cloth(), contacts=None)
    with pytest.raises(TypeError, match="obstacles is no option of a ReducedBody"):
        world.add(reduced(), obstacles=())
    with pytest.raises(ValueError, match="must be float64"):
        world.add(PositionBody(sheet(3, 1.0, 0.0), dtype=np.float32))
    with pytest.raises(ValueError, match="needs a mesh"):
        world.add(PositionBody(np.zeros((4, 3)), masses=1.0))
    with pytest.raises(ValueError, match="sees its own mesh"):
        world.add(cloth(), surface=sheet(3, 1.0, 0.0))
    body = world.add(cloth())
    with pytest.raises(ValueError, match="has this body already"):
        world.add(body)
    with pytest.raises(ValueError, match="needs a body"):
        world_of().step(DT)
    nodes = ContactNodes(np.ones(4))
    with pytest.raises(ValueError, match="share of the lead"):
        nodes.set_coupled([(0, 0, np.zeros((4, 3, 6)))])
    with pytest.raises(ValueError, match="at most 160 coordinates"):
        nodes.set_coupled([(0, 0, np.zeros((4, 3, 161)))])


def test_a_loop_is_cut_short_where_bodies_find_no_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two reduced bodies that are held in each other's way: as neither yields, the loop ends before they touch."""
    monkeypatch.setattr(coupled_ends, "_ATTEMPTS", 0)
    world = collision("reduced", "reduced", 1e-4)
    cuts = 0
    for _ in range(64):
        contact = world.step(DT).contact
        cuts += contact.cuts
        if contact.loop_ended:
            assert contact.certified
            assert not len(world.audit())
    assert cuts > 0
    assert world.time < 64 * DT - 1e-3


def test_energy_is_that_of_bodies_of_all_types() -> None:
    world = World(gravity=(0, 0, -9.8))
    bodies = [world.add(make()) for make in KINDS.values()]
    for k, body in enumerate(bodies):
        lifted(body, np.eye(3), np.array([0.0, 0.0, 0.5 * k]))
        throw(body, (0.1, 0.2, 0.3))
    kinetic = kinetic_energy(world)
    found = world.energy()
    assert found["kinetic"] == pytest.approx(kinetic, rel=1e-12)
    elastic = [b.energy()["elastic"] for b in bodies if isinstance(b, (ms.solids.DeformableBody, ms.solids.ReducedBody))]
    assert found["elastic"] == pytest.approx(sum(elastic), abs=1e-12)
    of_nodes = sum(b.masses @ b.positions[:, 2] for b in bodies if hasattr(b, "masses"))
    rigid, soft = bodies[list(KINDS).index("rigid")], bodies[list(KINDS).index("reduced")]
    weights = 9.8 * (of_nodes + rigid.mass * rigid.center[2]) + soft.energy()["gravity"]
    assert found["gravity"] == pytest.approx(weights, rel=1e-12)
    assert found["total"] == pytest.approx(found["kinetic"] + found["elastic"] + found["gravity"], rel=1e-14)
