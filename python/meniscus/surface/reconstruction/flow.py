"""Velocity of water on a box of fine cells. Lengths are in fine cells."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meniscus.core import Workspace
from meniscus.grid import MacField, ZeroGradient
from meniscus.surface.levelset import LevelSet
from meniscus.surface.reconstruction.lattice import Box, interpolated, linear_at, on_faces
from meniscus.surface.reconstruction.measurement import Seen
from meniscus.surface.redistancing.redistance import extend_velocity

Floats = npt.NDArray[np.float64]
_ENOUGH = 0.05  # share of a cell whose velocity counts as known


@dataclass(frozen=True, eq=False)
class GridVelocity:
    """Velocity of a coarse grid, component by component, fine cells / s: on faces, or on cells.

    Attributes:
        components: three arrays.
        on_cells: whether they are on cells.
    """

    components: tuple[Floats, Floats, Floats]
    on_cells: bool

    @classmethod
    def of(cls, velocity: MacField | npt.NDArray[np.floating], scale: float) -> GridVelocity:
        """Return the velocity times a number."""
        if isinstance(velocity, MacField):
            a, b, c = (velocity.component(d).astype(np.float64) * scale for d in range(3))
        else:
            a, b, c = (velocity[..., d].astype(np.float64) * scale for d in range(3))
        return cls((a, b, c), not isinstance(velocity, MacField))

    def at_faces(self, axis: int, refine: int, box: Box) -> Floats:
        """Return a component at the fine faces of a box."""
        return interpolated(self.components[axis], refine, box, faces=(None if self.on_cells else axis, axis), cubic=False)

    def at_points(self, points: Floats, refine: int) -> Floats:
        """Return the velocity at points (n, 3), linear between the samples."""
        result = np.empty_like(points)
        for d, values in enumerate(self.components):
            offset = np.array([0.0 if a == d and not self.on_cells else 0.5 for a in range(3)])
            result[:, d] = linear_at(values, points / refine - offset)
        return result


def fine_velocity(box: Box, refine: int, seen: Seen, grid: GridVelocity | None, phi: LevelSet, reach: float, space: Workspace) -> MacField:
    """Return the velocity on the faces of a box: that of the water there, continued out of it as far as `reach` cells.

    Where water of the grid and in tetrahedra meet, both count by their share of the cells.
    """
    result = MacField(box.grid(), boundary=ZeroGradient())
    known = []
    for d in range(3):
        weight = on_faces(seen.weight, d)
        momentum = on_faces(seen.momentum[d], d)
        if grid is not None:
            shares = on_faces(seen.shares, d)
            momentum += shares * grid.at_faces(d, refine, box)
            weight += shares
        known.append(weight > _ENOUGH)
        np.divide(momentum, weight, out=result.component(d), where=known[-1])
    extend_velocity(result, phi, known, band=math.ceil(reach) + 1.0, side="both", workspace=space)
    return result
