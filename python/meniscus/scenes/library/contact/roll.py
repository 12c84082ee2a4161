"""Scene of a cloth that rolls down a slope, because friction holds it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus.mesh import TriangleMesh
from meniscus.scenes.cloths import Cloths, centered_cloth
from meniscus.scenes.scene import parameter
from meniscus.solids import DeformableBody, World
from meniscus.solids.contact.solid_contacts import SolidResponse
from meniscus.surface import HalfSpace


@dataclass(kw_only=True)
class Roll(Cloths):
    """A cloth that flies down along a slope lands on its lower edge. Friction holds that, and the rest rolls over it.

    With the older method, `solid_response="projection"`, the cloth slips and is faster. The diagnostics have two more columns, of the
    nodes in contact with the slope: `slip`, their mean speed, m/s, and `downhill`, that of all nodes down the slope, m/s.

    Source: Selle 2008, section 6.5 and figure 6.8: `triangles=80000`.
    """

    name: ClassVar[str] = "roll"
    summary: ClassVar[str] = "a cloth rolls down a slope"
    box: ClassVar[Any] = ((-0.1, -0.9, -0.5), (1.4, 0.5, 0.5))
    eye: ClassVar[tuple[float, float, float]] = (0.5, 0.5, 1.6)

    side: float = parameter(0.5, "of the cloth, m")
    slope: float = parameter(0.6, "angle of the slope, rad")
    tilt: float = parameter(1.0, "angle between cloth and slope at the start, rad")
    speed: float = parameter(2.5, "of the cloth at the start, down the slope, m/s")
    slope_friction: float = parameter(2.0, "of the cloth on the slope")
    solid_response: SolidResponse = parameter("path", "how nodes answer to the slope; projection: the older method")
    end: float = parameter(1.0, "length of the run, s")
    frames: int = parameter(24, "frames to write")

    @property
    def down(self) -> tuple[float, float, float]:
        """The direction down the slope."""
        return math.cos(self.slope), -math.sin(self.slope), 0.0

    def make_mesh(self) -> TriangleMesh:
        """The cloth, flat, its lower edge just above the slope."""
        angle = self.slope + self.tilt
        c, s = math.cos(angle), math.sin(angle)
        flat = centered_cloth(self.quads((1.0, 1.0)), (self.side, self.side))
        turn = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
        height = 0.5 * self.side * math.sin(self.tilt) + 0.01
        return flat.rotated(turn, (0.0, 0.0, 0.0)).translated((height * math.sin(self.slope), height * math.cos(self.slope), 0.0))

    def make_body(self, mesh: Any) -> DeformableBody:
        """The cloth flies down along the slope."""
        body = super().make_body(mesh)
        body.velocities = np.tile(self.speed * np.array(self.down), (len(mesh.vertices), 1))
        return body

    def world_options(self) -> dict[str, Any]:
        """With the response of solids."""
        return {**super().world_options(), "solid_response": self.solid_response}

    def add_obstacles(self, world: World) -> None:
        """The slope."""
        world.add_obstacle(HalfSpace((0.0, 0.0, 0.0), (math.sin(self.slope), math.cos(self.slope), 0.0)), friction=self.slope_friction)

    def report(self, time: float) -> dict[str, float]:
        """With the speeds of what touches the slope, and of all."""
        nodes, down = np.unique(self.world.solver.contacts.nodes), np.array(self.down)
        speeds = self.body.velocities[nodes]
        slip = float(np.linalg.norm(speeds, axis=1).mean()) if len(nodes) else 0.0
        return {**super().report(time), "slip": slip, "downhill": float((self.body.velocities @ down).mean())}

    def obstacles(self, time: float) -> list[TriangleMesh]:
        """The slope."""
        long, wide = np.array(self.down), np.array([0.0, 0.0, 1.0])
        s, z = np.meshgrid(np.linspace(-0.6, 1.9, 26), np.linspace(-0.5, 0.5, 11))
        sunk = -0.004 * np.array([math.sin(self.slope), math.cos(self.slope), 0.0])
        vertices = s.reshape(-1, 1) * long + z.reshape(-1, 1) * wide + sunk
        a = (26 * np.arange(10)[:, None] + np.arange(25)).ravel()
        quads = np.concatenate([np.stack([a, a + 26, a + 1], 1), np.stack([a + 1, a + 26, a + 27], 1)])
        return [TriangleMesh(vertices, quads.astype(np.int32))]
