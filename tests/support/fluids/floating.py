"""Bodies in smoke and water for tests of `FluidWorld`, in the plane and in space."""

from __future__ import annotations

from typing import Any

import numpy as np

import meniscus as ms
from meniscus.coupling import FluidWorld
from meniscus.fluids import LiquidOptions, LiquidSolver, SmokeOptions, SmokeSolver
from meniscus.solids import MassProperties, RigidBody, World
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


def down(dimension: int) -> tuple[float, ...]:
    return (0.0, -G, 0.0) if dimension == 2 else (0.0, 0.0, -G)


def in_air(bodies: list[RigidBody], cells: int, dimension: int, **options: Any) -> FluidWorld:
    """Return bodies in still air in a closed periodic box of 1 m."""
    grid = ms.Grid((cells,) * dimension, 1 / cells, periodic=(True,) * dimension)
    solver = SmokeSolver(grid, SmokeOptions(tolerance=1e-10), dtype=np.float64)
    world = World(gravity=options.pop("gravity", down(dimension)))
    for body in bodies:
        world.add(body)
    return FluidWorld(solver, world)


def pool(
    bodies: list[RigidBody],
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
