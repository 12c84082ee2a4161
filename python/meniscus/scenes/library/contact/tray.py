"""Scene of cloth that falls over jelly on a moving surface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh import TetMesh, TriangleMesh, cloth_mesh, tet_block
from meniscus.scenes.cloths import Cloths, centered_cloth, horizontal, smooth_start
from meniscus.scenes.scene import parameter
from meniscus.solids import DeformableBody, TetElements, World

Floats = npt.NDArray[np.float64]


class Waving:
    """Vertices of a horizontal surface that rocks and bends."""

    def __init__(self, rest: Floats, height: float, period: float) -> None:
        self.rest, self.height, self.period = rest, height, period

    def __call__(self, time: float) -> Floats:
        """Return the vertices (n, 3), m, at a time (s)."""
        phase = 2.0 * np.pi * smooth_start(time, 0.3, 0.5)[1] / self.period
        x = np.array(self.rest)
        x[:, 1] += self.height * (np.sin(phase) * np.cos(4.0 * x[:, 0]) + 0.5 * np.sin(0.7 * phase) * x[:, 2])
        return x


@dataclass(kw_only=True)
class Tray(Cloths):
    """A block of jelly stands on an open surface that moves, and a cloth falls over both.

    Source: own; two-sided meshes and bodies of all kinds in one step, after Selle 2008, section 6.2.
    """

    name: ClassVar[str] = "tray"
    summary: ClassVar[str] = "cloth falls over jelly on a moving surface"
    box: ClassVar[Any] = ((-0.5, -0.25, -0.5), (0.5, 0.45, 0.5))
    eye: ClassVar[tuple[float, float, float]] = (0.8, 0.7, 1.6)

    resolution: int = parameter(5, "elements along the height of the jelly")
    youngs_modulus: float = parameter(2e4, "of the jelly, Pa")
    poissons_ratio: float = parameter(0.4, "of the jelly")
    jelly_density: float = parameter(300.0, "of the jelly, kg/m^3")
    jelly_damping: float = parameter(0.01, "of the jelly, proportional to stiffness, s")
    jelly_friction: float = parameter(0.8, "of the jelly")
    side: float = parameter(0.7, "of the cloth, m")
    height: float = parameter(0.05, "of the waves of the surface, m")
    period: float = parameter(1.2, "of these waves, s")

    def make_meshes(self) -> Sequence[Any]:
        """The jelly and the cloth."""
        n = _checks.integer("resolution", self.resolution, 1)
        jelly = tet_block(n, n, n, (0.2, 0.2, 0.2), origin=(-0.1, 0.015, -0.1), pattern="five")
        return [jelly, centered_cloth(self.quads((1.0, 1.0)), (self.side, self.side), 0.25)]

    def make_body(self, mesh: Any) -> DeformableBody:
        """Elements that resist inversion, or springs."""
        if not isinstance(mesh, TetMesh):
            return super().make_body(mesh)
        body = DeformableBody(mesh, density=self.jelly_density, gravity=self.gravity)
        stiffness = self.values("youngs_modulus", "poissons_ratio")
        body.add(TetElements(mesh, material="neo-hookean", damping=self.jelly_damping, **stiffness))
        return body

    def make_world(self, bodies: Sequence[DeformableBody]) -> World:
        """The bodies on the surface."""
        world = World(steps_per_loop=self.steps_per_loop, elasticity="full-step", tolerance=self.tolerance)
        world.add(bodies[0], thickness=self.thickness, friction=self.jelly_friction)
        world.add(bodies[1], thickness=self.thickness, friction=self.friction)
        surface = self.make_surface()
        motion = Waving(surface.vertices, self.height, self.period)
        world.add_obstacle(surface, thickness=self.thickness, friction=0.8, sides="both", motion=motion)
        return world

    def make_surface(self) -> TriangleMesh:
        """The surface at rest."""
        return horizontal(cloth_mesh(24, 24, (0.9, 0.9), origin=(-0.45, -0.45, 0.0)))

    def obstacles(self, time: float) -> list[TriangleMesh]:
        """The surface."""
        surface = self.make_surface()
        return [surface.moved(Waving(surface.vertices, self.height, self.period)(time))]
