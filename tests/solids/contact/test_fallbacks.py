"""What a world falls back on: impulses, zones, cuts, deactivated pairs; and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.collision import CollisionPairs, ContactResolver
from meniscus.solids import ContactError, DeformableBody, EdgeSprings, SpringOptions, World
from meniscus.surface import Pose


def cloth(n: int, height: float, size: float, at: float = 0.0, density: float = 0.2) -> DeformableBody:
    mesh = ms.mesh.cloth_mesh(n, n, (size, size), origin=(at, at, height))
    body = DeformableBody(mesh, density=density)
    body.add(EdgeSprings(mesh, SpringOptions(stiffness=10.0, damping_fraction=0.5, masses=body.masses)))
    return body


class Closing:
    """Plates that move towards each other, pass, and part again."""

    def __init__(self, height: float, speed: float, turn: float = np.inf) -> None:
        self.height, self.speed, self.turn = height, speed, turn

    def __call__(self, time: float) -> Pose:
        return Pose((0.0, 0.0, self.height + self.speed * min(time, max(2 * self.turn - time, -1.0))))


def pinched(turn: float = np.inf, **options: Any) -> World:
    world = World(steps_per_loop=3, elasticity="full-step", **options)
    world.add(cloth(3, 0.0, 0.2), thickness=1e-3)
    plate = ms.mesh.cloth_mesh(2, 2, (1, 1), origin=(-0.41, -0.43, 0))
    for height, speed in ((0.05, -1.0), (-0.05, 1.0)):
        world.add_obstacle(plate, thickness=1e-3, sides="both", motion=Closing(height, speed, turn))
    return world


def until_pinched(world: World) -> list[float]:
    """Times at the ends of loops until an error."""
    ends: list[float] = []

    def go_on() -> None:
        for _ in range(100):
            if world.step(0.004).contact.loop_ended:
                ends.append(world.time)

    with pytest.raises(ContactError, match="nothing resolves"):
        go_on()
    return ends


def test_a_pinch_is_told_after_few_cuts() -> None:
    world = pinched()
    ends = until_pinched(world)
    # Plates meet at 0.05 s. Three whole loops, two that were cut; the next is refused.
    assert world.loop.cuts == 2
    assert len(ends) <= 7
    assert ends[-1] < 0.05


def test_a_pinch_is_the_same_after_a_resume_between_the_cuts() -> None:
    world, other = pinched(), pinched()
    expected = until_pinched(world)
    while world.loop.cuts and other.loop.cuts < 1:
        other.step(0.004)
    resumed = pinched()
    resumed.restore(other.snapshot())
    assert resumed.loop.cuts == 1
    assert until_pinched(resumed) == expected[-1:]
    for mine, its in zip(resumed.bodies, world.bodies, strict=True):
        assert np.array_equal(mine.positions, its.positions)


def test_released_contacts_go_through_and_nothing_else_does() -> None:
    world = pinched(turn=0.06, on_pinch="release")
    cuts, deactivated = 0, []
    for _ in range(12):
        infos = world.advance(0.01)
        cuts += sum(info.contact.cuts for info in infos)
        deactivated.append(infos[-1].contact.deactivated)
        assert infos[-1].contact.certified
        mesh, pairs = world.surface.mesh, world.loop.deactivated.pairs
        through = {(int(v), int(t)) for v, t in pairs.vertex_face}
        edges = {tuple(sorted((tuple(mesh.edges[e].tolist()), tuple(mesh.edges[f].tolist())))) for e, f in pairs.edge_edge}
        for e, t in world.surface.movable_pairs(world.audit()).tolist():
            edge, corners = tuple(mesh.edges[e].tolist()), mesh.triangles[t].tolist()
            sides = [tuple(sorted((corners[k], corners[k - 1]))) for k in range(3)]
            assert any((v, t) in through for v in edge) or any(tuple(sorted((edge, s))) in edges for s in sides)
    assert max(deactivated) > 0
    # Before contacts count as pinched, two loops are cut; the cloth that goes on between the plates cuts no more.
    assert cuts <= 4


def test_pairs_that_are_apart_are_taken_back() -> None:
    world = World(steps_per_loop=2)
    world.add(cloth(3, 0.0, 0.2))
    world.add(cloth(3, 0.5, 0.2))
    world.step(1e-4)
    world.finish_loop()
    world.loop.deactivated.add(CollisionPairs(np.array([[0, 20]], np.int32), np.array([[0, 40]], np.int32)))
    assert len(world.loop.deactivated) == 2
    world.step(1e-4)
    assert world.finish_loop().deactivated == 0


def test_while_pairs_are_aside_other_intersections_are_refused() -> None:
    world = pinched(on_pinch="release")
    far = cloth(4, 5.0, 0.5)
    world.add(far)
    while not len(world.loop.deactivated.pairs.vertex_face):
        world.advance(0.004)
    world.advance(0.02)
    assert len(world.surface.movable_pairs(world.audit())) > 0
    world.bodies[0].positions[...] += 1e-12  # positions that somebody else has changed
    world.step(1e-4)
    world.finish_loop()
    # Folded over, so that it goes through itself.
    far.positions[:] = far.positions[:, [0, 2, 1]]
    far.positions[::2, 0] = 0.5 - far.positions[::2, 0]
    with pytest.raises(ValueError, match="must not intersect at the start"):
        world.step(1e-4)


def test_obstacles_may_intersect_each_other() -> None:
    world = World()
    world.add(cloth(3, 1.0, 0.2))
    plate = ms.mesh.cloth_mesh(2, 2, (1, 1))
    world.add_obstacle(plate, sides="both")
    world.add_obstacle(plate.moved(np.ascontiguousarray(plate.vertices[:, [0, 2, 1]] + [0.03, 0.3, -0.4])), sides="both")
    assert len(world.audit()) > 0
    world.step(1e-4)


class Swing:
    """A curved path of one node."""

    def __init__(self, start: np.ndarray) -> None:
        self.start = start

    def __call__(self, time: float) -> np.ndarray:
        return (self.start + np.array([0.05 * np.sin(20 * time), 0.0, 0.01 * (1 - np.cos(30 * time))]))[None]


def test_after_a_cut_nodes_on_given_paths_are_on_these() -> None:
    world = World(steps_per_loop=4, elasticity="full-step")
    body = world.add(cloth(4, 0.0, 0.2), thickness=1e-3)
    path = Swing(body.positions[0].copy())
    body.move([0], path)
    plate = ms.mesh.cloth_mesh(2, 2, (1, 1), origin=(-0.41, -0.43, 0))

    def closing(sign: float) -> Any:
        return lambda t: Pose((0.0, 0.0, sign * (0.04 - 40 * t * t)))

    for sign in (1.0, -1.0):
        world.add_obstacle(plate, thickness=1e-3, sides="both", motion=closing(sign))
    cut = 0

    def go_on() -> None:
        nonlocal cut
        for _ in range(100):
            contact = world.step(0.002).contact
            if contact.cuts:
                cut += 1
                assert contact.off_path == 0.0
                assert np.abs(body.positions[0] - path(world.time)[0]).max() <= 1e-15
                obstacles = world.loop.x_free[len(body) :, 2]
                assert np.allclose(np.abs(obstacles), 0.04 - 40 * world.time**2, rtol=0, atol=1e-15)

    with pytest.raises(ContactError):
        go_on()
    assert cut > 0


@pytest.mark.parametrize(
    ("options", "used"), [({}, "impulses"), ({"impulse_passes": 0}, "zones"), ({"impulse_passes": 0, "inelastic_solves": 0}, "rigid")]
)
def test_each_response_keeps_surfaces_apart_and_never_adds_energy(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, int], used: str
) -> None:
    resolve = ContactResolver.resolve

    def forced(self: ContactResolver, *args: Any, **named: Any) -> Any:
        return resolve(self, *args, **{**named, **options, "thickness": None})

    monkeypatch.setattr(ContactResolver, "resolve", forced)
    world = World(steps_per_loop=4, elasticity="full-step", tolerance=1e-13)
    below, above = cloth(5, 0.0, 0.3), cloth(5, 0.05, 0.3, 0.02, density=2.0)
    above.velocities[:, 2] = -30.0
    for body in (below, above):
        world.add(body, thickness=0.0)
    m = [body.masses[:, None] for body in world.bodies]
    before = sum((w * body.velocities).sum(0) for w, body in zip(m, world.bodies, strict=True))
    energy = sum((w * body.velocities**2).sum() for w, body in zip(m, world.bodies, strict=True))
    seen = {"impulses": 0, "zones": 0, "rigid": 0}
    for _ in range(16):
        contact = world.step(1 / 2000).contact
        seen["impulses"] += contact.impulses
        seen["zones"] += contact.zone_vertices
        seen["rigid"] += contact.rigid_vertices
        if contact.loop_ended:
            assert contact.certified
            assert len(world.audit()) == 0
        now = sum((w * body.velocities**2).sum() for w, body in zip(m, world.bodies, strict=True))
        assert now <= energy * (1 + 1e-9)
    after = sum((w * body.velocities).sum(0) for w, body in zip(m, world.bodies, strict=True))
    assert np.abs(after - before).max() <= 1e-12 * np.abs(before).max() * 10
    assert seen[used] > 0
    assert (seen["impulses"] > 0) == (used == "impulses")
    assert (seen["rigid"] > 0) == (used == "rigid")


def test_what_falls_far_in_one_loop_meets_repulsion() -> None:
    world = World(gravity=(0, 0, -9.8), steps_per_loop=16, elasticity="full-step")
    sheet = world.add(cloth(8, 0.1, 0.3), thickness=0.01)
    sheet.velocities[:, 2] = -2.0  # 8 cm in one loop
    world.add_obstacle(ms.mesh.cloth_mesh(8, 8, (1, 1), origin=(-0.3, -0.31, 0)), thickness=0.01, sides="both")
    reports = [world.step(1 / 400).contact for _ in range(64)]
    assert max(r.approaching for r in reports) > 0
    assert sum(r.contacts for r in reports) == 0
    # On the thickness, and at rest.
    assert sheet.positions[:, 2].min() > 0.009
    assert np.abs(sheet.velocities[:, 2]).max() < 0.1


@pytest.mark.parametrize("what", ["vertices", "pose", "node"])
def test_paths_that_are_not_finite_are_told_in_one_sentence(what: str) -> None:
    world = World(steps_per_loop=2, elasticity="full-step")
    body = world.add(cloth(3, 0.0, 0.2))
    plate = ms.mesh.cloth_mesh(2, 2, (1, 1), origin=(0, 0, -0.5))

    def broken(time: float) -> Any:
        z = np.nan if time > 0.0015 else 0.0
        if what == "pose":
            return Pose((0.0, 0.0, z))
        return (plate.vertices if what == "vertices" else body_start) + np.array([0, 0, z])

    body_start = body.positions[:1].copy()
    if what == "node":
        body.move([0], broken)
    else:
        world.add_obstacle(plate, sides="both", motion=broken)
    world.step(0.001)
    before = body.positions.copy()
    with pytest.raises(ValueError, match="finite") as caught:
        world.step(0.001)
    assert "\n" not in str(caught.value)
    assert np.array_equal(body.positions, before)
    assert world.time == 0.001


def test_nodes_of_a_millionth_of_a_kilogram() -> None:
    # Table 6.1 of the source gives each node this mass. Contact without springs does not depend on the unit of mass.
    ends = []
    for mass in (1.0, 1e-6):
        world = World(steps_per_loop=4, elasticity="full-step", tolerance=1e-13)
        for height, at, speed in ((0.0, 0.0, 0.0), (0.05, 0.02, -30.0)):
            mesh = ms.mesh.cloth_mesh(5, 5, (0.3, 0.3), origin=(at, at, height))
            body = world.add(DeformableBody(mesh, masses=np.full(36, mass)), thickness=0.0)
            body.velocities[:, 2] = speed
        contacts = sum(world.step(1 / 2000).contact.contacts for _ in range(8))
        assert contacts > 0
        assert len(world.audit()) == 0
        ends.append(np.concatenate([body.positions for body in world.bodies]))
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-10)
