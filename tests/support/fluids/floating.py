"""Bodies in smoke and water for tests of `FluidWorld`, in the plane and in space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import meniscus as ms
from meniscus.coupling import FluidWorld
from meniscus.fluids import LiquidOptions, LiquidSolver, SmokeOptions, SmokeSolver
from meniscus.mesh import TetMesh, tet_block
from meniscus.solids import DeformableBody, MassProperties, RigidBody, TetElements, World
from meniscus.surface import HalfSpace, Pose, Sphere

G = 9.81
WATER = 1000.0


def turned(angle: float) -> tuple[tuple[float, ...], ...]:
    """Return the rotation about the third axis."""
    c, s = float(np.cos(angle)), float(np.sin(angle))
    return (c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)


def cylinder(radius: float, density: float, center: tuple[float, ...]) -> RigidBody:
    """Return a long cylinder of the plane, per metre."""
    m = density * np.pi * radius**2
    properties = MassProperties(m, (0.0, 0.0, 0.0), np.eye(3) * m * radius**2 / 2)
    return RigidBody(properties=properties, shape=Sphere((0.0, 0.0, 0.0), radius), pose=Pose((*center, 0.0)[:3]))


def beam(size: tuple[float, float], density: float, center: tuple[float, ...], angle: float = 0.0) -> RigidBody:
    """Return a box of the plane, per metre."""
    return RigidBody.box((*size, 1.0), density, pose=Pose((*center, 0.0)[:3], turned(angle)))


def tet_cube(elements: int, size: float, center: tuple[float, ...]) -> TetMesh:
    """Return a cube with elements along its edges."""
    block = tet_block(elements, elements, elements, (size,) * 3, origin=(-0.5 * size,) * 3, pattern="five")
    return TetMesh(np.ascontiguousarray(block.vertices + np.array(center)), block.tets)


def tet_ball(elements: int, radius: float, center: tuple[float, ...]) -> TetMesh:
    """Return a ball made from a cube, with its volume."""
    cube = tet_cube(elements, 2.0, (0.0, 0.0, 0.0))
    x = cube.vertices
    far, longest = np.linalg.norm(x, axis=1, keepdims=True), np.abs(x).max(axis=1, keepdims=True)
    x = x * np.divide(longest, far, out=np.zeros_like(far), where=far > 0)
    volume = np.linalg.det(x[cube.tets[:, 1:]] - x[cube.tets[:, :1]]).sum() / 6
    x = x * (4 / 3 * np.pi / volume) ** (1 / 3)
    return TetMesh(np.ascontiguousarray(radius * x + np.array(center)), cube.tets)


def jelly(mesh: TetMesh, density: float, young: float, damping: float = 0.0) -> DeformableBody:
    """Return a body of finite elements."""
    body = DeformableBody(mesh, density=density)
    body.add(TetElements(mesh, youngs_modulus=young, damping=damping))
    return body


def down(dimension: int) -> tuple[float, ...]:
    return (0.0, -G, 0.0) if dimension == 2 else (0.0, 0.0, -G)


def in_air(bodies: Sequence[RigidBody | DeformableBody], cells: int, dimension: int, **options: Any) -> FluidWorld:
    """Return bodies in still air in a closed periodic box of 1 m."""
    grid = ms.Grid((cells,) * dimension, 1 / cells, periodic=(True,) * dimension)
    solver = SmokeSolver(grid, SmokeOptions(tolerance=1e-10), dtype=np.float64)
    world = World(gravity=options.pop("gravity", down(dimension)))
    for body in bodies:
        world.add(body)
    return FluidWorld(solver, world)


def pool(
    bodies: Sequence[Any],
    shape: tuple[int, ...],
    spacing: float,
    level: float,
    *,
    floor: bool = False,
    tolerance: float = 1e-8,
    **options: Any,
) -> FluidWorld:
    """Return bodies in a tank of water at rest that is filled up to a level, m."""
    dimension = len(shape)
    solver = LiquidSolver(ms.Grid(shape, spacing), LiquidOptions(tolerance=tolerance, **options))
    up = (0.0,) * (dimension - 1) + (1.0,)
    solver.fill(HalfSpace((0.0,) * (dimension - 1) + (level,), up))
    world = World(gravity=down(dimension))
    if floor:
        world.add_obstacle(HalfSpace((0.0, 0.0, 0.0), tuple(-v / G for v in down(dimension))))
    for body in bodies:
        world.add(body)
    return FluidWorld(solver, world)
