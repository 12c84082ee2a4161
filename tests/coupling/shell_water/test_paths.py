"""Open shells: no marker and no drop crosses a triangle of a sheet, by contact of its way with the moving mesh."""

from __future__ import annotations

import numpy as np
import pytest
from support.shells import line, sheet
from support.shells.water import pool

import meniscus as ms
from meniscus.coupling import KinematicShell, ShellCoupling, Shells
from meniscus.coupling.shell_water.path_audit import FollowedWater
from meniscus.fluids import LiquidOptions, LiquidSolver
from meniscus.scenes import find
from meniscus.surface import HalfSpace, Pose


def waving(t: float) -> Pose:
    return Pose((0.5 + 0.2 * np.sin(6 * t), 0.05 * np.sin(9 * t)))


def test_a_wall_that_waves_in_a_pool() -> None:
    """And the audit changes nothing."""
    sim, twin = (
        pool((24, 20), line([(0.0, -0.1), (0.06, 0.3), (-0.02, 0.62)], 3), waving, [(0.4, (0.05, 0.05)), (0.4, (0.95, 0.05))])
        for _ in range(2)
    )
    for _ in range(4):
        told = sim.audit_paths(0.02)
        assert told.markers > 500
        assert told.new_markers < 0.05 * told.markers
        assert told.crossed_markers == told.crossed_drops == 0
        sim.step(0.02)
        twin.step(0.02)
    assert np.array_equal(sim.solver.levelset.array, twin.solver.levelset.array)
    assert np.array_equal(sim.solver.surface.particles.particles.positions, twin.solver.surface.particles.particles.positions)


def test_a_plate_that_slaps_water_in_space() -> None:
    x, t = sheet((0.2, 0.2, 0.0), (0.55, 0.03, 0.05), (0.02, 0.57, 0.04), 3)
    sim = pool((10, 10, 10), (x, t), lambda s: Pose((0.0, 0.0, 0.62 - 1.5 * s)), [(0.5, (0.05, 0.05, 0.05))])
    drops = 0
    for _ in range(4):
        told = sim.audit_paths(0.03)
        assert told.crossed_markers == told.crossed_drops == 0
        assert told.markers > 200
        drops = max(drops, told.drops)
        sim.step(0.03)
    assert drops > 0


def test_the_audit_sees_what_crosses() -> None:
    """Water that knows no shells goes through one."""
    sim = pool((16, 16), line([(0.3, -0.1), (0.33, 0.9)], 2), lambda t: Pose((4.0 * t, 0.0)), [(0.5, (0.9, 0.05))])
    water = LiquidSolver(sim.solver.grid, LiquidOptions(drift_correction=False))
    water.fill(ms.surface.HalfSpace((0.0, 0.5), (0.0, 1.0)))
    followed = FollowedWater(water, sim.shells)
    water.step(0.02)
    sim.shells.advance(0.02)
    told = followed.audit()
    assert told.crossed_markers > 20
    assert sim.audit_paths(0.02).crossed_markers == 0


@pytest.mark.parametrize("name", ["cup", "water-bag"])
def test_scenes(name: str) -> None:
    scene = find(name)(resolution=12)
    scene.setup()
    for n in range(2):
        told = scene.coupling.audit_paths(0.01)
        assert told.crossed_markers == told.crossed_drops == 0
        scene.advance(0.01 * n, 0.01)


def test_smoke_is_refused() -> None:
    grid = ms.Grid((8, 8), 0.125)
    shell = ms.coupling.KinematicShell(line([(0.2, 0.2), (0.7, 0.8)]), None)
    with pytest.raises(TypeError, match="audit_paths needs a solver of water"):
        ShellCoupling(ms.fluids.SmokeSolver(grid, ms.fluids.SmokeOptions()), Shells(grid, [shell])).audit_paths(0.01)


def test_ways_through_the_ends_of_a_periodic_axis_are_short() -> None:
    """A wall that drives water around: nothing crosses, and nothing seems to, that goes out at one end and in at the other."""
    grid = ms.Grid((20, 12), 0.05, periodic=(True, False))
    wall = KinematicShell(line([(0.5, -0.05), (0.52, 0.7)], 2), lambda t: Pose((1.5 * t, 0.0)))
    sim = ShellCoupling(LiquidSolver(grid, LiquidOptions(drift_correction=False)), Shells(grid, [wall]))
    sim.fill(HalfSpace((0.0, 0.3), (0.0, 1.0)), (0.1, 0.1))
    ends = 0
    for _ in range(12):
        before = np.array(sim.solver.surface.particles.particles.positions[:, 0])
        told = sim.audit_paths(0.02)
        assert told.crossed_markers == told.crossed_drops == 0
        assert told.markers > 200
        ends += int((before > 0.95).sum())
        sim.step(0.02)
    assert ends > 0
