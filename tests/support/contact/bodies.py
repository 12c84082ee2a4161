"""Bodies of all types that touch in a world."""

from __future__ import annotations

from typing import Any

import numpy as np

import meniscus as ms
from meniscus.solids import (
    DeformableBody,
    DistanceConstraints,
    EdgeSprings,
    PositionBody,
    ReducedBody,
    RigidBody,
    SpringOptions,
    TetElements,
    World,
)
from meniscus.surface import HalfSpace, Pose, Twist

DT = 1 / 200
FLOOR = HalfSpace((0, 0, 0), (0, 0, 1))


def sheet(n: int, size: float, height: float) -> Any:
    return ms.mesh.cloth_mesh(n, n, (size, size), origin=(-size / 2, -size / 2, height))


def springs(n: int = 8, size: float = 0.5, height: float = 0.0, density: float = 0.3) -> DeformableBody:
    mesh = sheet(n, size, height)
    body = DeformableBody(mesh, density=density)
    body.add(EdgeSprings(mesh, SpringOptions(stiffness=20.0, damping_fraction=10.0, masses=body.masses)))
    return body


def cloth(n: int = 8, size: float = 0.5, height: float = 0.0, density: float = 0.3, compliance: float = 0.0) -> PositionBody:
    mesh = sheet(n, size, height)
    body = PositionBody(mesh, density=density)
    body.add(DistanceConstraints(mesh, compliance=compliance))
    return body


def strands(height: float = 0.0) -> PositionBody:
    lines = [np.stack([np.linspace(-0.25, 0.25, 13), np.full(13, y), np.full(13, height)], axis=1) for y in (-0.06, 0.0, 0.06)]
    edges = np.concatenate([13 * k + np.stack([np.arange(12), np.arange(1, 13)], axis=1) for k in range(3)]).astype(np.int32)
    mesh = ms.mesh.SegmentMesh(np.concatenate(lines), edges)
    body = PositionBody(mesh, density=0.02)
    body.add(DistanceConstraints(mesh))
    return body


def block(size: tuple[float, float, float], height: float, cells: tuple[int, int, int] = (3, 3, 2)) -> Any:
    return ms.mesh.tet_block(*cells, size, origin=(-size[0] / 2, -size[1] / 2, height))


def jelly(size: tuple[float, float, float] = (0.4, 0.4, 0.2), height: float = 0.001) -> DeformableBody:
    mesh = block(size, height)
    body = DeformableBody(mesh, density=1000)
    body.add(TetElements(mesh, youngs_modulus=2e5, poissons_ratio=0.3, damping=0.01))
    return body


def reduced(size: tuple[float, float, float] = (0.4, 0.4, 0.2), height: float = 0.001, **options: Any) -> ReducedBody:
    chosen = {"modes": 8, "size": 14, "youngs_modulus": 2e5, "density": 1000.0, "stiffness_damping": 0.01, **options}
    return ReducedBody(block(size, height), **chosen)


def box(height: float, size: tuple[float, float, float] = (0.2, 0.15, 0.1), density: float = 700.0, **options: Any) -> RigidBody:
    return RigidBody.box(size, density, pose=Pose((0.03, 0.02, height)), **options)


def world_of(gravity: Any = (0, 0, -9.8), tolerance: float = 1e-5, **options: Any) -> World:
    return World(gravity=gravity, elasticity="full-step", tolerance=tolerance, **{"steps_per_loop": 8, **options})


def momentum(world: World) -> np.ndarray:
    soft = sum(((b.masses[:, None] * b.velocities).sum(axis=0) for b in world.bodies), np.zeros(3))
    rigid = sum((b.momentum for b in world.rigid.bodies), np.zeros(3))
    return soft + rigid + sum((o.momentum for o in world.others), np.zeros(3))


def kinetic_energy(world: World) -> float:
    soft = sum(0.5 * float((b.masses[:, None] * b.velocities**2).sum()) for b in world.bodies)
    return soft + sum(b.kinetic_energy for b in world.rigid.bodies) + sum(o.energy()["kinetic"] for o in world.others)


def run(world: World, steps: int, certified: bool = True) -> list[Any]:
    infos = []
    for _ in range(steps):
        infos.append(world.step(DT))
        if certified and infos[-1].contact.loop_ended:
            assert infos[-1].contact.certified
            assert not len(world.surface.movable_pairs(world.audit()))
    return infos


def throw(body: Any, velocity: tuple[float, float, float]) -> None:
    """Give a body a velocity."""
    if isinstance(body, RigidBody):
        body.twist = Twist(velocity, (1.0, 2.0, 3.0))
    elif isinstance(body, ReducedBody):
        body.twist = Twist(velocity, (0.5, 1.0, 0.3))
    else:
        body.velocities[...] = velocity


KINDS: dict[str, Any] = {
    "springs": lambda: springs(7, 0.4),
    "jelly": lambda: jelly((0.3, 0.2, 0.1), 0.0),
    "cloth": lambda: cloth(7, 0.4),
    "soft cloth": lambda: cloth(7, 0.4, compliance=1e-3),
    "strands": strands,
    "rigid": lambda: RigidBody.box((0.2, 0.15, 0.1), 100.0, pose=Pose((0.0, 0.0, 0.05))),
    "reduced": lambda: reduced((0.3, 0.2, 0.1), 0.0, density=200.0),
}


def lifted(body: Any, rotation: np.ndarray, offset: np.ndarray) -> None:
    """Turn a body about the origin and move it."""
    if isinstance(body, (RigidBody, ReducedBody)):
        body.pose = Pose(tuple(rotation @ np.array(body.pose.translation) + offset), rotation @ np.array(body.pose.rotation))
    else:
        body.positions[...] = body.positions @ rotation.T + offset


SUPPORTS: dict[str, tuple[Any, float]] = {
    "box": (lambda: RigidBody.box((0.3, 0.25, 0.2), 700, pose=Pose((0, 0, 0.1))), 0.2),
    "jelly": (jelly, 0.201),
    "reduced": (reduced, 0.201),
    "sphere": (lambda: None, 0.2),
}
