"""Masks of the cells and faces in a solid, and the values that transport finds there."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus.core import Workspace
from meniscus.grid.fields import CellField, MacField, NodeField
from meniscus.grid.transport.extrapolation import extrapolate

Slip = Literal["free", "no-slip"]
Bools = npt.NDArray[np.bool_]

_LAYERS = 4  # as far into a solid as stencils and short traces reach


class SolidMasks:
    """The masks of one level set.

    Attributes:
        outside_cells: cells whose centre is not in the solid, by the mean of its corners.
        open_faces: per axis, faces that are not in the solid entirely.
        inside_faces: per axis, faces whose centre is in the solid.
    """

    def __init__(self, levelset: NodeField) -> None:
        phi = levelset.array
        axes = range(phi.ndim)
        self.outside_cells: Bools = _mean(phi, axes) > 0
        outside = phi > 0
        others = [[k for k in axes if k != d] for d in axes]
        self.open_faces: list[Bools] = [_any(outside, o) for o in others]
        self.inside_faces: list[Bools] = [_mean(phi, o) <= 0 for o in others]

    def prepare_velocity(self, velocity: MacField, solid: MacField | None, slip: Slip, workspace: Workspace) -> None:
        """Continue the flow into the solid ('free'), or give faces whose centre is in it the solid's velocity (None: at rest)."""
        if slip == "free":
            extrapolate(velocity, self.open_faces, layers=_LAYERS, workspace=workspace)
            return
        for d, inside in enumerate(self.inside_faces):
            np.copyto(velocity.component(d), 0.0 if solid is None else solid.component(d), where=inside, casting="same_kind")

    def prepare_scalar(self, field: CellField, workspace: Workspace) -> None:
        """Continue a scalar into the solid."""
        extrapolate(field, self.outside_cells, layers=_LAYERS, workspace=workspace)


def _halves(array: Any, axis: int) -> tuple[Any, Any]:
    """Return the lower and the upper neighbour of every gap along an axis."""
    lower: list[slice] = [slice(None)] * array.ndim
    upper = lower.copy()
    lower[axis], upper[axis] = slice(None, -1), slice(1, None)
    return array[tuple(lower)], array[tuple(upper)]


def _mean(array: Any, axes: Any) -> Any:
    for axis in axes:
        lower, upper = _halves(array, axis)
        array = 0.5 * (lower + upper)
    return array


def _any(array: Any, axes: Any) -> Any:
    for axis in axes:
        lower, upper = _halves(array, axis)
        array = lower | upper
    return array
