"""Scene of the wake of a cylinder in two dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.fluids import TransportOptions
from meniscus.fluids.gas.options import SmokeOptions
from meniscus.fluids.gas.solver import SmokeSolver
from meniscus.fluids.vorticity.measures import vorticity
from meniscus.grid import Grid, Open, Prescribed, sample
from meniscus.grid.boundary import Slip
from meniscus.grid.transport.advection import Limiter, Method
from meniscus.io.frames import FrameData
from meniscus.scenes.gas import GasScene
from meniscus.scenes.scene import parameter
from meniscus.surface import KinematicSolid, Sphere

LENGTH, HEIGHT = 3.0, 1.0
CENTER = (0.5, 0.5)
RADIUS = 0.125
SPEED = 1.0
_KEPT = 8  # passages of the probe that the Strouhal number is the mean of


@dataclass(kw_only=True)
class Wake(GasScene):
    """A stream past a cylinder of radius 1/8 in the channel [0, 3] x [0, 1], with inflow of speed 1 on the left and an open right side.

    A weak puff across the stream behind the cylinder starts the shedding. The Strouhal number, frequency times diameter over speed, is
    measured at a probe behind the cylinder, over its last periods; it is 0 until there are two of them.

    Source: Selle 2008, section 2.9, Figures 2.9 to 2.11; there the right side prescribes the speed, too.
    """

    name: ClassVar[str] = "wake"
    summary: ClassVar[str] = "vortices behind a cylinder in two dimensions"
    shows: ClassVar[Mapping[str, str]] = {"velocity": "solver.velocity", "vorticity": "vorticity", "solid": "_solid"}

    resolution: int = parameter(100, "cells across the channel, 1 m")
    frames: int = parameter(32, "frames to write")
    end: float = parameter(16.0, "length of the run, s")
    cfl: float = parameter(0.75, "cells that the fastest fluid passes in a step")
    reynolds: float = parameter(0.0, "Reynolds number of speed, diameter and viscosity; 0: no viscosity")
    slip: Slip = parameter("no-slip", "how the fluid passes the cylinder")
    method: Method = parameter("maccormack", "scheme")
    limiter: Limiter = parameter("reversion", "limiter of the scheme")

    def setup(self) -> None:
        """Create the stream and the cylinder."""
        n = _checks.integer("resolution", self.resolution, 8)
        if _checks.number("reynolds", self.reynolds) < 0:
            raise ValueError(f"reynolds must not be negative, but is {self.reynolds:g}")
        grid = Grid((3 * n, n), HEIGHT / n)
        options = SmokeOptions(
            viscosity=2 * RADIUS * SPEED / self.reynolds if self.reynolds else 0.0,
            slip=self.slip,
            transport=TransportOptions(method=self.method, limiter=self.limiter),
            cfl=self.cfl,
        )
        cylinder = KinematicSolid(Sphere(CENTER, RADIUS)).sample(grid)
        self._solid = cylinder.levelset
        solver = SmokeSolver(grid, options, dtype=np.float64, boundary={"x-": Prescribed((SPEED, 0.0)), "x+": Open()}, solid=cylinder)
        solver.velocity.u = SPEED
        x, y = grid.face_centers(1)
        puff = np.exp(-(((x - CENTER[0] - 4 * RADIUS) / (2 * RADIUS)) ** 2) - ((y - CENTER[1]) / (2 * RADIUS)) ** 2)
        solver.velocity.v = 0.3 * SPEED * puff * np.ones(solver.velocity.v.shape)
        self.use(solver)
        self.crossings = self.declare("crossings", np.full(_KEPT, -1.0))
        self.last_cross_flow = self.declare("last_cross_flow", self.cross_flow())

    def cross_flow(self) -> float:
        """Return the velocity across the stream two diameters behind the cylinder, m/s."""
        return float(sample(self.solver.velocity, np.array([[CENTER[0] + 4 * RADIUS, CENTER[1]]]))[0, 1])

    def advance(self, time: float, dt: float) -> None:
        """Step, and record when the cross flow at the probe turns upward."""
        super().advance(time, dt)
        before, now = self.last_cross_flow, self.cross_flow()
        if before < 0 <= now:
            self.crossings[:-1] = self.crossings[1:]
            self.crossings[-1] = time + dt * before / (before - now)
        self.last_cross_flow = now

    @property
    def strouhal(self) -> float:
        """The Strouhal number over the last periods, 0 until there are two."""
        known = self.crossings[self.crossings > 0]
        return 2 * RADIUS / SPEED / float(np.diff(known).mean()) if len(known) > 2 else 0.0

    def report(self, time: float) -> dict[str, float]:
        """As for all gases; with the cross flow at the probe and the Strouhal number so far."""
        return {**super().report(time), "cross flow": self.last_cross_flow, "strouhal": self.strouhal}

    @property
    def vorticity(self) -> Any:
        """The vorticity, 1/s."""
        return vorticity(self.solver.velocity)

    def draw(self, frame: FrameData) -> Any:
        """Show the vorticity."""
        from meniscus import viz

        name = f"Re {self.reynolds:g}" if self.reynolds else "no viscosity"
        return viz.image(
            frame["vorticity"],
            extent=(0.0, LENGTH, 0.0, HEIGHT),
            title=f"vorticity, 1/s: {self.method}, {name}, t = {frame.time:.2f} s",
            limits=(-30.0, 30.0),
            colors="RdBu_r",
            size=(9.0, 3.2),
            solid=frame["solid"],
        )
