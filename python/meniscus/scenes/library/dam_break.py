"""Scene of a dam break: a column of water that collapses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.io.frames import FrameData
from meniscus.scenes.scene import parameter
from meniscus.scenes.water import Water, water_grid
from meniscus.surface import Box

MARTIN_MOYCE = (
    (0.41, 1.11),
    (0.84, 1.22),
    (1.19, 1.44),
    (1.43, 1.67),
    (1.63, 1.89),
    (1.83, 2.11),
    (1.98, 2.33),
    (2.20, 2.56),
    (2.32, 2.78),
    (2.51, 3.00),
    (2.65, 3.22),
    (2.83, 3.44),
    (2.98, 3.67),
    (3.11, 3.89),
    (3.33, 4.11),
)
"""Measured front of a column of width a = 2.25 in and twice that height: time * sqrt(2 g / a), front / a (Martin and Moyce 1952).

The measurements do not tell when the water began to move. It is customary to take their times as 0.175 too late, for the removal of the
wall.
"""


@dataclass(kw_only=True)
class DamBreak(Water):
    """A column of water, twice as high as wide, released at the left wall of a tank.

    The front on the floor was measured by Martin and Moyce (1952); `MARTIN_MOYCE` has their table.

    Source: Martin and Moyce 1952; Lee 2018, section 2.4 (particle level set).
    """

    name: ClassVar[str] = "dam-break"
    summary: ClassVar[str] = "a column of water collapses, in two or three dimensions"

    dimension: int = parameter(3, "2 or 3")
    resolution: int = parameter(64, "cells across the tank")
    width: float = parameter(0.05715, "of the column, m")
    column_height: float = parameter(2.0, "of the column, widths")
    length: float = parameter(4.5, "of the tank, widths of the column")
    height: float = parameter(3.0, "of the tank, widths of the column")
    depth: float = parameter(1.125, "of the tank in 3-D, widths of the column")
    viscosity: float = parameter(0.0, "kinematic, m^2/s; water: 1e-6")
    frames: int = parameter(48, "frames to write")
    end: float = parameter(0.6, "length of the run, s")

    def setup(self) -> None:
        """Create the column."""
        if self.dimension not in (2, 3):
            raise ValueError(f"dimension must be 2 or 3, not {self.dimension}")
        n, a = _checks.integer("resolution", self.resolution, 8), _checks.positive("width", self.width)
        h = self.length * a / n
        sides = (self.length, self.height) if self.dimension == 2 else (self.length, self.depth, self.height)
        low, high = np.full(self.dimension, -4 * a), np.full(self.dimension, 2 * self.length * a)
        high[0], high[-1] = a, a * _checks.positive("column_height", self.column_height)
        column = Box(tuple(low), tuple(high))
        grid = water_grid(tuple(max(1, round(s * a / h)) for s in sides), h, column)
        self.use(LiquidSolver(grid, self.liquid_options(viscosity=self.viscosity)))
        self.solver.fill(column)

    def report(self, time: float) -> dict[str, float]:
        """As for all water; with the front on the floor and the height at the left wall, in widths of the column."""
        return {**super().report(time), "front": self.front(), "column": self.column()}

    def front(self) -> float:
        """Return the position of the front on the floor, in widths of the column: the mean over the depth of the tank."""
        lines = self._lines(axis=0, across=self.solver.grid.dimension - 1)
        return math.fsum(map(self._last, lines)) / len(lines) / self.width

    def column(self) -> float:
        """Return the height of the water at the left wall, in widths of the column."""
        lines = self._lines(axis=self.solver.grid.dimension - 1, across=0)
        return math.fsum(map(self._last, lines)) / len(lines) / self.width

    def _lines(self, axis: int, across: int) -> Any:
        """Return phi of all ranks on the lines along an axis that lie in the first layer of cells across another one, (lines, cells)."""
        grid = self.solver.grid
        whole = np.empty([1 if d == across else n for d, n in enumerate(grid.shape)])
        own = np.take(self.solver.levelset.array, [0], axis=across) if grid.first_cell[across] == 0 else None
        for first, part in grid.comm.gather((grid.first_cell, own)):
            if part is not None:
                whole[tuple(slice(f, f + n) for f, n in zip(first, part.shape, strict=True))] = part
        return np.moveaxis(whole, axis, -1).reshape(-1, grid.shape[axis])

    def _last(self, phi: Any) -> float:
        """Return the end of the liquid along a line of cells from a wall, m: of the part at the wall."""
        h = self.solver.grid.spacing
        air = np.flatnonzero(phi > 0)
        if not len(air):
            return h * len(phi)
        k = int(air[0])
        return 0.0 if k == 0 else h * (k - 0.5 + float(phi[k - 1] / (phi[k - 1] - phi[k])))

    def draw(self, frame: FrameData) -> Any:
        """Show the water, in 2-D with its speed."""
        if frame.grid is not None and frame.grid.dimension == 2:
            from meniscus import viz

            speed = np.linalg.norm(frame["velocity"], axis=-1)
            n, h = frame.grid.shape, frame.grid.spacing
            return viz.image(
                np.where(frame["liquid"] <= 0, speed, np.nan),
                extent=(0.0, n[0] * h, 0.0, n[1] * h),
                title=f"speed, m/s, t = {frame.time:.3f} s",
                colors="viridis",
                size=(9.0, 4.6),
            )
        return super().draw(frame)
