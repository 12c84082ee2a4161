"""Bodies of position based dynamics and reduced ones in a certified world: rest, weight, drops."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from support.contact.bodies import (
    DT,
    FLOOR,
    KINDS,
    SUPPORTS,
    block,
    cloth,
    jelly,
    kinetic_energy,
    lifted,
    reduced,
    run,
    springs,
    world_of,
)
from support.motion import random_rotation
from support.variants import slow

from meniscus.solids import (
    NeoHookeanConstraints,
    PositionBody,
    ReducedBody,
    RigidBody,
    World,
)
from meniscus.surface import Pose, Sphere


@pytest.mark.slow
@pytest.mark.parametrize("support", ["box", "reduced", "jelly", "sphere"])
def test_cloth_that_falls_on_a_body_comes_to_rest(support: str) -> None:
    """Cloth of position based dynamics falls on each kind of body; it loses what the fall gave it and stays."""
    world = world_of()
    make, top = SUPPORTS[support]
    under = make()
    if under is None:
        world.add_obstacle(Sphere((0, 0, 0.1), 0.1), friction=0.5)
    else:
        world.add(under, friction=0.5)
    world.add_obstacle(FLOOR, friction=0.5)
    top_cloth = world.add(cloth(10, 0.5, top + 0.05), thickness=0.01)
    energies, speeds = [], []
    for _ in range(80):
        run(world, 8)
        energies.append(kinetic_energy(world))
        speeds.append(float(np.linalg.norm(top_cloth.velocities, axis=1).max()))
    fall = top_cloth.masses.sum() * 9.8 * (top + 0.05)
    assert max(energies) < fall
    assert np.mean(energies[-20:]) < 1e-3 * fall
    # Single nodes at the sharp edges of the box are never quite still.
    assert max(speeds[-20:]) < (1.0 if support == "box" else 0.3)


def test_velocities_at_rest_are_ways_over_time() -> None:
    """Cloth that hangs over a sphere: nodes that stand still had 0.4 m/s."""
    world = world_of()
    world.add_obstacle(Sphere((0, 0, 0.1), 0.1), friction=0.5)
    world.add_obstacle(FLOOR, friction=0.5)
    top = world.add(cloth(5, 0.3, 0.22), thickness=0.01)
    run(world, 480)
    for _ in range(16):
        before = top.positions.copy()
        run(world, 1)
        ways = (top.positions - before) / DT
        assert np.linalg.norm(ways - top.velocities, axis=1).max() < 0.1
        assert np.linalg.norm(top.velocities, axis=1).max() < 0.2


def layers(hard: bool) -> World:
    """Sheets of both kinds on boxes on jellies of both kinds, on the ground."""
    world = world_of()
    world.add(jelly(height=0.001), thickness=0.005)
    soft = reduced(height=0.001)
    soft.pose = Pose((0.6, 0.0, 0.0))
    world.add(soft, thickness=0.005)
    for k, make in enumerate((cloth, springs) if hard else (springs, cloth)):
        world.add(RigidBody.box((0.2, 0.15, 0.1), 700, pose=Pose((0.6 * k + 0.03, 0.02, 0.256))), friction=0.5)
        top = make(8, 0.3, 0.314)
        top.positions[:, 0] += 0.6 * k
        world.add(top, thickness=0.01)
    world.add_obstacle(FLOOR, friction=0.5)
    return world


@pytest.mark.slow
@pytest.mark.parametrize("hard", [False, True])
def test_cloth_on_boxes_on_jellies_weigh_what_they_weigh(hard: bool) -> None:
    world = layers(hard)
    masses = [b.masses.sum() for b in world.bodies] + [b.mass for b in world.rigid.bodies]
    masses += [o.body.mass if isinstance(o.body, ReducedBody) else o.body.masses.sum() for o in world.others]
    run(world, 240)
    pressed, steps = 0.0, 160
    for info in run(world, steps):
        pressed += info.contact.impulses_of_solids[:, 2].sum() + info.contact.impulse_of_others[2]
    assert pressed / (steps * DT) == pytest.approx(9.8 * sum(masses), rel=1e-3)
    for box_body in world.rigid.bodies:
        assert box_body.rotation[2, 2] > 0.9999


def position_jelly() -> PositionBody:
    mesh = block((0.25, 0.2, 0.1), 0.0)
    body = PositionBody(mesh, density=500.0)
    body.add(NeoHookeanConstraints(mesh, youngs_modulus=1e5, poissons_ratio=0.4))
    return body


def energy(world: World) -> float:
    return world.energy()["total"]


FALLING = {**{name: KINDS[name] for name in ("cloth", "soft cloth", "strands", "reduced")}, "position jelly": position_jelly}
DROPS = [pair if pair == ("reduced", "box") else slow(*pair) for pair in product(FALLING, ("floor", "box", "reduced"))]


@pytest.mark.parametrize(("kind", "under"), DROPS)
def test_what_is_dropped_gains_no_energy(kind: str, under: str) -> None:
    world = world_of()
    if under != "floor":
        world.add(SUPPORTS[under][0](), friction=0.5, thickness=0.005 if under == "reduced" else None)
    world.add_obstacle(FLOOR, friction=0.5)
    run(world, 0 if under == "floor" else 80)
    body = FALLING[kind]()
    rotation = np.eye(3) if "cloth" in kind else np.array(random_rotation(np.random.default_rng(2)))
    lifted(body, rotation, np.array([0.02, 0.01, 0.45]))
    world.add(body, friction=0.5, thickness=0.008)
    start, fastest = energy(world), 0.0
    for _ in range(64):
        run(world, 8)
        assert energy(world) < start
        fastest = max(fastest, kinetic_energy(world))
    assert kinetic_energy(world) < 0.02 * fastest
