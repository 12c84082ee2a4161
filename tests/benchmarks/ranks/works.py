"""Work that is timed on ranks: each makes its state, and returns what takes one step of it.

Every rank calls the same function; the grid is that of the ranks in use. States are functions of the position or made by the solvers
themselves, so that they are the same on any number of ranks.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import meniscus as ms
from meniscus.fluids import Emitter, LiquidOptions, LiquidSolver, ParticleLiquidOptions, ParticleLiquidSolver, SmokeOptions, SmokeSolver
from meniscus.surface import Box, Sphere

Step = Callable[[], object]
Cells = tuple[int, int, int]

CFL = 1.0
DT_LIQUID = 0.25  # cells per step at 1 m/s


def grid_of(cells: Cells) -> ms.Grid:
    """Return the grid, whose longest side is 1 m."""
    return ms.Grid(cells, 1.0 / max(cells))


def transport(cells: Cells) -> Step:
    """MacCormack transport of a density by a swirl, in single precision."""
    grid = grid_of(cells)
    velocity = ms.MacField(grid, np.float32)
    ms.fluids.deformation().sample(velocity)
    density = ms.CellField.from_function(grid, lambda x, y, z: np.sin(9 * x) + np.cos(7 * y) * z, dtype=np.float32)
    dt = CFL * grid.spacing / ms.grid.max_speed(velocity)
    space = ms.core.Workspace()
    return lambda: ms.grid.advect(density, velocity, dt, method="maccormack", workspace=space)


def smoke(cells: Cells) -> Step:
    """Steps of a gas in a box with an open top: the scene of the benchmark of smoke, without particles."""
    options = SmokeOptions(density_weight=0.3, temperature_weight=4.0, confinement=0.3, tolerance=1e-5, cfl=CFL)
    grid = grid_of(cells)
    nozzle = Emitter(region=Sphere((0.5, 0.5, 0.17), 0.11), density=1.0, temperature=1.0, velocity=(0.0, 0.0, 1.0))
    solver = SmokeSolver(grid, options, boundary={"z+": ms.grid.Open()}, emitters=[nozzle])
    ms.fluids.deformation().sample(solver.velocity)
    dt = CFL * grid.spacing / ms.grid.max_speed(solver.velocity)
    return lambda: solver.step(dt)


def liquid(cells: Cells) -> Step:
    """Steps of a dam break with the particle level set."""
    solver = LiquidSolver(grid_of(cells), LiquidOptions(tracking="particle-level-set", tolerance=1e-5), dtype=np.float32)
    solver.fill(Box((-1.0, -1.0, -1.0), (0.5, 2.0, 0.5)))
    dt = DT_LIQUID / max(cells)
    return lambda: solver.step(dt)


def flip(cells: Cells) -> Step:
    """Steps of a dam break of particles."""
    solver = ParticleLiquidSolver(grid_of(cells), ParticleLiquidOptions(transfer="flip", tolerance=1e-5), dtype=np.float32)
    solver.fill(Box((-1.0, -1.0, -1.0), (0.5, 2.0, 0.4)))
    dt = DT_LIQUID / max(cells)
    return lambda: solver.step(dt)


WORKS: dict[str, Callable[[Cells], Step]] = {"transport": transport, "smoke": smoke, "liquid": liquid, "flip": flip}
