"""Water and shells push each other."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms
from meniscus.coupling import ShellCoupling, Shells
from meniscus.fluids import LiquidOptions, LiquidSolver
from meniscus.mesh import TriangleMesh
from meniscus.solids import RigidBody
from meniscus.surface import HalfSpace, Pose

G = 9.81


def hull(half: float, height: float) -> TriangleMesh:
    """An open box: a bottom and four sides."""
    ring = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half
    x = np.concatenate([np.column_stack([ring, np.full(4, z)]) for z in (0.0, height)])
    quads = [(0, 1, 2, 3), *((k, (k + 1) % 4, 4 + (k + 1) % 4, 4 + k) for k in range(4))]
    return TriangleMesh(x, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))], np.int32))


def boat(n: int, keel: float, draft: float, mode: str = "monolithic", heavier: float = 1.0) -> tuple[ShellCoupling, RigidBody]:
    """A boat with sides on faces of the grid that floats with a draft, or is so many times as heavy."""
    half, height = 6 / 32, 0.25
    mass = 1000.0 * (2 * half) ** 2 * draft * heavier
    area = (2 * half) ** 2 + 8 * half * height
    body = RigidBody(hull(half, height), density=mass / area, shell=True, pose=Pose((0.5, 0.5, keel)))
    body.gravity = (0.0, 0.0, -G)
    grid = ms.Grid((n, n, n), 1 / n)
    sim = ShellCoupling(LiquidSolver(grid, LiquidOptions(drift_correction=False, tolerance=1e-10)), Shells(grid, [body]), mode)
    sim.fill(HalfSpace((0.0, 0.0, keel + draft), (0.0, 0.0, 1.0)), (0.02, 0.02, 0.02))
    return sim, body


@pytest.mark.fast_cases("0.375-0.15625")
@pytest.mark.parametrize(("keel", "draft"), [(0.3777, 0.13), (0.34375, 0.13), (0.375, 0.0834), (0.375, 0.15625), (0.375, 0.15625 + 1e-5)])
def test_a_boat_floats_at_rest_at_any_height(keel: float, draft: float) -> None:
    """Its weight is that of the water it displaces wherever its bottom and the surface lie in their cells."""
    sim, body = boat(16, keel, draft)
    for _ in range(8):
        report = sim.step(0.005)
    assert sim.solver.report.max_speed < 1e-9
    assert abs(body.positions()[:, 2].min() - keel) < 1e-10
    assert report.impulse[2] / 0.005 == pytest.approx(body.mass * G, rel=1e-8)
    assert report.fluid.projection.iterations <= 25


def test_a_heavy_boat_sinks_as_it_gives_its_momentum_to_the_water() -> None:
    """It falls slower than freely, no water is in it, and what is in the tank stays."""
    sim, body = boat(16, 0.3777, 0.08, heavier=2.0)
    start = sim.solver.volume.total
    for _ in range(15):
        sim.step(0.005)
    assert -G * 0.075 < body.velocity[2] < -0.05 * G * 0.075
    x = body.positions()
    cells = np.stack(np.broadcast_arrays(*sim.solver.levelset.field.coordinates()), axis=-1)
    inside = ((cells > x.min(axis=0)) & (cells < x.max(axis=0))).all(axis=-1)
    assert inside.sum() > 50
    assert (sim.solver.levelset.array[inside] > 0).all()
    assert sim.solver.volume.total == pytest.approx(start, rel=0.01)


def test_the_lumped_mode_does_not_hold_a_boat_up() -> None:
    """Its faces do not know that the boat moves as a whole."""
    sim, body = boat(16, 0.3777, 0.13, "lumped")
    for _ in range(8):
        sim.step(0.005)
    assert body.velocity[2] < -0.01
