"""Scene of a pyramid of boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from meniscus.scenes.bodies.rigid import COLORS, Piece, Rigid
from meniscus.scenes.scene import parameter
from meniscus.solids import RigidBody, World
from meniscus.surface import Pose
from meniscus.surface import Twist as Velocity


@dataclass(kw_only=True)
class Pyramid(Rigid):
    """A pyramid of boxes stands, until a heavy ball is thrown at it.

    Source: Müller et al. 2008, section 6.4.
    """

    name: ClassVar[str] = "pyramid"
    ground: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "a pyramid of boxes stands, and a ball is thrown at it"
    box: ClassVar[Any] = ((-0.8, 0.0, -0.7), (0.8, 1.05, 0.7))
    eye: ClassVar[tuple[float, float, float]] = (0.9, 0.5, 2.0)

    rows: int = parameter(10, "boxes in the lowest row")
    speed: float = parameter(8.0, "of the ball, m/s; 0: there is none")
    start: float = parameter(1.0, "when it arrives, s")
    friction: float = parameter(0.5, "of all surfaces")

    def make_pieces(self) -> Sequence[Piece]:
        """The boxes, and the ball far away."""
        size = 0.1
        pieces = []
        for row in range(self.rows):
            for k in range(self.rows - row):
                at = (1.05 * size * (k + 0.5 * row - 0.5 * (self.rows - 1)), size * (row + 0.5), 0.0)
                body = RigidBody.box((size, size, size), 700.0, pose=Pose(at))
                pieces.append(Piece(body, {"friction": self.friction}, COLORS[(row + 2 * k) % len(COLORS)]))
        if self.speed > 0:
            # Such that it falls to a third of the height when it arrives.
            height = 0.35 * self.rows * size + 0.5 * 9.81 * self.start**2
            ball = RigidBody.sphere(0.09, 4000.0, pose=Pose((0.05, height, 0.14 + self.speed * self.start)))
            ball.twist = Velocity((0.0, 0.0, -self.speed), (0.0, 0.0, 0.0))
            pieces.append(Piece(ball, {"friction": self.friction}, (0.25, 0.25, 0.28)))
        return pieces

    def prepare(self, world: World) -> None:
        """The ground."""
        world.add_obstacle(self.ground_plane(), friction=self.friction)
