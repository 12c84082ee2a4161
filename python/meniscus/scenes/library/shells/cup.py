"""Scene of a cup that is filled, and poured out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meniscus import _checks
from meniscus.coupling.shells.bodies import KinematicShell
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.liquid.sources import LiquidSource
from meniscus.grid import Grid
from meniscus.mesh import TriangleMesh
from meniscus.scenes.scene import parameter
from meniscus.scenes.shapes import bowl
from meniscus.scenes.shell_water import ShellWater
from meniscus.surface import Pose, Sphere


@dataclass(kw_only=True)
class Cup(ShellWater):
    """A thin cup under a stream that fills it; then it is tilted and pours its water on the floor.

    Source: Guendelman, Selle, Losasso and Fedkiw 2005, figure 4; Selle 2008, Figure 4.5.
    """

    name: ClassVar[str] = "cup"
    summary: ClassVar[str] = "a thin cup that is filled by a stream, and poured out"

    resolution: int = parameter(40, "cells across the box, 1 m")
    smooth: int = parameter(1, "levels of subdivision of the shell in pictures")
    frames: int = parameter(72, "frames to write")
    end: float = parameter(3.0, "length of the run, s")
    radius: float = parameter(0.2, "of the rim, m")
    speed: float = parameter(1.2, "of the stream, m/s")
    pouring: float = parameter(1.2, "how long water is poured, s")
    tilted: float = parameter(115.0, "angle to which the cup is turned, degrees")

    def setup(self) -> None:
        """Create the cup and the stream."""
        n = _checks.integer("resolution", self.resolution, 8)
        grid = Grid((n, n, n), 1 / n)
        nozzle = Sphere((0.5, 0.5, 0.88), 0.08)
        source = LiquidSource(region=nozzle, velocity=(0.0, 0.0, -_checks.positive("speed", self.speed)), end=self.pouring)
        self.use(LiquidSolver(grid, self.liquid_options(), sources=[source]))
        self.cup = self.declare("cup", KinematicShell(cup_mesh(_checks.positive("radius", self.radius), 0.34), self.pose))
        self.solver.fill(nozzle, source.velocity)
        self.couple(self.cup)

    def pose(self, time: float) -> Pose:
        """Return where the cup is: upright, then turned about a line through its middle."""
        way = np.clip((time - self.pouring - 0.3) / 0.8, 0.0, 1.0)
        angle = np.radians(self.tilted) * way * way * (3 - 2 * way)
        return turned(angle, (0.5, 0.5, 0.45))

    def report(self, time: float) -> dict[str, float]:
        """As for all water; with markers and drops of water that found no way past the cup."""
        return {**super().report(time), "deleted": self.deleted()}


def cup_mesh(radius: float, height: float) -> TriangleMesh:
    """Return a cup around the origin: a round bottom, and a side that widens to a rim of a radius, m."""
    around, rings = 32, 8
    up = np.linspace(0.0, 1.0, rings)
    r, z = radius * np.sqrt(up**0.7), height * (up - 0.5)
    a = 2 * np.pi * np.arange(around) / around
    x = [np.array([[0.0, 0.0, z[0]]])]
    x += [np.column_stack([ri * np.cos(a), ri * np.sin(a), np.full(around, zi)]) for ri, zi in zip(r[1:], z[1:], strict=True)]
    return TriangleMesh(np.concatenate(x), bowl(around, rings - 1))


def turned(angle: float, place: tuple[float, float, float]) -> Pose:
    """Return the pose at a place, m, turned about the axis y by an angle, radians."""
    c, s = np.cos(angle), np.sin(angle)
    return Pose(place, np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]))
