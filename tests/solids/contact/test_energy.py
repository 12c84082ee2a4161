"""Stiff bodies that solids stop and carry: contact gives no energy."""

import numpy as np
import pytest
from support.variants import slow_but

import meniscus as ms

G = 9.81


def thrown(modulus: float, damping: float, velocity: tuple[float, ...], gap: float, ground: object, friction: float) -> ms.solids.World:
    """Return a world with a flat block of few elements over a ground."""
    mesh = ms.mesh.tet_block(2, 2, 1, (0.1, 0.1, 0.05), origin=(-0.05, -0.05, gap))
    block = ms.solids.DeformableBody(mesh, density=1000)
    block.add(ms.solids.TetElements(mesh, youngs_modulus=modulus, poissons_ratio=0.3, damping=damping))
    block.velocities = block.velocities + np.array(velocity)
    world = ms.solids.World(gravity=(0, 0, -G), elasticity="full-step", steps_per_loop=8)
    world.add(block)
    world.add_obstacle(ground, friction=friction)
    return world


@pytest.mark.parametrize(
    ("modulus", "rate", "damping", "friction"),
    slow_but(
        [
            (1e5, 400, 0.0, 0.3),
            (3e6, 200, 0.01, 0.0),
            (3e6, 400, 0.01, 0.3),
            (1e7, 400, 0.0, 0.0),
            (1e7, 200, 0.01, 0.8),
            (1e8, 400, 0.0, 0.3),
            (1e8, 2000, 0.01, 0.0),
            (1e9, 400, 0.01, 0.8),
            (1e9, 2000, 0.0, 0.3),
        ],
        (3e6, 200, 0.01, 0.0),
        (1e8, 2000, 0.01, 0.0),
        (1e9, 2000, 0.0, 0.3),
    ),
)
def test_a_block_that_lands_gains_no_energy(modulus: float, rate: int, damping: float, friction: float) -> None:
    """To stop nodes only on their way, and not what stands on them, stores up to 400 times the energy of the block."""
    world = thrown(modulus, damping, (2.0, 0.5, -1.0), 0.02, ms.surface.HalfSpace((0, 0, 0), (0, 0, 1)), friction)
    start = world.energy()["total"]
    # 3 MPa with steps of 1/400 s began to shake only when it had come nearly to rest.
    for _ in range(300 if rate == 400 else 150):
        world.step(1 / rate)
        assert world.energy()["total"] <= 1.01 * start


@pytest.mark.slow
@pytest.mark.parametrize(("modulus", "rate", "damping"), [(1e7, 400, 0.01), (1e8, 1000, 0.0)])
def test_a_block_on_a_belt_comes_to_its_velocity(modulus: float, rate: int, damping: float) -> None:
    belt = ms.surface.KinematicSolid(ms.surface.HalfSpace((0, 0, 0), (0, 0, 1)), velocity=(1, 0, 0))
    world = thrown(modulus, damping, (0, 0, 0), 0.0, belt, 0.8)
    block = world.bodies[0]
    for _ in range(rate // 2):
        world.step(1 / rate)
        assert np.abs(block.velocities).max() < 1.6
    assert np.allclose(block.masses @ block.velocities / block.masses.sum(), (1, 0, 0), rtol=0, atol=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("modulus", [1e7, 1e8])
def test_a_block_that_slides_does_not_hum(modulus: float) -> None:
    """Friction of a step that stops one light corner that comes back would make it shake with half of the speed of the block."""
    angle, friction, rate = np.pi / 6, 0.288675, 400
    down, up = np.array([np.cos(angle), 0, -np.sin(angle)]), np.array([np.sin(angle), 0, np.cos(angle)])
    mesh = ms.mesh.tet_block(4, 4, 1, (0.2, 0.2, 0.05))
    turn = np.array([[0.8, 0.6, 0], [-0.6, 0.8, 0], [0, 0, 1]]) @ np.stack([down, np.cross(up, down), up])
    block = ms.solids.DeformableBody(mesh.moved(mesh.vertices @ turn), density=1000)
    block.add(ms.solids.TetElements(mesh.moved(mesh.vertices @ turn), youngs_modulus=modulus, poissons_ratio=0.3, damping=0.01))
    world = ms.solids.World(gravity=(0, 0, -G), elasticity="full-step", steps_per_loop=8)
    world.add(block)
    world.add_obstacle(ms.surface.HalfSpace((0, 0, 0), tuple(up)), friction=friction)
    for _ in range(rate // 2):
        world.step(1 / rate)
    speed = block.masses @ block.velocities / block.masses.sum()
    assert speed @ down == pytest.approx(0.5 * G * (np.sin(angle) - friction * np.cos(angle)), rel=0.02)
    assert np.abs(block.velocities - speed).max() < 0.02


def test_predictions_are_taken_once_more_only_where_much_stands_on_few_nodes() -> None:
    world = thrown(1e7, 0.01, (0, 0, -1), 0.01, ms.surface.HalfSpace((0, 0, 0), (0, 0, 1)), 0.3)
    sheet = ms.mesh.cloth_mesh(4, 4, (0.2, 0.2), origin=(1, 0, 0.01))
    cloth = ms.solids.DeformableBody(sheet, density=0.2)
    cloth.add(ms.solids.EdgeSprings(sheet, ms.solids.SpringOptions(stiffness=20, damping_fraction=0.5, masses=cloth.masses)))
    flat = ms.solids.World(gravity=(0, 0, -G), elasticity="full-step")
    flat.add(cloth)
    flat.add_obstacle(ms.surface.HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.3)
    solves = [[len(w.step(1 / 400).solves) for _ in range(40)] for w in (world, flat)]
    assert max(solves[0]) > 2
    assert set(solves[1]) == {2}
