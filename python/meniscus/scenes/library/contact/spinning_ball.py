"""Scene of cloth on a ball that begins to spin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from meniscus.mesh import TriangleMesh
from meniscus.scenes.cloths import Cloths, centered_cloth
from meniscus.scenes.library.contact.twisting import Rolling
from meniscus.scenes.scene import parameter
from meniscus.scenes.shapes import ball
from meniscus.solids import World
from meniscus.surface import KinematicSolid, Sphere


@dataclass(kw_only=True)
class SpinningBall(Cloths):
    """A cloth falls on a ball above the ground; when it has come to rest, the ball begins to spin around the vertical axis.

    Source: Selle 2008, section 6.6 and figure 6.10.
    """

    name: ClassVar[str] = "spinning-ball"
    ground: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "a cloth on a ball that begins to spin"
    box: ClassVar[Any] = ((-0.6, 0.0, -0.6), (0.6, 0.6, 0.6))
    eye: ClassVar[tuple[float, float, float]] = (0.8, 0.8, 1.6)

    side: float = parameter(1.3, "of the cloth, m")
    speed: float = parameter(3.0, "of the ball, rad/s")
    start: float = parameter(1.0, "when it begins to spin, s")
    radius: float = parameter(0.18, "of the ball, m")
    height: float = parameter(0.4, "of its centre, m")
    ball_friction: float = parameter(1.0, "of the cloth on the ball")
    ground_friction: float = parameter(0.1, "of the cloth on the ground")

    def make_mesh(self) -> TriangleMesh:
        """The cloth, flat, just above the ball."""
        return centered_cloth(self.quads((1.0, 1.0)), (self.side, self.side), self.height + self.radius + 0.002)

    def add_obstacles(self, world: World) -> None:
        """The ball and the ground."""
        center = (0.0, self.height, 0.0)
        spin = Rolling(self.speed, self.start, center, (0.0, 1.0, 0.0))
        world.add_obstacle(KinematicSolid(Sphere(center, self.radius), velocity=spin), friction=self.ball_friction)
        world.add_obstacle(self.ground_plane(), friction=self.ground_friction)

    def obstacles(self, time: float) -> list[TriangleMesh]:
        """The ball."""
        return [ball((0.0, self.height, 0.0), 0.95 * self.radius)]
