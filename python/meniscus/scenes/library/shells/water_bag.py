"""Scene of water that falls on a cloth which is held at its corners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meniscus import _checks
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.grid import Grid
from meniscus.mesh import TriangleMesh, cloth_mesh
from meniscus.scenes.cloths import sprung
from meniscus.scenes.scene import parameter
from meniscus.scenes.shell_water import ShellWater
from meniscus.solids import DeformableBody
from meniscus.surface import Sphere


@dataclass(kw_only=True)
class WaterBag(ShellWater):
    """A ball of water falls into a cloth that hangs from its four corners, and which it stretches to a bag.

    Source: Guendelman, Selle, Losasso and Fedkiw 2005, figure 8; Selle 2008, Figure 4.9.
    """

    name: ClassVar[str] = "water-bag"
    summary: ClassVar[str] = "water in a cloth that is held at its corners"

    resolution: int = parameter(40, "cells across the box, 1 m")
    quads: int = parameter(20, "quads along a side of the cloth")
    smooth: int = parameter(1, "levels of subdivision of the shell in pictures")
    frames: int = parameter(48, "frames to write")
    end: float = parameter(2.0, "length of the run, s")
    radius: float = parameter(0.17, "of the ball of water, m")
    height: float = parameter(0.66, "of its middle, m")
    sag: float = parameter(0.22, "of the middle of the cloth below its corners, m")
    stiffness: float = parameter(5000.0, "of the edges of the cloth, N/m")
    cloth_density: float = parameter(0.5, "of the cloth, kg/m^2")

    def setup(self) -> None:
        """Create the cloth and the ball of water."""
        n = _checks.integer("resolution", self.resolution, 8)
        grid = Grid((n, n, n), 1 / n)
        self.use(LiquidSolver(grid, self.liquid_options()))
        self.cloth = self.declare("cloth", self.make_cloth())
        self.solver.fill(Sphere((0.5, 0.5, self.height), _checks.positive("radius", self.radius)))
        self.couple(self.cloth)

    def make_cloth(self) -> DeformableBody:
        """Return the cloth, sagging, and pinned at its corners."""
        q = _checks.integer("quads", self.quads, 2)
        side = 0.66
        flat = cloth_mesh(q, q, (side, side))
        x, y = flat.vertices[:, 0], flat.vertices[:, 1]
        u, v = 2 * x / side - 1, 2 * y / side - 1
        low = self.sag * ((1 - u**2) * (1 - v**2) + 0.45 * (2 - u**2 - v**2)) / 1.9
        mesh = TriangleMesh(np.column_stack([0.17 + x, 0.17 + y, 0.7 - low]), flat.triangles)
        density = _checks.positive("cloth_density", self.cloth_density)
        body = sprung(mesh, (self.stiffness, 0.5), (0.01 * self.stiffness, None), density=density, gravity=(0.0, 0.0, -9.81))
        body.pin(np.flatnonzero((np.abs(u) > 1 - 1e-9) & (np.abs(v) > 1 - 1e-9)))
        return body

    def report(self, time: float) -> dict[str, float]:
        """As for all water; with the lowest point of the cloth, m, the force of the water on it, N, and the water below it, m^3."""
        low = float(self.cloth.positions[:, 2].min())
        cells = self.solver.levelset.field.coordinates()[2] < low
        wet = float((np.asarray(self.solver.levelset.array <= 0) & cells).sum()) * self.solver.grid.spacing**3
        return {**super().report(time), "lowest": low, "force": self.force(2), "water below": wet}
