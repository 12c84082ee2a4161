"""Options of the outer loop for comparison: rewinding, and repulsion without a memory of sides."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.solids import BendingSprings, DeformableBody, EdgeSprings, SpringOptions, World, WorldInfo
from meniscus.surface import HalfSpace

DT = 1 / 200


def cloth(n: int, height: float, size: float = 0.4, at: float = 0.0) -> DeformableBody:
    mesh = ms.mesh.cloth_mesh(n, n, (size, size), origin=(at, at, height))
    body = DeformableBody(mesh, density=0.2)
    body.add(EdgeSprings(mesh, SpringOptions(stiffness=10.0, damping_fraction=0.5, masses=body.masses)))
    body.add(BendingSprings(mesh, SpringOptions(stiffness=0.1, damping_fraction=0.5, masses=body.masses)))
    return body


def falling(**options: Any) -> World:
    """Two cloths fall on the ground; the upper one is thrown down."""
    world = World(gravity=(0, 0, -9.8), steps_per_loop=8, elasticity="full-step", tolerance=1e-6, **options)
    world.add(cloth(6, 0.012), thickness=0.004)
    upper = cloth(7, 0.1, at=0.03)
    upper.velocities[:, 2] = -2.0
    world.add(upper, thickness=0.004)
    world.add_obstacle(HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.5)
    return world


def state(world: World) -> list[np.ndarray]:
    return [part for body in world.bodies for part in (body.positions.copy(), body.velocities.copy(), np.array(body.time))]


def same(a: list[np.ndarray], b: list[np.ndarray]) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def until_rewound(world: World) -> list[WorldInfo]:
    infos = [world.step(DT)]
    while not infos[-1].contact.rewound:
        infos.append(world.step(DT))
        assert len(infos) < 200
    return infos


def test_a_loop_in_which_something_collides_is_undone_and_halved() -> None:
    world = falling(loop="rewind")
    starts: list[tuple[float, list[np.ndarray]]] = []
    steps = []
    for _ in range(72):
        if world.loop.inner_steps == 0:
            starts.append((world.time, state(world)))
            steps.append(world.loop.loop_steps)
        before = world.loop.loop_steps
        info = world.step(DT).contact
        if info.rewound:
            assert not info.loop_ended
            assert info.contacts > 0
            assert (world.time, world.loop.inner_steps) == (starts[-1][0], 0)
            assert same(state(world), starts[-1][1])
            assert world.loop.loop_steps == before // 2
        elif info.loop_ended:
            assert info.certified
            assert world.loop.loop_steps == min(8, 2 * before)
            assert len(world.audit()) == 0
    assert set(steps) == {1, 2, 4, 8}


@pytest.mark.slow
def test_a_loop_of_one_step_is_resolved() -> None:
    world = falling(loop="rewind")
    infos = [world.step(DT) for _ in range(72)]
    resolved = [info.contact for info in infos if info.contact.loop_ended and info.contact.contacts]
    assert resolved
    assert sum(c.impulses for c in resolved) > 0
    assert len(world.audit()) == 0


@pytest.mark.slow
def test_surfaces_repel_each_other_once_per_loop_when_rewinding() -> None:
    for loop, often in (("fixed", True), ("rewind", False)):
        world = falling(loop=loop)
        infos = [world.step(DT).contact for _ in range(48)]
        within = [c for c in infos if not c.loop_ended and not c.rewound]
        assert any(c.repulsions for c in within) == often
        assert any(c.repulsions for c in infos)


def test_forces_remember_what_they_did_at_the_start_of_a_loop() -> None:
    """Some springs remember their directions."""
    world = falling(loop="rewind")
    x = np.array([[2.0, 0, 1], [2.1, 0, 1], [2.0, 0.1, 1.02]])
    mesh = ms.mesh.SegmentMesh(x, np.array([[0, 1], [1, 2]], np.int32))
    chain = DeformableBody(mesh, masses=np.ones(3))
    chain.add(EdgeSprings(mesh, SpringOptions(stiffness=1.0), zero_length="last"))
    chain.velocities = np.array([[0.0, 0, 1], [0, 0, 0], [0, 0, -1]])
    world.add(chain)
    changed = False
    for _ in range(60):
        if world.loop.inner_steps == 0:
            at_start = [m.copy() for m in chain.force_memory]
            assert len(at_start) == 1
        info = world.step(DT).contact
        changed |= not same(chain.force_memory, at_start)
        if info.rewound:
            assert same(chain.force_memory, at_start)
            break
    assert info.rewound
    assert changed


def test_a_world_that_rewinds_advances_to_the_end() -> None:
    world = falling(loop="rewind")
    infos = world.advance(0.15)
    assert world.time == 0.15
    assert world.loop.inner_steps == 0
    assert sum(info.contact.rewound for info in infos) > 0
    assert all(body.time == world.time for body in world.bodies)


def test_finish_loop_does_not_rewind() -> None:
    world = falling(loop="rewind")
    infos = until_rewound(world)
    again = falling(loop="rewind")
    for _ in range(len(infos) - 1):
        again.step(DT)
    time = again.time
    again.bodies[1].positions[:, 2] -= 0.05
    info = again.finish_loop()
    assert info.certified
    assert info.contacts > 0
    assert (again.time, again.loop.inner_steps) == (time, 0)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"loop": "rewind"}, {"history": False}], ids=["rewind", "history"])
def test_bits_survive_copies_pickles_checkpoints_and_threads(options: dict[str, Any], tmp_path: Path) -> None:
    """Saved in the middle of a loop that is undone later."""
    probe = falling(**options)
    before = len(until_rewound(probe)) - 3 if "loop" in options else 30
    results, threads = [], ms.num_threads()
    try:
        for n in (1, 3):
            ms.set_num_threads(n)
            world = falling(**options)
            for _ in range(before):
                world.step(DT)
            assert world.loop.inner_steps > 0
            saved, copied, pickled = world.snapshot(), world.copy(), pickle.loads(pickle.dumps(world))
            ms.io.write_checkpoint(tmp_path / f"{n}.h5", ms.io.Checkpoint("none", {}, "0", {"step": before}, {"world": saved}))
            resumed = falling(**options)
            resumed.restore(ms.io.read_checkpoint(tmp_path / f"{n}.h5").state["world"])
            for w in (world, copied, pickled, resumed):
                for _ in range(16):
                    w.step(DT)
                results.append(state(w))
            world.restore(saved)
            for _ in range(16):
                world.step(DT)
            results.append(state(world))
    finally:
        ms.set_num_threads(threads)
    assert all(same(results[0], other) for other in results[1:])


def passing(history: bool) -> tuple[float, int, int]:
    """A small triangle is put on the other side of a large one in the middle of a loop; height before its end, and pairs pulled back.

    Returned third: contacts that are left to the end of the loop.
    """
    world = World(steps_per_loop=16, history=history)
    small = DeformableBody(
        ms.mesh.TriangleMesh(np.array([[0.0, 0, 0.02], [0.1, 0, 0.02], [0, 0.1, 0.02]]), np.array([[0, 1, 2]])), density=0.2
    )
    world.add(small, thickness=0.05)
    large = ms.mesh.TriangleMesh(np.array([[-2.0, -2, 0], [3, -2, 0], [0, 3, 0]]), np.array([[0, 1, 2]]))
    world.add_obstacle(large, thickness=0.05, sides="both")
    for _ in range(3):
        world.step(DT)
    small.positions[:, 2] = -0.01
    small.velocities[...] = 0.0
    first = world.step(DT).contact.inverted
    for _ in range(11):
        world.step(DT)
    height = float(small.positions[:, 2].min())
    info = world.step(DT).contact
    assert info.certified
    return height, first, info.contacts


def test_a_point_that_passed_a_triangle_comes_back_within_the_loop_only_with_history() -> None:
    height, inverted, left = passing(True)
    assert (inverted, left) == (3, 0)
    assert height > 0
    height, inverted, left = passing(False)
    assert (inverted, left) == (0, 3)
    assert height < -0.01


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_edges_that_turn_over_together_are_not_taken_for_passed(axis: int) -> None:
    x = np.array([[-0.1, 0, 0.01], [0.1, 0, 0.01], [0, -0.1, 0], [0, 0.1, 0]])
    body = DeformableBody(ms.mesh.SegmentMesh(x, np.array([[0, 1], [2, 3]], np.int32)), masses=np.full(4, 0.01))
    world = World(steps_per_loop=16)
    world.add(body, thickness=0.02)
    world.step(DT)
    sign = -np.ones(3)
    sign[axis] = 1.0
    body.positions = body.positions * sign
    body.velocities[...] = 0.0
    info = world.step(DT).contact
    assert (info.pairs, info.active, info.inverted) == (1, 1, 0)
    for _ in range(6):
        world.step(DT)
    # They were pushed on along the side on which they are.
    assert sign[2] * (body.positions[0, 2] - body.positions[2, 2]) > 0.01


def test_mistakes_are_told() -> None:
    with pytest.raises(ValueError, match="rewind"):
        World(loop="again")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="history"):
        World(history=1)  # type: ignore[arg-type]
    world = World(loop="rewind")
    body = world.add(cloth(3, 0.0))
    body.move([0], [[0.0, 0.0, 0.01]])
    with pytest.raises(ValueError, match="paths"):
        world.step(DT)


def folding(**options: Any) -> list[WorldInfo]:
    """Take a strip that stands on the ground, on which it folds, through steps of 1/400 s; return their reports."""
    mesh = ms.mesh.cloth_mesh(16, 4, (0.6, 0.15))
    mesh = mesh.moved(np.ascontiguousarray(mesh.vertices[:, ::-1]) + np.array([0, 0, 0.01]))
    body = DeformableBody(mesh, density=0.2)
    body.add(EdgeSprings(mesh, SpringOptions(stiffness=10.0, damping_fraction=0.5, masses=body.masses)))
    body.velocities[...] = 1e-3 * np.random.default_rng(2).normal(size=body.velocities.shape)
    world = World(gravity=(0, 0, -9.8), elasticity="full-step", steps_per_loop=16, **options)
    world.add(body)
    world.add_obstacle(HalfSpace((0, 0, 0), (0, 0, 1)))
    infos: list[WorldInfo] = []
    while world.time < 0.44 - 1e-9 or world.loop.inner_steps:
        infos.append(world.step(1 / 400))
    assert len(world.audit()) == 0
    return infos


@pytest.mark.slow
def test_rewinding_takes_more_steps_than_fixed_loops_of_sixteen() -> None:
    """As figure 6.11 of the thesis: what rewinding takes anew costs more than what ends of fixed loops correct."""
    fixed, rewinding = (folding(loop=loop) for loop in ("fixed", "rewind"))
    assert sum(info.contact.rewound for info in rewinding) > 0
    assert all(info.contact.certified for info in fixed + rewinding if info.contact.loop_ended)
    solves = [sum(s.iterations for info in infos for s in info.solves) for infos in (fixed, rewinding)]
    assert len(rewinding) > len(fixed)
    assert solves[1] > 1.2 * solves[0]
