"""Bodies belong to one world, which they can leave: the others go on as they are."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from support.contact.bodies import DT, FLOOR, KINDS, lifted, run, world_of
from support.variants import slow_but

from meniscus.solids import PositionsWorld, Recorder, RigidBody, RigidSystem, World, replay
from meniscus.surface import Pose

ALL = ("jelly", "reduced", "rigid", "cloth", "springs")


def stacked(kinds: tuple[str, ...] = ALL, response: str = "impulses") -> tuple[World, list[Any]]:
    world: Any = world_of() if response == "impulses" else PositionsWorld(gravity=(0, 0, -9.8))
    world.add_obstacle(FLOOR, friction=0.5)
    bodies = []
    for k, kind in enumerate(kinds):
        body = KINDS[kind]()
        lifted(body, np.eye(3), np.array([0.02 * k, 0.01 * k, 0.01 + 0.14 * k]))
        bodies.append(world.add(body, thickness=None if kind == "rigid" else 0.008))
    return world, bodies


def bits(body: Any) -> list[np.ndarray]:
    return (
        [body.state_row.copy()] if isinstance(body, RigidBody) else [np.array(p) for p in body.state.values() if isinstance(p, np.ndarray)]
    )


def same(a: list[np.ndarray], b: list[np.ndarray]) -> bool:
    return len(a) == len(b) and all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("kind", ALL)
def test_a_body_belongs_to_one_world(kind: str) -> None:
    first, second = world_of(), world_of()
    body = first.add(KINDS[kind]())
    with pytest.raises(ValueError, match=r"another .* has this body, and two cannot move it"):
        second.add(body)
    with pytest.raises(ValueError, match="has this body already"):
        first.add(body)
    copied = first.copy()
    member = [*copied.bodies, *copied.rigid.bodies, *(other.body for other in copied.others)][0]
    with pytest.raises(ValueError, match=r"another .* has this body"):
        second.add(member)
    second.add(body.copy())
    first.remove(body)
    second.add(body)
    if kind in ("rigid", "cloth", "reduced"):
        with pytest.raises(ValueError, match=r"another .* has this body"):
            PositionsWorld().add(body)
    with pytest.raises(ValueError, match="has not this body"):
        first.remove(body)


@pytest.mark.parametrize("kind", slow_but(ALL, "cloth", "reduced", "rigid"))
def test_a_body_that_leaves_changes_no_bit_of_the_others(kind: str) -> None:
    world, bodies = stacked()
    run(world, 16)
    before = world.snapshot()
    gone = bodies.pop(ALL.index(kind))
    states, own = [bits(b) for b in bodies], bits(gone)
    hands = [world.interaction.attach(b, None, b.center if isinstance(b, RigidBody) else b.positions[0]) for b in (gone, bodies[-1])]
    world.remove(gone)
    assert same(bits(gone), own)
    assert all(same(bits(b), s) for b, s in zip(bodies, states, strict=True))
    assert [hand.active for hand in hands] == [False, True]
    assert world.interaction.bodies[hands[1].first_name] is bodies[-1]
    with pytest.raises(ValueError, match=r"in the snapshot|taken out of"):
        world.restore(before)
    assert all(same(bits(b), s) for b, s in zip(bodies, states, strict=True))
    # It goes on, and so does what is made of it.
    twins = [world.copy(), pickle.loads(pickle.dumps(world))]
    for one in (world, *twins):
        run(one, 8)
    assert same(bits(gone), own)
    for twin in twins:
        assert all(same(bits(a), bits(b)) for a, b in zip(world.interaction.bodies.values(), twin.interaction.bodies.values(), strict=True))


def test_a_body_far_away_that_leaves_makes_no_difference() -> None:
    """What the world remembers by numbers (loops, contacts that last) is numbered anew."""
    worlds = []
    for leaves in (False, True):
        world = world_of()
        world.add_obstacle(FLOOR, friction=0.5)
        far, near = KINDS["jelly"](), KINDS["jelly"]()
        lifted(far, np.eye(3), np.array([5.0, 0, 1.0]))
        lifted(near, np.eye(3), np.array([0, 0, 0.001]))
        world.add(far)
        world.add(near)
        run(world, 32)
        assert len(world.solver.resting_keys) > 0
        if leaves:
            world.remove(far)
        run(world, 16)
        worlds.append(near)
    # Solves of one body and of two stop at other residuals.
    np.testing.assert_allclose(worlds[0].positions, worlds[1].positions, atol=1e-6)


def test_rigid_bodies_leave_with_their_joints_and_contacts() -> None:
    system = RigidSystem(gravity=(0, 0, -9.8))
    system.add_obstacle(FLOOR)
    boxes = [RigidBody.box((0.2, 0.2, 0.2), pose=Pose((x, 0, 0.1))) for x in (0.0, 0.3, 0.6, 0.9)]
    for box in boxes:
        system.add(box)
    joints = [
        system.join(a, b, "hinge", point=(x, 0, 0.1), axis=(0, 1, 0)) for a, b, x in zip(boxes, boxes[1:], (0.15, 0.45, 0.75), strict=False)
    ]
    for _ in range(4):
        system.step(0.005)
    before = system.snapshot()
    contacts = len(system.contact_groups)
    states = [b.state_row.copy() for b in boxes]
    system.remove(boxes[0])
    assert len(system.contact_groups) == contacts - 1
    assert [j.number for j in joints] == [-1, 0, 1]
    with pytest.raises(ValueError, match="gone with one of its bodies"):
        _ = joints[0].kind
    assert joints[1].place == pytest.approx(0.0, abs=1e-3)
    with pytest.raises(ValueError, match=r"in the snapshot|taken out of"):
        system.restore(before)
    assert all(np.array_equal(b.state_row, s) for b, s in zip(boxes, states, strict=True))
    other = RigidBody.box((0.2, 0.2, 0.2), pose=Pose((-0.3, 0, 0.1)))
    system.add(other)
    system.join(other, boxes[1], "hinge", point=(0.0, 0, 0.1), axis=(0, 1, 0))
    # As many bodies and joints as before, but others.
    with pytest.raises(ValueError, match="taken out of"):
        system.restore(before)
    for _ in range(20):
        system.step(0.005)
    assert all(abs(b.center[2] - 0.1) < 2e-3 for b in system.bodies)
    assert boxes[0].time < boxes[1].time


def test_worlds_in_real_time_let_bodies_go_too() -> None:
    kinds = ("reduced", "rigid", "cloth")
    for k in range(3):
        world, bodies = stacked(kinds, "positions")
        for _ in range(5):
            world.step(1 / 60)
        gone = bodies.pop(k)
        states = [bits(b) for b in bodies]
        world.remove(gone)
        assert all(same(bits(b), s) for b, s in zip(bodies, states, strict=True))
        own = bits(gone)
        for _ in range(5):
            world.step(1 / 60)
        assert same(bits(gone), own)
        assert world.interaction.sanity().bounded


def test_the_last_rigid_body_and_the_next_first_one_find_the_obstacles() -> None:
    world = world_of()
    box = world.add(RigidBody.box((0.2, 0.2, 0.2), pose=Pose((0, 0, 0.3))))
    world.add_obstacle(FLOOR)
    world.step(DT)
    world.remove(box)
    world.add(KINDS["springs"]())
    other = world.add(RigidBody.box((0.2, 0.2, 0.2), pose=Pose((2, 0, 0.1))))
    world.finish_loop()
    for _ in range(40):
        world.step(DT)
    assert other.center[2] == pytest.approx(0.1, abs=2e-3)


def test_a_body_that_leaves_is_in_the_log() -> None:
    world, bodies = stacked(("rigid", "cloth"))
    start = world.copy()
    with Recorder(world) as recorder:
        run(world, 8)
        world.remove(bodies[0])
        run(world, 8)
    assert replay(start, recorder) == 16
    assert len(start.rigid.bodies) == 0


def test_bodies_stay_in_the_middle_of_a_loop() -> None:
    world, bodies = stacked(("springs", "cloth"))
    world.step(DT)
    with pytest.raises(ValueError, match="bodies are removed between loops"):
        world.remove(bodies[0])
    world.finish_loop()
    world.remove(bodies[0])


@pytest.mark.parametrize("response", ["impulses", "barrier", "positions"])
@pytest.mark.parametrize("dt", [-1e-3, 0.0, float("nan"), float("inf"), 1e6, 1e-300])
def test_absurd_steps_are_refused_in_one_sentence(dt: float, response: Any) -> None:
    gravity = (0, 0, -9.8)
    world: Any = PositionsWorld(gravity=gravity) if response == "positions" else World(gravity=gravity, response=response)
    body = world.add(KINDS["cloth" if response == "positions" else "springs"](), thickness=0.01)
    before = bits(body)
    with pytest.raises(ValueError, match="dt must be "):
        world.step(dt)
    assert same(bits(body), before)
    assert world.time == 0.0


def test_nothing_is_copied_in_the_middle_of_a_step() -> None:
    """Some bodies have moved then, and others have not."""
    real_time: Any
    real_time, bodies = stacked(("rigid", "cloth"), "positions")
    real_time.begin_frame(1 / 60)
    real_time.substep()
    calls = [real_time.snapshot, real_time.copy, lambda: pickle.dumps(real_time), lambda: real_time.remove(bodies[0])]
    for call in calls:
        with pytest.raises(ValueError, match=r"in the middle of a step|substeps left"):
            call()
    real_time.substep(real_time._left)
    with pytest.raises(ValueError, match="in the middle of a step"):
        real_time.copy()
    real_time.end_frame()
    assert same(bits(real_time.copy().rigid.bodies[0]), bits(bodies[0]))

    world, _ = stacked(("springs", "cloth"))
    refused = []

    def look(name: str, now: World) -> None:
        for call in (now.snapshot, now.copy, lambda: pickle.dumps(now)):
            with pytest.raises(ValueError, match="in the middle of a step"):
                call()
        refused.append(name)

    world.step(DT, look)
    assert len(refused) == 8
    # A step that fails leaves the world whole.
    with pytest.raises(ZeroDivisionError):
        world.step(DT, lambda *_: 1 // 0)
    assert same(bits(world.copy().bodies[0]), bits(world.bodies[0]))
