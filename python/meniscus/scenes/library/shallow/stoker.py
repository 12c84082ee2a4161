"""Scene of a dam break over shallower water."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.fluids import ShallowWater
from meniscus.fluids.shallow.options import ShallowScheme
from meniscus.grid import Grid
from meniscus.io.frames import FrameData
from meniscus.scenes.bodies.shallow import ShallowScene, array_of
from meniscus.scenes.scene import parameter

Floats = npt.NDArray[np.float64]
_G = 9.81


@dataclass(kw_only=True)
class Stoker(ShallowScene):
    """A dam breaks over shallower water, beside the exact solution: `--scheme printed` is too slow, however many cells there are.

    Source: Stoker 1957; "Real time physics class notes", appendix A, which warns of this.
    """

    name: ClassVar[str] = "stoker"
    summary: ClassVar[str] = "a dam break in three schemes, and its exact solution"

    cells: int = parameter(800, "cells along the 20 m of the channel")
    scheme: ShallowScheme = parameter("flux", "scheme")
    high: float = parameter(2.0, "depth behind the dam, m")
    low: float = parameter(1.0, "depth before it, m")
    end: float = parameter(1.0, "length of the run, s")
    frames: int = parameter(10, "frames to write")

    def setup(self) -> None:
        """Create the channel."""
        n = _checks.integer("cells", self.cells, 8)
        grid = Grid((n, 1), 20.0 / n, (-10.0, 0.0), periodic=(False, True))
        self.solver = self.declare("solver", ShallowWater(grid, 0.0, self.scheme))
        if not self.high > self.low > 0:
            raise ValueError(f"high must be above low, and low above 0, not {self.high:g} and {self.low:g}")
        self.solver.depth[...] = np.where(grid.cell_centers()[0] < 0, self.high, self.low)

    def draw(self, frame: FrameData) -> Any:
        """Show the surface and the exact one."""
        from meniscus import viz

        x = self.solver.grid.cell_centers()[0][:, 0]
        curves = {"exact": self.exact(x, frame.time), self.scheme: array_of(frame["depth"])[:, 0]}
        return viz.lines(x, curves, xlabel="m", ylabel="depth, m", title=f"{self.high:g} : {self.low:g}, t = {frame.time:.2f} s")

    def report(self, time: float) -> dict[str, float]:
        """As for all shallow water; mean error of the depth, m."""
        x = self.solver.grid.cell_centers()[0][:, 0]
        return {**super().report(time), "error": float(np.abs(self.solver.depth[:, 0] - self.exact(x, time)).mean())}

    def exact(self, x: Floats, time: float) -> Floats:
        """Return the exact depth, m, at places (m) and a time (s)."""
        if time <= 0:
            step: Floats = np.where(x < 0, self.high, self.low)
            return step
        below, above = self.low, self.high
        for _ in range(100):
            h = 0.5 * (below + above)
            u = 2 * np.sqrt(_G) * (np.sqrt(self.high) - np.sqrt(h))
            jump = (h - self.low) * np.sqrt(0.5 * _G * (h + self.low) / (h * self.low))
            below, above = (h, above) if u > jump else (below, h)
        shock = h * u / (h - self.low)
        fan = (2 * np.sqrt(_G * self.high) - x / time) ** 2 / (9 * _G)
        depth = np.where(x < (u - np.sqrt(_G * h)) * time, fan, h)
        depth = np.where(x < -np.sqrt(_G * self.high) * time, self.high, depth)
        result: Floats = np.where(x > shock * time, self.low, depth)
        return result
