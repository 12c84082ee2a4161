"""Scene of a turbulent river with rocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.liquid.sources import LiquidSource
from meniscus.fluids.vorticity.vortex_particles import VortexParticles
from meniscus.grid import Prescribed
from meniscus.scenes.scene import parameter
from meniscus.scenes.water import Water, below, pool, water_grid
from meniscus.surface import Box, KinematicSolid, Shape, Sphere

LENGTH, WIDTH, HEIGHT = 2.5, 1.0, 0.75


@dataclass(kw_only=True)
class River(Water):
    """A stream past rocks in a channel of 2.5 m by 1 m, roughened by vortex particles that enter with it.

    The particles are seeded at the inflow with vorticity that points up or down, and vanish where they meet a rock or leave the water.

    Source: Selle 2008, section 3.5, Figures 3.3 and 3.5; there on octrees of 320 x 128 x 320 and 272 x 112 x 272 effective cells.
    """

    name: ClassVar[str] = "river"
    summary: ClassVar[str] = "a river past rocks, with vortex particles"
    shows: ClassVar[Mapping[str, str]] = {**Water.shows, "solid": "_sample.levelset"}

    resolution: int = parameter(40, "cells across the channel, 1 m")
    level: float = parameter(0.3, "of the water, m")
    speed: float = parameter(1.2, "of the inflow, m/s")
    rocks: int = parameter(5, "rocks in the stream")
    vortex_particles: bool = parameter(True, "seed vortex particles at the inflow")
    vortex_rate: float = parameter(200.0, "vortex particles per second")
    vortex_radius: float = parameter(4.0, "reach of a vortex particle, cells")
    vortex_force: float = parameter(6.0, "acceleration of the water beside a vortex particle, m/s^2")
    seed: int = parameter(1, "of the random numbers of rocks and vortex particles")
    frames: int = parameter(48, "frames to write")
    end: float = parameter(4.0, "length of the run, s")

    def setup(self) -> None:
        """Create the channel, the rocks and the stream."""
        n = _checks.integer("resolution", self.resolution, 8)
        h = 1 / n
        grid = water_grid((round(LENGTH * n), n, round(HEIGHT * n)), h, below(self.level))
        self._sample = KinematicSolid(self.bed()).sample(grid)
        along = Prescribed((_checks.positive("speed", self.speed), 0.0, 0.0))
        inlet = Box((-1.0, -1.0, -1.0), (2 * h, WIDTH + 1.0, self.level))
        vortices = VortexParticles(np.empty((0, 3)), (0.0, 0.0, 0.0), 1.0) if self.vortex_particles else None
        self.reach = self.vortex_radius * h
        peak = 1.0 / (self.reach**3 * (2 * np.pi) ** 1.5)
        options = self.liquid_options(vortex_strength=self.vortex_force / peak, gravity=(0.0, 0.0, -9.8))
        self.use(
            LiquidSolver(
                grid,
                options,
                boundary={"x-": along, "x+": along},
                solid=self._sample,
                sources=[LiquidSource(region=inlet, velocity=(self.speed, 0.0, 0.0))],
                vortices=vortices,
            )
        )
        self.solver.velocity.u = self.speed
        self.solver.fill(pool(self.level, self.solver.levelset.field))

    def bed(self) -> Shape:
        """Return the rocks, half sunk into the bed."""
        rng = np.random.default_rng(self.seed)
        count = _checks.integer("rocks", self.rocks, 1)
        x = 0.5 + (LENGTH - 1.0) * (np.arange(count) + 0.5) / count
        y = 0.5 * WIDTH + 0.32 * WIDTH * np.sin(2.4 * np.arange(count) + rng.uniform(0, 0.6, count))
        radius = rng.uniform(0.12, 0.2, count)
        bed: Shape = Sphere((x[0], y[0], 0.2 * radius[0]), radius[0])
        for k in range(1, count):
            bed = bed | Sphere((x[k], y[k], 0.2 * radius[k]), radius[k])
        return bed

    def vortex_source(self, time: float, dt: float) -> dict[str, Any]:
        """Return the source of vortex particles at the inflow, with vorticities up or down at random."""
        h = self.solver.grid.spacing
        inlet = Box((h, 0.1 * WIDTH, 0.2 * self.level), (4 * h, 0.9 * WIDTH, 0.8 * self.level))
        return {"region": inlet, "rate": self.vortex_rate, "strength": 1.0, "radius": self.reach, "direction": "axis", "seed": self.seed}
