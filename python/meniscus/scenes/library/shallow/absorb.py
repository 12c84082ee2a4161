"""Scene of waves that leave through an open side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meniscus import _checks
from meniscus.fluids import OpenSide, ShallowWater
from meniscus.fluids.shallow.options import ShallowScheme
from meniscus.grid import Grid
from meniscus.scenes.bodies.shallow import ShallowScene
from meniscus.scenes.scene import parameter


@dataclass(kw_only=True)
class Absorb(ShallowScene):
    """A heap of water in a basin whose right side is open: waves leave there and come back from the other sides.

    With `--open-side false` all sides are walls. With `--sponge` two metres before the open side take oblique waves too.

    Source: "Real time physics class notes", figure 11.3.
    """

    name: ClassVar[str] = "absorb"
    summary: ClassVar[str] = "waves that leave through an open side, or come back from a wall"
    as_surface: ClassVar[bool] = True
    colors: ClassVar[str] = "seismic"

    resolution: int = parameter(120, "cells per axis")
    scheme: ShallowScheme = parameter("flux", "scheme")
    open_side: bool = parameter(True, "whether waves leave to the right")
    sponge: bool = parameter(False, "whether a sponge lies before that side")
    end: float = parameter(4.0, "length of the run, s")
    frames: int = parameter(24, "frames to write")

    def setup(self) -> None:
        """Create the basin, 10 m wide and 1 m deep."""
        n = _checks.integer("resolution", self.resolution, 8)
        grid = Grid((n, n), 10.0 / n)
        x, y = grid.cell_centers()
        sides = {"x+": OpenSide(level=0.0)} if self.open_side else None
        self.solver = self.declare("solver", ShallowWater(grid, -1.0, self.scheme, sides=sides))
        self.solver.fill(0.0)
        if self.sponge:
            self.solver.add_sponge("x+", 2.0, 0.0)
        self.solver.depth[...] += 0.02 * np.exp(-((x - 7.0) ** 2 + (y - 5.0) ** 2) / 0.3)

    def limits(self) -> tuple[float, float]:
        """Return the ends of the colour scale, m."""
        return -0.004, 0.004
