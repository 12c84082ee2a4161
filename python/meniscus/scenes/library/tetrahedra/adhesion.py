"""Scene of water that adheres to a ball."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.fluids import LiquidSource, TetVOF, WallAdhesion
from meniscus.io.frames import FrameMesh
from meniscus.mesh import MovingTetMesh, icosphere
from meniscus.scenes.scene import parameter
from meniscus.scenes.tet_water import TetWaterScene
from meniscus.surface import Capsule, Sphere, enclosing_mesh

Floats = npt.NDArray[np.float64]
Setting = Literal["none", "weak", "strong", "outward", "aside"]

# Strength, m/s^2, and direction.
_FORCES: dict[str, tuple[float, str | tuple[float, float, float]]] = {
    "none": (0.0, "toward"),
    "weak": (8.0, "toward"),
    "strong": (20.0, "toward"),
    "outward": (12.0, "outward"),
    "aside": (12.0, (1.0, 0.0, 0.0)),
}

COLUMNS: Literal["lower"] = "lower"
"""With whole columns the stream would stop over its whole height where it meets the ball."""


@dataclass(kw_only=True)
class Adhesion(TetWaterScene):
    """Water that is let go on top of a ball, or poured on it, with forces that hold it, lift it, or lead it aside.

    The angle at which it leaves, from the top, is reported: a point that slides without friction from the top leaves the ball at 48
    degrees, and a mesh of 0.4 m around a ball of 1 m at 112.

    Source: Lee 2018, section 3.3.4, figures 3.4 and 3.7.
    """

    name: ClassVar[str] = "adhesion"
    summary: ClassVar[str] = "water on a ball that holds it, lifts it or leads it aside, on tetrahedra"

    setting: Setting = parameter("strong", "of the force")
    water: Literal["cap", "stream"] = parameter("stream", "let go on top, or poured")
    reach: float = parameter(0.25, "of the force, m")
    cell: float = parameter(0.12, "edge of the lattice, m")
    radius: float = parameter(1.0, "of the ball, m")
    thickness: float = parameter(0.4, "of the mesh around the ball, m")
    angle: float = parameter(20.0, "half of the angle of the cap, degrees")
    stream: float = parameter(0.22, "radius of the stream, m")
    speed: float = parameter(2.0, "of the stream, m/s")
    end: float = parameter(1.6, "length of the run, s")

    def setup(self) -> None:
        """Create the ball, its mesh and the water."""
        r, d = _checks.positive("radius", self.radius), _checks.positive("thickness", self.thickness)
        cell = _checks.positive("cell", self.cell)
        self._ball = Sphere((0.0, 0.0, 0.0), r)
        self._skin = icosphere(5, r)
        rest = enclosing_mesh(self._ball, np.empty((0, 3)), cell, offset=d, depth=2.5 * cell)
        still = MovingTetMesh(rest, lambda t: rest.vertices)
        strength, direction = _FORCES[self.setting]
        force = WallAdhesion(strength=strength, reach=self.reach, direction=direction) if strength else None  # type: ignore[arg-type]
        sources = []
        if self.water == "stream":
            a = _checks.positive("stream", self.stream)
            nozzle = Capsule((0.0, 0.0, r + d - 1.2 * a), (0.0, 0.0, r + d - a), a)
            sources = [LiquidSource(region=nozzle, velocity=(0.0, 0.0, -_checks.positive("speed", self.speed)))]
        vof = TetVOF(still, self._ball, adhesion=force, sources=sources, options=self.options(), columns=COLUMNS)
        if self.water == "cap":
            vof.fill(self.cap)
        self.leaving = self.declare("leaving", np.zeros(2))
        wide = r + d
        self.use(vof, ((-wide, -wide, -1.6 * r), (wide, wide, wide)), fall=r)

    def cap(self, points: Floats) -> Floats:
        """Return the signed distance (k,), m, of the cap, one edge of the lattice thick."""
        r = np.linalg.norm(points, axis=1)
        angle = np.arctan2(np.hypot(points[:, 0], points[:, 1]), points[:, 2])
        result: Floats = np.maximum(np.abs(r - self.radius) - self.cell, r * (angle - math.radians(self.angle)))
        return result

    def left(self, first: int) -> None:
        """Add up the angles at which drops leave."""
        x, volume = self.vof.drops.positions[first:], self.vof.drops["volume"][first:]
        angle = np.degrees(np.arctan2(np.hypot(x[:, 0], x[:, 1]), x[:, 2]))
        self.leaving += (volume.sum(), (volume * angle).sum())

    def report(self, time: float) -> dict[str, float]:
        """Also the mean angle from the top at which water has left the mesh, degrees."""
        return {**super().report(time), "leaves at": float(self.leaving[1] / self.leaving[0]) if self.leaving[0] > 0 else 0.0}

    def distance(self, points: Floats) -> Floats:
        """Return the signed distance of the ball, m."""
        return self._ball.signed_distance(points)

    def body_meshes(self, time: float) -> Mapping[str, FrameMesh]:
        """Return the ball."""
        return {"body": FrameMesh(self._skin.vertices, self._skin.triangles)}
