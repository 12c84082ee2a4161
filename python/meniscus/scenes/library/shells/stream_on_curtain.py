"""Scene of a stream of water on a curtain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meniscus import _checks
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.liquid.sources import LiquidSource
from meniscus.grid import Grid
from meniscus.mesh import TriangleMesh, cloth_mesh
from meniscus.scenes.cloths import sprung
from meniscus.scenes.scene import parameter
from meniscus.scenes.shell_water import ShellWater
from meniscus.solids import DeformableBody
from meniscus.surface import Sphere


@dataclass(kw_only=True)
class StreamOnCurtain(ShellWater):
    """A stream of water hits a curtain that hangs from its upper edge, pushes it away, and runs down in front of it.

    Source: Guendelman, Selle, Losasso and Fedkiw 2005, figure 1; Selle 2008, Figure 4.10.
    """

    name: ClassVar[str] = "stream-on-curtain"
    summary: ClassVar[str] = "a stream of water on a curtain"

    resolution: int = parameter(48, "cells along the box, 1.2 m")
    quads: int = parameter(20, "quads along the upper edge of the curtain")
    frames: int = parameter(48, "frames to write")
    end: float = parameter(2.0, "length of the run, s")
    speed: float = parameter(3.0, "of the stream, m/s")
    radius: float = parameter(0.09, "of the nozzle, m")
    pouring: float = parameter(1.6, "how long water is poured, s")
    stiffness: float = parameter(3000.0, "of the edges of the curtain, N/m")
    cloth_density: float = parameter(0.6, "of the curtain, kg/m^2")
    azimuth: float = parameter(-38.0, "of the camera, degrees")
    smooth: int = parameter(1, "levels of subdivision of the shells in pictures")

    def setup(self) -> None:
        """Create the curtain and the stream."""
        n = _checks.integer("resolution", self.resolution, 12)
        grid = Grid((n, 2 * n // 3, 2 * n // 3), 1.2 / n)
        nozzle = Sphere((0.14, 0.4, 0.52), _checks.positive("radius", self.radius))
        flow = (_checks.positive("speed", self.speed), 0.0, 0.0)
        source = LiquidSource(region=nozzle, velocity=flow, end=self.pouring)
        self.use(LiquidSolver(grid, self.liquid_options(), sources=[source]))
        self.curtain = self.declare("curtain", self.make_curtain())
        self.solver.fill(nozzle, flow)
        self.couple(self.curtain)

    def make_curtain(self) -> DeformableBody:
        """Return the curtain in folds, pinned at its upper edge."""
        q = _checks.integer("quads", self.quads, 4)
        width, height = 0.56, 0.58
        flat = cloth_mesh(q, q, (width, height))
        across, down = flat.vertices[:, 0], flat.vertices[:, 1]
        folds = 0.02 * np.sin(6 * np.pi * across / width)
        mesh = TriangleMesh(np.column_stack([0.62 + folds, 0.12 + across, 0.72 - down]), flat.triangles)
        density = _checks.positive("cloth_density", self.cloth_density)
        body = sprung(mesh, (self.stiffness, 0.5), (0.01 * self.stiffness, None), density=density, gravity=(0.0, 0.0, -9.81))
        body.pin(np.flatnonzero(down < 1e-9))
        return body

    def report(self, time: float) -> dict[str, float]:
        """As for all water; with how far the curtain is pushed, m, and the force of the water on it, N."""
        pushed = float(self.curtain.positions[:, 0].max()) - 0.62
        return {**super().report(time), "pushed": pushed, "force": self.force(0)}
