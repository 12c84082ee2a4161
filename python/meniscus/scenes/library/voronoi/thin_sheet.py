"""Scene of a thin sheet of liquid that falls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from meniscus.fluids import LiquidSampling, VoronoiLiquid, VoronoiLiquidOptions
from meniscus.scenes.bodies.voronoi_scene import VoronoiScene
from meniscus.scenes.scene import parameter
from meniscus.surface import Box

BOX = ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))


@dataclass(kw_only=True)
class ThinSheet(VoronoiScene):
    """A sheet that is thinner than a cell falls on a pool, and stays a sheet until then.

    Source: Brochu 2012, section 7.7.
    """

    name: ClassVar[str] = "thin-sheet"
    summary: ClassVar[str] = "a sheet of liquid thinner than a cell falls on a pool, on Voronoi cells"

    thickness: float = parameter(0.5, "of the sheet, cells")
    level: float = parameter(0.2, "of the pool, m")
    height: float = parameter(0.5, "of the sheet, m")
    end: float = parameter(0.4, "end, s")

    def make_liquid(self) -> VoronoiLiquid:
        """Return the sheet and the pool at rest."""
        half = 0.5 * self.thickness * self.cell
        sheet = self.surface_of(Box((0.2, self.height - half, 0.2), (0.8, self.height + half, 0.8)))
        options = VoronoiLiquidOptions(sampling=LiquidSampling(samples=self.samples), volume_correction=self.correction)
        return VoronoiLiquid(BOX, self.cell, self.tracked(self.pool(BOX, self.level), sheet), options=options)
