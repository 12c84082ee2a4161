"""Friction that changes between loops is state of a world."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import meniscus as ms
from meniscus.solids import DeformableBody, EdgeSprings, SpringOptions, World
from meniscus.surface import HalfSpace, Sphere

DT = 1 / 200


def sliding() -> World:
    """A cloth slides on the ground, over which a ball hangs."""
    mesh = ms.mesh.cloth_mesh(3, 3, (0.2, 0.2))
    body = DeformableBody(mesh, density=0.2)
    body.add(EdgeSprings(mesh, SpringOptions(stiffness=5.0, damping_fraction=0.5, masses=body.masses)))
    body.velocities[:, 0] = 1.0
    world = World(gravity=(0, 0, -9.8), steps_per_loop=2, elasticity="full-step")
    world.add(body)
    world.add_obstacle(Sphere((0, 0, 3), 1.0), friction=0.3)
    world.add_obstacle(HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.0)
    return world


def go_on(world: World) -> tuple[float, np.ndarray]:
    for _ in range(10):
        world.step(DT)
    return world.setup.solid_obstacles[1].friction, world.bodies[0].positions.copy()


def test_changed_friction_survives_snapshots_checkpoints_copies_and_pickles(tmp_path: Path) -> None:
    world = sliding()
    at_first = world.snapshot()
    for _ in range(4):
        world.step(DT)
    world.setup.set_friction(1, 0.5)
    assert world.setup.friction_of_solids.tolist() == [0.3, 0.5]
    world.step(DT)  # in the middle of a loop
    saved = world.snapshot()
    ms.io.write_checkpoint(tmp_path / "world.h5", ms.io.Checkpoint("none", {}, "0", {"step": 5}, {"world": saved}))
    others = [world.copy(), pickle.loads(pickle.dumps(world)), sliding(), sliding()]
    others[2].restore(saved)
    others[3].restore(ms.io.read_checkpoint(tmp_path / "world.h5").state["world"])
    friction, x = go_on(world)
    assert friction == 0.5
    assert 0 < world.bodies[0].velocities[:, 0].max() < 0.9
    for other in others:
        again, y = go_on(other)
        assert again == friction
        np.testing.assert_array_equal(y, x)
    world.restore(at_first)
    assert world.setup.solid_obstacles[1].friction == 0.0
    np.testing.assert_allclose(go_on(world)[1][:, 0], ms.mesh.cloth_mesh(3, 3, (0.2, 0.2)).vertices[:, 0] + 10 * DT, atol=1e-9)


def test_a_failed_step_keeps_it() -> None:
    world = sliding()
    world.setup.set_friction(1, 0.5)

    def break_off(name: str, _: World) -> None:
        raise KeyError(name)

    with pytest.raises(KeyError):
        world.step(DT, on_stage=break_off)
    assert world.setup.solid_obstacles[1].friction == 0.5


def test_a_state_of_other_solids_is_refused() -> None:
    world, other = sliding(), sliding()
    other.add_obstacle(Sphere((0, 0, 9), 1.0))
    before = world.setup.friction_of_solids.copy()
    with pytest.raises(ValueError, match="3 solids, not 2"):
        world.restore(other.snapshot())
    np.testing.assert_array_equal(world.setup.friction_of_solids, before)


def test_energy_is_that_of_all_bodies() -> None:
    world = sliding()
    body = world.bodies[0]
    own = body.energy()
    assert world.energy() == own
    twin = body.copy()
    twin.positions = twin.positions + np.array([0, 0, 1.0])
    world.add(twin)
    assert world.energy()["kinetic"] == pytest.approx(2 * own["kinetic"], rel=1e-14)
    assert set(World().energy().values()) == {0.0}
