"""Scene of a surface in a noise without divergence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from meniscus.mesh import TriangleMesh, cloth_mesh
from meniscus.numerics import FractalNoise
from meniscus.scenes.bodies.tracked import Box, Tracked, start_mesh
from meniscus.scenes.scene import parameter
from meniscus.surface import Sphere

CENTER, REACH, GAIN, LENGTH = (0.0, 1.0, 0.0), 4.0, 0.65, 1.5
Floats = npt.NDArray[np.float64]


@dataclass(kw_only=True)
class CurlNoise(Tracked):
    """A sphere, or an open sheet, in a planar flow: the curl of a noise potential along z, which fades out 4 m from the middle.

    Source: Brochu 2012, sections 3.3.3 and 3.3.4, Figures 3.14 to 3.16; sizes of the published program.
    """

    name: ClassVar[str] = "curl-noise"
    summary: ClassVar[str] = "a sphere or a sheet that a noise folds and folds again"
    box: ClassVar[Box | None] = ((-3.0, -2.0, -3.0), (3.0, 4.0, 3.0))
    topology: ClassVar[bool] = False
    volume_change: ClassVar[float] = 5e-4

    edge: float = parameter(0.06, "edge length, m")
    open: bool = parameter(False, "an open sheet of 6 m instead of the sphere")
    dt: float = parameter(0.05, "time step, s")
    end: float = parameter(5.0, "end, s; the thesis runs to 30")
    seed: int = parameter(1, "of the noise")
    mesh: str | None = parameter(None, "mesh file (OBJ, PLY, STL, OFF) of a closed surface instead of the sphere, 2 m long")

    def setup(self) -> None:
        """Create the noise and the surface."""
        self.noise = FractalNoise(self.seed)
        super().setup()

    def shape(self) -> TriangleMesh:
        """The sphere, or the sheet with its normal up."""
        if not self.open:
            return start_mesh(self.mesh, Sphere(CENTER, 1.0), self.edge, CENTER, 2.0)
        n = max(2, round(6.0 / self.edge))
        flat = cloth_mesh(n, n)
        x = np.stack([6.0 * flat.vertices[:, 0] - 3.0, 0.0 * flat.vertices[:, 0], 3.0 - 6.0 * flat.vertices[:, 1]], axis=1)
        return TriangleMesh(np.ascontiguousarray(x), flat.triangles)

    def flow(self, points: Floats, time: float) -> Floats:
        """Return the velocity (n, 3): the curl of the potential along z, noise times what fades out."""
        noise, gradient = self.noise.with_gradient(np.ascontiguousarray(points[:, :2] / LENGTH))
        away = points - CENTER
        distance = np.linalg.norm(away, axis=1)
        fade = np.clip(1.0 - distance / REACH, 0.0, None)
        slope = np.where((distance > 0) & (fade > 0), -1.0 / (REACH * np.maximum(distance, 1e-300)), 0.0)
        out = np.zeros_like(points)
        for axis, sign, component in ((1, 1.0, 0), (0, -1.0, 1)):
            out[:, component] = sign * GAIN * (fade * gradient[:, axis] / LENGTH + slope * away[:, axis] * noise)
        return out

    def max_dt(self) -> float:
        """Return the time step."""
        return self.dt

    def advance(self, time: float, dt: float) -> None:
        """Follow the flow."""
        with self.stage("improve"):
            self.surface.improve()
        with self.stage("move"):
            self.last_report = self.surface.follow(self.flow, dt)

    def report(self, time: float) -> dict[str, float]:
        """Also the pairs that intersect, where nothing keeps them from it."""
        pairs = 0 if self.safety else self.surface.audit().intersections
        return {**super().report(time), "intersections": float(pairs)}
