"""Scene of Newton's cradle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from meniscus.scenes.bodies.base import GREY
from meniscus.scenes.bodies.rigid import COLORS, Piece, Rigid
from meniscus.scenes.scene import parameter
from meniscus.solids import RigidBody, World
from meniscus.surface import Pose

_RADIUS = 0.1
_LENGTH = 0.8


@dataclass(kw_only=True)
class Cradle(Rigid):
    """Five balls that hang from hinges side by side; some of them are raised and let go.

    Source: Müller et al. 2008, section 6.6 (impulses one after the other).
    """

    name: ClassVar[str] = "cradle"
    summary: ClassVar[str] = "Newton's cradle"
    box: ClassVar[Any] = ((-1.1, -0.95, -0.35), (1.1, 0.1, 0.35))
    eye: ClassVar[tuple[float, float, float]] = (0.3, 0.2, 2.0)

    raised: int = parameter(1, "balls that are raised")
    angle: float = parameter(50.0, "by which they are raised, degrees")
    dt: float = parameter(0.002, "longest step, s")

    def make_pieces(self) -> Sequence[Piece]:
        """The balls, and the beam that they hang from."""
        pieces = []
        for k in range(5):
            a = math.radians(self.angle) if k < self.raised else 0.0
            at = ((2 * k - 4) * _RADIUS - _LENGTH * math.sin(a), -_LENGTH * math.cos(a), 0.0)
            ball = RigidBody.sphere(_RADIUS, 7800.0, pose=Pose(at))
            pieces.append(Piece(ball, {"friction": 0.0, "restitution": 1.0}, COLORS[0]))
        beam = RigidBody.box((1.1, 0.06, 0.1), motion="fixed", pose=Pose((0.0, 0.03, 0.0)))
        return [*pieces, Piece(beam, {}, GREY)]

    def prepare(self, world: World) -> None:
        """The hinges."""
        for k in range(5):
            world.join(world.rigid.bodies[k], None, "hinge", point=((2 * k - 4) * _RADIUS, 0.0, 0.0), axis=(0.0, 0.0, 1.0))
