"""Worlds with a barrier: closed forms, certified iterates, transactions, the same bits on any threads."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from support.variants import THREAD_COUNTS, slow_but

import meniscus as ms
from meniscus.mesh import TriangleMesh, cloth_mesh, tet_block
from meniscus.solids import BarrierOptions, ContactError, DeformableBody, EdgeSprings, SpringOptions, TetElements, World

ANGLE = np.pi / 5
G = 9.8
DOWN = np.array([np.cos(ANGLE), 0.0, -np.sin(ANGLE)])
UP = np.array([np.sin(ANGLE), 0.0, np.cos(ANGLE)])
AXES = np.stack([DOWN, np.cross(UP, DOWN), UP])


def barrier_world(**options: Any) -> World:
    return World(gravity=(0, 0, -G), response=BarrierOptions(**options))


def block(origin: tuple[float, float, float], side: float = 0.1, cells: int = 1, stiffness: float = 1e6) -> DeformableBody:
    mesh = tet_block(cells, cells, cells, (side, side, side), origin=origin)
    body = DeformableBody(mesh, density=1000.0)
    body.add(TetElements(mesh, youngs_modulus=stiffness, poissons_ratio=0.3, damping=0.01))
    return body


def cloth(height: float, turn: float = 0.0, cells: int = 8, side: float = 0.4) -> DeformableBody:
    flat = cloth_mesh(cells, cells, (side, side), origin=(-0.5 * side, -0.5 * side, height))
    c, s = np.cos(turn), np.sin(turn)
    mesh = TriangleMesh(np.ascontiguousarray(flat.vertices @ [[c, s, 0], [-s, c, 0], [0, 0, 1]]), flat.triangles)
    body = DeformableBody(mesh, density=0.2)
    body.add(EdgeSprings(mesh, SpringOptions(stiffness=10.0, damping_fraction=0.5, masses=body.masses)))
    return body


def watched(world: World) -> list[int]:
    """Return a list that receives the number of intersections of every iterate."""
    found: list[int] = []
    world.solver.on_iterate = lambda x: found.append(len(world.surface.mesh.self_intersections(world.surface.at_vertices(x))))
    return found


def on_incline(friction: float, obstacle: str) -> World:
    mesh = tet_block(2, 2, 1, (0.3, 0.3, 0.1), origin=(0, 0, 0.009))
    mesh = mesh.moved(mesh.vertices @ AXES)
    body = DeformableBody(mesh, density=1000)
    body.add(TetElements(mesh, youngs_modulus=1e6, poissons_ratio=0.3, damping=0.01))
    world = barrier_world()
    world.add(body, thickness=0.01, friction=friction)
    if obstacle == "solid":
        world.add_obstacle(ms.surface.HalfSpace((0, 0, 0), tuple(UP)), friction=friction)
    else:
        corners = np.array([[-2, -2, 0], [9, -2, 0], [9, 2, 0], [-2, 2, 0.0]]) @ AXES
        plane = TriangleMesh(corners, np.array([[0, 1, 2], [0, 2, 3]], np.int32))
        world.add_obstacle(plane, thickness=0.01, friction=friction, sides="both")
    return world


@pytest.mark.parametrize("obstacle", ["solid", "mesh"])
@pytest.mark.parametrize("dt", slow_but([1 / 24, 1 / 100], 1 / 24))
def test_a_block_slides_down_an_incline(obstacle: str, dt: float) -> None:
    world = on_incline(0.3, obstacle)
    body = world.bodies[0]
    iterates = watched(world)
    for _ in range(12):
        world.step(dt)
    speed, place, steps = body.velocities.mean(axis=0) @ DOWN, body.positions.mean(axis=0), 12
    for _ in range(steps):
        info = world.step(dt)
        assert info.contact.certified
        assert 0 < info.contact.min_distance < 0.01
    acceleration = G * (np.sin(ANGLE) - 0.3 * np.cos(ANGLE))
    assert (body.velocities.mean(axis=0) @ DOWN - speed) / (steps * dt) == pytest.approx(acceleration, rel=0.003)
    # The way of implicit Euler: each step with the velocity at its end.
    way = steps * dt * speed + 0.5 * acceleration * dt * dt * steps * (steps + 1)
    assert (body.positions.mean(axis=0) - place) @ DOWN == pytest.approx(way, rel=0.003)
    assert len(iterates) > 24
    assert not any(iterates)


@pytest.mark.parametrize("obstacle", ["solid", "mesh"])
def test_a_block_rests_above_the_angle_of_friction(obstacle: str) -> None:
    world = on_incline(np.tan(ANGLE) + 0.05, obstacle)
    for _ in range(10):
        world.step(1 / 24)
    # Smoothed friction holds with a creep below its slip speed.
    assert np.abs(world.bodies[0].velocities @ DOWN).max() < 1e-3


def stack(count: int) -> World:
    world = barrier_world()
    for k in range(count):
        body = block((0.003 * (k % 3), 0.002 * (k % 2), 0.0004 * (k + 1) + 0.1 * k), stiffness=1e8)
        world.add(body, thickness=5e-4, friction=0.5)
    world.add_obstacle(ms.surface.HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.5)
    return world


@pytest.mark.slow
def test_a_stack_of_twenty_cubes_stands_at_steps_of_a_frame() -> None:
    world = stack(20)
    iterates = watched(world)
    for _ in range(16):
        info = world.step(1 / 24)
    assert info.max_speed < 0.02
    assert not any(iterates)
    assert 0 < info.contact.min_distance < 5e-4
    # No cube has sunk into the next: tops are a side and a gap apart.
    tops = [body.positions[:, 2].mean() for body in world.bodies]
    assert np.diff(tops).min() > 0.0995
    assert len(world.audit()) == 0


def test_the_ground_carries_the_weight_of_a_stack() -> None:
    """The forces of the barrier at rest, by its derivative."""
    world = stack(3)
    for _ in range(30):
        info = world.step(1 / 24)
    assert info.max_speed < 1e-3
    h, kappa = 5e-4, info.contact.barrier_stiffness
    base = np.concatenate([body.positions for body in world.bodies])[:, 2]
    s = (base[base < h] / h) ** 2
    slope = -2 * (s - 1) * np.log(s) - (s - 1) ** 2 / s
    force = -kappa * (slope * 2 * base[base < h] / h**2).sum()
    assert force == pytest.approx(sum(body.masses.sum() for body in world.bodies) * G, rel=0.01)


def two_sheets() -> World:
    world = barrier_world()
    low = cloth(0.0)
    low.pin(np.flatnonzero(np.abs(low.positions[:, 0]) > 0.19))
    world.add(low, thickness=0.01)
    world.add(cloth(0.02, 0.6), thickness=0.01)
    world.add_obstacle(ms.surface.HalfSpace((0, 0, -0.01), (0, 0, 1)), friction=0.4)
    return world


def test_a_sheet_falls_onto_another_without_intersections() -> None:
    world = two_sheets()
    iterates = watched(world)
    pairs = []
    for _ in range(8):
        info = world.step(1 / 24)
        pairs.append(info.contact.pairs)
        assert info.contact.loop_ended
    assert max(pairs) > 50
    assert not any(iterates)
    pinned = np.abs(cloth(0.0).positions[:, 0]) > 0.19
    np.testing.assert_array_equal(world.bodies[0].positions[pinned], cloth(0.0).positions[pinned])


def test_a_block_with_a_finer_surface_falls_onto_a_moving_mesh() -> None:
    """Embedded vertices share nodes; the ground moves along its path to the bit."""
    world = barrier_world()
    body = block((-0.05, -0.05, 0.01), cells=1)
    world.add(body, tet_block(3, 3, 3, (0.1, 0.1, 0.1), origin=(-0.05, -0.05, 0.01)).boundary, thickness=0.006)
    ground = cloth_mesh(3, 3, (0.5, 0.5), origin=(-0.25, -0.25, 0.0))
    path = Rising(ground.vertices)
    world.add_obstacle(ground, thickness=0.006, sides="both", motion=path)
    iterates = watched(world)
    for _ in range(10):
        info = world.step(1 / 24)
    assert info.contact.increments > 0
    assert not any(iterates)
    np.testing.assert_array_equal(world.loop.x_free[len(body) :], path(world.time))
    gap = body.positions[:, 2].min() - path(world.time)[:, 2].max()
    assert 0 < gap < 0.006
    assert body.velocities[:, 2].mean() == pytest.approx(0.5, abs=0.05)


class Rising:
    """Vertices that move up at 0.5 m/s."""

    def __init__(self, vertices: np.ndarray) -> None:
        self.vertices = vertices

    def __call__(self, time: float) -> np.ndarray:
        return self.vertices + 0.5 * time * np.array([0.0, 0.0, 1.0])


def test_a_moving_solid_pushes_a_sheet() -> None:
    world = barrier_world()
    world.add(cloth(0.0), thickness=0.01)
    world.add_obstacle(ms.surface.KinematicSolid(ms.surface.Sphere((0.0, 0.0, 0.0), 0.1), _rising_pose), friction=0.2)
    for _ in range(8):
        info = world.step(1 / 24)
        assert world.setup.solid_obstacles[0].distance(world.bodies[0].positions, world.time).min() > 0
    assert world.bodies[0].positions[:, 2].max() > 0.1
    assert info.contact.pairs > 0


def _rising_pose(time: float) -> ms.surface.Pose:
    return ms.surface.Pose((0.0, 0.0, -0.11 + 1.0 * time))


def test_a_particle_comes_to_rest_on_a_solid() -> None:
    world = barrier_world(distance=0.01)
    body = DeformableBody(np.array([[0.0, 0.0, 0.05]]), masses=2.0)
    world.add(body)
    world.add_obstacle(ms.surface.HalfSpace((0, 0, 0), (0, 0, 1)))
    for _ in range(16):
        info = world.step(1 / 24)
    assert np.abs(body.velocities).max() < 1e-5
    assert 0 < body.positions[0, 2] < 0.01
    assert info.contact.min_distance == pytest.approx(body.positions[0, 2])


def test_a_rope_falls_onto_another_across_it() -> None:
    world = barrier_world()
    for k in range(2):
        along = np.linspace(-0.5, 0.5, 41)
        vertices = np.stack([along, np.full(41, 0.003), np.full(41, 0.03 * k)], axis=1)
        rope = ms.mesh.SegmentMesh(
            vertices if k else np.ascontiguousarray(vertices[:, [1, 0, 2]]), np.stack([np.arange(40), np.arange(1, 41)], 1)
        )
        body = DeformableBody(rope, masses=0.01)
        body.add(EdgeSprings(rope, SpringOptions(stiffness=100, damping_fraction=0.5, masses=body.masses)))
        world.add(body, thickness=0.01)
    world.bodies[0].pin([0, 40])
    for _ in range(10):
        info = world.step(1 / 24)
    # Both cross in the middle, the upper one still above, though its ends hang far below.
    low, high = (body.positions[20] for body in world.bodies)
    assert 0 < high[2] - low[2] < 0.02
    assert world.bodies[1].positions[0, 2] < low[2] - 0.1
    assert info.contact.certified


def test_moved_nodes_are_on_their_paths_after_whole_durations() -> None:
    world = barrier_world()
    body = cloth(0.0)
    side = np.flatnonzero(body.positions[:, 0] < -0.19)
    path = Rising(body.positions[side].copy())
    body.move(side, path)
    world.add(body, thickness=0.01)
    infos = world.advance(0.125)
    assert len(infos) == 1
    assert world.time == 0.125
    np.testing.assert_array_equal(body.positions[side], path(0.125))
    np.testing.assert_allclose(body.velocities[side], np.tile([0.0, 0.0, 0.5], (len(side), 1)), atol=1e-6)


def test_blocks_that_collide_keep_their_momentum() -> None:
    world = World(gravity=(0, 0, 0), response=BarrierOptions(tolerance=1e-9, linear_tolerance=1e-9))
    for k in range(2):
        body = block((0.11 * k, 0.01 * k, 0.0), cells=2)
        body.velocities[...] = (1.0 if k == 0 else -0.5, 0.0, 0.0)
        world.add(body, thickness=0.005, friction=0.4)
    before = sum(body.momentum() for body in world.bodies)
    pairs = 0
    for _ in range(20):
        pairs += world.step(1 / 400).contact.pairs
    assert pairs > 0
    np.testing.assert_allclose(sum(body.momentum() for body in world.bodies), before, rtol=0, atol=1e-7)
    assert world.bodies[0].velocities[:, 0].mean() < 0.5


def test_the_potential_has_the_derivative_that_newton_uses() -> None:
    """Of everything at once: bodies, embedded surfaces, solids, friction."""
    world = barrier_world(stiffness=1.0)
    world.add(block((-0.05, -0.05, 0.008)), tet_block(2, 2, 2, (0.1, 0.1, 0.1), origin=(-0.05, -0.05, 0.008)).boundary, thickness=0.01)
    world.add(cloth(0.114, 0.3, 4, 0.2), thickness=0.01)
    world.add_obstacle(ms.surface.HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.5)
    with world.transaction():
        world.begin(1 / 100)
        world.meet(1 / 100)
        core: Any = world.solver._core
        # Between surfaces, and of nodes with the solid.
        assert core.friction_pairs > 4 + core.near_solids > 4
        rng = np.random.default_rng(0)
        x = world.loop.x_free + 1e-5 * rng.normal(size=world.loop.x_free.shape)
        way = rng.normal(size=x.shape)
        gradient, unused, p = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
        core.evaluate(x, gradient)
        step = 1e-8
        ends = [core.evaluate(x + sign * step * way, unused) for sign in (1, -1)]
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(np.vdot(gradient, way), rel=1e-5)
        # Newton's direction goes down, and its first order is the negative gradient.
        core.direction(x, p)
        assert np.vdot(gradient, p) < 0
        world.solver.leave()


def test_copies_pickles_and_snapshots_go_on_with_the_same_bits() -> None:
    world = two_sheets()
    for _ in range(3):
        world.step(1 / 24)
    saved, copied, pickled = world.snapshot(), world.copy(), pickle.loads(pickle.dumps(world))
    ends = []
    for w in (world, copied, pickled):
        for _ in range(3):
            w.step(1 / 24)
        ends.append(state(w))
    world.restore(saved)
    for _ in range(3):
        world.step(1 / 24)
    ends.append(state(world))
    for other in ends[1:]:
        for a, b in zip(ends[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def state(world: World) -> list[np.ndarray]:
    return [part for body in world.bodies for part in (body.positions.copy(), body.velocities.copy())]


@THREAD_COUNTS
def test_results_have_the_same_bits_on_any_number_of_threads(threads: tuple[int, ...]) -> None:
    before = ms.num_threads()
    found = []
    try:
        for n in threads:
            ms.set_num_threads(n)
            world = two_sheets()
            for _ in range(4):
                world.step(1 / 24)
            found.append(state(world))
    finally:
        ms.set_num_threads(before)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_errors_and_interruptions_leave_the_last_completed_step() -> None:
    world = two_sheets()
    world.step(1 / 24)
    before, time = state(world), world.time
    calls = []

    def interrupt(x: np.ndarray) -> None:
        calls.append(x)
        if len(calls) == 3:
            raise KeyboardInterrupt

    world.solver.on_iterate = interrupt
    with pytest.raises(KeyboardInterrupt):
        world.step(1 / 24)
    for a, b in zip(state(world), before, strict=True):
        np.testing.assert_array_equal(a, b)
    assert world.time == time
    # The step can be taken then, with the bits of a world that was never interrupted.
    world.solver.on_iterate = None
    other = two_sheets()
    for w in (world, other, other):
        w.step(1 / 24)
    for a, b in zip(state(world), state(other), strict=True):
        np.testing.assert_array_equal(a, b)


class Closing:
    """Vertices that move down at 1 m/s."""

    def __init__(self, vertices: np.ndarray) -> None:
        self.vertices = vertices

    def __call__(self, time: float) -> np.ndarray:
        return self.vertices - [0.0, 0.0, 1.0 * time]


def test_what_obstacles_pinch_is_an_error_and_nothing_has_changed() -> None:
    world = barrier_world(increments=10)
    world.add(cloth(0.0, cells=2, side=0.2), thickness=0.01)
    lower = cloth_mesh(1, 1, (0.5, 0.5), origin=(-0.25, -0.25, -0.012))
    upper = cloth_mesh(1, 1, (0.5, 0.5), origin=(-0.25, -0.25, 0.02))
    world.add_obstacle(lower, thickness=0.01, sides="both")
    world.add_obstacle(upper, thickness=0.01, sides="both", motion=Closing(upper.vertices))
    before = state(world)
    with pytest.raises(ContactError, match="something is pinched between them; nothing has changed") as error:
        world.step(1 / 24)
    assert len(error.value.pairs.vertex_face) + len(error.value.pairs.edge_edge) > 0
    for a, b in zip(state(world), before, strict=True):
        np.testing.assert_array_equal(a, b)
    assert world.time == 0


def test_surfaces_that_intersect_or_touch_solids_are_refused() -> None:
    world = barrier_world()
    world.add(cloth(0.0), thickness=0.01)
    crossing = cloth(0.0)
    crossing.positions[:, 2] = crossing.positions[:, 0]
    world.add(crossing, thickness=0.01)
    with pytest.raises(ValueError, match="surfaces must not intersect at the start"):
        world.step(1 / 24)
    world = barrier_world()
    world.add(cloth(0.0), thickness=0.01)
    world.add_obstacle(ms.surface.HalfSpace((0, 0, 0), (0, 0, 1)))
    with pytest.raises(ValueError, match="nodes must be outside of solids"):
        world.step(1 / 24)


def test_options_that_do_not_go_together_are_refused() -> None:
    refused = [
        {"friction_solves": 2},
        {"sweeps": 3},
        {"cut": False},
        {"elasticity": "full-step"},
        {"on_pinch": "release"},
        {"rest": "literal"},
    ]
    for options in refused:
        with pytest.raises(ValueError, match="`gravity` is the only other option"):
            World(response="barrier", **options)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no option 'barrier'"):
        World(barrier=BarrierOptions())
    with pytest.raises(ValueError, match="stiffness"):
        BarrierOptions(stiffness=-1.0)
    world = barrier_world()
    world.add(cloth(0.0), thickness=0.0)
    with pytest.raises(ValueError, match="thickness of a surface is its activation distance"):
        world.step(0.01)


def test_a_step_that_does_not_converge_is_an_error_unless_it_is_accepted() -> None:
    worlds = []
    for raises in (True, False):
        world = barrier_world(max_iterations=1, tolerance=1e-12, raise_on_failure=raises)
        world.add(cloth(0.0), thickness=0.01)
        world.add(cloth(0.008, 0.3), thickness=0.01)
        worlds.append(world)
    before = state(worlds[0])
    with pytest.raises(ArithmeticError, match="did not meet its tolerance"):
        worlds[0].step(1 / 24)
    for a, b in zip(state(worlds[0]), before, strict=True):
        np.testing.assert_array_equal(a, b)
    iterates = watched(worlds[1])
    for _ in range(4):
        worlds[1].step(1 / 24)
    assert len(iterates) >= 4
    assert not any(iterates)
