"""Regions of emitters, sources and drains."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from meniscus import _checks
from meniscus.core import Workspace
from meniscus.core.memory import MemoryOwner
from meniscus.core.solver import SolverWarning
from meniscus.grid.fields import CellField
from meniscus.grid.transport.one_side import beyond_largest_parts
from meniscus.grid.transport.walls import ThinWalls
from meniscus.surface import Shape
from meniscus.surface.shapes.sampled import as_shape


def set_region(owner: Any) -> int | None:
    """Replace the region of a frozen dataclass by a shape; return its dimension, or None for a function, which has that of the grid.

    Raises TypeError or ValueError for what is no solid.
    """
    if callable(owner.region) and not isinstance(owner.region, Shape):
        return None
    shape = as_shape("region", owner.region)
    object.__setattr__(owner, "region", shape)
    return shape.dimension


def warn_if_nothing(nothing: bool) -> None:
    """Warn, if that is so, that a region that was to be filled adds nothing. Warns: SolverWarning."""
    if nothing:
        warnings.warn(
            "the region adds nothing: it holds no centre of a cell that was empty; is it in the domain, and in metres?",
            SolverWarning,
            stacklevel=5,
        )


class RegionCells(MemoryOwner):
    """The signed distance of a region on one grid; recomputed only while it moves.

    Args:
        owner: an emitter, a source or a drain, which says what it is (`kind`).
        phi: for the distances, m; on the grid.
        band: m, up to which they are exact.
    """

    def __init__(self, owner: Any, phi: CellField, band: float) -> None:
        self.region = as_shape(f"the region of {owner.kind}", owner.region, phi.grid.dimension)
        if getattr(owner, "velocity", None) is not None:
            _checks.vector(f"velocity of {owner.kind.split()[0]} {type(owner).__name__}", owner.velocity, phi.grid.dimension)
        self.owner = owner
        self.phi = phi
        self._side: CellField | None = None
        self._band = band
        self._known = False

    def at(self, time: float, workspace: Workspace, walls: ThinWalls | None = None) -> CellField:
        """Return the signed distance at a time, s; with walls, of the largest part into which they cut each of its pieces."""
        motion = self.owner.motion
        if motion is not None or not self._known:
            pose = None if motion is None else motion(time)
            self.region.sample(self.phi, pose=pose, band=self._band, workspace=workspace)
            self._known = True
        beyond = None if walls is None else beyond_largest_parts(self.phi.array <= 0, walls)
        if beyond is None:
            return self.phi
        if self._side is None:
            self._side = CellField(self.phi.grid, self.phi.dtype)
        self._side.array[...] = np.where(beyond, self.phi.grid.spacing, self.phi.array)
        return self._side
