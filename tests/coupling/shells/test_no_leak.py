"""Nothing crosses a shell: smoke beyond is 0.0, in two dimensions."""

from __future__ import annotations

import numpy as np
import pytest
from support.shells import line, ring
from support.shells.stirred_smoke import orbit, run, smoke_solver, stir

from meniscus import Grid
from meniscus.coupling import KinematicShell, ShellCoupling, Shells
from meniscus.coupling.shells.parity import inside_cells
from meniscus.fluids import SmokeSolver


@pytest.mark.fast_cases("0.5-*", "10.0-True")
@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize("cfl", [0.5, 3.0, 10.0])
def test_a_ring_at_rest_or_on_its_way_holds_smoke_in_2d(cfl: float, within: bool) -> None:
    run((24, 22), ring((0.47, 0.44), 0.26), None, cfl, 15, within)
    run((24, 22), ring((0.0, 0.0), 0.2), orbit((0.5, 0.46), 0.1, 4.0), cfl, 25, within, np.float64)


@pytest.mark.parametrize(
    "points",
    [
        [(0.5, -0.01), (0.5, 1.01)],
        [(0.31, 0.0), (0.66, 1.0)],
        [(0.52083333333, 0.0), (0.52083333333, 1.0)],
        [(0.3, -0.1), (0.6, 0.3), (0.45, 0.35), (0.62, 0.4), (0.45, 0.42), (0.6, 1.1)],
        [(0.4, 0.0), (0.7, 0.5), (0.41, 0.505), (0.71, 0.51), (0.42, 1.0)],
    ],
)
@pytest.mark.parametrize("cfl", [0.5, 3.0, 10.0])
def test_a_sheet_across_a_duct_keeps_smoke_on_its_side(points: list[tuple[float, float]], cfl: float) -> None:
    """Straight, on faces, through centres, folded in zigzag within cells; ending on the walls exactly."""
    solver = smoke_solver((24, 24))
    x, e = line(points, 5)
    closing = line([*points, (-0.2, points[-1][1]), (-0.2, points[0][1])])
    loop = np.concatenate([closing[1], [[len(closing[0]) - 1, 0]]])
    left = inside_cells(closing[0], loop.astype(np.int32), np.zeros(2), 1 / 24, (24, 24))
    walls = Shells(solver.grid, [KinematicShell((x, e))])
    sim = ShellCoupling(solver, walls, "one-way")
    solver.density.array[...] = left
    for n in range(12):
        stir(solver, cfl, 0.05, n)
        sim.step(0.05)
        assert not solver.density.array[~left].any()
    assert solver.density.array[left].sum() > 1


@pytest.mark.slow
@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize("cfl", [0.5, 3.0, 10.0])
def test_a_thousand_steps_of_rigid_shells_leak_nothing(cfl: float, within: bool) -> None:
    run((32, 30), ring((0.0, 0.0), 0.2), orbit((0.5, 0.46), 0.12, 4.0), cfl, 1000, within)


def test_far_reflections_in_a_closed_duct_are_seen_where_values_come_from() -> None:
    """Ways that end lengths of a narrow duct beyond its sides: a sheet across it, at rest, holds back all smoke."""
    h, dt = 1 / 8, 0.02
    x, y = (np.arange(16) + 0.5) * h, (np.arange(4) + 0.5) * h
    left = x[:, None] < 0.5 + (y[None] + 0.5) / 1.5
    sheet = (np.array([[0.5, -0.5], [1.5, 1.0]]), np.array([[0, 1]], np.int32))
    for seed in range(20):
        rng = np.random.default_rng(seed)
        grid = Grid((16, 4), h)
        smoke = SmokeSolver(grid)
        sim = ShellCoupling(smoke, Shells(grid, [KinematicShell(sheet)]))
        smoke.density.array[...] = left
        for _ in range(2):
            for axis in range(2):
                u = smoke.velocity.component(axis)
                u[...] = np.clip(0.5 * rng.normal(size=u.shape), -1, 1) * 10 * h / dt
                np.moveaxis(u, axis, 0)[[0, -1]] = 0
            sim.step(dt)
        assert smoke.density.array[~left].max() == 0.0
