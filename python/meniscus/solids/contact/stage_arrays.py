"""Arrays that the stages of a step hand on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.core.memory import MemoryOwner
from meniscus.solids.contact.contact_surface import ContactSurface

Floats = npt.NDArray[np.float64]

_NAMES = ("x0", "x1", "v0", "v", "predicted", "v1", "v_star", "middle", "loose", "alone", "sprung")


class StageArrays(MemoryOwner):
    """Positions (m) and velocities (m/s) of all nodes (n, 3): those of bodies first, then the vertices of mesh obstacles.

    Attributes:
        x0, v0: at the start of the step.
        v: that positions go with, then those in the middle of the step.
        predicted: the former as `predict` has left them.
        x1: positions at the end.
        v_star: velocities at the start after contact with solids.
        middle: positions in the middle, where forces are evaluated.
        loose: velocities in the middle without the forces of contact.
        v1: velocities at the end.
        alone: velocities of bodies with steps of their own before contact with surfaces.
        sprung: what elastic repulsion has changed in `v`.
    """

    x0: Floats
    x1: Floats
    v0: Floats
    v: Floats
    predicted: Floats
    v1: Floats
    v_star: Floats
    middle: Floats
    loose: Floats
    alone: Floats
    sprung: Floats

    def __init__(self) -> None:
        self._size = self._body_nodes = 0
        for name in _NAMES:
            setattr(self, name, np.zeros((0, 3)))

    def of(self, surface: ContactSurface) -> StageArrays:
        """Return the arrays, of the size of a surface."""
        self._body_nodes = surface.body_nodes
        if self._size != surface.size:
            self._size = surface.size
            for name in _NAMES:
                setattr(self, name, np.zeros((surface.size, 3)))
        return self

    def own(self, array: Floats) -> Floats:
        """Return the rows of bodies."""
        return array[: self._body_nodes]
