"""Scene of a sheet of adaptive cloth over a ball."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meniscus.mesh import TriangleMesh, icosphere
from meniscus.scenes.bodies.adaptive_cloths import AdaptiveCloths, sheet_mesh
from meniscus.scenes.scene import parameter
from meniscus.solids import AdaptiveCloth, World


@dataclass(kw_only=True)
class AdaptiveSheet(AdaptiveCloths):
    """A sheet, held at one side, swings down over a ball; beside it is its mesh at rest.

    Source: Brochu 2012, section 4.5.6 and figure 4.10.
    """

    name: ClassVar[str] = "adaptive-sheet"
    summary: ClassVar[str] = "a sheet of adaptive cloth beside its mesh at rest"
    box: ClassVar[Any] = ((-0.5, -0.5, -0.65), (1.55, 0.5, 0.35))
    eye: ClassVar[tuple[float, float, float]] = (0.5, -1.9, 0.9)

    side: float = parameter(1.0, "of the sheet, m")
    radius: float = parameter(0.22, "of the ball, m; 0: there is none")
    end: float = parameter(2.0, "length of the run, s")
    frames: int = parameter(48, "frames to write")

    def make_mesh(self) -> TriangleMesh:
        """The sheet, coarse."""
        return sheet_mesh((self.side, self.side), self.longest, 0.25)

    def make_body(self, mesh: TriangleMesh) -> AdaptiveCloth:
        """The sheet, held at two corners."""
        body = super().make_body(mesh)
        x, y, _ = mesh.vertices.T
        body.pin((x == x.min()) & ((y == y.min()) | (y == y.max())))
        return body

    def ball(self) -> TriangleMesh:
        """The ball, as contact sees it."""
        return icosphere(3, self.radius, (-0.05, 0.0, -0.05))

    def add_obstacles(self, world: World) -> None:
        """The ball."""
        if self.radius > 0:
            world.add_obstacle(self.ball(), thickness=self.thickness, friction=self.friction, sides="both")

    def obstacles(self, time: float) -> list[TriangleMesh]:
        """The ball."""
        return [self.ball()] if self.radius > 0 else []

    def rest_view(self, sheet: int, rest: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Beside the sheet."""
        return np.stack([rest[:, 0] + 1.1 * self.side, 0 * rest[:, 1] - 0.2, rest[:, 1] - 0.2 * self.side], axis=1)
