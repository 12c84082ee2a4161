"""Masks of the cells and faces in a solid, and fields continued into it."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus._meniscus import grid as _grid
from meniscus.core import Workspace
from meniscus.grid.fields import CellField, MacField, NodeField, component_shapes
from meniscus.grid.transport.extrapolation import extrapolate

Slip = Literal["free", "no-slip"]
Bools = npt.NDArray[np.bool_]

_LAYERS = 4  # as far into a solid as stencils and short traces reach


class SolidMasks:
    """The masks of one level set on nodes.

    Attributes:
        outside_cells: cells whose centre is not in the solid, by the mean of its corners.
        open_faces: per axis, faces that are not in the solid entirely.
        inside_faces: per axis, faces whose centre is in the solid.
    """

    def __init__(self, levelset: NodeField) -> None:
        grid = levelset.grid
        shapes = component_shapes(grid)
        self.outside_cells: Bools = np.zeros(grid.local_shape, bool)
        self.open_faces: list[Bools] = [np.zeros(s, bool) for s in shapes]
        self.inside_faces: list[Bools] = [np.zeros(s, bool) for s in shapes]
        self._known_cells: Bools = np.zeros(grid.local_shape, bool)
        self._known_faces: list[Bools] = [np.zeros(s, bool) for s in shapes]
        self.update(levelset)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return 2 * self.outside_cells.nbytes + 3 * sum(m.nbytes for m in self.open_faces)

    def update(self, levelset: NodeField) -> None:
        """Take another level set on the same nodes."""
        core: Any = _fluids  # overloaded over the dimension
        core.mark_solid(levelset._core, self.outside_cells, self.open_faces, self.inside_faces)

    def prepare_velocity(self, velocity: MacField, solid: MacField | None, slip: Slip, workspace: Workspace) -> None:
        """Continue the flow into the solid ('free'), or give faces whose centre is in it the solid's velocity (None: at rest)."""
        if slip == "free":
            extrapolate(velocity, self.open_faces, layers=_LAYERS, out=self._known_faces, workspace=workspace)
        else:
            self.set_velocity_inside(velocity, solid)

    def set_velocity_inside(self, velocity: MacField, solid: MacField | None) -> None:
        """Give faces whose centre is in the solid its velocity (None: at rest)."""
        if solid is not None and solid.dtype != velocity.dtype:
            raise TypeError(f"the velocity of the solid must be of dtype {velocity.dtype}, not {solid.dtype}")
        core: Any = _grid  # overloaded over dimension and scalar
        for d, inside in enumerate(self.inside_faces):
            core.assign_component(velocity._core, d, 0.0 if solid is None else solid._core, inside, True)

    def prepare_scalar(self, field: CellField, workspace: Workspace) -> None:
        """Continue a scalar into the solid."""
        extrapolate(field, self.outside_cells, layers=_LAYERS, out=self._known_cells, workspace=workspace)
