"""Scene of cloth that a rotating cylinder winds up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meniscus.mesh import TriangleMesh
from meniscus.scenes.cloths import Cloths, centered_cloth, smooth_start
from meniscus.scenes.scene import parameter
from meniscus.scenes.shapes import tube
from meniscus.solids import DeformableBody, World
from meniscus.surface import Cylinder, KinematicSolid, Twist

Floats = npt.NDArray[np.float64]


class Rolling:
    """Motion of a surface that turns around an axis through a point, from some time on."""

    def __init__(self, speed: float, start: float, point: tuple[float, float, float], axis: tuple[float, float, float]) -> None:
        self.speed, self.start, self.point, self.axis = speed, start, point, axis

    def __call__(self, time: float) -> Twist:
        """Return the velocities at a time (s)."""
        angular = self.speed * smooth_start(time, self.start, 0.3)[0] * np.array(self.axis)
        return Twist(tuple(np.cross(self.point, angular).tolist()), tuple(angular.tolist()))


class Carried:
    """Positions and velocities of nodes that turn around the x axis at a height, from some time on."""

    def __init__(self, rest: Floats, speed: float, start: float, height: float) -> None:
        self.rest, self.speed, self.start, self.height = rest, speed, start, height

    def __call__(self, time: float) -> tuple[Floats, Floats]:
        """Return positions (k, 3) and velocities (k, 3) at a time (s)."""
        rate, angle = (self.speed * value for value in smooth_start(time, self.start, 0.3))
        c, s = np.cos(angle), np.sin(angle)
        x, y, z = self.rest.T - np.array([[0.0], [self.height], [0.0]])
        up, out = c * y - s * z, s * y + c * z
        zero = np.zeros_like(x)
        return np.stack([x, self.height + up, out], axis=1), rate * np.stack([zero, -out, up], axis=1)


@dataclass(kw_only=True)
class Twisting(Cloths):
    """A cloth over a cylinder, which begins to rotate: the cloth winds around it, and its two ends around each other.

    A row of its nodes turns with the cylinder.

    Source: Selle 2008, section 6.6 and figure 6.3.
    """

    name: ClassVar[str] = "twisting"
    summary: ClassVar[str] = "a rotating cylinder winds up a cloth"
    box: ClassVar[Any] = ((-0.55, -0.1, -0.5), (0.55, 0.75, 0.5))
    eye: ClassVar[tuple[float, float, float]] = (1.0, 0.5, 1.4)

    speed: float = parameter(3.0, "of the cylinder, rad/s")
    start: float = parameter(0.5, "when it begins to rotate, s")
    radius: float = parameter(0.08, "of the cylinder, m")
    cylinder_friction: float = parameter(1.0, "of the cloth on the cylinder")

    def make_mesh(self) -> TriangleMesh:
        """The cloth, flat, above the cylinder, shifted so that one end is longer."""
        size = (0.7, 1.0)
        quads = self.quads(size)
        # A row of nodes lies on the cylinder, however often the cloth is split.
        longer = 0.5 - math.floor(0.44 * quads[1] + 0.5) / quads[1]
        return centered_cloth(quads, size, self.radius + 0.502).translated((0.0, 0.0, longer))

    def make_body(self, mesh: Any) -> DeformableBody:
        """One row of nodes is fixed to the cylinder."""
        body = super().make_body(mesh)
        z = mesh.vertices[:, 2]
        row = np.flatnonzero(np.abs(z) < 1e-9)
        body.move(row, Carried(mesh.vertices[row], self.speed, self.start, 0.5))
        return body

    def add_obstacles(self, world: World) -> None:
        """The cylinder."""
        shape = Cylinder((-0.5, 0.5, 0.0), (0.5, 0.5, 0.0), self.radius)
        world.add_obstacle(
            KinematicSolid(shape, velocity=Rolling(self.speed, self.start, (0.0, 0.5, 0.0), (1.0, 0.0, 0.0))),
            friction=self.cylinder_friction,
        )

    def obstacles(self, time: float) -> list[TriangleMesh]:
        """The cylinder."""
        r = 0.97 * self.radius * np.concatenate([[0.01, 0.5], np.ones(40), [0.5, 0.01]])
        along = np.concatenate([[0.0, 0.0], np.linspace(0.0, 1.0, 40), [1.0, 1.0]])
        return [tube((-0.5, 0.5, 0.0), (0.5, 0.5, 0.0), r, along)]
