"""Ways around closing axes past shells: one straight way, past images of the shells, not one along the whole domain."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms
from meniscus.coupling import KinematicShell, ShellCoupling, Shells
from meniscus.coupling.shell_water.ways_past_shells import ends_of_ways
from meniscus.fluids import LiquidOptions, LiquidSolver, SmokeOptions, SmokeSolver, VortexParticles

ONE = np.array([[0, 1]], np.int32)


def sheet(grid: ms.Grid, x: float) -> Shells:
    return Shells(grid, [KinematicShell((np.array([[x, 0.2], [x, 0.8]]), ONE))])


def test_ways_go_around_the_end_and_stop_at_images() -> None:
    grid = ms.Grid((16, 16), 1 / 16, periodic=(True, False))
    velocity = ms.MacField(grid)
    x, aims = np.array([[0.97, 0.5], [0.02, 0.5]]), np.array([[1.03, 0.5], [-0.04, 0.5]])
    walls = sheet(grid, 0.9).walls()
    free = ends_of_ways(velocity, walls, walls, x, aims, 0.03, np.float64)
    assert free.positions == pytest.approx(np.array([[0.03, 0.5], [0.96, 0.5]]), abs=1e-6)
    assert free.velocities == pytest.approx(np.array([[2.0, 0.0], [-2.0, 0.0]]), abs=1e-4)
    assert not (free.met | free.lost | free.left).any()
    walls = sheet(grid, 0.01).walls()
    held = ends_of_ways(velocity, walls, walls, x, aims, 0.03, np.float64)
    assert held.met.all()
    assert not (held.lost | held.left).any()
    assert (held.positions[0, 0] >= 0.97) | (held.positions[0, 0] < 0.01)
    assert 0.01 < held.positions[1, 0] <= 0.021


def test_open_sides_and_walls_end_ways() -> None:
    grid = ms.Grid((16, 16), 1 / 16)
    velocity = ms.MacField(grid, boundary={"x+": ms.Open()})
    walls = sheet(grid, 0.5).walls()
    x, aims = np.array([[0.97, 0.5], [0.02, 0.5]]), np.array([[1.03, 0.5], [-0.04, 0.5]])
    ends = ends_of_ways(velocity, walls, walls, x, aims, 0.03, np.float64)
    assert ends.left.tolist() == [True, False]
    assert ends.met.tolist() == [False, True]
    assert ends.positions[1].tolist() == [0.0, 0.5]


def test_drops_and_vortices_that_pass_a_closing_end_beside_a_sheet_go_on() -> None:
    grid = ms.Grid((16, 16), 1 / 16, periodic=(True, False))
    water = LiquidSolver(grid, LiquidOptions(gravity=(0.0, 0.0)))
    sim = ShellCoupling(water, sheet(grid, 0.9))
    spray = water.particles.spray
    spray.append(np.array([[0.97, 0.5]]), velocity=np.array([[2.0, 0.0]]), radius=np.array([0.01]))
    assert sim.step(0.03).deleted_drops == 0
    assert spray.positions == pytest.approx(np.array([[0.03, 0.5]]))
    assert spray["velocity"] == pytest.approx(np.array([[2.0, 0.0]]))

    vortices = VortexParticles(np.array([[0.97, 0.5]]), 1.0, 0.1)
    smoke = SmokeSolver(grid, SmokeOptions(), dtype=np.float64, vortices=vortices)
    smoke.velocity.u[...] = 2.0
    assert ShellCoupling(smoke, sheet(grid, 0.9)).step(0.03).deleted_vortices == 0
    assert vortices.positions == pytest.approx(np.array([[0.03, 0.5]]))
