"""Scene of two spheres that grow together and shrink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from meniscus.mesh import TriangleMesh
from meniscus.scenes.bodies.tracked import Box, Tracked, start_mesh
from meniscus.scenes.scene import parameter
from meniscus.surface import Sphere, normal_motion
from meniscus.surface.tracking.motions import NormalMotion

APART, RADIUS, SPEED = 0.25, 0.2, 0.2
Floats = npt.NDArray[np.float64]


def exact_distance(points: Floats) -> Floats:
    """Return the signed distance to the exact surface at t = 2, after growing by 0.2 and shrinking by as much.

    Where the spheres had met, a torus of radius 0.2 joins them; its middle is the circle in which spheres of radius 0.4 meet.
    """
    across, along = np.hypot(points[:, 1], points[:, 2]), np.abs(points[:, 0])
    crease = np.sqrt((RADIUS + SPEED) ** 2 - APART**2)
    inward = APART - along
    sphere = np.hypot(inward, across) - RADIUS
    torus = RADIUS - np.hypot(crease - across, along)
    with np.errstate(divide="ignore", invalid="ignore"):
        outside = (inward <= 0) | (across >= inward * crease / APART)
    return np.where(outside, sphere, torus)


@dataclass(kw_only=True)
class TwoSpheres(Tracked):
    """Two spheres of radius 0.2 m grow at 0.2 m/s for a second, merge, and shrink at the same speed: a smooth neck is left between them.

    Source: Brochu 2012, section 3.3.1, Figures 3.6 to 3.8, Table 3.1.
    """

    name: ClassVar[str] = "two-spheres"
    summary: ClassVar[str] = "two spheres grow along their normals, merge, and shrink"
    stages: ClassVar[tuple[str, ...]] = ("move",)
    box: ClassVar[Box | None] = ((-0.66, -0.42, -0.42), (0.66, 0.42, 0.42))

    method: NormalMotion = parameter("faces", "offset faces, or mean normals of vertices, which do not converge")
    mesh: str | None = parameter(None, "mesh file (OBJ, PLY, STL, OFF), two of which take the place of the spheres")
    dt: float = parameter(0.005, "time step, s")
    end: float = parameter(2.0, "end, s")

    def shape(self) -> TriangleMesh:
        """Two spheres, or two meshes."""
        parts = [start_mesh(self.mesh, Sphere((x, 0.0, 0.0), RADIUS), self.edge, (x, 0.0, 0.0), 2 * RADIUS) for x in (-APART, APART)]
        n = len(parts[0].vertices)
        return TriangleMesh(
            np.concatenate([p.vertices for p in parts]), np.concatenate([parts[0].triangles, parts[1].triangles + np.int32(n)])
        )

    def max_dt(self) -> float:
        """Return the time step."""
        return self.dt

    def advance(self, time: float, dt: float) -> None:
        """Grow until t = 1, then shrink."""
        with self.stage("move"):
            speed = SPEED if time + 0.5 * dt < 1.0 else -SPEED
            self.last_report = normal_motion(self.surface, speed, dt, method=self.method)
