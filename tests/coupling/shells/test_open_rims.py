"""Fluid that goes around free rims where they are: through `ShellCoupling`, without opening what is closed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.shells import ball, box, line, sheet

import meniscus as ms
from meniscus.coupling import KinematicShell, ShellCoupling, Shells
from meniscus.coupling.shell_pressure import SheetFaces, open_free_rims
from meniscus.coupling.shells.wall_sides import wall_sides
from meniscus.fluids import LiquidSolver, ParticleLiquidSolver, SmokeOptions, SmokeSolver
from meniscus.grid.boundary import Wall
from meniscus.mesh import TriangleMesh
from meniscus.solids import RigidBody
from meniscus.surface import HalfSpace, Pose


def plate_in_a_channel(n: int, half: float, weight: float, **options: Any) -> tuple[ShellCoupling, float]:
    """A rigid plate across a closed channel one cell deep; returns its exact added mass as well, kg. Its weight is in parts of that."""
    h, rho = 1 / n, 1000.0
    added = 2 * rho / np.pi * np.log(1 / np.cos(np.pi * half)) * h
    x, t = sheet((0.0, -half, -h), (0.0, 2 * half, 0.0), (0.0, 0.0, 2 * h), 2 * n)
    pose = Pose((1.0 + 0.3 * h, 0.5, 0.5 * h))
    body = RigidBody(TriangleMesh(x, t), density=weight * added / (4 * half * h), shell=True, pose=pose)
    body.gravity = (1.0, 0.0, 0.0)
    grid = ms.Grid((2 * n, n, 1), h)
    solver = SmokeSolver(grid, SmokeOptions(air_density=rho, tolerance=1e-9), dtype=np.float64, boundary={s: Wall() for s in grid.sides})
    return ShellCoupling(solver, Shells(grid, [body]), **options), added


def added_mass(n: int, half: float, rims: bool) -> float:
    """Over the exact one, from the acceleration in the third step: in the first, smoke does not yet push."""
    sim, added = plate_in_a_channel(n, half, 1.0, open_rims=rims)
    (body,) = sim.shells.bodies
    before = 0.0
    for _ in range(3):
        before = body.velocity[0]
        sim.step(1e-4)
    return float(body.mass * (1e-4 / (body.velocity[0] - before) - 1) / added)


def test_plate_half_as_wide_as_a_channel_has_its_added_mass() -> None:
    """(2 rho b^2 / pi) ln sec(pi / 4), for rims anywhere in their cells; 3 to 12 % more without open rims."""
    assert added_mass(64, 0.25 + 0.13 / 64, True) == pytest.approx(1.0, abs=0.002)
    for shift in (0.0, -0.47):
        assert added_mass(16, 0.25 + shift / 16, True) == pytest.approx(1.0, abs=0.006)
    assert added_mass(16, 0.25 + 0.13 / 16, False) > 1.1


def opened(grid: ms.Grid, bodies: list[Any]) -> tuple[SheetFaces, np.ndarray]:
    """The sides of some shells, and where they are hit, m."""
    shells = Shells(grid, bodies)
    walls, x = shells.walls(), shells.positions
    closed = tuple(np.zeros(m.shape, bool) for m in walls.blocked_faces)
    for k, mask in enumerate(closed):
        for end in (0, -1) if not grid.periodic[k] else ():
            mask[(slice(None),) * k + (end,)] = True
    shut = [a | b for a, b in zip(walls.blocked_faces, closed, strict=True)]
    sides = open_free_rims(grid, wall_sides(walls, x, closed), x, shells.elements, shut)
    return sides, np.einsum("sk,skd->sd", sides.weights, x[sides.nodes])


def test_what_is_closed_stays_closed() -> None:
    grid = ms.Grid((12, 12, 12), 1 / 12)
    closed = [KinematicShell(ball((0.51, 0.48, 0.53), 0.31, 2))]
    across = [KinematicShell(sheet((0.42, -0.02, -0.02), (0.2, 1.04, 0.0), (0.0, 0.0, 1.04), 6))]
    lids = [KinematicShell(sheet((0.2, 0.2, z), (0.6, 0.0, 0.0), (0.0, 0.6, 0.0), 2)) for z in (0.2, 0.8)]
    tube = [KinematicShell(sheet((0.2, y, 0.2), (0.6, 0.0, 0.0), (0.0, 0.0, 0.6), 2)) for y in (0.2, 0.8)]
    tube += [KinematicShell(sheet((x, 0.2, 0.2), (0.0, 0.6, 0.0), (0.0, 0.0, 0.6), 2)) for x in (0.2, 0.8)]
    for bodies in (closed, across, [*lids, *tube]):
        sides, _ = opened(grid, bodies)
        assert len(sides) > 100
        assert (sides.open == 0).all()


@pytest.mark.parametrize("gap", [0.0, 0.4])
def test_a_rim_on_another_sheet_stays_closed(gap: float) -> None:
    """Or less than a cell from it; the free end of the same sheet is open, by the same part on both sides of a face."""
    grid, h = ms.Grid((16, 16), 1 / 16), 1 / 16
    floor = KinematicShell(line([(-0.1, 0.27), (1.1, 0.27)]))
    post = KinematicShell(line([(0.53, 0.27 + gap * h), (0.53, 0.7)], 8))
    sides, hits = opened(grid, [floor, post])
    free = hits[:, 1] > 0.7 - 2 * h
    assert (sides.open[~free] == 0).all()
    assert sides.open.max() > 0
    assert (sides.open[::2] == sides.open[1::2]).all()


@pytest.mark.parametrize("mode", ["one-way", "monolithic"])
def test_smoke_does_not_pass_the_open_part_of_a_face(mode: str) -> None:
    """A plate that blows a jet through its last face: what is behind it stays clear where no way leads around its rim in a step."""
    grid = ms.Grid((16, 16), 1 / 16)
    x, e = line([(-0.1, 0.52), (0.5 + 0.3 / 16, 0.52)], 8)
    solver = SmokeSolver(grid, SmokeOptions(), dtype=np.float64)
    sim = ShellCoupling(solver, Shells(grid, [KinematicShell((x, e), lambda t: Pose((0.0, -0.2 * t)))]), mode, open_rims=True)
    solver.density.array[:8, :8] = 1.0
    solver.velocity.component(1)[...] = 1.0
    for _ in range(4):
        sim.step(0.1 / 16)
        assert np.abs(solver.velocity.component(1)[7, 8]) > 0
        assert (solver.density.array[:7, 9:] == 0).all()


def test_one_way_is_as_with_a_body_that_is_too_heavy_to_be_pushed() -> None:
    velocities = []
    for mode, weight in (("one-way", 1.0), ("monolithic", 1e9)):
        sim, _ = plate_in_a_channel(16, 0.27, weight, mode=mode, open_rims=True)
        (body,) = sim.shells.bodies
        body.gravity, x = (0.0, 0.0, 0.0), sim.shells.positions
        body.apply_impulses(x, np.tile([0.3 * body.mass / len(x), 0.0, 0.0], (len(x), 1)))
        for _ in range(3):
            sim.step(1e-2)
        velocities.append(np.array(sim.solver.velocity.component(1)))
    assert np.abs(velocities[1]).max() > 0.1
    np.testing.assert_allclose(velocities[0], velocities[1], atol=1e-6 * np.abs(velocities[1]).max())


def test_water_around_an_open_box_stays_on_its_side_and_bounds_are_checked() -> None:
    grid = ms.Grid((12, 12, 12), 1 / 12)
    corners, faces = box((0.0, 0.0, 0.0), 0.2)
    lid = (corners[faces][:, :, 2] > 0.19).all(axis=1)
    body = RigidBody(TriangleMesh(corners, faces[~lid]), density=20.0, shell=True, pose=Pose((0.5, 0.52, 0.45)))
    body.gravity = (0.0, 0.0, -9.81)
    solver = LiquidSolver(grid)
    sim = ShellCoupling(solver, Shells(grid, [body]), open_rims=True)
    sim.fill(HalfSpace((0.0, 0.0, 0.4), (0.0, 0.0, 1.0)), (0.04, 0.04, 0.04))
    filled = sim.volume_report().liquid
    for _ in range(3):
        sim.step(0.01)
    found = sim.audit_paths(0.01)
    assert found.crossed_markers + found.crossed_drops == 0
    assert sim.volume_report().liquid == pytest.approx(filled, rel=0.01)
    assert solver.report.max_speed < 1.0
    with pytest.raises(ValueError, match="open_rims does not go with a liquid of particles"):
        ShellCoupling(ParticleLiquidSolver(grid), Shells(grid, [body]), "one-way", open_rims=True)
    with pytest.raises(TypeError, match="open_rims must be True or False"):
        ShellCoupling(solver, Shells(grid, [body]), open_rims=1)  # type: ignore[arg-type]
