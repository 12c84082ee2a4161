"""Scene of streams of water on a ball, in a closed box."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from meniscus import _checks
from meniscus.coupling import KDSM, DropSource
from meniscus.fluids import LiquidSource
from meniscus.grid import Grid
from meniscus.io.frames import FrameMesh
from meniscus.mesh import MovingTetMesh, icosphere
from meniscus.scenes.coupled_water import CoupledWater, Setting
from meniscus.scenes.scene import parameter
from meniscus.surface import Box, KinematicSolid, Pose, Solid, Sphere, enclosing_mesh

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
    tetrahedra: `scale=2.5, edge=0.0308`.
    """

    name: ClassVar[str] = "ball-stream"
    summary: ClassVar[str] = "streams on a ball, on tetrahedra, drops and a grid coupled, or on a grid alone"

    streams: Literal["one", "two"] = parameter("one", "on the middle of the ball, or beside it")
    stream: float = parameter(2 * SIDE / CELLS, "radius of a stream, m; two cells at scale 1")
    speed: float = parameter(1.5, "of the water where it comes from, m/s")
    pouring: float = parameter(60.0, "how long water is poured, s")
    source: Literal["tetrahedra", "drops", "grid"] = parameter("tetrahedra", "where coupled water comes from; the others have the grid")
    pool: float = parameter(0.1, "depth of the water on the floor at the start, m; drops on a dry one lie there until they fill cells")
    swing: float = parameter(0.0, "how far the ball goes to each side, m; 0: it rests")
    period: float = parameter(1.6, "of the swing, s")
    radius: float = parameter(0.35, "of the ball, m")
    thickness: float = parameter(0.25, "of the mesh around the ball, m")
    edge: float = parameter(0.048, "of the lattice of the mesh at scale 1, m")
    mesh: Literal["rigid", "kdsm"] = parameter("rigid", "moves with the ball, or follows it elastically")

    zoom: float = parameter(1.1, "of the camera; 1 shows the whole box")

    def setup(self) -> None:
        """Create the box, the ball and the sources."""
        n = round(CELLS * self.scale)
        if n < 8:
            raise ValueError(f"scale must leave at least 8 cells across the box, so be at least {8 / CELLS:g}, not {self.scale:g}")
        if not 0 < _checks.number("radius", self.radius) < 0.8:
            raise ValueError(f"radius must be above 0 and below 0.8 m, not {self.radius:g}")
        a = _checks.positive("stream", self.stream)
        top = SIDE - 0.02 - a
        if top - a < CENTER[2] + self.radius:
            raise ValueError(
                f"stream must fit between the ball and the top, so be below {0.5 * (SIDE - CENTER[2] - self.radius):g} m, not {a:g}"
            )
        if _checks.number("swing", self.swing) < 0 or _checks.number("pool", self.pool) < 0:
            raise ValueError("swing and pool must not be negative")
        d, r = _checks.positive("thickness", self.thickness), self.radius
        if self.source == "tetrahedra" and self.solver == "coupled" and 2 * a > d:
            raise ValueError(f"a stream from within the mesh must be thinner than it: stream at most {0.5 * d:g} m, not {a:g}")
        self._skin = icosphere(4, r)
        inside = self.solver == "coupled" and self.source != "grid"
        # Beside the middle of the ball the mesh is lower.
        above = [math.sqrt((r + d - a) ** 2 - (x - CENTER[0]) ** 2) for x in self.places()]
        regions = [Sphere((x, CENTER[1], CENTER[2] + z), a) for x, z in zip(self.places(), above, strict=True)]
        from_top = [Sphere((x, CENTER[1], top), a) for x in self.places()]
        kdsm = self.kdsm() if self.solver == "coupled" and self.mesh == "kdsm" else None
        setting = Setting(
            grid=Grid((n, n, n), SIDE / n),
            solid=self.ball() if kdsm is None else kdsm.solid,
            pool=Box((-1.0, -1.0, -1.0), (SIDE + 1, SIDE + 1, self.pool)) if self.pool > 0 else None,
            sources=[] if inside else [self._poured(region) for region in from_top],
            mesh=self.rigid_mesh if kdsm is None else lambda: kdsm,
            tet_sources=[] if not inside else [self._poured(region) for region in regions],
        )
        if inside and self.source == "drops":
            setting = replace(setting, tet_sources=[self._rained(k, region) for k, region in enumerate(from_top)])
        self.use(setting)

    def rigid_mesh(self) -> MovingTetMesh:
        """Return a mesh around the ball that moves with it."""
        cell = _checks.positive("edge", self.edge) / self.scale
        ball = Sphere((0.0, 0.0, 0.0), self.radius)
        rest = enclosing_mesh(ball, np.empty((0, 3)), cell, offset=self.thickness, depth=max(2.5 * cell, 0.3 * self.radius))
        if self.swing > 0:
            return MovingTetMesh(rest, lambda t: self.pose(t).apply(rest.vertices))
        still = self.pose(0.0).apply(rest.vertices)
        return MovingTetMesh(rest, lambda t: still)

    def kdsm(self) -> KDSM:
        """Return a mesh that follows the ball."""
        cell = 2 * _checks.positive("edge", self.edge) / self.scale
        ball = icosphere(3, self.radius)
        times = np.arange(self.frames + 1) / _checks.positive("rate", self.rate)
        layers = max(round(self.thickness / cell), 1)
        rest = ball.moved(self.pose(0.0).apply(ball.vertices))
        return KDSM.build(rest, lambda t: self.pose(t).apply(ball.vertices), times, cell_size=cell, layers=layers, subdivisions=1)

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

    def _poured(self, region: Sphere) -> LiquidSource:
        velocity = (0.0, 0.0, -_checks.positive("speed", self.speed))
        return LiquidSource(region=region, velocity=velocity, end=_checks.positive("pouring", self.pouring))

    def _rained(self, number: int, region: Sphere) -> DropSource:
        """Return a source of as many drops as a stream holds."""
        velocity = (0.0, 0.0, -_checks.positive("speed", self.speed))
        rate = math.pi * self.stream**2 * self.speed
        size = 0.25 * SIDE / CELLS / self.scale
        return DropSource(region=region, rate=rate, velocity=velocity, radius=size, end=self.pouring, seed=self.seed + number)

    def body(self, time: float) -> FrameMesh:
        """Return the ball."""
        return FrameMesh(np.asarray(self.pose(time).apply(self._skin.vertices)), self._skin.triangles)
