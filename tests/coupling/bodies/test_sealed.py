"""Fluid that bodies seal off: its volume holds them up, and its pressure is what they weigh."""

from __future__ import annotations

import numpy as np
import pytest
from support.fluids.floating import WATER, G, beam, in_air, pool

import meniscus as ms
from meniscus.coupling import FluidWorld
from meniscus.fluids import LiquidOptions, LiquidSolver
from meniscus.solids import RigidBody, World
from meniscus.surface import Box, HalfSpace, Pose

H = 1 / 24


def water_below(both: FluidWorld, lid: RigidBody, thickness: float) -> float:
    """Return the area of the water below a lid by the signs of the level set at fine places."""
    grid = both.fluid.grid
    fine = [(np.arange(n * 8) + 0.5) * grid.spacing / 8 for n in grid.shape]
    x = np.stack(np.meshgrid(*fine, indexing="ij"), axis=-1).reshape(-1, 2)
    x = x[x[:, 1] < lid.center[1] - 0.5 * thickness]
    return float((both.fluid.levelset.sample(x) < 0).sum()) * (grid.spacing / 8) ** 2


def test_a_lid_lies_on_the_water_that_it_seals_off() -> None:
    """A lid of three times the density of water, from wall to wall but for 1/8 of a cell on each side."""
    lid = beam((0.99, 0.2), 3000.0, (0.5, 0.61))
    both = pool([lid], (24, 24), H, 0.51, floor=True)
    before = water_below(both, lid, 0.2)
    both.advance(1.0)
    assert abs(lid.center[1] - 0.61) < 0.002
    assert np.linalg.norm(lid.velocity) < 1e-3
    assert water_below(both, lid, 0.2) == pytest.approx(before, rel=0.005)
    weight = lid.mass * G
    assert both.report.forces[lid].force[1] == pytest.approx(weight, rel=1e-3)
    # Below it, the pressure is its weight per width, and what the water adds.
    depth = 0.51 - 3.5 * H
    assert both.fluid.pressure.array[12, 3] == pytest.approx(weight / 0.99 + WATER * G * depth, rel=0.02)


def test_a_piston_between_two_closed_rooms_stays_where_it_is() -> None:
    """Gas on both sides keeps its volume: what pushes the piston only raises the pressure on one side. It reaches into the walls."""
    solver_grid = ms.Grid((24, 12), H)
    piston = beam((0.2, 0.52), 2.0, (0.47, 0.25))
    world = World(gravity=(-3.0, 0.0, 0.0))
    world.add(piston)
    both = FluidWorld(ms.fluids.SmokeSolver(solver_grid, ms.fluids.SmokeOptions(tolerance=1e-10), dtype=np.float64), world)
    for _ in range(20):
        both.step(0.01)
    assert abs(piston.center[0] - 0.47) < 1e-6
    p = both.fluid.pressure.array
    jump = float(p[2].mean() - p[-3].mean())
    # Of the weight less that of the air in its place.
    assert jump * 0.5 == pytest.approx((2.0 * 0.52 - 1.2 * 0.5) * 0.2 * 3.0, rel=0.02)


def test_a_lid_is_lifted_by_what_a_second_one_presses_down() -> None:
    """Two pistons on one closed water, in the ratio 2 to 1 of widths: the heavy one sinks half as fast as the other one rises."""
    grid = ms.Grid((24, 24), H)
    wall = Box((0.64, 0.3), (0.69, 1.0))
    solver = LiquidSolver(grid, LiquidOptions(tolerance=1e-10), solid=wall)
    solver.fill(HalfSpace((0.0, 0.51), (0.0, 1.0)))
    world = World(gravity=(0.0, -G, 0.0))
    # They reach into the walls.
    wide, narrow = beam((0.66, 0.2), 900.0, (0.32, 0.61)), beam((0.33, 0.2), 300.0, (0.845, 0.61))
    for body in (wide, narrow):
        world.add(body)
    both = FluidWorld(solver, world)
    for _ in range(20):
        both.step(0.005)
    sunk, risen = 0.61 - wide.center[1], narrow.center[1] - 0.61
    assert sunk > 1e-3
    assert risen == pytest.approx(sunk * 0.64 / 0.31, rel=0.03)


def test_closed_gas_around_bodies_has_no_level() -> None:
    """A body that gas surrounds is pushed by differences of its pressure alone: the mean stays zero."""
    both = in_air([beam((0.3, 0.2), 3.0, (0.5, 0.5), 0.4)], 24, 2)
    for _ in range(5):
        both.step(0.01)
    assert abs(both.fluid.pressure.array.mean()) < 1e-8
    assert both.report.fluid.projection.regions[0].flux == pytest.approx(0.0, abs=1e-12)


def test_what_is_pressed_out_of_sealed_water_warns_once() -> None:
    """A lid on a path goes down into water that cannot get out."""
    lid = RigidBody.box((0.99, 0.2, 1.0), 1.0, motion=lambda t: Pose((0.5, 0.63 - 0.1 * t, 0.0)))
    both = pool([lid], (24, 24), H, 0.51, floor=True)
    with pytest.warns(RuntimeWarning, match="seal off fluid") as told:
        both.advance(0.6)
    assert len([w for w in told if "seal" in str(w.message)]) == 1
