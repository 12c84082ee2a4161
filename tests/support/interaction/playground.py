"""Bodies of all kinds, and a small playground: cloth on boxes on a jelly on the ground, in one world."""

from __future__ import annotations

from typing import Any

import numpy as np

import meniscus as ms
from meniscus.surface import HalfSpace, Pose, Twist

DT = 1 / 400
KINDS = ("cloth", "jelly", "box", "position", "reduced")


def playground(cells: int = 6, **options: Any) -> ms.solids.World:
    """Return a world of a cloth (bodies[1]) over two boxes (rigid[0], rigid[1]) on a jelly (bodies[0]) on the ground."""
    world = ms.solids.World(gravity=(0, 0, -9.81), elasticity="full-step", steps_per_loop=4, **options)
    block = ms.mesh.tet_block(3, 3, 1, (0.6, 0.6, 0.15), origin=(-0.3, -0.3, 0.002))
    jelly = ms.solids.DeformableBody(block, density=300)
    jelly.add(ms.solids.TetElements(block, youngs_modulus=5e4, poissons_ratio=0.3, damping=0.02))
    world.add(jelly, thickness=0.006, friction=0.5)
    sheet = ms.mesh.cloth_mesh(cells, cells, (0.5, 0.5), origin=(-0.25, -0.25, 0.3))
    cloth = ms.solids.DeformableBody(sheet, density=0.3)
    cloth.add(ms.solids.EdgeSprings(sheet, ms.solids.SpringOptions(stiffness=30, damping_fraction=5, masses=cloth.masses)))
    world.add(cloth, thickness=0.008, friction=0.4)
    for x in (-0.12, 0.12):
        world.add(ms.solids.RigidBody.box((0.12, 0.12, 0.08), density=200, pose=Pose((x, 0, 0.21))), friction=0.5, thickness=0.006)
    world.add_obstacle(HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.5)
    return world


def rigid_world(count: int = 3, **options: Any) -> ms.solids.World:
    """Return a world of boxes in a stack on the ground."""
    world = ms.solids.World(gravity=(0, 0, -9.81), **options)
    world.add_obstacle(HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.5)
    for k in range(count):
        world.add(ms.solids.RigidBody.box((0.3, 0.3, 0.3), density=500, pose=Pose((0, 0, 0.15 + 0.3 * k))), friction=0.5)
    return world


def empty_world(*bodies: Any, **options: Any) -> ms.solids.World:
    """Return a world of bodies without gravity and obstacles."""
    world = ms.solids.World(**options)
    for body in bodies:
        world.add(body)
    return world


def body_of(kind: str, at: Any = (0.0, 0.0, 0.0)) -> Any:
    """Return a body of a kind that moves."""
    rng = np.random.default_rng(3)
    if kind == "cloth":
        mesh = ms.mesh.cloth_mesh(4, 4, (0.4, 0.4), origin=at)
        body: Any = ms.solids.DeformableBody(mesh, density=0.5)
    elif kind == "jelly":
        body = ms.solids.DeformableBody(ms.mesh.tet_block(2, 2, 2, (0.3, 0.3, 0.3), origin=at), density=200)
    elif kind == "box":
        turn = Pose((0, 0, 0), (0.8, 0.0, 0.6, 0.0)).rotation
        return ms.solids.RigidBody.box((0.3, 0.2, 0.1), pose=Pose(tuple(at), turn), twist=Twist((0.1, 0.2, 0.3), (1.0, 2.0, -1.0)))
    elif kind == "position":
        body = ms.solids.PositionBody(ms.mesh.tet_block(2, 2, 2, (0.3, 0.3, 0.3), origin=at), density=300)
    else:
        mesh = ms.mesh.tet_block(3, 2, 2, (0.4, 0.2, 0.2), pattern="five")
        turn = Pose((0, 0, 0), (0.8, 0.6, 0.0, 0.0)).rotation
        made = ms.solids.ReducedBody(
            mesh, modes=4, size=6, youngs_modulus=1e5, pose=Pose(tuple(at), turn), twist=Twist((0.1, 0, 0), (1, 0, 2))
        )
        made.rates[...] = 0.01 * rng.standard_normal(len(made.rates))
        return made
    body.velocities[...] = 0.1 * rng.standard_normal((len(body), 3))
    return body


def momentum_of(body: Any) -> Any:
    """Return the momentum (3,) of a body of any type."""
    if isinstance(body, ms.solids.DeformableBody):
        return body.momentum()
    return np.array(body.momentum)


def angular_momentum_of(body: Any) -> Any:
    """Return the angular momentum (3,) about the origin of a body of any type."""
    if isinstance(body, (ms.solids.RigidBody, ms.solids.ReducedBody)):
        center = body.state_row[:3] if isinstance(body, ms.solids.RigidBody) else body.frame[:3]
        return body.angular_momentum + np.cross(center, momentum_of(body))
    return np.cross(body.positions, body.masses[:, None] * body.velocities).sum(axis=0)
