"""Scene of a dumbbell that moves by its curvature and parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meniscus.mesh import TriangleMesh
from meniscus.scenes.bodies.tracked import Box, Tracked, start_mesh
from meniscus.scenes.scene import parameter
from meniscus.surface import Cylinder, Sphere, mean_curvature_motion
from meniscus.surface.tracking.motions import CurvatureMethod


@dataclass(kw_only=True)
class Dumbbell(Tracked):
    """Two balls of radius 0.3 joined by a bar of radius 0.2 move with the sum of their principal curvatures: the bar parts at t = 0.0219.

    Source: Brochu 2012, section 3.3.2, Figures 3.9 and 3.10; sizes of the published program.
    """

    name: ClassVar[str] = "dumbbell"
    summary: ClassVar[str] = "a dumbbell that moves by mean curvature and parts"
    stages: ClassVar[tuple[str, ...]] = ("move",)
    box: ClassVar[Box | None] = ((-0.82, -0.32, -0.32), (0.82, 0.32, 0.32))

    method: CurvatureMethod = parameter("explicit", "time integration")
    dt: float = parameter(1e-4, "longest time step, s")
    end: float = parameter(0.025, "end, s")
    mesh: str | None = parameter(None, "mesh file (OBJ, PLY, STL, OFF) of a surface instead, 1.6 m long")

    def shape(self) -> TriangleMesh:
        """The dumbbell."""
        bar = Cylinder((-0.5, 0.0, 0.0), (0.5, 0.0, 0.0), 0.2)
        balls = Sphere((-0.5, 0.0, 0.0), 0.3) | Sphere((0.5, 0.0, 0.0), 0.3)
        return start_mesh(self.mesh, balls | bar, self.edge, (0.0, 0.0, 0.0), 1.6)

    def max_dt(self) -> float:
        """Return the time step."""
        return self.dt

    def advance(self, time: float, dt: float) -> None:
        """Follow the curvature."""
        with self.stage("move"):
            self.last_report = mean_curvature_motion(self.surface, dt, method=self.method, largest_step=self.dt)

    def report(self, time: float) -> dict[str, float]:
        """Also the radius of the neck: the least distance from the axis near the middle; 0 without one."""
        x = np.asarray(self.surface.vertices)
        middle = np.abs(x[:, 0]) < 0.6 * self.edge
        neck = float(np.hypot(x[middle, 1], x[middle, 2]).mean()) if middle.any() else 0.0
        return {**super().report(time), "neck": neck}
