"""Scene of shapes that surface tension rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from meniscus.fluids import LiquidSampling, VoronoiLiquid, VoronoiLiquidOptions
from meniscus.scenes.bodies.voronoi_scene import VoronoiScene
from meniscus.scenes.scene import parameter
from meniscus.surface import Box, Shape, Sphere

CapillaryShape = Literal["cube", "block", "drop"]
SIDE = 1.0
SHAPES: dict[str, Shape] = {
    "cube": Box((-0.5 * SIDE,) * 3, (0.5 * SIDE,) * 3),
    "block": Box((-1.0, -0.4, -0.4), (1.0, 0.4, 0.4)),
    "drop": Sphere((0.0, 0.0, 0.0), 0.5 * SIDE),
}


@dataclass(kw_only=True)
class Capillary(VoronoiScene):
    """A cube without gravity becomes an octahedron and back, a block oscillates, a drop stays a ball: surface tension alone acts.

    Source: Brochu 2012, section 7.7.2.
    """

    name: ClassVar[str] = "capillary"
    summary: ClassVar[str] = "a cube, a block or a drop that surface tension alone moves, on Voronoi cells"
    eye: ClassVar[tuple[float, float, float]] = (0.5, 0.4, 1.0)

    cell: float = parameter(0.1, "length that samples are spaced by, m")
    shape: CapillaryShape = parameter("cube", "of the liquid")
    tension: float = parameter(1.0, "surface tension, N/m")
    density: float = parameter(1.0, "kg/m^3")
    dt: float = parameter(0.02, "longest time step, s")
    end: float = parameter(0.4, "end, s")

    def make_liquid(self) -> VoronoiLiquid:
        """Return the shape at rest."""
        return VoronoiLiquid(
            [[-1.5] * 3, [1.5] * 3],
            self.cell,
            self.tracked(self.surface_of(SHAPES[self.shape])),
            (0.0, 0.0, 0.0),
            self.tension,
            density=self.density,
            options=VoronoiLiquidOptions(sampling=LiquidSampling(samples=self.samples), volume_correction=self.correction),
        )
