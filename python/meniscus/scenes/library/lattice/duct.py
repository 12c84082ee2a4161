"""Scene of the flow through a square duct by the lattice Boltzmann method."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.fluids.lattice.options import LatticeCollision, LatticeOptions, LatticeSet
from meniscus.fluids.lattice.solver import LatticeBoltzmann
from meniscus.grid import Grid, Wall
from meniscus.io.frames import FrameData
from meniscus.scenes.bodies.lattice import Floats, LatticeScene
from meniscus.scenes.scene import parameter

_TERMS = 60
_SHORT = 4  # cells along the duct, which goes on around the axis


@dataclass(kw_only=True)
class Duct(LatticeScene):
    """A fluid that is pushed from rest through a square duct of side 1, to a top speed of 1; the deviation from the series is reported.

    Source: Müller et al. 2008, chapter 10.
    """

    name: ClassVar[str] = "duct"
    summary: ClassVar[str] = "flow through a square duct by the lattice Boltzmann method"

    resolution: int = parameter(32, "cells across the duct, 1 m")
    frames: int = parameter(8, "frames to write")
    end: float = parameter(6.0, "length of the run, s")
    reynolds: float = parameter(20.0, "Reynolds number of top speed, side and viscosity")
    lattice: LatticeSet = parameter("D3Q19", "set of velocities, of three dimensions")
    collision: LatticeCollision = parameter("trt", "bgk, trt, or with D3Q27 cumulant")

    def setup(self) -> None:
        """Create the fluid at rest."""
        n = _checks.integer("resolution", self.resolution, 4)
        viscosity = 1 / _checks.positive("reynolds", self.reynolds)
        grid = Grid((_SHORT, n, n), 1.0 / n, periodic=(True, False, False))
        push = viscosity / float(series(np.zeros(1), np.zeros(1))[0])
        options = LatticeOptions(acceleration=(push, 0.0, 0.0))
        still = Wall(slip="no-slip")
        self.use(LatticeBoltzmann(grid, viscosity, 1.0, lattice=self.lattice, collision=self.collision, boundary=still, options=options))
        y = (np.arange(n) + 0.5) / n - 0.5
        profile = series(*np.meshgrid(y, y, indexing="ij"))
        self.exact = profile / float(series(np.zeros(1), np.zeros(1))[0])

    def report(self, time: float) -> dict[str, float]:
        """As for all lattices; with the largest deviation from the steady flow, in units of its top."""
        deviation = float(np.abs(self.fluid.velocity[0, 0] - self.exact).max())
        return {**super().report(time), "deviation": deviation}

    def draw(self, frame: FrameData) -> Any:
        """Show the speed in the cross section."""
        from meniscus import viz

        title = f"speed in a duct, m/s: t = {frame.time:.2f} s"
        return viz.image(frame["velocity"][0, :, :, 0], extent=(0.0, 1.0, 0.0, 1.0), title=title, limits=(0.0, 1.0), colors="viridis")


def series(y: Floats, z: Floats) -> Floats:
    """Return the steady speed of a duct of side 1 around the origin, times viscosity over push."""
    total = np.zeros(np.shape(y))
    for k in range(1, 2 * _TERMS, 2):
        sign = -1.0 if k // 2 % 2 else 1.0
        a = k * math.pi
        # cosh(a z) / cosh(a / 2) without overflow.
        ratio = (np.exp(a * (np.abs(z) - 0.5)) + np.exp(-a * (np.abs(z) + 0.5))) / (1 + math.exp(-a))
        total += sign * (1 - ratio) * np.cos(a * y) / k**3
    return 4 / math.pi**3 * total
