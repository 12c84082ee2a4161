"""Sources and drains that reach through a shell act on one side of it."""

from __future__ import annotations

import numpy as np
import pytest
from support.shells import line, sheet

import meniscus as ms
from meniscus.coupling import KinematicShell, ShellCoupling, Shells
from meniscus.fluids import (
    Drain,
    Emitter,
    LiquidOptions,
    LiquidSolver,
    LiquidSource,
    ParticleLiquidOptions,
    ParticleLiquidSolver,
    SmokeOptions,
    SmokeSolver,
)
from meniscus.grid.transport.one_side import beyond_largest_parts, connected_cells
from meniscus.surface import Box, HalfSpace, Sphere


def wall(slope: float) -> KinematicShell:
    """A sheet from floor to ceiling a little right of the middle."""
    return KinematicShell(line([(0.56 - slope, -0.01), (0.56 + slope, 1.01)], 3))


def right_of(points: np.ndarray, slope: float) -> np.ndarray:
    return points[..., 0] > 0.56 - slope + 2 * slope * (points[..., 1] + 0.01) / 1.02


def centres(grid: ms.Grid) -> np.ndarray:
    return (np.stack(np.meshgrid(*(np.arange(n) for n in grid.shape), indexing="ij"), axis=-1) + 0.5) * grid.spacing


@pytest.mark.parametrize("slope", [0.0, 0.08])
def test_smoke_comes_on_the_larger_side_alone(slope: float) -> None:
    grid = ms.Grid((24, 24), 1 / 24)
    jet = Emitter(Sphere((0.5, 0.4), 0.2), density=1.0, temperature=1.0, velocity=(0.0, 1.0))
    sim = ShellCoupling(SmokeSolver(grid, SmokeOptions(), emitters=[jet]), Shells(grid, [wall(slope)]))
    beyond = right_of(centres(grid), slope)
    for _ in range(20):
        sim.step(0.02)
        assert not sim.solver.density.array[beyond].any()
    assert sim.solver.density.array.sum() > 30
    # Half a cell of the sheet may count on either side.
    assert np.abs(sim.solver.velocity.v[18:]).max() < 1e-12


@pytest.mark.parametrize("slope", [0.0, 0.08])
def test_water_comes_and_goes_on_the_larger_side_alone(slope: float) -> None:
    grid = ms.Grid((32, 32), 1 / 32)
    source = LiquidSource(Sphere((0.5, 0.6), 0.15), velocity=(0.0, -1.0), end=0.2)
    drain = Drain(Box((0.3, 0.0), (0.6, 0.1)), start=0.25)
    sim = ShellCoupling(LiquidSolver(grid, LiquidOptions(), sources=[source], drains=[drain]), Shells(grid, [wall(slope)]))
    beyond = right_of(centres(grid), slope)
    sim.fill(HalfSpace((0.0, 0.2), (0.0, 1.0)), side_of=(0.9, 0.1))
    before = int((sim.solver.levelset.array[beyond] <= 0).sum())
    poured = 0
    for _ in range(30):
        sim.step(0.01)
        wet = sim.solver.levelset.array <= 0
        assert abs(int(wet[beyond].sum()) - before) <= 2
        poured = max(poured, int(wet[~beyond].sum()))
    assert poured > 60
    assert int(wet[~beyond].sum()) < poured - 10
    assert sim.volume_report().drained > 0.01


@pytest.mark.parametrize("transfer", ["flip", "apic"])
def test_particles_come_and_go_on_the_larger_side_alone(transfer: str) -> None:
    grid = ms.Grid((24, 24), 1 / 24)
    source = LiquidSource(Sphere((0.5, 0.6), 0.15), velocity=(0.0, -1.0), end=0.15)
    drain = Drain(Box((0.3, 0.0), (0.6, 0.1)), start=0.2)
    solver = ParticleLiquidSolver(grid, ParticleLiquidOptions(transfer=transfer), sources=[source], drains=[drain])
    sim = ShellCoupling(solver, Shells(grid, [wall(0.06)]))
    sim.fill(HalfSpace((0.0, 0.2), (0.0, 1.0)), side_of=(0.9, 0.1))
    before, poured = len(solver.particles), 0
    for _ in range(26):
        sim.step(0.01)
        beyond = right_of(np.asarray(solver.particles.positions), 0.06)
        assert int(beyond.sum()) == before
        poured = max(poured, int((~beyond).sum()))
    assert poured > 200
    assert int((~beyond).sum()) < poured - 20


def test_parts_of_a_region_in_space_and_around_an_end_that_closes() -> None:
    grid = ms.Grid((8, 9, 10), 0.1, periodic=(False, False, True))
    x, t = sheet((0.31, -0.1, -0.1), (0.0, 1.2, 0.0), (0.0, 0.0, 1.2), 3)
    walls = Shells(grid, [KinematicShell((x, t))]).walls()
    region = np.zeros(grid.shape, bool)
    region[1:6, 2:5, [0, 1, 9]] = True  # around the end; the sheet leaves two and three layers
    region[1:3, 6:8, 4:6] = True  # another piece, beside the sheet alone
    beyond = beyond_largest_parts(region, walls)
    assert beyond is not None
    assert beyond.sum() == 2 * 3 * 3
    assert beyond[1:3, 2:5, [0, 1, 9]].all()
    assert beyond_largest_parts(region & ~beyond, walls) is None
    assert beyond_largest_parts(np.zeros_like(region), walls) is None
    cells = np.ones(grid.shape, bool)
    assert connected_cells(cells, walls, (0, 0, 0)).sum() == 3 * 90
