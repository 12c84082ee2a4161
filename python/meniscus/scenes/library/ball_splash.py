"""Scene of a ball that is thrown into a pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meniscus import _checks
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.grid import NodeField
from meniscus.scenes.scene import parameter
from meniscus.scenes.water import Water, below, pool, water_grid
from meniscus.surface import KinematicSolid, Sphere

START, END, DURATION = np.array((1.25, 0.5, 0.55)), np.array((0.8, 0.5, 0.1)), 0.075


@dataclass(kw_only=True)
class BallSplash(Water):
    """A solid ball that flies into a pool at 8.5 m/s and stops at the floor, in a box of 1.5 m by 1 m by 1 m.

    It moves from (1.25, .5, .55) to (.8, .5, .1) in .075 s; where it ends it reaches into the floor.

    Source: Selle 2008, section 2.9, Figures 2.15 to 2.17; there on 450 x 300 x 300 cells.
    """

    name: ClassVar[str] = "ball-splash"
    summary: ClassVar[str] = "a ball thrown into a pool"
    shows: ClassVar[Mapping[str, str]] = {**Water.shows, "solid": "solid"}

    resolution: int = parameter(48, "cells per metre")
    radius: float = parameter(0.2, "of the ball, m")
    level: float = parameter(0.35, "of the pool, m")
    cfl: float = parameter(1.75, "cells that the fastest liquid passes in a step")
    frames: int = parameter(40, "frames to write")
    end: float = parameter(5 / 3, "length of the run, s")

    def setup(self) -> None:
        """Create the pool and the ball."""
        n = _checks.integer("resolution", self.resolution, 8)
        grid = water_grid((round(1.5 * n), n, n), 1 / n, below(self.level))
        ball = Sphere((0.0, 0.0, 0.0), _checks.positive("radius", self.radius))
        self.ball = KinematicSolid(ball, self.center)
        self.use(LiquidSolver(grid, self.liquid_options(gravity=(0.0, 0.0, -9.8)), solid=self.ball))
        self.solver.fill(pool(self.level, self.solver.levelset.field))

    def center(self, time: float) -> tuple[float, ...]:
        """Return the centre of the ball, m."""
        part = min(max(time / DURATION, 0.0), 1.0)
        return tuple((START + part * (END - START)).tolist())

    @property
    def solid(self) -> NodeField:
        """The signed distance of the ball on nodes, m."""
        return self.ball.sample(self.solver.grid, self.solver.time).levelset
