"""Scene of a body that tumbles in free flight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus.scenes.bodies.rigid import COLORS, Piece, Rigid
from meniscus.scenes.scene import parameter
from meniscus.solids import RigidBody
from meniscus.surface import Twist as Velocity


@dataclass(kw_only=True)
class Tumbling(Rigid):
    """A plate that spins about its middle axis turns over, again and again.

    Source: Müller et al. 2008, section 6.2.
    """

    name: ClassVar[str] = "tumbling"
    summary: ClassVar[str] = "a plate that spins about its middle axis turns over, again and again"
    box: ClassVar[Any] = ((-0.7, -0.7, -0.7), (0.7, 0.7, 0.7))
    gravity: ClassVar[tuple[float, float, float]] = (0.0, 0.0, 0.0)

    spin: float = parameter(6.0, "about the middle axis, rad/s")
    off: float = parameter(0.01, "of it about the others")
    end: float = parameter(8.0, "length of the run, s")
    frames: int = parameter(192, "frames to write")

    def make_pieces(self) -> Sequence[Piece]:
        """The plate."""
        # Moments about x, y and z ascend with these sides.
        body = RigidBody.box((1.2, 0.7, 0.15), 500.0)
        body.twist = Velocity((0.0, 0.0, 0.0), (self.off * self.spin, self.spin, self.off * self.spin))
        return [Piece(body, {}, COLORS[1])]

    def report(self, time: float) -> dict[str, float]:
        """The same, and the direction of the body's middle axis along the angular momentum."""
        body = self.world.rigid.bodies[0]
        momentum = body.angular_momentum / np.linalg.norm(body.angular_momentum)
        return {**super().report(time), "middle axis": float(momentum @ body.rotation[:, 1])}
