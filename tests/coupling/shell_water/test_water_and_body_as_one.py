"""Bodies and water that move alike push each other by nothing: exact from the first step on."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms
from meniscus.coupling import ShellCoupling, Shells
from meniscus.fluids import LiquidOptions, LiquidSolver
from meniscus.mesh import icosphere
from meniscus.solids import RigidBody
from meniscus.surface import HalfSpace, Pose
from tests.coupling.shell_water.test_water_forces import G, open_box


def wet_speeds(sim: ShellCoupling, axis: int) -> np.ndarray:
    """Of the faces above wet cells along an axis, m/s."""
    solver = sim.solver
    assert isinstance(solver, LiquidSolver)
    upper = [slice(None)] * 3
    upper[axis] = slice(1, None)
    speeds: np.ndarray = solver.velocity.component(axis)[tuple(upper)][solver.levelset.array <= 0]
    return speeds


@pytest.mark.parametrize("mode", ["monolithic", "lumped"])
def test_a_cup_with_water_falls_freely(mode: str) -> None:
    n, dt = 10, 0.01
    grid = ms.Grid((n, n, 2 * n), 1 / n)
    cup = RigidBody(open_box(0.5, 0.5), density=20.0, shell=True, pose=Pose((0.51, 0.49, 1.2)))
    cup.gravity = (0.0, 0.0, -G)
    sim = ShellCoupling(LiquidSolver(grid, LiquidOptions(tolerance=1e-11)), Shells(grid, [cup]), mode)  # type: ignore[arg-type]
    sim.fill(HalfSpace((0.0, 0.0, 1.42), (0.0, 0.0, 1.0)), (0.5, 0.5, 1.32))
    for k in range(1, 4):
        report = sim.step(dt)
        assert cup.velocity[2] == pytest.approx(-G * k * dt, rel=1e-12)
        # That of the next step, which body and water take together.
        np.testing.assert_allclose(wet_speeds(sim, 2), -G * (k + 1) * dt, rtol=1e-10)
        assert abs(report.impulse[2]) < 1e-10


def test_a_boat_and_its_water_go_on_together_across_a_side_that_closes() -> None:
    n, speed = 10, 0.3
    grid = ms.Grid((n, n, n), 1 / n, periodic=(True, True, False))
    boat = RigidBody(open_box(0.4, 0.3), density=20.0, shell=True, pose=Pose((0.98, 0.5, 0.4)))
    boat.momentum = np.array([speed, 0.0, 0.0]) * boat.mass
    sim = ShellCoupling(LiquidSolver(grid, LiquidOptions(gravity=(0.0, 0.0, 0.0), tolerance=1e-11)), Shells(grid, [boat]))
    sim.fill(HalfSpace((0.0, 0.0, 0.6), (0.0, 0.0, 1.0)), (0.5, 0.05, 0.05))
    sim.solver.velocity.component(0)[...] = speed
    for _ in range(4):
        report = sim.step(0.02)
        assert np.abs(report.impulse).max() < 1e-12
    np.testing.assert_allclose(boat.velocity, (speed, 0.0, 0.0), atol=1e-12)
    np.testing.assert_allclose(wet_speeds(sim, 0), speed, rtol=1e-10)


def test_water_at_rest_takes_up_its_share_once() -> None:
    """The water gives an empty ball that is flung in it an impulse before its first step, and has it taken by then."""
    n = 10
    grid = ms.Grid((n, n, n), 1 / n)
    ball = RigidBody(icosphere(2, 0.2), density=20.0, shell=True, pose=Pose((0.5, 0.5, 0.45)))
    ball.momentum = np.array([0.0, 0.0, 0.1]) * ball.mass
    sim = ShellCoupling(LiquidSolver(grid, LiquidOptions(gravity=(0.0, 0.0, 0.0), tolerance=1e-11)), Shells(grid, [ball]))
    sim.fill(HalfSpace((0.0, 0.0, 0.9), (0.0, 0.0, 1.0)), (0.05, 0.05, 0.05))
    sim.step(0.002)
    first = float(ball.velocity[2])
    assert 0.02 < first < 0.07
    sim.step(0.002)
    assert ball.velocity[2] == pytest.approx(first, rel=2e-3)


def test_room_for_drops_beside_bodies_that_water_moves_is_refused() -> None:
    """The joined pressure makes none: drops that joined would wait for ever."""
    grid = ms.Grid((8, 8, 8), 1 / 8)
    cup = RigidBody(open_box(0.5, 0.3), density=20.0, shell=True, pose=Pose((0.5, 0.5, 0.3)))
    water = LiquidSolver(grid, LiquidOptions(expansion=True))
    with pytest.raises(ValueError, match="does not go with expansion=True"):
        ShellCoupling(water, Shells(grid, [cup]))
    ShellCoupling(water, Shells(grid, [cup]), "one-way")
