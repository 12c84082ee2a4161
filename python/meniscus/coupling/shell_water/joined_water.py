"""The pressure of water and the velocities of shells in it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.coupling.shell_pressure import liquid_face_masses
from meniscus.coupling.shells.joined_pressure import JoinedPressure

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_SHALLOWEST = 1e-9
"""Cells: water whose centre the air would count as its own is at least so deep there."""


class JoinedWater(JoinedPressure):
    """Makes the water of a `LiquidSolver` incompressible together with the shells in it.

    The pressure is zero at the free surface, which lies between two centres where the level set says (ghost fluid): a face there has the
    mass of the fluid up to it. Air has neither mass nor pressure.
    """

    def _fluid(self, open_sides: list[str]) -> tuple[tuple[Floats, ...], tuple[Floats, ...], Bools, npt.ArrayLike]:
        solver = self._solver
        density = solver.options.density
        phi = np.asarray(solver.levelset.array, np.float64)
        wet = phi <= 0
        if self._solid is not None and self._walls is not None:
            wet = self._parts.close_outlets(phi, self._walls.blocked_faces, ~self._solid.outside_cells)
            phi = np.where(wet, np.minimum(phi, -_SHALLOWEST * solver.grid.spacing), phi)
        return *liquid_face_masses(solver.grid, density, phi, open_sides=open_sides), wet, density * wet
