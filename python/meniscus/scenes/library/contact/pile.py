"""Scene of a long sheet that falls and piles up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus.mesh import TriangleMesh, cloth_mesh
from meniscus.scenes.cloths import Cloths
from meniscus.scenes.scene import parameter
from meniscus.solids import DeformableBody, World


@dataclass(kw_only=True)
class Pile(Cloths):
    """A long narrow sheet with waves across falls upright on the ground and piles up on itself.

    Source: Brochu 2012, section 4.5.6 and figure 4.9: 40 x 400 vertices, `triangles=31122`.
    """

    name: ClassVar[str] = "pile"
    ground: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "a long sheet falls and piles up on itself"
    box: ClassVar[Any] = ((-0.3, 0.0, -0.3), (0.3, 0.7, 0.3))
    eye: ClassVar[tuple[float, float, float]] = (1.0, 0.7, 1.6)

    width: float = parameter(0.2, "of the sheet, m")
    length: float = parameter(2.0, "of the sheet, m")
    waves: float = parameter(4.0, "across the sheet")
    ground_friction: float = parameter(0.6, "of the sheet on the ground")

    def make_mesh(self) -> TriangleMesh:
        """The sheet, flat, at rest, upright."""
        size = (self.width, self.length)
        return cloth_mesh(*self.quads(size), size, origin=(-0.5 * self.width, 0.01, 0.0))

    def make_body(self, mesh: Any) -> DeformableBody:
        """The sheet leans a little, and its surface has waves."""
        body = super().make_body(mesh)
        x = np.array(mesh.vertices)
        wave = self.width / 20.0 * np.sin(2.0 * np.pi * self.waves * (x[:, 0] / self.width + 0.5))
        x[:, 2] = wave + 1e-3 * x[:, 1] + 0.004 * np.sin(5.0 * x[:, 1])
        # The crests are as wide as the sheet that makes them.
        x[:, 0] *= 0.85
        body.positions = x
        return body

    def add_obstacles(self, world: World) -> None:
        """The ground."""
        world.add_obstacle(self.ground_plane(), friction=self.ground_friction)
