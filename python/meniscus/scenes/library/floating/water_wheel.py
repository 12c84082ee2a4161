"""Scene of a wheel that a stream of water turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meniscus import _checks
from meniscus.fluids.liquid.sources import LiquidSource
from meniscus.scenes.floating_water import FloatingWater
from meniscus.scenes.scene import parameter
from meniscus.scenes.shapes import paddle_wheel
from meniscus.scenes.water import below, water_grid
from meniscus.solids import RigidBody
from meniscus.surface import Box, Pose


@dataclass(kw_only=True)
class WaterWheel(FloatingWater):
    """A stream falls on the paddles of a wheel on a hinge, which turns against a load, over a tank of 1 m.

    Water and wheel push each other in one solve; the hinge is a constraint in it.
    """

    name: ClassVar[str] = "water-wheel"
    summary: ClassVar[str] = "a stream turns a wheel against a load"

    resolution: int = parameter(56, "cells along the tank, 1 m")
    paddles: int = parameter(8, "their number")
    radius: float = parameter(0.26, "of the wheel, m")
    width: float = parameter(0.2, "of the wheel, m")
    thickness: float = parameter(0.04, "of a paddle, m")
    density: float = parameter(600.0, "of the wheel, kg/m^3")
    load: float = parameter(0.4, "torque per rate of turning that the axle gives away, N m s")
    speed: float = parameter(1.5, "of the stream where it begins, m/s")
    pouring: float = parameter(3.0, "how long the stream flows, s")
    level: float = parameter(0.08, "of the water at the start, m")
    frames: int = parameter(96, "frames to write")
    end: float = parameter(4.0, "length of the run, s")

    def setup(self) -> None:
        """Create the tank, the wheel on its hinge, and the source."""
        n = _checks.integer("resolution", self.resolution, 12)
        deep = max(round(1.6 * self.width * n), 6)
        centre = (0.5, 0.5 * deep / n, self.level + 0.04 + self.radius)
        mesh = paddle_wheel(self.paddles, self.radius, 0.3 * self.radius, self.width, self.thickness)
        self.wheel = RigidBody(mesh, density=self.density, pose=Pose(centre))
        place = centre[0] - 0.6 * self.radius
        half = 0.3 * self.width
        nozzle = Box((place - 0.04, centre[1] - half, 0.9), (place + 0.04, centre[1] + half, 0.98))
        source = LiquidSource(region=nozzle, velocity=(0.0, 0.0, -_checks.positive("speed", self.speed)), end=self.pouring)
        grid = water_grid((n, deep, n), 1 / n, nozzle, below(self.level + 0.1))
        self.float_bodies(grid, self.level, [self.wheel], sources=[source])
        self.hinge = self.world.join(self.wheel, None, "hinge", point=centre, axis=(0.0, 1.0, 0.0), spring=(0.0, self.load, 0.0))

    def report(self, time: float) -> dict[str, float]:
        """As for all water that floats bodies; with turns per second, and the power that the load takes, W."""
        rate = float(self.wheel.angular_velocity[1])
        return {**super().report(time), "turns per second": rate / (2 * np.pi), "power": self.load * rate * rate}
