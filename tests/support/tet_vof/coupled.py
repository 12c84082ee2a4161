"""A body in a mesh of tetrahedra in a box of water, for the tests of `KDSMWater`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import meniscus as ms
from meniscus.coupling import KDSMWater
from meniscus.fluids import LiquidOptions, LiquidSolver, LiquidSource
from meniscus.mesh import MovingTetMesh
from meniscus.surface import Box, KinematicSolid, Pose, Sphere, enclosing_mesh

Floats = npt.NDArray[np.float64]
RADIUS = 0.3


def still(time: float) -> Pose:
    """Return a body at rest at the origin."""
    return Pose((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))


def ball(
    n: int = 16,
    *,
    pose: Callable[[float], Pose] = still,
    level: float | None = None,
    options: dict[str, Any] | None = None,
    middle: tuple[float, float, float] = (0.5, 0.5, 0.5),
    thickness: float = 0.15,
    cell: float = 0.8,
    grid_sources: Sequence[LiquidSource] = (),
    **coupling: Any,
) -> KDSMWater:
    """Return a ball of 0.3 m with its mesh in a closed box of 2 m, which is filled up to a level, m.

    Args:
        n: cells along each axis.
        pose: where the ball is, from the middle of the box.
        level: of the pool.
        options: of the liquid.
        middle: of the ball at the start, in parts of the box.
        thickness: of the mesh around the ball, m.
        cell: of the lattice of the mesh, in cells of the grid.
        grid_sources: sources on the grid.
        **coupling: of the `KDSMWater`.
    """
    h = 2.0 / n
    centre = 2.0 * np.array(middle)
    rest = enclosing_mesh(Sphere((0.0, 0.0, 0.0), RADIUS), np.empty((0, 3)), cell * h, offset=thickness, depth=2.5 * cell * h)

    def placed(time: float) -> Pose:
        moved = pose(time)
        return Pose(tuple((centre + np.array(moved.translation)).tolist()), moved.rotation)

    mesh = MovingTetMesh(rest, lambda t: placed(t).apply(rest.vertices))
    solid = KinematicSolid(Sphere((0.0, 0.0, 0.0), RADIUS), placed)
    chosen = LiquidOptions(**{"expansion": True, "gather": True, **(options or {})})
    liquid = LiquidSolver(ms.Grid((n,) * 3, h), chosen, solid=solid, sources=grid_sources)
    if level is not None:
        liquid.fill(Box((-1.0, -1.0, -1.0), (3.0, 3.0, level)))
    return KDSMWater(mesh, liquid, **coupling)


def air(
    n: int = 16,
    *,
    box: tuple[Any, Any] = ((0.6, 0.6, 0.8), (1.4, 1.4, 1.2)),
    cell: float = 0.8,
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0),
    level: float | None = None,
    **coupling: Any,
) -> KDSMWater:
    """Return a mesh without a body in a box of 2 m, which goes along at a velocity, m/s, and is filled up to a level, m."""
    h = 2.0 / n
    rest = enclosing_mesh(Box(*box), np.empty((0, 3)), cell * h, offset=0.1 * h, depth=math.inf)
    mesh = MovingTetMesh(rest, lambda t: rest.vertices + t * np.array(velocity))
    liquid = LiquidSolver(ms.Grid((n,) * 3, h), LiquidOptions(expansion=True, gather=True))
    if level is not None:
        liquid.fill(Box((-1.0, -1.0, -1.0), (3.0, 3.0, level)))
    return KDSMWater(mesh, liquid, **coupling)


def run(sim: KDSMWater, end: float, dt: float = 0.02) -> None:
    """Step to a time, s."""
    while sim.time < end * (1 - 1e-12):
        sim.step(min(dt, sim.max_dt(), end - sim.time))


def momentum(sim: KDSMWater, dt: float = 0.0) -> dict[str, Floats]:
    """Return the momenta per density, m^4/s, of tetrahedra, drops and grid, summed here."""
    v, spray = sim.vof, sim.liquid.particles.spray  # type: ignore[union-attr]
    volumes = 4 / 3 * math.pi * spray["radius"] ** 3
    return {
        "tets": (v.volume[:, None] * v.velocity).sum(axis=0),
        "drops": (volumes[:, None] * spray["velocity"]).sum(axis=0),
        "grid": np.array(sim.liquid._momentum(sim.liquid.solid_after(dt))),
    }
