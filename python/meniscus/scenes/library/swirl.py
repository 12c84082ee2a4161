"""Scene of a scalar in a swirling flow that runs back to its start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

import meniscus.grid as mg
from meniscus import _checks
from meniscus.core import Workspace
from meniscus.fluids.flows.procedural import single_vortex
from meniscus.grid.transport.advection import Interpolation, Limiter, Method, Trace, TransportBlock
from meniscus.io.frames import FrameData
from meniscus.scenes.global_measures import mean
from meniscus.scenes.scene import Scene, parameter
from meniscus.scenes.stepper import TimeStepper


@dataclass(kw_only=True)
class Swirl(Scene):
    """Dye in the vortex in a box, stretched to a spiral for half of the period and wound back for the other half.

    The velocity of each step is the flow at its middle, sampled as a discrete curl. At the end the exact solution is the start.

    Source: LeVeque 1996 (flow); Brochu 2012, section 5.4.2 (sampling of procedural flows).
    """

    name: ClassVar[str] = "swirl"
    summary: ClassVar[str] = "dye stretched and wound back by a vortex in a box"
    stages: ClassVar[tuple[str, ...]] = ("flow", "transport")
    shows: ClassVar[Mapping[str, str]] = {"dye": "dye", "velocity": "velocity"}

    resolution: int = parameter(320, "cells per axis")
    cfl: float = parameter(1.5, "largest |velocity| dt / dx")
    period: float = parameter(4.0, "time until the flow is back at its start, s")
    method: Method = parameter("maccormack", "scheme")
    block: TransportBlock = parameter("semi-lagrangian", "first-order block of the scheme")
    limiter: Limiter = parameter("reversion", "limiter")
    trace: Trace = parameter("midpoint", "how characteristics are integrated")
    interpolation: Interpolation = parameter("linear", "interpolation")
    frames: int = parameter(16, "frames to write")

    def clock(self) -> TimeStepper:
        """Return a clock of one period."""
        return TimeStepper(self.period, self.frames)

    def setup(self) -> None:
        """Create the dye."""
        n = _checks.integer("resolution", self.resolution, 4)
        grid = mg.Grid((n, n), 1.0 / n)
        self.flow = single_vortex(1.0, self.period)
        self.velocity = mg.MacField(grid)
        self.dye = self.declare("dye", mg.CellField(grid))
        x, y = self.dye.coordinates()
        r = np.hypot(x - 0.5, y - 0.75)
        # A spot and a ring around (1/2, 3/4), smooth, zero from radius 0.21 on.
        self.dye.array[...] = np.where(r < 0.21, np.cos(np.pi * r / 0.14) ** 2, 0.0)
        self.start = self.dye.array.copy()
        self.workspace = Workspace()

    def max_dt(self) -> float:
        """Return the step of the given CFL number at the flow's peak speed of 1 m/s."""
        return self.cfl * self.dye.grid.spacing

    def advance(self, time: float, dt: float) -> None:
        """Sample the flow and advect the dye."""
        with self.stage("flow"):
            self.flow.sample(self.velocity, time + 0.5 * dt, workspace=self.workspace)
        with self.stage("transport"):
            scheme = self.values("method", "block", "trace", "interpolation", "limiter")
            mg.advect(self.dye, self.velocity, dt, time=time, workspace=self.workspace, **scheme)

    def report(self, time: float) -> dict[str, float]:
        """Mean distance from the start (the error, at the end), extremes and mean."""
        return {
            "distance": mean(np.abs(self.dye - self.start), self.dye),
            "min": self.dye.min(),
            "max": self.dye.max(),
            "mean": mean(self.dye.array, self.dye),
        }

    def draw(self, frame: FrameData) -> Any:
        """Show the dye."""
        from meniscus import viz

        return viz.image(frame["dye"], extent=(0.0, 1.0, 0.0, 1.0), title=f"{self.method}, t = {frame.time:.2f} s")
