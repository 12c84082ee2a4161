"""Friction of nodes on solids does not depend on the numbers of its search: each is halved and doubled."""

from dataclasses import fields

import numpy as np
import pytest
from support.variants import slow_but

import meniscus as ms
from meniscus.solids import FrictionOptions, World

G = 9.8
DT = 1 / 400
STEPS = 80
NAMES = [f.name for f in fields(FrictionOptions)]
VARIED = [(name, factor) for name in NAMES for factor in (0.5, 2.0)]


def slope(steepness: float, friction: float, options: FrictionOptions | None = None, **others: int) -> tuple[World, np.ndarray, float]:
    """Return a stiff block on a slope, the direction down it, and the speed (m/s) that it has after STEPS steps."""
    angle = np.arctan(steepness * friction)
    down, up = np.array([np.cos(angle), 0, -np.sin(angle)]), np.array([np.sin(angle), 0, np.cos(angle)])
    mesh = ms.mesh.tet_block(3, 3, 1, (0.2, 0.2, 0.05))
    mesh = mesh.moved(mesh.vertices @ np.stack([down, np.cross(up, down), up]))
    block = ms.solids.DeformableBody(mesh, density=500)
    block.add(ms.solids.TetElements(mesh, youngs_modulus=2e5, poissons_ratio=0.3, damping=0.0045))
    world = World(gravity=(0, 0, -G), elasticity="full-step", steps_per_loop=8, friction=options or FrictionOptions(), **others)
    world.add(block)
    world.add_obstacle(ms.surface.HalfSpace((0, 0, 0), tuple(up)), friction=friction)
    return world, down, max(0.0, G * (np.sin(angle) - friction * np.cos(angle))) * STEPS * DT


def speed_after(steps: int, world: World, down: np.ndarray) -> float:
    for _ in range(steps):
        world.step(DT)
    return float(world.bodies[0].velocities.mean(axis=0) @ down)


@pytest.mark.parametrize(("name", "factor"), slow_but(VARIED, *VARIED[:4]))
def test_a_block_slides_and_rests_as_it_should_whatever_the_search(name: str, factor: float) -> None:
    options = FrictionOptions(**{name: factor * getattr(FrictionOptions(), name)})
    world, down, exact = slope(1.3, 0.5, options)
    # A hundredth of what gravity adds along the slope in these steps; the first step, which knows no contact, gives more than half of it.
    assert speed_after(STEPS, world, down) == pytest.approx(exact, rel=0.02)
    world, down, _ = slope(0.9, 0.5, options)
    speed_after(STEPS, world, down)
    before = world.bodies[0].positions.copy()
    world.step(DT)
    assert np.abs(world.bodies[0].positions - before).max() < 1e-8


def test_forces_are_in_the_cone_and_on_it_where_nodes_slip() -> None:
    """Impulses of the solid on each node, once the block slides evenly."""
    friction = 0.3
    world, down, _ = slope(1.6, friction)
    for _ in range(STEPS):
        world.step(DT)
    body, start = world.bodies[0], world.bodies[0].velocities.copy()
    info = world.step(DT)
    up = world.solver.contacts.normals[0]
    impulse = info.contact.impulses_of_solids.sum(axis=0)
    normal = float(impulse @ up)
    weight = float(body.masses.sum()) * G * DT
    assert normal == pytest.approx(weight / np.sqrt(1 + (1.6 * friction) ** 2), rel=1e-3)
    # What friction takes along the slope, from the change of momentum: impulses in the report are those at the end of the step.
    gained = float(body.masses @ ((body.velocities - start) @ down))
    pulled = weight * np.sin(np.arctan(1.6 * friction))
    assert (pulled - gained) / normal == pytest.approx(friction, rel=0.01)


def test_solves_are_taken_once_more_only_while_something_begins() -> None:
    world, _, _ = slope(1.3, 0.5)
    solves = [len(world.step(DT).solves) for _ in range(STEPS)]
    assert max(solves[:4]) > 2
    assert np.mean(solves[10:]) < 2.3
    single, _, _ = slope(1.3, 0.5, friction_solves=0)
    assert {len(single.step(DT).solves) for _ in range(STEPS)} <= {2, 3, 4, 5}


@pytest.mark.parametrize("name", NAMES)
def test_numbers_of_the_search_are_positive(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        FrictionOptions(**{name: 0.0})
    with pytest.raises(TypeError, match="friction"):
        World(friction=0.3)
