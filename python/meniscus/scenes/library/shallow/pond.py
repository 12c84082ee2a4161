"""Scene of waves on a pond."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meniscus import _checks
from meniscus.fluids import ShallowWater
from meniscus.fluids.shallow.options import ShallowScheme
from meniscus.grid import Grid
from meniscus.scenes.bodies.shallow import ShallowScene
from meniscus.scenes.scene import parameter


@dataclass(kw_only=True)
class Pond(ShallowScene):
    """A heap of water falls into a pond with an island and a beach; rings run out, are refracted, and wash up the shore."""

    name: ClassVar[str] = "pond"
    summary: ClassVar[str] = "rings of waves on a pond with an island"
    as_surface: ClassVar[bool] = True
    colors: ClassVar[str] = "ocean"

    resolution: int = parameter(160, "cells per axis")
    scheme: ShallowScheme = parameter("flux", "scheme")
    height: float = parameter(0.25, "of the heap, m")
    end: float = parameter(6.0, "length of the run, s")
    frames: int = parameter(36, "frames to write")

    def setup(self) -> None:
        """Create the pond, 10 m wide."""
        n = _checks.integer("resolution", self.resolution, 8)
        grid = Grid((n, n), 10.0 / n)
        x, y = grid.cell_centers()
        island = 1.3 * np.exp(-((x - 6.5) ** 2 + (y - 4.0) ** 2) / 0.8)
        beach = 0.25 * np.maximum(y - 6.0, 0.0)
        self.solver = self.declare("solver", ShallowWater(grid, -1.0 + island + beach + 0 * x, self.scheme))
        self.solver.fill(0.0)
        self.solver.depth[...] += self.height * np.exp(-((x - 3.0) ** 2 + (y - 3.5) ** 2) / 0.15)

    def limits(self) -> tuple[float, float]:
        """Return the ends of the colour scale, m."""
        return -0.25 * self.height, 0.25 * self.height
