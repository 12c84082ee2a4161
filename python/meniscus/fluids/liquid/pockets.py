"""Pockets of air that a liquid encloses."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus.core import Workspace
from meniscus.core.stateful import Stateful
from meniscus.grid.boundary import Open, ZeroGradient, side_names
from meniscus.grid.fields import CellField, MacField
from meniscus.surface import LevelSet, SolidBoundary

Bools = npt.NDArray[np.bool_]


class AirPockets(Stateful):
    """Cells of air that a liquid encloses, on the cells of one velocity. They keep their volume: see `project(solved_air=)`.

    Attributes:
        cells: bool array over the cells; those found last.
        count: their number.
    """

    def __init__(self, velocity: MacField) -> None:
        sides = velocity.boundary
        self._open = [isinstance(sides.get(name), (Open, ZeroGradient)) for name in side_names(velocity.grid.dimension)]
        self._scratch = CellField(velocity.grid, velocity.dtype)
        self._workspace = Workspace()
        self.cells: Bools = self.declare("cells", np.zeros(velocity.grid.local_shape, bool), samples_of=velocity.grid)
        self.count: int = self.declare("count", 0)

    def find(self, levelset: LevelSet, solid: SolidBoundary | None) -> Bools | None:
        """Find the pockets of a liquid around a solid, and return them; None if there are none.

        A pocket stays one while only a neck of fewer than two cells leads out of it.
        """
        outside = None if solid is None else solid.outside_cells
        args = levelset.field._core, outside, self._open, self._scratch._core, self.cells
        self.count = int(_fluids.find_air_pockets(*args, self._workspace))
        return self.cells if self.count else None

    def clear(self) -> None:
        """Forget the pockets."""
        self.cells[...] = False
        self.count = 0
