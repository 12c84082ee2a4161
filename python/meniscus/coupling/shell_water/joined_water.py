"""The pressure of water and the velocities of shells in it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.coupling.shell_pressure import face_masses
from meniscus.coupling.shells.joined_pressure import JoinedPressure
from meniscus.grid.face_arrays import with_neighbours
from meniscus.grid.uniform import AXES

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_SHALLOWEST = 1e-9
"""Cells: less water than this above a centre counts as so much."""


class JoinedWater(JoinedPressure):
    """Makes the water of a `LiquidSolver` incompressible together with the shells in it.

    The pressure is zero at the free surface, which lies between two centres where the level set says (ghost fluid): a face there has the
    mass of the fluid up to it. Air has neither mass nor pressure.
    """

    def _fluid(self, open_sides: list[str]) -> tuple[tuple[Floats, ...], tuple[Floats, ...], Bools, npt.ArrayLike]:
        solver = self._solver
        grid, phi = solver.grid, np.asarray(solver.levelset.array, np.float64)
        density, wet = solver.options.density, phi <= 0
        if self._solid is not None and self._walls is not None:
            wet = self._parts.close_outlets(phi, self._walls.blocked_faces, ~self._solid.outside_cells)
            phi = np.where(wet, np.minimum(phi, -_SHALLOWEST * grid.spacing), phi)
        areas, masses = face_masses(grid, density, open_sides=open_sides)
        for k, mass in enumerate(masses):
            padded = with_neighbours(grid, phi, k)
            n = grid.shape[k]
            part = _part(padded.take(range(n + 1), axis=k), padded.take(range(1, n + 2), axis=k))
            for end, side in ((0, AXES[k] + "-"), (-1, AXES[k] + "+")):
                if side in grid.sides:
                    part[(slice(None),) * k + (end,)] = np.where(wet.take(end, axis=k), 1.0, np.inf)
            mass *= part
        return areas, masses, wet, density * wet


def _part(low: Floats, high: Floats) -> Floats:
    """Return the part of the way between two centres that is water; infinite where there is none at either, as if it were a wall."""
    liquid, air = np.minimum(low, high), np.maximum(low, high)
    part = np.clip(liquid / np.where(air > liquid, liquid - air, -1.0), _SHALLOWEST, 1.0)
    return np.where(air <= 0, 1.0, np.where(liquid > 0, np.inf, part))
