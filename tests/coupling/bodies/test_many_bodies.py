"""Many bodies, light and heavy: the pressure takes hardly more iterations than that of the fluid alone."""

from __future__ import annotations

import numpy as np
import pytest
from support.fluids.floating import down
from support.variants import slow, slow_but

import meniscus as ms
from meniscus.coupling import FluidWorld
from meniscus.fluids import LiquidSolver
from meniscus.solids import RigidBody, World
from meniscus.surface import HalfSpace, Pose


def tank(count: int, cells: int, size: int, densities: tuple[float, float]) -> FluidWorld:
    """Return cubes of `size` cells that lie turned in the surface of a tank of 1 m."""
    rng = np.random.default_rng(1)
    solver = LiquidSolver(ms.Grid((cells,) * 3, 1 / cells), dtype=np.float32)
    solver.fill(HalfSpace((0.0, 0.0, 0.5), (0.0, 0.0, 1.0)))
    world = World(gravity=down(3))
    across = int(np.ceil(np.sqrt(count)))
    for k in range(count):
        place = ((k % across + 0.5) / across, (k // across + 0.5) / across, 0.5 + rng.uniform(-0.05, 0.05))
        q, r = np.linalg.qr(rng.normal(size=(3, 3)))
        q = q * np.sign(np.diag(r))
        turn = q * np.sign(np.linalg.det(q))
        world.add(RigidBody.box((size / cells,) * 3, 1000 * 10 ** rng.uniform(*np.log10(densities)), pose=Pose(place, turn.tolist())))
    return FluidWorld(solver, world)


@pytest.mark.parametrize(("least", "most"), slow_but([(0.1, 0.9), (0.001, 0.01), (0.01, 20.0)], (0.001, 0.01)))
@pytest.mark.parametrize(("count", "cells", "size"), [(16, 40, 6), slow(100, 64, 4)])
def test_iterations_do_not_depend_on_how_light_bodies_are(count: int, cells: int, size: int, least: float, most: float) -> None:
    heavy, light = tank(count, cells, size, (1e3, 1e3)), tank(count, cells, size, (least, most))
    for _ in range(3):
        heavy.step(0.003)
        light.step(0.003)
    own = heavy.report.fluid.projection.iterations
    assert light.report.fluid.projection.iterations <= 2 * own
