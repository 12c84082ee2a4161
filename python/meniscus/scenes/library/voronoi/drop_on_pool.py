"""Scene of a drop that falls on a pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meniscus.fluids import LiquidSampling, VoronoiLiquid, VoronoiLiquidOptions
from meniscus.scenes.bodies.voronoi_scene import VoronoiScene
from meniscus.scenes.scene import parameter

BOX = ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))


@dataclass(kw_only=True)
class DropOnPool(VoronoiScene):
    """A drop falls on a pool, which does not feel it before both touch.

    Source: Brochu 2012, section 7.4.1, Figure 7.6.
    """

    name: ClassVar[str] = "drop-on-pool"
    summary: ClassVar[str] = "a drop falls on a pool that does not feel it before, on Voronoi cells"

    level: float = parameter(0.4, "of the pool, m")
    radius: float = parameter(0.12, "of the drop, m")
    height: float = parameter(0.65, "of the centre of the drop, m")
    speed: float = parameter(1.0, "of the drop downwards, m/s")
    tension: float = parameter(0.0, "surface tension, N/m")
    end: float = parameter(0.4, "end, s")

    def make_liquid(self) -> VoronoiLiquid:
        """Return the pool at rest and the drop in motion."""
        surface = self.tracked(self.pool(BOX, self.level), self.ball((0.5, self.height, 0.5), self.radius))
        options = VoronoiLiquidOptions(sampling=LiquidSampling(samples=self.samples), volume_correction=self.correction)
        liquid = VoronoiLiquid(BOX, self.cell, surface, surface_tension=self.tension, options=options)
        middle = 0.5 * (self.level + self.height - self.radius)
        above = np.asarray(liquid.cells.sites)[:, 1] > middle
        liquid.set_velocity((0.0, -self.speed, 0.0), samples=above, project=False)
        return liquid
