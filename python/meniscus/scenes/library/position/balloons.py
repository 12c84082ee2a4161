"""Scene of balloons that are blown up and bounce."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.mesh import TriangleMesh, icosphere
from meniscus.scenes.bodies.positioned import Positioned
from meniscus.scenes.scene import parameter
from meniscus.solids import BendingConstraints, ClosedVolumeConstraint, DistanceConstraints, PositionBody, PositionContacts

_PLACES = ((0.0, 0.3, 0.0), (0.42, 0.55, 0.1), (-0.15, 0.9, -0.3))


@dataclass(kw_only=True)
class Balloons(Positioned):
    """Three balloons with more and less air fall to the floor, on each other, and bounce.

    Source: Müller et al. 2008, figure 5.1; Müller, Heidelberger, Hennix and Ratcliff, "Position based dynamics", 2006, section 4.4.
    """

    name: ClassVar[str] = "balloons"
    summary: ClassVar[str] = "balloons with more and less air, which bounce on the floor and on each other"
    box: ClassVar[Any] = ((-0.5, 0.0, -0.6), (0.8, 1.1, 0.6))
    eye: ClassVar[tuple[float, float, float]] = (0.5, 0.4, 2.0)

    resolution: int = parameter(3, "times that the triangles of a sphere are cut")
    pressure: float = parameter(2.0, "volume of the fullest balloon over that at rest; of the others less")
    stretch: float = parameter(1e-4, "compliance of the skin, m/N")
    blowing: float = parameter(0.5, "until they are full, s")
    restitution: float = parameter(0.3, "part of the velocity with which nodes leave the floor")

    def make_meshes(self) -> Sequence[Any]:
        """Spheres above the floor."""
        ball = icosphere(_checks.integer("resolution", self.resolution, 1), 0.18)
        return [TriangleMesh(ball.vertices + np.array(at), ball.triangles) for at in _PLACES]

    def make_bodies(self, meshes: Sequence[Any]) -> list[PositionBody]:
        """Skins with air inside."""
        bodies = []
        for mesh in meshes:
            body = PositionBody(mesh, density=0.3, gravity=self.gravity)
            body.add(DistanceConstraints(mesh, compliance=self.stretch))
            body.add(BendingConstraints(mesh, compliance=1e2))
            body.add(ClosedVolumeConstraint(mesh))
            bodies.append(body)
        return bodies

    def advance(self, time: float, dt: float) -> None:
        """Blow up the balloons, and take one step."""
        part = min(1.0, time / self.blowing)
        for body, share in zip(self.bodies, (1.0, 0.4, -0.6), strict=True):
            for constraint in body.constraints:
                if isinstance(constraint, ClosedVolumeConstraint):
                    constraint.pressure = max(1.0 + part * share * (self.pressure - 1.0), 0.3)
        super().advance(time, dt)

    def make_contacts(self, bodies: Sequence[PositionBody]) -> PositionContacts:
        """With each other, themselves and the floor."""
        contacts = PositionContacts(bodies, thickness=0.01, friction=0.4, restitution=self.restitution)
        contacts.add_obstacle(_above_floor, thickness=0.005, friction=0.5)
        return contacts


def _above_floor(points: Any) -> Any:
    return points[:, 1]
