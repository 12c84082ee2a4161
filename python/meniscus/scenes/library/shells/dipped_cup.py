"""Scene of a cup, or a mesh of yours, that is dipped into water."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meniscus import _checks, mesh
from meniscus.coupling.shells.bodies import KinematicShell
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.grid import Grid
from meniscus.mesh import TriangleMesh
from meniscus.scenes.library.shells.cup import cup_mesh, turned
from meniscus.scenes.scene import parameter
from meniscus.scenes.shell_water import ShellWater
from meniscus.surface import HalfSpace, Pose

_HIGH = 0.74
"""Height of the middle of the cup before and after, m."""


@dataclass(kw_only=True)
class DippedCup(ShellWater):
    """A thin cup is dipped into a tank until water runs over its rim, is lifted full, and poured out.

    With a mesh of yours in its place, the water that has come in while it was under leaves as it came: through the holes of the mesh.

    Source: Guendelman, Selle, Losasso and Fedkiw 2005, figure 6; Selle 2008, Figure 4.6.
    """

    name: ClassVar[str] = "dipped-cup"
    summary: ClassVar[str] = "a thin cup that is dipped into water, lifted, and poured out"

    resolution: int = parameter(40, "cells across the tank, 1 m")
    frames: int = parameter(76, "frames to write")
    end: float = parameter(3.2, "length of the run, s")
    level: float = parameter(0.42, "of the water at the start, m")
    radius: float = parameter(0.18, "of the rim, m")
    low: float = parameter(0.2, "height of the middle of the cup when it is under, m")
    tilted: float = parameter(115.0, "angle to which the cup is turned at the end, degrees")
    mesh: str | None = parameter(None, "mesh file (OBJ, PLY, STL, OFF) of a surface, y upwards, instead of the cup; it may have holes")
    size: float = parameter(0.4, "of the longest side of that mesh, m")

    def setup(self) -> None:
        """Create the cup and the tank."""
        n = _checks.integer("resolution", self.resolution, 8)
        grid = Grid((n, n, n), 1 / n)
        self.use(LiquidSolver(grid, self.liquid_options()))
        self.cup = self.declare("cup", KinematicShell(self.make_mesh(), self.pose))
        self.solver.fill(HalfSpace((0.0, 0.0, self.level), (0.0, 0.0, 1.0)))
        self.couple(self.cup)

    def pose(self, time: float) -> Pose:
        """Return where the cup is: it goes down, waits, comes up, and is turned."""
        down, up = smooth(time / 0.7), smooth((time - 1.3) / 0.7)
        angle = 0.0 if self.mesh else np.radians(self.tilted) * smooth((time - 2.1) / 0.7)
        return turned(angle, (0.5, 0.5, _HIGH + (self.low - _HIGH) * (down - up)))

    def make_mesh(self) -> TriangleMesh:
        """Return the cup, or the mesh of a file in its place, around the origin."""
        if self.mesh is None:
            return cup_mesh(_checks.positive("radius", self.radius), 0.3)
        given = mesh.read(self.mesh)
        if not isinstance(given, TriangleMesh):
            raise TypeError(f"mesh must consist of triangles, not {type(given).__name__}")
        x = given.vertices[:, [0, 2, 1]] * [1.0, -1.0, 1.0]
        low, high = x.min(axis=0), x.max(axis=0)
        return TriangleMesh((x - 0.5 * (low + high)) * (_checks.positive("size", self.size) / (high - low).max()), given.triangles)

    def report(self, time: float) -> dict[str, float]:
        """As for all water; with the volume above the water at the start, m^3, and what found no way past the cup."""
        cells = self.solver.levelset.field.coordinates()[2] > self.level + 2 * self.solver.grid.spacing
        lifted = float((np.asarray(self.solver.levelset.array <= 0) & cells).sum()) * self.solver.grid.spacing**3
        return {**super().report(time), "lifted": lifted, "deleted": self.deleted()}


def smooth(way: float) -> float:
    """Return a smooth way from 0 to 1."""
    way = min(max(way, 0.0), 1.0)
    return way * way * (3 - 2 * way)
