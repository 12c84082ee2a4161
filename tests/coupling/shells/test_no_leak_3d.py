"""Nothing crosses a shell: smoke beyond is 0.0, in three dimensions."""

from __future__ import annotations

import numpy as np
import pytest
from support.shells import ball, box, closed_below, sheet
from support.shells.stirred_smoke import orbit, run, smoke_solver, stir

import meniscus as ms
from meniscus.coupling import KinematicShell, ShellCoupling, Shells
from meniscus.coupling.shells.parity import inside_cells


@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize("cfl", [0.5, 10.0])
def test_a_turned_box_at_rest_or_on_its_way_holds_smoke_in_3d(cfl: float, within: bool) -> None:
    run((14, 13, 12), box((0.5, 0.45, 0.43), 0.2), None, cfl, 2, within)
    run((14, 13, 12), ball((0.0, 0.0, 0.0), 0.24, 1), orbit((0.5, 0.46, 0.43), 0.08, 3.0), cfl, 4, within)


@pytest.mark.parametrize("cfl", [0.5, 3.0])
def test_a_tilted_swinging_curtain_seals_a_duct_in_3d(cfl: float) -> None:
    solver = smoke_solver((14, 10, 10))
    x0, t = sheet((0.35, -0.05, -0.2), (0.2, 0.85, 0.1), (0.05, 0.0, 1.1), 6)

    def motion(time: float) -> np.ndarray:
        y = x0.copy()
        y[:, 0] += 0.15 * np.sin(4 * time) * (1 + x0[:, 1] + np.sin(9 * x0[:, 2]))
        return y

    sim = ShellCoupling(solver, Shells(solver.grid, [KinematicShell((x0, t), motion)]))
    h = solver.grid.spacing

    def left() -> np.ndarray:
        closed = closed_below(sim.shells.positions, t, -0.3)
        return inside_cells(*closed, np.zeros(3), h, (14, 10, 10))

    solver.density.array[...] = left()
    for n in range(8):
        stir(solver, cfl, 0.05, n)
        sim.step(0.05)
        assert not solver.density.array[~left()].any()
    assert solver.density.array.sum() > 1


def seal_with_cloth(cells: int, cfl: float, steps: int) -> None:
    """Stir smoke on one side of a cloth that is held around a duct and swings."""
    x, t = sheet((0.5, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), 6)
    mesh = ms.mesh.TriangleMesh(x, t)
    body = ms.solids.DeformableBody(mesh, density=0.2, gravity=(4.0, 1.0, 0.5))
    body.add(ms.solids.EdgeSprings(mesh, ms.solids.SpringOptions(stiffness=2.0, damping_fraction=0.02, masses=body.masses)))
    body.pin(np.flatnonzero((x[:, 1:] == 0).any(axis=1) | (x[:, 1:] == 1).any(axis=1)))
    solver = smoke_solver((cells, cells, cells))
    sim = ShellCoupling(solver, Shells(solver.grid, [body]), "one-way")

    def left() -> np.ndarray:
        return inside_cells(*closed_below(body.positions, t, -0.3), np.zeros(3), 1 / cells, (cells, cells, cells))

    for n in range(steps):
        if n % 10 == 0:
            solver.density.array[left()] = 1.0
        stir(solver, cfl, 0.03, n)
        sim.step(0.03)
        assert not solver.density.array[~left()].any(), f"smoke has leaked in step {n}"
        assert solver.density.array.sum() > 0.1
    assert body.positions[:, 0].max() > 0.52


@pytest.mark.parametrize("cfl", [3.0])
def test_cloth_across_a_duct_keeps_smoke_on_its_side(cfl: float) -> None:
    seal_with_cloth(9, cfl, 8)


@pytest.mark.slow
@pytest.mark.parametrize("cfl", [0.5, 3.0, 10.0])
def test_a_thousand_steps_of_cloth_across_a_duct_leak_nothing(cfl: float) -> None:
    seal_with_cloth(10, cfl, 1000)


@pytest.mark.slow
@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize("cfl", [0.5, 3.0, 10.0])
def test_a_thousand_steps_of_rigid_shells_leak_nothing(cfl: float, within: bool) -> None:
    run((14, 13, 12), ball((0.0, 0.0, 0.0), 0.24, 1), orbit((0.5, 0.46, 0.43), 0.08, 3.0), cfl, 1000, within)
