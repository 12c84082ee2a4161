"""Work that is timed on ranks: each makes its state, and returns what takes one step of it.

Every rank calls the same function; the grid is that of the ranks in use. States are functions of the position or made by the solvers
themselves, so that they are the same on any number of ranks.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import meniscus as ms
from meniscus.fluids import (
    Emitter,
    LiquidOptions,
    LiquidSolver,
    ParticleLiquidOptions,
    ParticleLiquidSolver,
    PressureOptions,
    SmokeOptions,
    SmokeSolver,
    VorticityOptions,
    liquid_blocks,
)
from meniscus.surface import Box, Sphere

Step = Callable[[], object]
Cells = tuple[int, int, int]

CFL = 1.0
DT_LIQUID = 0.25  # cells per step at 1 m/s


def grid_of(cells: Cells) -> ms.Grid:
    """Return the grid, whose longest side is 1 m."""
    return ms.Grid(cells, 1.0 / max(cells))


def grid_around(water: Box, cells: Cells, divided: bool, liquid_work: float) -> ms.Grid:
    """Return the same grid, but where the water is to be divided cut so that it is."""
    if not divided:
        return grid_of(cells)
    return ms.Grid(cells, 1.0 / max(cells), blocks=liquid_blocks(cells, 1.0 / max(cells), water, liquid_work=liquid_work))


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
    options = SmokeOptions(density_weight=0.3, temperature_weight=4.0, vorticity=VorticityOptions(confinement=0.3), tolerance=1e-5, cfl=CFL)
    grid = grid_of(cells)
    nozzle = Emitter(region=Sphere((0.5, 0.5, 0.17), 0.11), density=1.0, temperature=1.0, velocity=(0.0, 0.0, 1.0))
    solver = SmokeSolver(grid, options, boundary={"z+": ms.grid.Open()}, emitters=[nozzle])
    ms.fluids.deformation().sample(solver.velocity)
    dt = CFL * grid.spacing / ms.grid.max_speed(solver.velocity)
    return lambda: solver.step(dt)


def liquid(cells: Cells, divided: bool = False) -> Step:
    """Steps of a dam break with the particle level set."""
    water = Box((-1.0, -1.0, -1.0), (0.5, 2.0, 0.5))
    options = LiquidOptions(tracking="particle-level-set", tolerance=1e-5)
    solver = LiquidSolver(grid_around(water, cells, divided, liquid_work=2.0), options, dtype=np.float32)
    solver.fill(water)
    dt = DT_LIQUID / max(cells)
    return lambda: solver.step(dt)


def flip(cells: Cells, divided: bool = False) -> Step:
    """Steps of a dam break of particles."""
    water = Box((-1.0, -1.0, -1.0), (0.5, 2.0, 0.4))
    options = ParticleLiquidOptions(transfer="flip", pressure=PressureOptions(tolerance=1e-5))
    solver = ParticleLiquidSolver(grid_around(water, cells, divided, liquid_work=10.0), options, dtype=np.float32)
    solver.fill(water)
    dt = DT_LIQUID / max(cells)
    return lambda: solver.step(dt)


WORKS: dict[str, Callable[..., Step]] = {"transport": transport, "smoke": smoke, "liquid": liquid, "flip": flip}
WITH_WATER = ("liquid", "flip")
"""Works whose domain may be cut so that the water is divided."""
