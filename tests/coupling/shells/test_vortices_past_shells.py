"""Vortex particles beside shells: they stay on their side, and act on what they see."""

from __future__ import annotations

import numpy as np
from support.shells import ring

import meniscus as ms
from meniscus.coupling import KinematicShell, ShellCoupling, Shells
from meniscus.coupling.shells.parity import inside_points
from meniscus.fluids import LiquidSolver, SmokeOptions, SmokeSolver, VortexParticles, VorticityOptions, add_vortex_forces
from meniscus.surface import HalfSpace, Pose


def particles(dimension: int, seed: int, n: int = 60) -> VortexParticles:
    rng = np.random.default_rng(seed)
    w = rng.normal(size=n) if dimension == 2 else rng.normal(size=(n, 3))
    return VortexParticles(rng.uniform(0.1, 0.9, (n, dimension)), 20.0 * w, 0.12)


def test_no_force_passes_a_sheet_and_none_is_left_over() -> None:
    """On this side what a particle would do without the sheet but for its mean; beyond exactly nothing; far away the same bits."""
    grid = ms.Grid((24, 24), 1 / 24)
    sheet = np.array([[0.513, -0.1], [0.513, 1.1]])
    walls = Shells(grid, [KinematicShell((sheet, np.array([[0, 1]], np.int32)))]).walls()
    for place in ([0.47, 0.5], [0.2, 0.4]):
        vortex = VortexParticles(np.array([place]), 5.0, 0.12)
        plain, seen = (ms.MacField(grid) for _ in range(2))
        add_vortex_forces(plain, vortex, 0.1, 0.5)
        add_vortex_forces(seen, vortex, 0.1, 0.5, walls=walls)
        for axis in range(2):
            x = grid.coordinates(tuple(int(a == axis) for a in range(2)))[0]
            beyond = np.broadcast_to(x > 0.513, seen.component(axis).shape)
            assert not seen.component(axis)[beyond].any()
            assert abs(seen.component(axis).sum()) < 1e-12
            assert seen.component(axis).any()
            if place[0] == 0.2:
                np.testing.assert_array_equal(seen.component(axis), plain.component(axis))


def test_vortices_stay_in_a_ring_that_moves_and_their_air_with_them() -> None:
    """None changes sides at up to three cells a step, and air beyond stays at rest to the bit until the pressure moves it."""
    x, sides = ring((0.0, 0.0), 0.27)

    def pose(t: float) -> Pose:
        return Pose((0.5 + 0.15 * np.sin(9 * t), 0.5 + 0.1 * np.cos(7 * t) - 0.1), t)

    grid = ms.Grid((24, 24), 1 / 24)
    given = particles(2, 1)
    vortices = VortexParticles(given.positions, given["vorticity"], given["radius"])
    solver = SmokeSolver(grid, SmokeOptions(vorticity=VorticityOptions(vortex_strength=0.5)), vortices=vortices)
    sim = ShellCoupling(solver, Shells(grid, [KinematicShell((x, sides), pose)]))
    before = int(inside_points(sim.shells.positions, sides, np.asarray(vortices.positions, np.float64)).sum())
    assert before > 5
    deleted = 0
    for _ in range(12):
        report = sim.step(0.05)
        deleted += report.deleted_vortices
    inside = inside_points(sim.shells.positions, sides, np.asarray(vortices.positions, np.float64))
    assert before - deleted <= inside.sum() <= before
    assert deleted < 8


def test_vortices_in_water_move_within_it() -> None:
    x, sides = ring((0.5, 0.5), 0.3)
    grid = ms.Grid((20, 20), 1 / 20)
    vortices = particles(2, 2, 40)
    sim = ShellCoupling(LiquidSolver(grid, vortices=vortices), Shells(grid, [KinematicShell((x, sides))]))
    sim.fill(HalfSpace((0.0, 0.5), (0.0, 1.0)), (0.5, 0.4))
    for _ in range(4):
        sim.step(0.01)
    assert 5 < len(vortices) < 40
    where = np.asarray(vortices.positions)
    assert inside_points(sim.shells.positions, sides, where).all()
    assert (where[:, 1] < 0.56).all()


def test_the_same_bits_on_any_number_of_threads_in_three_dimensions() -> None:
    sheet = np.array([[0.5, -0.1, -0.1], [0.52, 1.1, -0.1], [0.47, 1.1, 1.1], [0.5, -0.1, 1.1]])
    threads, results = ms.num_threads(), []
    try:
        for count in (1, 2, 3):
            ms.set_num_threads(count)
            grid = ms.Grid((10, 10, 10), 0.1)
            solver = SmokeSolver(
                grid, SmokeOptions(vorticity=VorticityOptions(vortex_strength=0.3)), dtype=np.float64, vortices=particles(3, 3)
            )
            sim = ShellCoupling(solver, Shells(grid, [KinematicShell((sheet, np.array([[0, 1, 2], [0, 2, 3]], np.int32)))]))
            for _ in range(3):
                sim.step(0.02)
            results.append((solver.velocity.component(0).tobytes(), np.asarray(solver.vortices.positions).tobytes()))
    finally:
        ms.set_num_threads(threads)
    assert len(set(results)) == 1
