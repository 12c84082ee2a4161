"""Scene of Enright's test with a tracked surface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from meniscus.mesh import TriangleMesh
from meniscus.scenes.bodies.tracked import Box, Tracked, start_mesh
from meniscus.scenes.scene import parameter
from meniscus.surface import Sphere

CENTER, RADIUS, PERIOD = (0.35, 0.35, 0.35), 0.15, 3.0
Floats = npt.NDArray[np.float64]


def enright_flow(points: Floats, time: float) -> Floats:
    """Return the velocities (n, 3) that draw a sphere out to a thin sheet until t = 1.5 and back until t = 3."""
    x, y, z = points.T
    turn = np.sin(2 * np.pi * time / PERIOD)
    one = [np.sin(np.pi * c) ** 2 for c in (x, y, z)]
    two = [np.sin(2 * np.pi * c) for c in (x, y, z)]
    velocity: Floats = turn * np.stack([2 * one[0] * two[1] * two[2], -two[0] * one[1] * two[2], -two[0] * two[1] * one[2]], axis=1)
    return velocity


@dataclass(kw_only=True)
class Enright(Tracked):
    """A sphere of radius 0.15 m is drawn out to a sheet, four times its area, and comes back.

    Source: Brochu 2012, section 3.3.3, Figures 3.11 to 3.13; Enright et al. 2002.
    """

    name: ClassVar[str] = "enright"
    summary: ClassVar[str] = "a sphere drawn out to a thin sheet and back"
    box: ClassVar[Box | None] = ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    topology: ClassVar[bool] = False

    edge: float = parameter(0.01, "edge length, m")
    dt: float = parameter(0.01, "time step, s")
    end: float = parameter(PERIOD, "end, s")
    mesh: str | None = parameter(None, "mesh file (OBJ, PLY, STL, OFF) of a closed surface instead of the sphere, 0.3 m long")

    def shape(self) -> TriangleMesh:
        """The sphere."""
        return start_mesh(self.mesh, Sphere(CENTER, RADIUS), self.edge, CENTER, 2 * RADIUS)

    def max_dt(self) -> float:
        """Return the time step."""
        return self.dt

    def advance(self, time: float, dt: float) -> None:
        """Follow the flow."""
        with self.stage("improve"):
            self.surface.improve()
        with self.stage("move"):
            self.last_report = self.surface.follow(enright_flow, dt)
