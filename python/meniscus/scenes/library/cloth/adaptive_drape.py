"""Scene of four layers of adaptive cloth over a ball."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from meniscus import _checks
from meniscus.mesh import TriangleMesh, icosphere
from meniscus.scenes.bodies.adaptive_cloths import AdaptiveCloths, sheet_mesh
from meniscus.scenes.scene import parameter
from meniscus.solids import World


@dataclass(kw_only=True)
class AdaptiveDrape(AdaptiveCloths):
    """Layers of cloth fall over a ball.

    Source: Brochu 2012, section 4.5.6 and figure 4.11.
    """

    name: ClassVar[str] = "adaptive-drape"
    summary: ClassVar[str] = "four layers of adaptive cloth over a ball"
    box: ClassVar[Any] = ((-0.42, -0.42, -0.35), (0.42, 0.42, 0.38))
    eye: ClassVar[tuple[float, float, float]] = (0.8, -1.6, 0.7)

    shortest: float = parameter(0.04, "edges that are wanted, m")
    longest: float = parameter(0.15, "edges that are wanted, m")
    layers: int = parameter(4, "of cloth")
    side: float = parameter(1.0, "of the sheets, m")
    gap: float = parameter(0.012, "between the sheets at the start, m")
    radius: float = parameter(0.3, "of the ball, m")
    end: float = parameter(1.0, "length of the run, s")
    frames: int = parameter(60, "frames to write")

    def make_meshes(self) -> Sequence[Any]:
        """The sheets above the ball, coarse."""
        count = _checks.integer("layers", self.layers, 1)
        return [sheet_mesh((self.side, self.side), self.longest, self.radius + self.gap * (1 + k)) for k in range(count)]

    def ball(self) -> TriangleMesh:
        """The ball, as contact sees it."""
        return icosphere(4, self.radius)

    def add_obstacles(self, world: World) -> None:
        """The ball."""
        world.add_obstacle(self.ball(), thickness=self.thickness, friction=self.friction, sides="both")

    def obstacles(self, time: float) -> list[TriangleMesh]:
        """The ball."""
        return [self.ball()]
