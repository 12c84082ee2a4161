"""Scene of streams of water on a ball, in a closed box."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from meniscus import _checks
from meniscus.fluids import LiquidSource
from meniscus.grid import Grid
from meniscus.io.frames import FrameMesh
from meniscus.mesh import icosphere
from meniscus.scenes.coupled_water import CoupledWater, Setting
from meniscus.scenes.scene import parameter
from meniscus.scenes.stepper import TimeStepper
from meniscus.surface import Box, Capsule, KinematicSolid, Pose, Solid, Sphere

SIDE = 2.0
"""Of the box, m."""
CELLS = 40
"""Across the box, at scale 1."""
CENTER = (1.0, 1.0, 0.92)
"""Of the ball, m."""
APART = 0.5
"""How far each of two streams is from the middle of the ball, radii."""


@dataclass(kw_only=True)
class BallStream(CoupledWater):
    """One stream of water, or two, on a ball in a closed box of 2 m by 2 m by 2 m, where the water gathers on the floor.

    Source: Lee 2018, sections 3.4 to 3.6, figures 3.3, 3.4, 3.15, 3.16 and 3.17; there on 100 x 100 x 100 cells with 5.6 million
    tetrahedra: `scale=2.5, edge=0.036`.
    """

    name: ClassVar[str] = "ball-stream"
    summary: ClassVar[str] = "streams on a ball, on tetrahedra, drops and a grid coupled, or on a grid alone"

    streams: Literal["one", "two"] = parameter("one", "on the middle of the ball, or beside it")
    stream: float = parameter(2 * SIDE / CELLS, "radius of a stream, m; two cells at scale 1")
    speed: float = parameter(1.5, "of the water where it comes from, m/s")
    pouring: float = parameter(60.0, "how long water is poured, s")
    source: Literal["tetrahedra", "drops", "grid"] = parameter("tetrahedra", "where coupled water comes from; the others have the grid")
    pool: float = parameter(0.0, "depth of the water at the start, m")
    swing: float = parameter(0.0, "how far the ball goes to each side, m; 0: it rests")
    period: float = parameter(1.6, "of the swing, s")
    radius: float = parameter(0.4, "of the ball, m")

    zoom: float = parameter(1.25, "of the camera; 1 shows the whole box")

    def setup(self) -> TimeStepper:
        """Create the box, the ball and the sources."""
        n = round(CELLS * self.scale)
        if n < 8:
            raise ValueError(f"scale must leave at least 8 cells across the box, so be at least {8 / CELLS:g}, not {self.scale:g}")
        if not 0 < _checks.number("radius", self.radius) < 0.8:
            raise ValueError(f"radius must be above 0 and below 0.8 m, not {self.radius:g}")
        a = _checks.positive("stream", self.stream)
        top = SIDE - 0.02 - a
        if top - a < CENTER[2] + self.radius:
            raise ValueError(f"stream must fit between the ball and the top, so be below {0.5 * (SIDE - CENTER[2] - self.radius):g} m, not {a:g}")
        self._skin = icosphere(4, self.radius)
        if _checks.number("swing", self.swing) < 0 or _checks.number("pool", self.pool) < 0:
            raise ValueError("swing and pool must not be negative")
        sources = [self._poured(Sphere((x, CENTER[1], top), a)) for x in self.places()]
        pool = Box((-1.0, -1.0, -1.0), (SIDE + 1, SIDE + 1, self.pool)) if self.pool > 0 else None
        return self.use(Setting(grid=Grid((n, n, n), SIDE / n), solid=self.ball(), pool=pool, sources=sources))

    def places(self) -> list[float]:
        """Return where the streams are along the first axis, m."""
        away = APART * self.radius
        return [CENTER[0]] if self.streams == "one" else [CENTER[0] - away, CENTER[0] + away]

    def pose(self, time: float) -> Pose:
        """Return where the ball is at a time (s): it starts at rest."""
        phase = 2 * math.pi * max(time, 0.0) / _checks.positive("period", self.period)
        aside = self.swing * math.sin(phase) * math.sin(0.5 * phase) ** 2
        return Pose((CENTER[0] + aside, CENTER[1], CENTER[2]))

    def ball(self) -> Solid:
        """Return the ball as a solid."""
        shape = Sphere((0.0, 0.0, 0.0), self.radius)
        return KinematicSolid(shape, self.pose) if self.swing > 0 else KinematicSolid(Sphere(CENTER, self.radius))

    def _poured(self, region: Sphere | Capsule) -> LiquidSource:
        velocity = (0.0, 0.0, -_checks.positive("speed", self.speed))
        return LiquidSource(region=region, velocity=velocity, end=_checks.positive("pouring", self.pouring))

    def body(self, time: float) -> FrameMesh:
        """Return the ball."""
        return FrameMesh(np.asarray(self.pose(time).apply(self._skin.vertices)), self._skin.triangles)
