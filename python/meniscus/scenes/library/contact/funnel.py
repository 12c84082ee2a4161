"""Scene of a ball that pushes cloth through a funnel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus.mesh import TriangleMesh
from meniscus.scenes.cloths import Cloths, centered_cloth, smooth_start
from meniscus.scenes.scene import parameter
from meniscus.scenes.shapes import ball, tube
from meniscus.solids import DeformableBody, World
from meniscus.solids.contact.reports import WorldInfo
from meniscus.solids.world import Response
from meniscus.surface import KinematicSolid, Pose, Sphere


class Sinking:
    """Pose of a solid that moves down the y axis by a way, and stops."""

    def __init__(self, height: float, way: float, speed: float, start: float) -> None:
        self.height, self.speed, self.start = height, speed, start
        self.stop = start + way / speed

    def __call__(self, time: float) -> Pose:
        """Return the pose at a time (s)."""
        gone = smooth_start(time, self.start, 0.2)[1] - smooth_start(time, self.stop, 0.2)[1]
        return Pose((0.0, self.height - self.speed * gone, 0.0))


@dataclass(kw_only=True)
class Funnel(Cloths):
    """A cloth lies on a funnel, a thin open surface with two sides; a ball pushes it down and out.

    With a barrier (`response`), every step is a loop, and may be as long as a frame (`dt`).

    Source: Brochu 2012, section 4.5.6; Bridson et al. 2002, section 9; Li et al. 2020 (barrier).
    """

    name: ClassVar[str] = "funnel"
    ground: ClassVar[float | None] = -0.6
    summary: ClassVar[str] = "a ball pushes cloth through a funnel"
    box: ClassVar[Any] = ((-0.45, -0.6, -0.45), (0.45, 0.85, 0.45))
    eye: ClassVar[tuple[float, float, float]] = (0.7, 0.5, 1.6)

    side: float = parameter(0.7, "of the cloth, m")
    thickness: float = parameter(0.005, "distance at which surfaces repel each other, m")
    friction: float = parameter(0.1, "of all surfaces")
    neck: float = parameter(0.13, "radius of the neck, m")
    radius: float = parameter(0.08, "of the ball, m")
    speed: float = parameter(0.6, "of the ball, m/s")
    start: float = parameter(0.3, "when it begins to move, s")
    response: Response = parameter("impulses", "of surfaces to contact with each other")

    def make_world(self, bodies: Sequence[DeformableBody]) -> World:
        """The cloth and the obstacles."""
        if self.response == "impulses":
            return super().make_world(bodies)
        world = World(response="barrier")
        for body in bodies:
            world.add(body, thickness=self.thickness, friction=self.friction)
        self.add_obstacles(world)
        return world

    def max_dt(self) -> float:
        """Return the length of a loop."""
        if self.response == "impulses":
            return super().max_dt()
        return self.equal_dt(self.dt)

    def _loops(self, duration: float) -> list[WorldInfo]:
        return super()._loops(duration) if self.response == "impulses" else [self.world.step(duration)]

    def profile(self) -> Any:
        """Heights (k,) and radii (k,) of the funnel, m, from the neck up."""
        y = np.concatenate([np.linspace(0.0, 0.3, 9), np.linspace(0.3, 0.62, 15)[1:]])
        # A rim of half the slope that begins smoothly: a cone that blends into the neck.
        t = np.maximum(y - 0.3, 0.0)
        return y, self.neck + np.sqrt(t * t + 0.03**2) - 0.03

    def make_shape(self) -> TriangleMesh:
        """The funnel."""
        y, r = self.profile()
        o = tube((0.0, y[0], 0.0), (0.0, y[-1], 0.0), r, (y - y[0]) / (y[-1] - y[0]))
        return TriangleMesh(o.vertices, o.triangles)

    def make_mesh(self) -> TriangleMesh:
        """The cloth, flat, above the funnel."""
        return centered_cloth(self.quads((1.0, 1.0)), (self.side, self.side), 0.64)

    def path(self) -> Sinking:
        """Motion of the ball: from above the cloth to below the neck."""
        above = 0.65 + self.radius
        return Sinking(above, above + 0.25, self.speed, self.start)

    def add_obstacles(self, world: World) -> None:
        """The funnel, the ball and the ground."""
        world.add_obstacle(self.make_shape(), thickness=self.thickness, friction=self.friction, sides="both")
        world.add_obstacle(KinematicSolid(Sphere((0.0, 0.0, 0.0), self.radius), self.path()), friction=self.friction)
        world.add_obstacle(self.ground_plane(), friction=0.4)

    def obstacles(self, time: float) -> list[TriangleMesh]:
        """The funnel and the ball."""
        at = self.path()(time).translation
        shape = self.make_shape()
        return [shape, ball(at, 0.96 * self.radius)]
