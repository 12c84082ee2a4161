"""Water on one side of shells."""

from __future__ import annotations

from typing import Any

import numpy as np

import meniscus as ms
from meniscus.coupling import KinematicShell, ShellCoupling, Shells
from meniscus.fluids import LiquidOptions, LiquidSolver
from meniscus.surface import HalfSpace
from support.shells import Mesh
from support.shells.stirred_smoke import Motion


def pool(
    shape: tuple[int, ...],
    mesh: Mesh,
    motion: Motion | None,
    levels: list[tuple[float, tuple[float, ...]]],
    dtype: Any = np.float64,
    marker_distances: tuple[float, float] | None = None,
    **options: Any,
) -> ShellCoupling:
    """Return water up to some levels, m, each on the side of a shell where a point is."""
    grid = ms.Grid(shape, 1 / shape[0])
    solver = LiquidSolver(grid, LiquidOptions(**{"drift_correction": False, **options}), dtype=dtype)
    sim = ShellCoupling(solver, Shells(grid, [KinematicShell(mesh, motion)]), marker_distances=marker_distances)
    up = (0.0,) * (len(shape) - 1)
    for level, point in levels:
        sim.fill(HalfSpace((*up, level), (*up, 1.0)), point)
    return sim


def volume(sim: ShellCoupling) -> float:
    """Volume of the water, that of drops with it."""
    assert isinstance(sim.solver, LiquidSolver)
    return float(sim.solver.volume.total + sim.solver.surface.spray_volume)


def beyond(sim: ShellCoupling, inside: bool) -> int:
    """Wet samples, markers of water and drops that are not on the side of the closed shell where all water is."""
    (a,) = sim.audit()
    return a.wet_outside + a.markers_outside + a.drops_outside if inside else a.wet + a.markers + a.drops
