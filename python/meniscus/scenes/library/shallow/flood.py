"""Scene of a flood in a valley."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meniscus import _checks
from meniscus.fluids import InflowSide, OutflowSide, ShallowWater
from meniscus.fluids.shallow.sides import ShallowSide
from meniscus.grid import Grid
from meniscus.scenes.bodies.shallow import ShallowScene
from meniscus.scenes.scene import parameter


@dataclass(kw_only=True)
class Flood(ShallowScene):
    """Water enters a dry valley with hills at its upper end, finds its way around them, and leaves below.

    Source: "Real time physics class notes", figure 11.4.
    """

    name: ClassVar[str] = "flood"
    summary: ClassVar[str] = "water fills a valley with hills"

    resolution: int = parameter(96, "cells across the valley, 100 m; twice as many along it")
    discharge: float = parameter(2.0, "of the water that comes in, m^2/s")
    manning: float = parameter(0.03, "friction of the ground, s/m^(1/3)")
    seed: int = parameter(4, "of the hills")
    end: float = parameter(180.0, "length of the run, s")
    frames: int = parameter(36, "frames to write")

    def setup(self) -> None:
        """Create the valley."""
        n = _checks.integer("resolution", self.resolution, 8)
        grid = Grid((2 * n, n), 100.0 / n)
        x, y = grid.cell_centers()
        rng = np.random.default_rng(self.seed)
        ground = -0.01 * x + 4.0 * ((y - 50.0) / 50.0) ** 4
        for _ in range(14):
            a, b, width = rng.uniform(25, 190), rng.uniform(10, 90), rng.uniform(5, 12)
            ground = ground + rng.uniform(1.0, 4.0) * np.exp(-((x - a) ** 2 + (y - b) ** 2) / width**2)
        middle = (np.abs(grid.cell_centers()[1][0] - 50.0) < 25.0) * _checks.positive("discharge", self.discharge)
        sides: Mapping[str, ShallowSide] = {"x-": InflowSide(discharge=middle), "x+": OutflowSide()}
        self.solver = self.declare("solver", ShallowWater(grid, ground, sides=sides))
        self.solver.manning = self.manning

    def limits(self) -> tuple[float, float]:
        """Return the ends of the colour scale, m."""
        return 0.0, 2.0
