"""Scene of a ball that pushes through a curtain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meniscus.mesh import TriangleMesh, cloth_mesh
from meniscus.scenes.cloths import Cloths
from meniscus.scenes.scene import parameter
from meniscus.scenes.shapes import ball
from meniscus.solids import DeformableBody, World
from meniscus.surface import KinematicSolid, Pose, Sphere

Floats = npt.NDArray[np.float64]


class Swinging:
    """Pose of a solid that moves to and fro along z from some time on."""

    def __init__(self, start: tuple[float, float, float], way: float, period: float, begin: float) -> None:
        self.start, self.way, self.period, self.begin = start, way, period, begin

    def __call__(self, time: float) -> Pose:
        """Return the pose at a time (s)."""
        x, y, z = self.start
        phase = 2.0 * np.pi * max(time - self.begin, 0.0) / self.period
        return Pose((x, y, z + 0.5 * self.way * (1.0 - np.cos(phase))))


class Lowered:
    """Positions and velocities of nodes that are lowered by a way."""

    def __init__(self, rest: Floats, way: float, duration: float) -> None:
        self.rest, self.way, self.duration = rest, way, duration

    def __call__(self, time: float) -> tuple[Floats, Floats]:
        """Return positions (k, 3) and velocities (k, 3) at a time (s)."""
        s = min(max(time / self.duration, 0.0), 1.0)
        rate = 6.0 * s * (1.0 - s) / self.duration
        down = np.array([0.0, -self.way, 0.0])
        return self.rest + s * s * (3.0 - 2.0 * s) * down, np.tile(rate * down, (len(self.rest), 1))


@dataclass(kw_only=True)
class Curtain(Cloths):
    """A curtain in pleats is lowered until its lower part lies in folds on the ground; a ball pushes through these and comes back.

    Source: Selle 2008, section 6.6 and figure 6.12.
    """

    name: ClassVar[str] = "curtain"
    ground: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "a ball pushes into a curtain"
    box: ClassVar[Any] = ((-0.6, -0.02, -0.7), (0.6, 1.0, 0.8))
    eye: ClassVar[tuple[float, float, float]] = (1.3, 0.5, 1.3)

    pleats: int = parameter(4, "waves of the upper edge")
    depth: float = parameter(0.05, "of these waves, m")
    length: float = parameter(1.35, "of the curtain, m")
    lowered: float = parameter(0.4, "way of its upper edge down, m")
    lowering: float = parameter(0.8, "how long that takes, s")
    radius: float = parameter(0.2, "of the ball, m")
    way: float = parameter(1.1, "of the ball, m")
    begin: float = parameter(0.6, "when the ball begins to move, s")
    period: float = parameter(3.0, "after which it is back, s")
    ball_friction: float = parameter(0.4, "of the cloth on the ball")
    ground_friction: float = parameter(0.4, "of the cloth on the ground")

    def make_mesh(self) -> TriangleMesh:
        """The curtain, flat, at rest."""
        size = (1.25, self.length)
        return cloth_mesh(*self.quads(size), size, origin=(-0.625, 0.005, 0.0))

    def make_body(self, mesh: Any) -> DeformableBody:
        """Held along its upper edge, which is gathered in waves."""
        body = super().make_body(mesh)
        x = np.array(mesh.vertices)
        # Along the arc of the wave nothing is stretched.
        s = np.linspace(0.0, 1.0, 20001)
        wave = self.depth * np.sin(2.0 * np.pi * self.pleats * s)
        length = 1.25
        width = np.sqrt(np.maximum((length / (len(s) - 1)) ** 2 - np.diff(wave) ** 2, 0.0))
        along = np.concatenate([[0.0], np.cumsum(width)])
        t = (x[:, 0] + 0.5 * length) / length
        x[:, 0] = np.interp(t, s, along) - 0.5 * along[-1]
        x[:, 2] = np.interp(t, s, wave)
        body.positions = x
        top = np.flatnonzero(mesh.vertices[:, 1] == mesh.vertices[:, 1].max())
        body.move(top, Lowered(x[top], self.lowered, self.lowering))
        return body

    def add_obstacles(self, world: World) -> None:
        """The ball and the ground."""
        motion = Swinging(self._ball, self.way, self.period, self.begin)
        world.add_obstacle(KinematicSolid(Sphere((0.0, 0.0, 0.0), self.radius), motion), friction=self.ball_friction)
        world.add_obstacle(self.ground_plane(), friction=self.ground_friction)

    def obstacles(self, time: float) -> list[TriangleMesh]:
        """The ball."""
        return [ball(Swinging(self._ball, self.way, self.period, self.begin)(time).translation, 0.96 * self.radius)]

    @property
    def _ball(self) -> tuple[float, float, float]:
        return 0.0, 0.25, -0.5
