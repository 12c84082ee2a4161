"""Scene of billiard balls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from meniscus.mesh import tet_block
from meniscus.scenes.bodies.rigid import COLORS, Piece, Rigid
from meniscus.scenes.scene import parameter
from meniscus.solids import RigidBody, RigidFriction, World
from meniscus.surface import Pose
from meniscus.surface import Twist as Velocity

_RADIUS = 0.0286
_LENGTH, _WIDTH, _RAIL = 1.3, 0.65, 0.05
_CLOTH: tuple[float, float, float] = (0.20, 0.45, 0.30)
_WOOD: tuple[float, float, float] = (0.50, 0.33, 0.20)


@dataclass(kw_only=True)
class Billiards(Rigid):
    """A ball breaks a triangle of fifteen on a table with cushions.

    Source: Müller et al. 2008, sections 6.3 and 6.5.
    """

    name: ClassVar[str] = "billiards"
    ground: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "a ball breaks a triangle of fifteen others"
    box: ClassVar[Any] = ((-1.4, -0.25, -0.75), (1.4, 0.25, 0.75))
    eye: ClassVar[tuple[float, float, float]] = (0.25, 1.6, 1.0)

    speed: float = parameter(6.0, "of the first ball, m/s")
    aside: float = parameter(0.004, "how far it passes the middle, m")
    restitution: float = parameter(0.95, "between balls, and on cushions")
    cloth_friction: float = parameter(0.2, "of balls on the table; between balls half as large")
    rolling: float = parameter(0.0005, "friction against rolling, m")
    dt: float = parameter(0.002, "longest step, s")

    def make_pieces(self) -> Sequence[Piece]:
        """Balls, cushions, and the table that is drawn."""
        # With the table, whose coefficient is four times as large, the mean is what is asked for.
        rubs = RigidFriction(self.cloth_friction / 2, rolling=self.rolling)
        ball = {"friction": rubs, "restitution": self.restitution}
        pieces = []
        places = [(-0.7, self.aside, (1.0, 1.0, 1.0))]
        for row in range(5):
            # A little apart, as they are on a table, so that the order in which they meet is theirs.
            x, gap = 0.5 + row * math.sqrt(3) * 1.001 * _RADIUS, 2.002 * _RADIUS
            places += [(x, (k - row / 2) * gap, COLORS[(row + k) % len(COLORS)]) for k in range(row + 1)]
        for k, (x, z, color) in enumerate(places):
            body = RigidBody.sphere(_RADIUS, 1700.0, pose=Pose((x, _RADIUS, z)))
            if k == 0:
                body.twist = Velocity((self.speed, 0.0, 0.0), (0.0, 0.0, -self.speed / _RADIUS))
            pieces.append(Piece(body, ball, color))
        rail = {"friction": 0.2, "restitution": 0.7}
        for size, at in (
            ((_RAIL, 0.08, 2 * _WIDTH + 2 * _RAIL), (_LENGTH + _RAIL / 2, 0.03, 0.0)),
            ((2 * _LENGTH, 0.08, _RAIL), (0.0, 0.03, _WIDTH + _RAIL / 2)),
        ):
            for side in (-1, 1):
                place = Pose((side * at[0], at[1], side * at[2]))
                pieces.append(Piece(RigidBody.box(size, motion="fixed", pose=place), rail, _WOOD))
        # Only drawn, in small triangles: pictures put the nearer ones over the others. Balls touch the half-space above it.
        top = tet_block(52, 1, 26, (2 * _LENGTH, 0.02, 2 * _WIDTH), origin=(-_LENGTH, -0.03, -_WIDTH)).boundary
        pieces.append(Piece(RigidBody(top, motion="fixed"), {"form": "mesh", "thickness": 1e-4}, _CLOTH))
        return pieces

    def prepare(self, world: World) -> None:
        """The table top."""
        world.add_obstacle(self.ground_plane(), friction=RigidFriction(2 * self.cloth_friction, rolling=self.rolling))
