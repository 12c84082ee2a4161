"""Scene of a stream on a ball whose mesh of air moves with it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.coupling import KDSM
from meniscus.fluids import LiquidSource, TetVOF
from meniscus.io.frames import FrameMesh
from meniscus.mesh import MovingTetMesh, icosphere
from meniscus.scenes.scene import parameter
from meniscus.scenes.tet_water import TetWaterScene
from meniscus.surface import Capsule, KinematicSolid, Pose, Sphere, enclosing_mesh

Floats = npt.NDArray[np.float64]

COLUMNS: Literal["lower"] = "lower"
"""With whole columns the stream would stop over its whole height where it meets the ball."""


@dataclass(kw_only=True)
class TetBall(TetWaterScene):
    """A stream falls on a ball that swings to and fro and takes its mesh along; what leaves the mesh flies on as drops.

    Source: Lee 2018, section 3.5, figures 3.3 and 3.16.
    """

    name: ClassVar[str] = "tet-ball"
    summary: ClassVar[str] = "a stream on a swinging ball, on tetrahedra that move with the ball"

    cells: int = parameter(8, "of the lattice, per radius of the ball")
    radius: float = parameter(0.5, "of the ball, m")
    thickness: float = parameter(0.45, "of the mesh around the ball, m")
    mesh: Literal["rigid", "kdsm"] = parameter("rigid", "moves with the ball, or follows it elastically")
    swing: float = parameter(0.25, "how far the ball goes to each side, m")
    period: float = parameter(1.2, "of the swing, s")
    turns: float = parameter(0.25, "of the ball about its vertical axis in a period, to and fro")
    stream: float = parameter(0.1, "radius of the stream, m")
    speed: float = parameter(1.5, "of the water where it comes from, m/s")
    adhesion: float = parameter(0.0, "m/s^2")
    end: float = parameter(1.6, "length of the run, s")

    def pose(self, time: float) -> Pose:
        """Return where the ball is: it starts at rest."""
        phase = 2 * math.pi * time / _checks.positive("period", self.period)
        share = 0.5 * (1 - math.cos(phase)) if time > 0 else 0.0
        half = math.pi * self.turns * share
        return Pose((self.swing * math.sin(phase) * math.sin(0.5 * phase) ** 2, 0.0, 0.0), (math.cos(half), 0.0, 0.0, math.sin(half)))

    def setup(self) -> None:
        """Create the ball, its mesh and the source."""
        r, d = _checks.positive("radius", self.radius), _checks.positive("thickness", self.thickness)
        cell = r / _checks.integer("cells", self.cells, 3)
        self._ball = icosphere(4, r)
        if self.mesh == "kdsm":
            times = np.linspace(0.0, self.end, self.clock().frames + 1)
            kdsm = KDSM.build(
                icosphere(3, r),
                lambda t: self.pose(t).apply(icosphere(3, r).vertices),
                times,
                cell_size=cell,
                layers=max(round(d / cell), 1),
            )
            moving = kdsm.moving()
        else:
            rest = enclosing_mesh(Sphere((0.0, 0.0, 0.0), r), np.empty((0, 3)), cell, offset=d, depth=2.5 * cell)
            moving = MovingTetMesh(rest, lambda t: self.pose(t).apply(rest.vertices))
        solid = KinematicSolid(Sphere((0.0, 0.0, 0.0), r), self.pose)
        top = r + d
        a = _checks.positive("stream", self.stream)
        nozzle = Capsule((0.0, 0.0, top - 2 * a), (0.0, 0.0, top - a), a)
        source = LiquidSource(region=nozzle, velocity=(0.0, 0.0, -_checks.positive("speed", self.speed)))
        vof = TetVOF(moving, solid, sources=[source], adhesion=self.adhesion, options=self.options(), columns=COLUMNS)
        wide = top + abs(self.swing)
        self.use(vof, ((-wide, -top, -top - 0.5 * r), (wide, top, top + 0.1 * r)), fall=r)

    def distance(self, points: Floats) -> Floats:
        """Return the signed distance of the ball, m."""
        result: Floats = np.linalg.norm(points - np.array(self.pose(self.vof.time).translation), axis=1) - self.radius
        return result

    def body_meshes(self, time: float) -> Mapping[str, FrameMesh]:
        """Return the ball."""
        return {"body": FrameMesh(self.pose(time).apply(self._ball.vertices), self._ball.triangles)}
