"""Smoke that is stirred on one side of shells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import meniscus as ms
from meniscus.coupling import KinematicShell, ShellCoupling, Shells
from meniscus.coupling.shells.parity import inside_cells
from meniscus.fluids import VorticityOptions
from meniscus.surface import Pose
from support.shells import TURN, Mesh

Motion = Callable[[float], Pose]


def smoke_solver(shape: tuple[int, ...], dtype: Any = None, **options: Any) -> ms.fluids.SmokeSolver:
    grid = ms.Grid(shape, 1 / shape[0])
    chosen = {
        "density_weight": 0.5,
        "temperature_weight": 1.0,
        "vorticity": VorticityOptions(confinement=0.3),
        "tolerance": 1e-4,
        **options,
    }
    return ms.fluids.SmokeSolver(grid, ms.fluids.SmokeOptions(**chosen), dtype=dtype)


def stir(solver: ms.fluids.SmokeSolver, cells: float, dt: float, step: int) -> None:
    """Set a wild velocity that passes so many cells in a step."""
    rng = np.random.default_rng(step)
    speed = cells * solver.grid.spacing / dt
    for d in range(solver.grid.dimension):
        u = solver.velocity.component(d)
        u[...] = speed * (2 * rng.random(u.shape) - 1)


def run(shape: tuple[int, ...], mesh: Mesh, motion: Motion | None, cfl: float, steps: int, within: bool, dtype: Any = None) -> None:
    """Stir smoke on one side of a closed shell, and look at the other."""
    solver = smoke_solver(shape, dtype)
    body = KinematicShell(mesh, motion)
    sim = ShellCoupling(solver, Shells(solver.grid, [body]), "one-way")
    h, dt = solver.grid.spacing, 0.05
    for n in range(steps):
        if n % 10 == 0:
            # What stands in for hidden smoke is none, so that smoke thins out: without new one there would be nothing to leak.
            inside = inside_cells(body.positions, body.elements, np.zeros(len(shape)), h, shape)
            solver.density.array[inside == within] = 1.0
        stir(solver, cfl, dt, n)
        sim.step(dt)
        (audit,) = sim.audit()
        beyond = (audit.least_outside, audit.most_outside) if within else (audit.least, audit.most)
        assert beyond == (0.0, 0.0), f"smoke has leaked in step {n}"
        assert (audit.smoke if within else audit.outside) > 0


def orbit(center: tuple[float, ...], way: float, turn: float) -> Motion:
    """A shell that goes around and turns as it goes; its rest pose is at the origin."""

    def pose(t: float) -> Pose:
        c = np.array(center)
        c[0] += way * np.sin(3.0 * t)
        c[1] += way * np.cos(3.0 * t)
        if len(c) == 2:
            return Pose(c, turn * t)
        a, b = np.cos(turn * t), np.sin(turn * t)
        return Pose(c, TURN @ np.array([[a, -b, 0.0], [b, a, 0.0], [0.0, 0.0, 1.0]]))

    return pose
