"""The thick solid of a fluid, as walls of shells see it within a step."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.coupling.shells.shell_walls import EXTENDED, ShellWalls
from meniscus.fluids.gas.solver import SmokeSolver
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.particles.solver import ParticleLiquidSolver
from meniscus.grid.face_arrays import beside_samples

Bools = npt.NDArray[np.bool_]


class SolidSight:
    """Lets walls see the solid of a solver where it is at the start and at the end of a step.

    Args:
        solver: the fluid. In water samples in the solid continue the water on their side; in smoke they are hidden.
    """

    def __init__(self, solver: SmokeSolver | LiquidSolver | ParticleLiquidSolver) -> None:
        self._solver = solver
        self._held: Bools | None = None

    def between(self, start: ShellWalls, end: ShellWalls, dt: float) -> None:
        """Set what walls see in a step of dt seconds from now on."""
        solver = self._solver
        self._held = None
        if isinstance(solver, ParticleLiquidSolver):
            return
        through = isinstance(solver, LiquidSolver)
        solid = solver.sampled_solid.at(solver.time)
        start.see_solid(solid, through=through)
        if solid is not None:
            # What no shell comes near is continued into the solid as without shells.
            self._held = ~solid.outside_cells & (start.clearance() <= EXTENDED)
        after = solver.sampled_solid.at(solver.time + dt, dt)
        if self._held is not None and after is not None:
            outside = after.outside_cells
            # Forces read one layer of the others.
            self._held &= outside | beside_samples(solver.grid, outside)
        end.see_solid(after, through=through)

    def now(self, walls: ShellWalls) -> None:
        """Set what walls see between steps."""
        if not isinstance(self._solver, ParticleLiquidSolver):
            walls.see_solid(self._solver.sampled_solid.at(self._solver.time), through=isinstance(self._solver, LiquidSolver))

    def held(self) -> Bools:
        """Return the cells near shells that the solid held at the start of the step, and that are free since or beside free ones."""
        return np.zeros(self._solver.grid.shape, bool) if self._held is None else self._held

    def outside(self) -> Bools:
        """Return the cells whose centre is not in the solid now."""
        solid = self._solver.sampled_solid.at(self._solver.time)
        return np.ones(self._solver.grid.shape, bool) if solid is None else solid.outside_cells.copy()
