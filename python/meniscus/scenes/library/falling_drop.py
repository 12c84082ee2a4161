"""Scene of a drop that falls into a pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from meniscus import _checks
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.scenes.scene import parameter
from meniscus.scenes.water import Water, below, pool, water_grid
from meniscus.surface import Sphere


@dataclass(kw_only=True)
class FallingDrop(Water):
    """A ball of water above a pool in a box of 1 m by 1 m by 1.5 m.

    The printed radius, .5, would touch the walls and the pool; here it is a parameter.

    Source: Selle 2008, section 2.9, Figures 2.12 to 2.14; there on 200 x 300 x 200 cells.
    """

    name: ClassVar[str] = "falling-drop"
    summary: ClassVar[str] = "a drop falls into a pool"

    resolution: int = parameter(64, "cells across the box, 1 m")
    radius: float = parameter(0.15, "of the drop, m")
    drop_height: float = parameter(0.75, "of the middle of the drop, m")
    level: float = parameter(0.412134, "of the pool, m")
    speed: float = parameter(0.0, "of the drop downward at the start, m/s")
    cfl: float = parameter(1.75, "cells that the fastest liquid passes in a step")
    frames: int = parameter(36, "frames to write")
    end: float = parameter(1.5, "length of the run, s")

    def setup(self) -> None:
        """Create the drop and the pool."""
        n = _checks.integer("resolution", self.resolution, 8)
        drop = Sphere((0.5, 0.5, self.drop_height), _checks.positive("radius", self.radius))
        grid = water_grid((n, n, round(1.5 * n)), 1 / n, below(self.level), drop)
        self.use(LiquidSolver(grid, self.liquid_options(gravity=(0.0, 0.0, -9.8))))
        self.solver.fill(pool(self.level, self.solver.levelset.field))
        self.solver.fill(drop, (0.0, 0.0, -self.speed) if self.speed else None)
