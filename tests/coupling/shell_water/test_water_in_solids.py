"""Water beside shells in thick solids: at rest, on its side, with the weight of what is between the walls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.shells import ball, line, sheet, star, swinging

import meniscus as ms
from meniscus.coupling import KinematicShell, ShellCoupling, ShellMode, Shells
from meniscus.fluids import LiquidOptions, LiquidSolver, SmokeOptions, SmokeSolver
from meniscus.solids import DeformableBody, RigidBody
from meniscus.surface import Box, HalfSpace, KinematicSolid, Pose, Sphere


def halves(slope: float, dimension: int = 2) -> ShellCoupling:
    """A round bowl with a sheet through it, and water at different levels on both sides."""
    n, r = (16, 0.36) if dimension == 2 else (10, 0.4)
    middle = (0.5,) * dimension
    water = LiquidSolver(ms.Grid((n,) * dimension, 1 / n), LiquidOptions(tolerance=1e-13), solid=~Sphere(middle, r))
    if dimension == 2:
        mesh = line([(0.513 - 0.5 * slope, 0.4 - r), (0.513 + 0.5 * slope, 0.98)], 10)
    else:
        mesh = sheet((0.513, -0.1, -0.1), (0.0, 1.2, 0.0), (slope, 0.0, 1.2), 4)
    sim = ShellCoupling(water, Shells(water.grid, [KinematicShell(mesh)]))
    for level, side in ((0.5, 0.3), (0.37, 0.7)):
        sim.fill(HalfSpace((0.0,) * (dimension - 1) + (level,), (0.0,) * (dimension - 1) + (1.0,)), (side, *middle[1:-1], 0.33))
    return sim


@pytest.mark.fast_cases("0.1-2-30", "0.0-2-100")
@pytest.mark.parametrize(("slope", "dimension", "steps"), [(0.0, 2, 100), (0.1, 2, 30), (0.05, 3, 8)])
def test_two_halves_of_a_bowl_are_at_rest_at_their_levels(slope: float, dimension: int, steps: int) -> None:
    sim = halves(slope, dimension)
    before = [c.volume for c in sim.volume_report().components]
    assert len(before) == 2
    for _ in range(steps):
        report = sim.step(0.01)
        assert report.fluid is not None
        assert report.fluid.max_speed < 1e-10
    assert [c.volume for c in sim.volume_report().components] == pytest.approx(before, rel=1e-12)


@pytest.mark.parametrize("mode", ["monolithic", "lumped"])
@pytest.mark.parametrize("wall", [0.03, 0.05, 0.1])
def test_a_held_sheet_in_a_shaft_carries_the_water_between_its_walls(wall: float, mode: ShellMode) -> None:
    """Walls of the solid wherever they are in their cells, also beyond centres of cells."""
    n, depth, place = 12, 0.3, 0.32
    h, wide = 1 / n, 6 / n
    walls = HalfSpace((wall, 0.0, 0.0), (1.0, 0.0, 0.0)) | HalfSpace((wide - wall, 0.0, 0.0), (-1.0, 0.0, 0.0))
    water = LiquidSolver(ms.Grid((6, 6, n), h), LiquidOptions(tolerance=1e-12), solid=walls)
    x, t = sheet((-0.3 * h, -0.3 * h, place), (wide + 0.6 * h, 0.0, 0.0), (0.0, wide + 0.6 * h, 0.0), 4)
    body = DeformableBody(ms.mesh.TriangleMesh(x, t), density=5.0)
    body.pin(np.arange(len(x)))
    sim = ShellCoupling(water, Shells(water.grid, [body]), mode)
    sim.fill(HalfSpace((0.0, 0.0, place + depth), (0.0, 0.0, 1.0)), (0.5 * wide, 0.5 * wide, place + 0.1))
    for _ in range(2):
        report = sim.step(0.01)
        weight = 1000.0 * 9.81 * depth * wide * (wide - 2 * wall)
        assert sim.impulses[:, 2].sum() / 0.01 == pytest.approx(-weight, rel=1e-9)
    assert report.fluid is not None
    assert report.fluid.max_speed < 1e-10


@pytest.mark.slow
def test_no_water_gets_into_stars_while_solids_move_through_them() -> None:
    n = 24
    for seed in (0, 1, 4, 5, 18, 20):
        rng = np.random.default_rng(seed)
        pose, middle = swinging(rng)
        start, way, rate = middle + rng.uniform(-0.2, 0.2, 2), rng.uniform(0, 0.15, 2), rng.uniform(0.5, 5)
        shape = (Sphere((0.0, 0.0), 0.12), Box((-0.15, -0.05), (0.15, 0.05)), HalfSpace((0.0, 0.0), (1.0, 0.3)))[seed % 3]
        start = np.array([0.2, 0.2]) if seed % 3 == 2 else start
        solid = KinematicSolid(shape, lambda t, a=start, w=way, r=rate: Pose(a + w * np.sin(r * t)))  # type: ignore[misc]
        water = LiquidSolver(ms.Grid((n, n), 1 / n), LiquidOptions(tolerance=1e-6), solid=solid)
        body = KinematicShell(star(rng), pose)
        sim = ShellCoupling(water, Shells(water.grid, [body]))
        sim.fill(HalfSpace((0.0, 0.6), (0.0, 1.0)), (0.94, 0.06))
        expected = sum(c.expected for c in sim.volume_report().components)
        for step in range(8):
            sim.step((0.005, 0.015, 0.04)[seed % 3])
            (audit,) = sim.audit()
            assert (audit.wet, audit.markers, audit.drops) == (0, 0, 0), (seed, step)  # type: ignore[union-attr]
        told = sim.volume_report()
        assert sum(c.expected for c in told.components) + told.spray == pytest.approx(expected, rel=1e-6)


def test_momentum_of_air_shell_and_solid_is_balanced_and_no_energy_appears() -> None:
    """Of a projection in a periodic box: what solid and shell get is what the air loses, in each direction."""
    n, rho = 8, 1.2
    grid = ms.Grid((n, n, n), 1 / n, periodic=(True, True, True))
    solver = SmokeSolver(grid, SmokeOptions(tolerance=1e-11, air_density=rho), dtype=np.float64, solid=Sphere((0.31, 0.3, 0.36), 0.2))
    x, t = ball((0.0, 0.0, 0.0), 0.25, 1)
    body = RigidBody(ms.mesh.TriangleMesh(x, t), density=0.5, shell=True, pose=Pose((0.55, 0.56, 0.52)))
    sim = ShellCoupling(solver, Shells(grid, [body]))
    rng = np.random.default_rng(3)
    before: list[Any] = []

    def stir(name: str, _: Any) -> None:
        if name == "look_ahead":
            for k in range(3):
                u = solver.velocity.component(k)
                u[...] = rng.random(u.shape) - 0.3
                u[(slice(None),) * k + (-1,)] = u[(slice(None),) * k + (0,)]
                before.append(u.copy())

    sim.step(0.02, stir)
    joined = sim._joined
    assert joined is not None
    result, sides, opened = joined.result, joined.sides, joined._parts.open
    assert result is not None
    assert sides is not None
    beside = sides.distance * rho / n**2 * sides.of_faces(opened)
    was, on_sheet = sides.of_faces(before), np.einsum("sk,sk->s", sides.weights, result.velocities[sides.nodes, sides.axis[:, None]])
    gained, to_solid = np.zeros(3), np.zeros(3)
    energy = -0.5 * (beside * was**2).sum() + 0.5 * (beside * on_sheet**2).sum()
    for k in range(3):
        first = (slice(None),) * k + (slice(0, n),)
        mass = rho / n**3 * (opened[k] * ~sim.walls.blocked_faces[k])[first]
        u, v = before[k][first], solver.velocity.component(k)[first]
        gained[k] = (mass * (v - u)).sum() + (beside * (on_sheet - was))[sides.axis == k].sum()
        energy += 0.5 * (mass * (v**2 - u**2)).sum()
        # The pressure acts on what the solid closes of both faces of a cell.
        to_solid[k] = (result.pressure * np.diff(1.0 - opened[k], axis=k)).sum() / n**2
    given = result.impulses.sum(axis=0)
    assert np.abs(to_solid).max() > 1e-6
    assert gained + given + to_solid == pytest.approx(np.zeros(3), abs=1e-12)
    body_energy = 0.5 * given @ given / body.mass
    assert energy + body_energy < 0.0


def test_threads_and_snapshots_keep_all_bits_beside_a_moving_solid() -> None:
    def made() -> ShellCoupling:
        solid = KinematicSolid(Sphere((0.0, 0.0, 0.0), 0.17), lambda t: Pose((0.3 + t, 0.5, 0.35)))
        water = LiquidSolver(ms.Grid((10, 10, 10), 0.1), solid=solid)
        x, t = sheet((0.25, 0.2, 0.55), (0.5, 0.0, 0.05), (0.0, 0.6, 0.02), 4)
        body = DeformableBody(ms.mesh.TriangleMesh(x, t), density=1.0)
        body.gravity = (0.0, 0.0, -9.81)
        sim = ShellCoupling(water, Shells(water.grid, [body]))
        sim.fill(HalfSpace((0.0, 0.0, 0.5), (0.0, 0.0, 1.0)), (0.85, 0.85, 0.1))
        return sim

    def bits(sim: ShellCoupling) -> list[Any]:
        solver: Any = sim.solver
        return [solver.levelset.array.copy(), *(solver.velocity.component(k).copy() for k in range(3)), sim.shells.positions]

    runs, threads_before = [], ms.num_threads()
    try:
        for threads in (1, 3):
            ms.set_num_threads(threads)
            sim = made()
            sim.step(0.02)
            saved = sim.snapshot()
            for again in (False, True):
                if again:
                    sim.restore(saved)
                sim.step(0.02)
                runs.append(bits(sim))
    finally:
        ms.set_num_threads(threads_before)
    for other in runs[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(runs[0], other, strict=True))


def test_drops_beyond_a_thick_wall_are_not_of_the_water_behind_it() -> None:
    """The wall is two cells thick, and parts claim drops up to four cells away: those that they see."""
    h = 1 / 16
    water = LiquidSolver(ms.Grid((16, 16), h), solid=Box((7 * h, -1.0), (9 * h, 0.8)))
    upright = KinematicShell((np.array([[0.2, 0.7], [0.3, 0.9]]), np.array([[0, 1]], np.int32)))
    sim = ShellCoupling(water, Shells(water.grid, [upright]))
    sim.fill(HalfSpace((0.0, 0.5), (0.0, 1.0)), side_of=(0.1, 0.1))
    solid = water.sampled_solid.at(0.0)
    assert solid is not None
    for place, share in (((9.5 * h, 0.2), 0.0), ((6.5 * h, 0.6), 1.0)):
        before = np.array(water.volume.expected)
        water.volume.add_volumes(np.array([place]), np.array([1e-3]), solid.levelset)
        assert np.array(water.volume.expected)[1] - before[1] == pytest.approx(share * 1e-3)


def wet_beyond(seed: int) -> int:
    """Wet cells on the dry side of a sheet that swings and folds between a floor and a ceiling of solid, with water on its other side."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([12, 16, 24]))
    h = 1 / n
    amplitude, rate, fold, beat = rng.uniform(0, 0.15), rng.uniform(2, 10), rng.uniform(-0.12, 0.12), rng.uniform(2, 9)
    middle, slant = rng.uniform(0.42, 0.58), rng.uniform(-0.2, 0.2)
    floor, ceiling = rng.uniform(0.05, 0.18, 2)
    solid = HalfSpace((0.0, floor), (0.0, 1.0)) | HalfSpace((0.0, 1.0 - ceiling), (0.0, -1.0))
    y = np.linspace(-0.12, 1.12, 13)

    def place(t: float, at: np.ndarray = y) -> np.ndarray:
        return middle + slant * (at - 0.5) + amplitude * np.sin(rate * t) + fold * np.sin(2 * np.pi * at) * np.sin(beat * t)

    elements = np.stack([np.arange(12), np.arange(1, 13)], axis=1).astype(np.int32)
    body = KinematicShell((np.stack([place(0.0), y], axis=1), elements), lambda t: np.stack([place(t), y], axis=1))
    water = LiquidSolver(ms.Grid((n, n), h), LiquidOptions(tracking="level-set"), solid=solid)
    sim = ShellCoupling(water, Shells(water.grid, [body]))
    sim.fill(HalfSpace((0.0, rng.uniform(0.45, 0.75)), (0.0, 1.0)), (0.02, 0.3))
    dt = float(rng.choice([1.0, 2.0, 4.0])) * h / (amplitude * rate + abs(fold) * beat + 0.2)
    x_of_cells, y_of_cells = np.meshgrid(*water.grid.cell_centers(), indexing="ij")
    wet = 0
    for _ in range(12):
        sim.step(dt)
        beyond = x_of_cells > np.interp(y_of_cells, y, place(water.time)) + 2e-3 * h
        solid_now = water.sampled_solid.at(water.time)
        assert solid_now is not None
        wet += int((beyond & (water.levelset.array <= 0) & solid_now.outside_cells).sum())
    return wet


@pytest.mark.parametrize("seed", [39, 158, 176, 299])
def test_no_cell_gets_wet_beyond_a_sheet_that_folds_between_solids(seed: int) -> None:
    assert wet_beyond(seed) == 0
