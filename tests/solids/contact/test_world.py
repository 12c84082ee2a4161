"""Worlds: what they are made of, their stages and loops, and their state."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.solids import ContactError, DeformableBody, EdgeSprings, SpringOptions, World
from meniscus.surface import HalfSpace, Pose, Sphere


def cloth(n: int = 8, height: float = 0.0, size: float = 0.5, at: tuple[float, float] = (0.0, 0.0)) -> DeformableBody:
    mesh = ms.mesh.cloth_mesh(n, n, (size, size), origin=(at[0], at[1], height))
    body = DeformableBody(mesh, density=0.2)
    body.add(EdgeSprings(mesh, SpringOptions(stiffness=10.0, damping_fraction=0.5, masses=body.masses)))
    return body


def jelly(height: float = 0.0) -> DeformableBody:
    mesh = ms.mesh.tet_block(3, 3, 3, (0.3, 0.3, 0.3), origin=(0.1, 0.1, height))
    body = DeformableBody(mesh, density=500)
    body.add(ms.solids.TetElements(mesh, youngs_modulus=2e4, poissons_ratio=0.3, damping=0.01))
    return body


def scene(**options: Any) -> World:
    world = World(gravity=(0, 0, -9.8), steps_per_loop=4, elasticity="full-step", tolerance=1e-6, **options)
    world.add(cloth(8, 0.46))
    world.add(jelly(0.02))
    world.add_obstacle(HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.5)
    return world


def state(world: World) -> list[np.ndarray]:
    return [part for body in world.bodies for part in (body.positions.copy(), body.velocities.copy())]


def same(a: list[np.ndarray], b: list[np.ndarray]) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("elasticity", ["explicit", "full-step"])
@pytest.mark.parametrize("finish", ["trapezoid", "backward-euler"])
def test_without_contact_a_world_takes_the_steps_of_its_bodies(elasticity: str, finish: str) -> None:
    options = {"elasticity": elasticity, "finish": finish, "tolerance": 1e-12}
    world = World(gravity=(0, 0, -9.8), **options)
    alone = [cloth(4, 0.0), cloth(5, 1.0, at=(0.2, 0.3))]
    for body in alone:
        body.pin([0])
        body.move([1], Around(body.positions[1].copy()))
        body.gravity = (0, 0, -9.8)
        world.add(body.copy())
    for _ in range(6):
        world.step(1e-3)
        for body in alone:
            body.step(1e-3, safeguard=False, **options)
    for mine, other in zip(world.bodies, alone, strict=True):
        assert np.allclose(mine.positions, other.positions, rtol=0, atol=1e-12)
        assert np.allclose(mine.velocities, other.velocities, rtol=0, atol=1e-9)
        assert mine.time == other.time


class Around:
    """A path (a class, so that it pickles)."""

    def __init__(self, centre: np.ndarray) -> None:
        self.centre = centre

    def __call__(self, time: float) -> np.ndarray:
        return (self.centre + np.array([0.0, 0.01 * np.sin(5 * time), 0.0]))[None]


def test_stages_are_called_in_order_and_a_step_may_be_taken_stage_by_stage() -> None:
    world, other = scene(), scene()
    seen: list[str] = []
    for _ in range(5):
        seen.clear()
        world.step(1 / 200, on_stage=lambda name, w: seen.append(name))
        other.begin(1 / 200)
        for name in other.stages:
            getattr(other, name)(1 / 200)
        other.end()
    assert seen == list(world.stages)
    assert same(state(world), state(other))
    with pytest.raises(RuntimeError, match="begin"):
        world.solve(1 / 200)


def test_cloth_lies_on_a_jelly_on_the_ground_without_intersections() -> None:
    world = scene()
    reports = [world.step(1 / 200) for _ in range(120)]
    loops = [r.contact for r in reports if r.contact.loop_ended]
    assert len(loops) == 30
    assert all(c.certified for c in loops)
    assert len(world.audit()) == 0
    assert max(c.active for r in reports for c in [r.contact]) > 0
    assert world.bodies[1].positions[:, 2].min() > -1e-3
    # The cloth lies on the block, not in it.
    over = np.all(np.abs(world.bodies[0].positions[:, :2] - 0.25) < 0.1, axis=1)
    assert world.bodies[0].positions[over, 2].min() > world.bodies[1].positions[:, 2].max() - 0.05


def test_the_same_scene_falls_through_itself_without_response() -> None:
    world = scene()
    for body in world.bodies:
        body.gravity = (0, 0, -9.8)
    for _ in range(120):
        for body in world.bodies:
            body.step(1 / 200, elasticity="full-step")
            body.velocities[body.positions[:, 2] < 0, 2] = 0.0
    assert len(world.audit()) > 0


def test_advance_ends_exactly_with_a_whole_loop() -> None:
    world = scene()
    world.step(1 / 300)
    infos = world.advance(0.1)
    assert world.time == 1 / 300 + 0.1
    assert world.loop.inner_steps == 0
    assert infos[-1].contact.loop_ended
    assert all(body.time == world.time for body in world.bodies)


def test_snapshots_copies_and_pickles_go_on_with_the_same_bits() -> None:
    world = scene()
    for _ in range(30):
        world.step(1 / 200)
    assert world.loop.inner_steps == 2  # in the middle of a loop
    saved, copied, pickled = world.snapshot(), world.copy(), pickle.loads(pickle.dumps(world))
    for _ in range(7):
        world.step(1 / 200)
    expected = state(world)
    for other in (copied, pickled):
        for _ in range(7):
            other.step(1 / 200)
        assert same(state(other), expected)
    world.restore(saved)
    assert world.loop.inner_steps == 2
    for _ in range(7):
        world.step(1 / 200)
    assert same(state(world), expected)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    results, threads = [], ms.num_threads()
    try:
        for n in (1, 3):
            ms.set_num_threads(n)
            world = scene()
            for _ in range(24):
                world.step(1 / 200)
            results.append(state(world))
    finally:
        ms.set_num_threads(threads)
    assert same(*results)


def test_a_failed_step_changes_nothing() -> None:
    world = scene()
    for _ in range(3):
        world.step(1 / 200)
    before, time = state(world), world.time

    def break_off(name: str, _: Any) -> None:
        if name == "rub":
            raise KeyError(name)

    with pytest.raises(KeyError):
        world.step(1 / 200, on_stage=break_off)
    assert same(state(world), before)
    assert (world.time, world.loop.inner_steps) == (time, 3)
    world.bodies[0].velocities[3] = np.nan
    with pytest.raises(ValueError, match="finite"):
        world.step(1 / 200)


def test_surfaces_that_intersect_at_the_start_are_refused_with_their_number() -> None:
    world = World()
    world.add(cloth(4, 0.1))
    upright = cloth(4)
    upright.positions = upright.positions[:, [0, 2, 1]] + [0.03, 0.217, 0.03]
    world.add(upright)
    count = len(world.audit())
    assert count > 0
    with pytest.raises(ValueError, match=f"{count} pairs of an edge and a triangle"):
        world.step(1e-3)


class Closing:
    """Two plates that move towards each other."""

    def __init__(self, height: float, speed: float) -> None:
        self.height, self.speed = height, speed

    def __call__(self, time: float) -> Pose:
        return Pose((0.0, 0.0, self.height + self.speed * time))


def pinched(**options: Any) -> World:
    world = World(steps_per_loop=2, elasticity="full-step", **options)
    world.add(cloth(3, 0.0, 0.2), thickness=1e-3)
    plate = ms.mesh.cloth_mesh(2, 2, (1, 1), origin=(-0.41, -0.43, 0))
    for height, speed in ((0.05, -1.0), (-0.05, 1.0)):
        world.add_obstacle(plate, thickness=1e-3, sides="both", motion=Closing(height, speed))
    return world


def test_cloth_that_is_pinched_raises_an_error_that_names_the_pairs() -> None:
    world = pinched()
    before: list[np.ndarray] = []
    time = -1.0

    def until_pinched() -> None:
        nonlocal before, time
        for _ in range(40):
            before, time = state(world), world.time
            world.step(0.005)

    with pytest.raises(ContactError, match="nothing resolves") as caught:
        until_pinched()
    assert len(caught.value.pairs.vertex_face) + len(caught.value.pairs.edge_edge) > 0
    assert same(state(world), before)
    assert world.time == time


@pytest.mark.slow
def test_or_lets_it_go_and_says_so() -> None:
    world = pinched(on_pinch="release")
    deactivated = [world.step(0.005).contact.deactivated for _ in range(40)]
    assert max(deactivated) > 0
    assert world.time == pytest.approx(0.2)


def test_an_embedded_skin_is_what_contact_sees() -> None:
    block = jelly(0.3)
    ball = Sphere((0.25, 0.25, 0.45), 0.12)
    grid = ms.Grid((16, 16, 16), 0.02, origin=(0.09, 0.09, 0.29))
    phi = ms.surface.LevelSet(grid)
    ball.sample(phi.field)
    skin = ms.mesh.TriangleMesh(*ms.surface.extract(phi))
    world = World(gravity=(0, 0, -9.8), elasticity="full-step", steps_per_loop=4)
    world.add(block, surface=skin, thickness=0.005)
    floor = ms.mesh.cloth_mesh(4, 4, (1, 1), origin=(-0.2, -0.2, 0.25))
    world.add_obstacle(floor, thickness=0.005, sides="both")
    lowest = []
    for _ in range(80):
        world.step(1 / 200)
        lowest.append(block.positions[:, 2].min())
    at = world.surface.at_vertices(world.surface.gather([block.positions], world.time))
    assert at[: len(skin.vertices), 2].min() > 0.25
    # The block itself hangs below the floor that its skin lies on.
    assert min(lowest) < 0.25
    assert len(world.audit()) == 0


def test_mistakes_are_told() -> None:
    world = World()
    with pytest.raises(ValueError, match="add"):
        world.step(0.1)
    body = world.add(cloth(3))
    with pytest.raises(ValueError, match="already"):
        world.add(body)
    with pytest.raises(TypeError, match="body must be a DeformableBody, RigidBody, PositionBody or ReducedBody, not str"):
        world.add("cloth")
    with pytest.raises(TypeError, match="surface"):
        world.add(cloth(3), surface=3)
    with pytest.raises(ValueError, match="negative"):
        world.add(cloth(3), friction=-1.0)
    with pytest.raises(ValueError, match="friction"):
        world.add_obstacle(Sphere((0, 0, 0), 1), friction=-1.0)
    with pytest.raises(TypeError, match="two sides"):
        world.add_obstacle(Sphere((0, 0, 0), 1), sides="both")
    with pytest.raises(TypeError, match="newton"):
        World(newton=True)
    world.step(1e-3)
    with pytest.raises(ValueError, match="finish_loop"):
        world.add(cloth(3, 1.0))
    assert world.finish_loop().certified
    world.add(cloth(3, 1.0))
    with pytest.raises(ValueError, match="stability"):
        world.step(10.0)


def test_a_checkpoint_in_the_middle_of_a_loop_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    world = scene()
    for _ in range(22):
        world.step(1 / 200)
    saved = ms.io.Checkpoint("none", {}, "0", {"step": 22}, {"world": world.snapshot()})
    ms.io.write_checkpoint(tmp_path / "world.h5", saved)
    for _ in range(6):
        world.step(1 / 200)
    other = scene()
    other.restore(ms.io.read_checkpoint(tmp_path / "world.h5").state["world"])
    assert (other.loop.inner_steps, len(other.loop.x_free)) == (2, sum(map(len, other.bodies)))
    for _ in range(6):
        other.step(1 / 200)
    assert same(state(world), state(other))
