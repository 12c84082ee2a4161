"""Visibility of samples in transport: masks, and thin walls that hide samples from each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import grid as _grid
from meniscus._options import CoreOption
from meniscus._types import AnyThinWalls
from meniscus.grid.fields import MacField, ScalarField, component_shapes
from meniscus.grid.transport.walls import ThinWalls

HiddenValue = Literal["mean", "own"]
HIDDEN_VALUE = CoreOption(HiddenValue, _grid.HiddenValue)

Masks = npt.ArrayLike | Sequence[npt.ArrayLike] | None


@dataclass(frozen=True, eq=False)
class Visibility:
    """Samples that a transport moves, reads, and treats by first order, and what stands for those that it may not read.

    Masks are bool arrays of the shape of a scalar field; for a velocity, sequences of one mask per component.

    Attributes:
        active: samples to advect; the others keep their value. None: all.
        visible: samples that may be used as sources; hidden ones are replaced by `hidden_value`. None: all.
        first_order: samples where the correction of second-order schemes is left out. None: none.
        hidden_value: 'mean' of the visible corners of the interpolation cell, or the sample's 'own' value.
        walls: thin walls, where they are at the start of the step.
        replacement: what a scalar is behind a wall; None: the mean of the corners that are visible, or the sample's own value if none is.
            For a velocity that is the wall's own.
    """

    active: Masks = None
    visible: Masks = None
    first_order: Masks = None
    hidden_value: HiddenValue = "mean"
    walls: ThinWalls | None = None
    replacement: float | None = None

    def masks_of(self, field: ScalarField | MacField) -> list[_grid.ScalarMasks]:
        """Return the masks for a field, as the core takes them: one set, or one per component.

        Raises TypeError, ValueError: wrong types or shapes."""
        given = {"active": self.active, "visible": self.visible, "first_order": self.first_order}
        if isinstance(field, MacField):
            by_name = {name: component_masks(name, m, field) for name, m in given.items()}
            return [_grid.ScalarMasks(**{n: m[d] for n, m in by_name.items() if m is not None}) for d in range(field.grid.dimension)]
        return [_grid.ScalarMasks(**{n: _checks.mask(n, m, field.shape) for n, m in given.items() if m is not None})]

    def core_walls(self) -> AnyThinWalls | None:
        """Return the walls as the core takes them. Raises TypeError for something else."""
        return None if self.walls is None else _checks.one_of_type("walls", self.walls, ThinWalls)._core


def component_masks(name: str, masks: Masks, field: MacField) -> list[_checks.Bools] | None:
    """Check one mask per component."""
    if masks is None:
        return None
    shapes = component_shapes(field.grid)
    if not isinstance(masks, (list, tuple)) or len(masks) != len(shapes):
        raise TypeError(f"{name} must be a sequence of {len(shapes)} masks, one per velocity component")
    return [_checks.mask(f"{name}[{d}]", m, s) for d, (m, s) in enumerate(zip(masks, shapes, strict=True))]
