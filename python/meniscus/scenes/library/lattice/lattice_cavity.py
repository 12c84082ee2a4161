"""Scene of the lid-driven cavity by the lattice Boltzmann method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.fluids.lattice.options import LatticeCollision, LatticeOptions
from meniscus.fluids.lattice.solver import LatticeBoltzmann
from meniscus.grid import Grid, Wall
from meniscus.io.frames import FrameData
from meniscus.scenes.bodies.lattice import LatticeScene
from meniscus.scenes.library.ghia import centerlines
from meniscus.scenes.scene import parameter


@dataclass(kw_only=True)
class LatticeCavity(LatticeScene):
    """A viscous fluid in the unit square under a lid that moves with speed 1, from rest towards the steady state, as populations.

    At the Reynolds numbers 100, 400 and 1000 the largest deviations from the tables of Ghia, Ghia and Shin are reported, in units of the
    speed of the lid.

    Source: Müller et al. 2008, chapter 10; Ghia, Ghia and Shin 1982 (the steady state).
    """

    name: ClassVar[str] = "lattice-cavity"
    summary: ClassVar[str] = "a viscous fluid under a moving lid by the lattice Boltzmann method"

    resolution: int = parameter(128, "cells across the cavity, 1 m")
    frames: int = parameter(12, "frames to write")
    end: float = parameter(30.0, "length of the run, s; the steady state takes longer at high Reynolds numbers")
    reynolds: float = parameter(400.0, "Reynolds number of lid speed, side and viscosity")
    lattice_speed: float = parameter(0.15, "cells that the lid passes in a step")
    collision: LatticeCollision = parameter("trt", "bgk or trt")

    def setup(self) -> None:
        """Create the fluid at rest."""
        n = _checks.integer("resolution", self.resolution, 4)
        viscosity = 1 / _checks.positive("reynolds", self.reynolds)
        still, lid = Wall(slip="no-slip"), Wall(velocity=(1.0, 0.0), slip="no-slip")
        sides = {"x-": still, "x+": still, "y-": still, "y+": lid}
        options = LatticeOptions(lattice_speed=self.lattice_speed)
        self.use(LatticeBoltzmann(Grid((n, n), 1.0 / n), viscosity, 1.0, collision=self.collision, boundary=sides, options=options))
        self.reference = centerlines(self.reynolds)

    def deviations(self) -> tuple[float, float]:
        """Return the largest |u - table| and |v - table| on the centrelines. Raises ValueError where there is no table."""
        if self.reference is None:
            raise ValueError(f"there is no table for Reynolds number {self.reynolds:g}")
        n, u = self.resolution, self.fluid.velocity
        s = (np.arange(n) + 0.5) / n
        low, high = (n - 1) // 2, n // 2
        lines = 0.5 * (u[0, low] + u[0, high]), 0.5 * (u[1, :, low] + u[1, :, high])
        first, second = (float(np.abs(np.interp(at, s, v) - w).max()) for (at, w), v in zip(self.reference, lines, strict=True))
        return first, second

    def report(self, time: float) -> dict[str, float]:
        """As for all lattices; with the deviations from the tables, where there are any."""
        result = super().report(time)
        if self.reference is not None:
            result["u deviation"], result["v deviation"] = self.deviations()
        return result

    def draw(self, frame: FrameData) -> Any:
        """Show the speed and streamlines."""
        from meniscus import viz

        title = f"speed, m/s: Re {self.reynolds:g}, t = {frame.time:.1f} s"
        return viz.streamlines(frame["velocity"], extent=(0.0, 1.0, 0.0, 1.0), title=title, limits=(0.0, 1.0))
