"""Scene of bodies of which some sink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from meniscus import _checks
from meniscus.scenes.floating_water import FloatingWater
from meniscus.scenes.scene import parameter
from meniscus.scenes.water import below, water_grid
from meniscus.solids import RigidBody
from meniscus.surface import Pose


@dataclass(kw_only=True)
class Sinking(FloatingWater):
    """Balls of rising density beside each other fall into a tank: the first ones float, the last ones sink to the ground."""

    name: ClassVar[str] = "sinking"
    summary: ClassVar[str] = "balls from cork to iron fall into water"

    resolution: int = parameter(48, "cells along the tank, 1 m")
    bodies: int = parameter(5, "their number")
    lightest: float = parameter(200.0, "density of the first ball, kg/m^3")
    heaviest: float = parameter(7800.0, "density of the last ball, kg/m^3")
    level: float = parameter(0.4, "of the water at the start, m")
    drop: float = parameter(0.05, "height above the water, m")
    frames: int = parameter(48, "frames to write")
    end: float = parameter(2.0, "length of the run, s")

    def setup(self) -> None:
        """Create the tank and the balls in a row above it."""
        n = _checks.integer("resolution", self.resolution, 8)
        count = _checks.integer("bodies", self.bodies, 1)
        grid = water_grid((n, max(round(0.4 * n), 4), round(0.8 * n)), 1 / n, below(self.level))
        radius = min(0.3 / count, 0.08)
        made = []
        for k in range(count):
            density = self.lightest * (self.heaviest / self.lightest) ** (k / max(count - 1, 1))
            place = ((k + 0.5) / count, 0.5 * grid.shape[1] / n, self.level + radius + self.drop)
            made.append(RigidBody.sphere(radius, density, pose=Pose(place)))
        self.float_bodies(grid, self.level, made)
