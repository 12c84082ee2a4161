"""Scene of the lid-driven cavity in two dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.fluids import TransportOptions
from meniscus.fluids.gas.options import SmokeOptions
from meniscus.fluids.gas.solver import SmokeSolver
from meniscus.grid import Grid, Wall, sample
from meniscus.grid.transport.advection import Interpolation, Limiter, Method
from meniscus.io.frames import FrameData
from meniscus.scenes.gas import GasScene
from meniscus.scenes.library.ghia import centerlines
from meniscus.scenes.scene import parameter


@dataclass(kw_only=True)
class Cavity(GasScene):
    """A viscous fluid in the unit square under a lid that moves with speed 1, from rest towards the steady state.

    At the Reynolds numbers 100, 400 and 1000 the largest deviations from the tables of Ghia, Ghia and Shin are reported, in units of the
    speed of the lid.

    Source: Müller et al. 2008, section 10.1 (operator splitting with implicit viscosity); Ghia, Ghia and Shin 1982 (the steady state).
    """

    name: ClassVar[str] = "cavity"
    summary: ClassVar[str] = "a viscous fluid under a moving lid in two dimensions"
    shows: ClassVar[Mapping[str, str]] = {"velocity": "solver.velocity"}

    resolution: int = parameter(96, "cells across the cavity, 1 m")
    frames: int = parameter(16, "frames to write")
    end: float = parameter(40.0, "length of the run, s; the steady state takes longer at high Reynolds numbers")
    cfl: float = parameter(0.5, "cells that the fastest fluid passes in a step")
    reynolds: float = parameter(400.0, "Reynolds number of lid speed, side and viscosity")
    method: Method = parameter("maccormack", "scheme")
    limiter: Limiter = parameter("none", "limiter of the scheme")
    interpolation: Interpolation = parameter("linear", "interpolation")

    def setup(self) -> None:
        """Create the fluid at rest."""
        n = _checks.integer("resolution", self.resolution, 4)
        options = SmokeOptions(
            viscosity=1 / _checks.positive("reynolds", self.reynolds),
            slip="no-slip",
            transport=TransportOptions(method=self.method, limiter=self.limiter, interpolation=self.interpolation),
            cfl=self.cfl,
        )
        still, lid = Wall(slip="no-slip"), Wall(velocity=(1.0, 0.0), slip="no-slip")
        sides = {"x-": still, "x+": still, "y-": still, "y+": lid}
        self.use(SmokeSolver(Grid((n, n), 1.0 / n), options, dtype=np.float64, boundary=sides))
        self.reference = centerlines(self.reynolds)

    def max_dt(self) -> float:
        """Return the limit of the solver, or that of the lid, which the fluid follows, if it is smaller."""
        return min(self.solver.max_dt(), self.cfl * self.solver.grid.spacing)

    def deviations(self) -> tuple[float, float]:
        """Return the largest |u - table| and |v - table| on the centrelines. Raises ValueError where there is no table."""
        if self.reference is None:
            raise ValueError(f"there is no table for Reynolds number {self.reynolds:g}")
        result = []
        for d, (s, expected) in enumerate(self.reference):
            points = np.full((len(s), 2), 0.5)
            points[:, 1 - d] = s
            result.append(float(np.abs(sample(self.solver.velocity, points)[:, d] - expected).max()))
        return result[0], result[1]

    def report(self, time: float) -> dict[str, float]:
        """As for all gases; with the deviations from the tables, where there are any."""
        result = super().report(time)
        if self.reference is not None:
            result["u deviation"], result["v deviation"] = self.deviations()
        return result

    def draw(self, frame: FrameData) -> Any:
        """Show the speed and streamlines."""
        from meniscus import viz

        return viz.streamlines(
            frame["velocity"],
            extent=(0.0, 1.0, 0.0, 1.0),
            title=f"speed, m/s: Re {self.reynolds:g}, t = {frame.time:.1f} s",
            limits=(0.0, 1.0),
        )
