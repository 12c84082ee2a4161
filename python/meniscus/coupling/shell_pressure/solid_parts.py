"""A thick solid among thin shells, in their joined pressure: parts of faces that it leaves open, and what it displaces."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import grid as _grid
from meniscus.fluids.pressure.projection import PressureSolver
from meniscus.grid.boundary import Open, ZeroGradient
from meniscus.grid.face_arrays import cells_with_faces, with_neighbours
from meniscus.grid.fields import CellField, MacField
from meniscus.grid.uniform import AXES, Grid
from meniscus.surface import SolidBoundary

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class SolidParts:
    """Parts of faces that a solid leaves open, as `project` sees them, and the flux that its motion drives into cells.

    Args:
        grid: of the fluid.
        dtype: of its velocity.

    Attributes:
        open: per axis, the part of each face that is outside of the solid.
        flux: out of each cell, m^3/s (m^2/s in 2-D), by the motion of the solid alone.
    """

    def __init__(self, grid: Grid, dtype: npt.DTypeLike) -> None:
        self._grid = grid
        self._solver = PressureSolver(grid)
        self._rest, self._divergence = MacField(grid, dtype), CellField(grid, dtype)
        self.open: tuple[Floats, ...] = ()
        self.flux: Floats | None = None
        self._solid: SolidBoundary | None = None

    def place(self, solid: SolidBoundary | None) -> None:
        """Take a solid as it is now, or none."""
        self._solid, self.flux = solid, None
        if solid is None:
            return
        axes = range(self._grid.dimension)
        self.open = tuple(_grid.open_fractions(solid.levelset._core, k) for k in axes)
        if solid.velocity is not None:
            self._solver._core.divergence(self._rest._core, solid._core, self._divergence._core)
            self.flux = np.asarray(self._divergence.array, np.float64) * self._grid.spacing**self._grid.dimension

    def cut(self, areas: tuple[Floats, ...], masses: tuple[Floats, ...], active: Bools) -> tuple[Any, Any, Bools]:
        """Return what the solid leaves of areas and masses of faces, and the cells that still have a face."""
        if self._solid is None:
            return areas, masses, active
        left = tuple(a * part for a, part in zip(areas, self.open, strict=True))
        heavy = tuple(m * np.where(np.isfinite(m), part, 1.0) for m, part in zip(masses, self.open, strict=True))
        return left, heavy, active & cells_with_faces(self._grid, tuple(a > 0 for a in left))

    def close_outlets(self, phi: Floats, blocked: tuple[Bools, ...], inside: Bools) -> Bools:
        """Return the cells that count as water, and close faces between these and air that lies in the solid, as `project` does.

        A cell with its centre in the solid is water if its neighbours outside, through faces that are open, are so on the whole.

        Args:
            phi: level set of the water, m.
            blocked: per axis, faces that shells block.
            inside: cells with their centre in the solid.
        """
        grid, wet = self._grid, phi <= 0
        total = np.zeros(grid.shape)
        outside = np.where(inside, 0.0, phi)
        for k, part in enumerate(self.open):
            n = grid.shape[k]
            leads = (part > 0) & ~blocked[k]
            beside = with_neighbours(grid, outside, k)
            total += leads.take(range(n), axis=k) * beside.take(range(n), axis=k)
            total += leads.take(range(1, n + 1), axis=k) * beside.take(range(2, n + 2), axis=k)
        wet |= inside & (total < 0)
        opened = []
        for k, part in enumerate(self.open):
            n = grid.shape[k]
            water, solid = (with_neighbours(grid, v.astype(np.float64), k) > 0 for v in (wet, inside))
            low, high = (slice(None),) * k + (slice(0, n + 1),), (slice(None),) * k + (slice(1, n + 2),)
            shut = (water[low] & solid[low] & ~water[high]) | (water[high] & solid[high] & ~water[low])
            shut &= ~blocked[k]
            for end, side in ((0, AXES[k] + "-"), (-1, AXES[k] + "+")):
                if side in grid.sides:
                    shut[(slice(None),) * k + (end,)] = False
            opened.append(np.where(shut, 0.0, part))
        self.open = tuple(opened)
        return wet

    def hold_closed(self, velocity: MacField) -> None:
        """Give faces within the solid its velocity, in place, but for those of the domain whose velocity is given."""
        if self._solid is None:
            return
        boundary = velocity.boundary
        for k, part in enumerate(self.open):
            closed = part == 0
            for end, side in ((0, AXES[k] + "-"), (-1, AXES[k] + "+")):
                if side in self._grid.sides and not isinstance(boundary[side], (Open, ZeroGradient)):
                    closed[(slice(None),) * k + (end,)] = False
            u = velocity.component(k)
            u[closed] = 0.0 if self._solid.velocity is None else self._solid.velocity.component(k)[closed]
