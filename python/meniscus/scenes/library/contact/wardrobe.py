"""Scene of a cover that slides off a wardrobe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meniscus.mesh import TriangleMesh
from meniscus.scenes.cloths import Cloths, centered_cloth
from meniscus.scenes.scene import parameter
from meniscus.scenes.shapes import block
from meniscus.solids import DeformableBody, WindDrag, World
from meniscus.surface import Box

Floats = npt.NDArray[np.float64]

_SIZE = (0.5, 0.9, 0.3)


class Pulled:
    """Positions and velocities of nodes that are pulled aside and up by a way, and held there."""

    def __init__(self, rest: Floats, way: tuple[float, float, float], duration: float) -> None:
        self.rest, self.way, self.duration = rest, np.array(way), duration

    def __call__(self, time: float) -> tuple[Floats, Floats]:
        """Return positions (k, 3) and velocities (k, 3) at a time (s)."""
        s = min(max(time / self.duration, 0.0), 1.0)
        rate = 6.0 * s * (1.0 - s) / self.duration
        return self.rest + s * s * (3.0 - 2.0 * s) * self.way, np.tile(rate * self.way, (len(self.rest), 1))


@dataclass(kw_only=True)
class Wardrobe(Cloths):
    """A cover falls over a wardrobe, pulled to one side by a few of its nodes; when these are released and friction is gone, it slides off.

    Source: Selle 2008, section 6.6 and figure 6.13.
    """

    name: ClassVar[str] = "wardrobe"
    ground: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "a cover slides off a wardrobe"
    box: ClassVar[Any] = ((-0.5, 0.0, -0.5), (0.8, 1.1, 0.5))
    eye: ClassVar[tuple[float, float, float]] = (0.8, 0.5, 1.6)

    size: float = parameter(1.1, "side of the cover, m")
    released: float = parameter(1.0, "when the nodes are released and the friction of the wardrobe changes, s")
    friction_before: float = parameter(0.6, "of the cover on the wardrobe")
    friction_after: float = parameter(0.02, "of the cover on the wardrobe, later")
    ground_friction: float = parameter(0.3, "of the cover on the ground")
    drag: float = parameter(0.1, "force per area and speed across the cover, N s/m^3")

    def make_mesh(self) -> TriangleMesh:
        """The cover, flat, above the wardrobe."""
        return centered_cloth(self.quads((1.0, 1.0)), (self.size, self.size), _SIZE[1] + 0.005).translated((0.2, 0.0, 0.0))

    def make_body(self, mesh: Any) -> DeformableBody:
        """Springs, drag in air at rest, and a few nodes of one side that are pulled."""
        body = super().make_body(mesh)
        body.add(WindDrag(mesh, per_area=self.drag))
        x = mesh.vertices
        side = np.flatnonzero(x[:, 0] == x[:, 0].max())
        side = side[np.argsort(x[side, 2], kind="stable")]
        self.pulled = side[[0, len(side) // 2, -1]]
        body.move(self.pulled, Pulled(x[self.pulled], (0.02, 0.05, 0.0), 0.5))
        return body

    def add_obstacles(self, world: World) -> None:
        """The wardrobe and the ground."""
        lower, upper = (-0.5 * _SIZE[0], 0.0, -0.5 * _SIZE[2]), (0.5 * _SIZE[0], _SIZE[1], 0.5 * _SIZE[2])
        world.add_obstacle(Box(lower, upper, 0.02), friction=self.friction_before)
        world.add_obstacle(self.ground_plane(), friction=self.ground_friction)

    def before_loop(self, time: float) -> None:
        """Release the nodes, and change the friction, at their time."""
        if time < self.released - 1e-9:
            return
        if np.isin(self.pulled[0], self.body.constrained):
            self.body.release(self.pulled)
        self.world.setup.set_friction(0, self.friction_after)

    def obstacles(self, time: float) -> list[TriangleMesh]:
        """The wardrobe."""
        lower, upper = (-0.24, 0.0, -0.14), (0.24, 0.99 * _SIZE[1], 0.14)
        return [block(lower, upper, 20)]
