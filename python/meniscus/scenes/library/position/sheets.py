"""Scene of sheets that fall on a ball and on each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.mesh import TriangleMesh, cloth_mesh
from meniscus.scenes.bodies.positioned import Positioned
from meniscus.scenes.scene import parameter
from meniscus.scenes.shapes import ball
from meniscus.solids import BendingConstraints, DistanceConstraints, PositionBody, PositionContacts
from meniscus.surface import Sphere

_BALL = (0.0, 0.16, 0.0), 0.16


@dataclass(kw_only=True)
class Sheets(Positioned):
    """Cloths fall on a ball one after the other, each on the one before, with a thickness between all of them.

    Source: Müller et al. 2008, section 5.4.3 and figure 5.4.
    """

    name: ClassVar[str] = "sheets"
    summary: ClassVar[str] = "cloths of position based dynamics fall on a ball and on each other"
    box: ClassVar[Any] = ((-0.45, -0.05, -0.45), (0.45, 0.55, 0.45))
    eye: ClassVar[tuple[float, float, float]] = (0.8, 0.7, 1.6)

    sheets: int = parameter(3, "cloths")
    resolution: int = parameter(24, "squares along a side")
    thickness: float = parameter(0.012, "distance that cloths keep, m")
    friction: float = parameter(0.3, "between cloths and with the ball")
    iterations: int = parameter(2, "projections of all constraints in each substep")

    def make_meshes(self) -> Sequence[Any]:
        """Horizontal squares above each other, turned."""
        n, meshes = _checks.integer("resolution", self.resolution, 2), []
        for k in range(_checks.integer("sheets", self.sheets, 1)):
            flat = cloth_mesh(n, n, (0.6, 0.6), origin=(-0.3, -0.3, 0.0))
            a = 0.4 * k
            x, z = flat.vertices[:, 0], flat.vertices[:, 1]
            turned = np.stack([np.cos(a) * x - np.sin(a) * z, np.full(len(x), 0.36 + 0.06 * k), np.sin(a) * x + np.cos(a) * z], axis=1)
            meshes.append(TriangleMesh(turned, flat.triangles[:, ::-1]))
        return meshes

    def make_bodies(self, meshes: Sequence[Any]) -> list[PositionBody]:
        """Cloths that hardly stretch."""
        bodies = []
        for mesh in meshes:
            body = PositionBody(mesh, density=0.3, gravity=self.gravity)
            body.add(DistanceConstraints(mesh, compliance=1e-7))
            body.add(BendingConstraints(mesh, compliance=1e3))
            bodies.append(body)
        return bodies

    def make_contacts(self, bodies: Sequence[PositionBody]) -> PositionContacts:
        """With themselves, each other, the ball and the floor."""
        contacts = PositionContacts(bodies, thickness=self.thickness, friction=self.friction)
        contacts.add_obstacle(Sphere(*_BALL), thickness=self.thickness, friction=self.friction)
        contacts.add_obstacle(_above_floor, thickness=0.5 * self.thickness, friction=0.6)
        return contacts

    def obstacles(self, time: float) -> list[TriangleMesh]:
        """The ball."""
        return [ball(*_BALL)]


def _above_floor(points: Any) -> Any:
    return points[:, 1]
