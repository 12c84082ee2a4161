"""Scene of water in a round bowl."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.fluids import ShallowWater
from meniscus.fluids.shallow.options import ShallowScheme
from meniscus.grid import Grid
from meniscus.scenes.bodies.shallow import ShallowScene
from meniscus.scenes.scene import parameter

_G = 9.81


@dataclass(kw_only=True)
class Bowl(ShallowScene):
    """Water swings in a round bowl, and its shore runs in and out: after each period it is back.

    Source: Thacker 1981.
    """

    name: ClassVar[str] = "bowl"
    summary: ClassVar[str] = "water that rises and falls in a round bowl"

    resolution: int = parameter(100, "cells across 3 m")
    scheme: ShallowScheme = parameter("flux", "scheme")
    start: float = parameter(0.8, "radius of the water at the start, m; at rest it is 1 m")
    periods: float = parameter(3.0, "to run")
    frames: int = parameter(36, "frames to write")

    @property
    def period(self) -> float:
        """Of the motion, s."""
        return float(2 * np.pi / np.sqrt(8 * _G * 0.1))

    def clock(self) -> Any:
        """Return a clock of the periods."""
        from meniscus.scenes.stepper import TimeStepper

        return TimeStepper(self.periods * self.period, self.frames)

    def setup(self) -> None:
        """Create the bowl."""
        n = _checks.integer("resolution", self.resolution, 8)
        if not 0 < self.start < 1:
            raise ValueError(f"start must be between 0 and 1, not {self.start:g}")
        grid = Grid((n, n), 3.0 / n, (-1.5, -1.5))
        x, y = grid.cell_centers()
        self.solver = self.declare("solver", ShallowWater(grid, 0.1 * (x**2 + y**2 - 1), self.scheme))
        self.solver.depth[...] = self.exact(0.0)

    def exact(self, time: float) -> Any:
        """Return the exact depth, m, at a time, s."""
        x, y = self.solver.grid.cell_centers()
        a = (1 - self.start**4) / (1 + self.start**4)
        w = 1 - a * np.cos(2 * np.pi * time / self.period)
        return np.maximum(0.1 * (np.sqrt(1 - a * a) / w - (x**2 + y**2) * (1 - a * a) / w**2), 0.0)

    def report(self, time: float) -> dict[str, float]:
        """As for all shallow water; error of the depth in parts of the water."""
        exact = self.exact(time)
        return {**super().report(time), "error": float(np.abs(self.solver.depth - exact).sum() / exact.sum())}

    def limits(self) -> tuple[float, float]:
        """Return the ends of the colour scale, m."""
        return 0.0, 0.16
