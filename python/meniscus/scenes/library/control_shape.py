"""Scene of water that takes a shape, and then drops."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from meniscus import _checks
from meniscus.fluids.control.control import ControlForce
from meniscus.fluids.control.shape import ControlShape
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.scenes.scene import parameter
from meniscus.scenes.water import Water, below, pool, water_grid
from meniscus.surface import Box, Shape, Sphere

Target = Literal["letter", "ball", "ring"]
MIDDLE = np.array((0.5, 0.25, 0.62))


@dataclass(kw_only=True)
class WaterInShape(Water):
    """A ball of water in the air that becomes the letter M or a ring, or stays a ball, until it is let go and drops into a pool.

    The box is 1 m by 0.5 m by 1 m. The ball of water has the volume of the shape.

    Source: Thürey, Keiser, Pauly and Rüde 2006, sections 3 and 4.
    """

    name: ClassVar[str] = "control-shape"
    summary: ClassVar[str] = "water takes the shape of a letter, and drops"

    resolution: int = parameter(64, "cells per metre")
    target: Target = parameter("letter", "the shape that the water takes")
    attraction: float = parameter(30.0, "depth of the potential around the shape, m^2/s^2")
    reach: float = parameter(0.25, "of the shape, m")
    rate: float = parameter(15.0, "at which the water in the shape comes to rest, 1/s")
    detail: float = parameter(0.1, "width of the means that come to rest, m; 0: all of the velocity")
    release: float = parameter(1.0, "time at which the shape lets go, s")
    level: float = parameter(0.1, "of the pool, m")
    cfl: float = parameter(1.75, "cells that the fastest liquid passes in a step")
    frames: int = parameter(40, "frames to write")
    end: float = parameter(5 / 3, "length of the run, s")
    azimuth: float = parameter(15.0, "of the camera, degrees")
    elevation: float = parameter(12.0, "of the camera, degrees")

    def setup(self) -> None:
        """Create the ball and the pool."""
        n = _checks.integer("resolution", self.resolution, 8)
        shape = self.shape()
        force = ControlForce(attraction=self.attraction, rate=self.rate, detail=self.detail or None, end=self.release)
        level = _checks.positive("level", self.level)
        grid = water_grid((n, n // 2, n), 1 / n, below(level), shape)
        options = self.liquid_options(gravity=(0.0, 0.0, -9.8))
        self.use(LiquidSolver(grid, options, controls=[ControlShape(shape, _checks.positive("reach", self.reach), force)]))
        self.solver.fill(pool(level, self.solver.levelset.field))
        self.solver.fill(Sphere(tuple(MIDDLE.tolist()), (3 * volume_of(shape) / (4 * math.pi)) ** (1 / 3)))

    def shape(self) -> Shape:
        """Return the shape that the water takes."""
        x, y, z = MIDDLE.tolist()
        if self.target == "ball":
            return Sphere((x, y, z), 0.2)
        if self.target == "ring":
            across = Box((x - 0.3, y - 0.07, z - 0.3), (x + 0.3, y + 0.07, z + 0.3))
            return (Sphere((x, y, z), 0.27) - Sphere((x, y, z), 0.15)) & across
        posts = Box((x - 0.27, y - 0.07, z - 0.24), (x - 0.17, y + 0.07, z + 0.24)) | Box(
            (x + 0.17, y - 0.07, z - 0.24), (x + 0.27, y + 0.07, z + 0.24)
        )
        return posts | self._slanted(1.0) | self._slanted(-1.0)

    def _slanted(self, side: float) -> Shape:
        """Return a stroke from the middle of the letter to the top of a post."""
        x, y, z = MIDDLE.tolist()
        lower, upper = np.array((x, z - 0.1)), np.array((x + side * 0.21, z + 0.2))
        length, angle = float(np.hypot(*(upper - lower))), math.atan2(*(upper - lower)[::-1])
        stroke = Box((x, y - 0.07, lower[1] - 0.045), (x + length, y + 0.07, lower[1] + 0.045))
        # About y, positive angles turn x downward.
        turn = (math.cos(0.5 * angle), 0.0, -math.sin(0.5 * angle), 0.0)
        return stroke.rotated(turn, about=(x, y, float(lower[1])))


def volume_of(shape: Shape) -> float:
    """Return the volume of a bounded shape, m^3, from points 1 cm apart."""
    lower, upper = shape.bounds
    axes = [np.arange(a + 0.005, b, 0.01) for a, b in zip(lower, upper, strict=True)]
    points = np.stack([c.ravel() for c in np.meshgrid(*axes, indexing="ij")], axis=1)
    return 1e-6 * float((shape.signed_distance(points) <= 0).sum())
