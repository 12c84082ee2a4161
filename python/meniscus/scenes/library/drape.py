"""Scene of a cloth that hangs from two corners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.mesh import TriangleMesh, cloth_mesh
from meniscus.scenes.cloths import sprung
from meniscus.scenes.scene import parameter
from meniscus.scenes.touching import Touching
from meniscus.solids import DeformableBody, ImplicitElasticity, World


@dataclass(kw_only=True)
class Drape(Touching):
    """A square of cloth of 1 m that is released in a horizontal plane, swings down around two corners, and does not pass through itself.

    Source: Selle 2008, sections 5.2 to 5.5 and 6.2.
    """

    name: ClassVar[str] = "drape"
    summary: ClassVar[str] = "a cloth that swings down around two corners"
    box: ClassVar[Any] = ((0.0, -1.2, -0.9), (1.0, 0.3, 1.0))

    resolution: int = parameter(40, "quads along a side")
    density: float = parameter(0.2, "mass per area, kg/m^2")
    stiffness: float = parameter(20.0, "of the edges, N")
    bending: float = parameter(0.02, "stiffness of the springs across edges, N")
    damping: float = parameter(0.2, "fraction of the critical damping of an edge")
    elasticity: ImplicitElasticity = parameter("full-step", "where elastic forces are implicit")
    thickness: float = parameter(0.006, "distance at which parts of the cloth repel each other, m")
    friction: float = parameter(0.4, "of the cloth against itself")

    def make_mesh(self) -> TriangleMesh:
        """The cloth, flat, with y up."""
        n = _checks.integer("resolution", self.resolution, 2)
        flat = cloth_mesh(n, n)
        return TriangleMesh(np.ascontiguousarray(flat.vertices[:, (0, 2, 1)]), flat.triangles)

    def make_body(self, mesh: TriangleMesh) -> DeformableBody:
        """Springs along and across edges, and two pinned corners."""
        springs = (self.stiffness, self.damping), (self.bending, self.damping)
        body = sprung(mesh, *springs, density=self.density, gravity=(0.0, -9.8, 0.0))
        x = mesh.vertices
        body.pin(np.flatnonzero((x[:, 2] == 0.0) & ((x[:, 0] == 0.0) | (x[:, 0] == 1.0))))
        return body

    def make_world(self, bodies: Any) -> World:
        """The cloth alone."""
        world = World(steps_per_loop=self.steps_per_loop, elasticity=self.elasticity, tolerance=1e-4)
        world.add(bodies[0], thickness=self.thickness, friction=self.friction)
        return world

    def stable_dt(self) -> float:
        """Return the longest step (s) that is stable."""
        return float(self.body.limits(elasticity=self.elasticity).frequency)
