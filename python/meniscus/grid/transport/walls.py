"""Thin walls: obstacles between the samples of a grid."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.grid.fields import MacField, ScalarField
from meniscus.grid.uniform import Grid

Bools = npt.NDArray[np.bool_]


class ThinWalls(ABC):
    """Walls thinner than a cell, as transport, forces and projection on a grid see them: nothing is interpolated across.

    Attributes:
        grid: of all fields that see them.
        replacements: by the name of a quantity, what samples behind a wall count as, as in `Visibility`; None where it is not named.
    """

    grid: Grid
    replacements: Mapping[str, float | None] = {}
    _core: Any

    @property
    @abstractmethod
    def blocked_faces(self) -> tuple[Bools, ...]:
        """Per axis, the faces with a wall between the centres of the two cells beside them."""

    @abstractmethod
    def extend_faces(self, velocity: MacField, levelset: ScalarField, sources: Sequence[Bools], known: Sequence[Bools], band: int) -> None:
        """Find the values of a velocity that was extended off a surface anew where that may have looked through a wall, in place.

        Args:
            velocity: m/s.
            levelset: m, on cells.
            sources: per axis, the faces from which the velocity was extended.
            known: per axis, the faces that have a value; blocked ones have none afterwards.
            band: cells over which it was extended.
        """

    @abstractmethod
    def extend_cells_into(self, outside: Bools, field: ScalarField, replacement: float) -> None:
        """Find the samples of a field that was continued into a solid anew where that may have looked through a wall, in place.

        Args:
            outside: cells whose centre is not in the solid.
            field: on cells.
            replacement: what counts where nothing is visible.
        """

    @abstractmethod
    def extend_faces_into(self, outside: Sequence[Bools], velocity: MacField) -> None:
        """Likewise for a velocity; `outside`: per axis, the faces where the fluid flows."""

    @abstractmethod
    def continue_faces(self, before: Sequence[Bools], after: Sequence[Bools], velocity: MacField) -> None:
        """Find faces anew that a velocity was continued to where that may have looked through a wall, in place.

        Args:
            before: per axis, the faces from which it was.
            after: per axis, the faces that have a value since; the others become zero.
            velocity: m/s.
        """

    @abstractmethod
    def hold_faces(self, velocity: MacField) -> None:
        """Give blocked faces of a velocity the normal velocity of the wall there, in place."""
