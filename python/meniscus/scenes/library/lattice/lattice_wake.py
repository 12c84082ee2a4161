"""Scene of the wake of a cylinder by the lattice Boltzmann method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.fluids.lattice.options import LatticeOptions
from meniscus.fluids.lattice.solver import LatticeBoltzmann
from meniscus.grid import CellField, Grid, Open, Prescribed, Wall
from meniscus.grid.boundary import SideCondition
from meniscus.io.frames import FrameData
from meniscus.scenes.bodies.lattice import Floats, LatticeScene
from meniscus.scenes.scene import parameter
from meniscus.surface import KinematicSolid, Sphere

LENGTH, HEIGHT, DIAMETER = 2.2, 0.41, 0.1
CENTER = (0.2, 0.2)
SPEED = 1.0  # mean of the inflow, m/s


@dataclass(kw_only=True)
class LatticeWake(LatticeScene):
    """A cylinder in the channel of Schäfer and Turek, with a parabolic inflow of the mean speed 1 m/s; drag and lift are reported.

    Source: Müller et al. 2008, chapter 10; Schäfer and Turek 1996, case 2D-2 at Reynolds number 100: largest drag 3.22 to 3.24, Strouhal
    number 0.295 to 0.305.
    """

    name: ClassVar[str] = "lattice-wake"
    summary: ClassVar[str] = "vortices behind a cylinder by the lattice Boltzmann method"
    shows: ClassVar[Mapping[str, str]] = {**LatticeScene.shows, "vorticity": "vorticity", "solid": "solid_distance"}

    resolution: int = parameter(20, "cells across the cylinder, 0.1 m")
    frames: int = parameter(24, "frames to write")
    end: float = parameter(6.0, "length of the run, s")
    reynolds: float = parameter(100.0, "Reynolds number of mean speed, diameter and viscosity")
    smagorinsky: float = parameter(0.0, "constant of the eddy viscosity")
    lattice_speed: float = parameter(0.1, "cells that the inflow passes in a step at its fastest")

    def setup(self) -> None:
        """Create the stream and the cylinder."""
        n = round(HEIGHT / DIAMETER * _checks.integer("resolution", self.resolution, 4))
        h = HEIGHT / n
        grid = Grid((round(LENGTH / h), n), h)
        still = Wall(slip="no-slip")
        sides: dict[str, SideCondition] = {"x-": Prescribed(inflow), "x+": Open(), "y-": still, "y+": still}
        options = LatticeOptions(lattice_speed=self.lattice_speed, smagorinsky=self.smagorinsky)
        viscosity = SPEED * DIAMETER / _checks.positive("reynolds", self.reynolds)
        self.cylinder = KinematicSolid(Sphere(CENTER, 0.5 * DIAMETER))
        fluid = LatticeBoltzmann(grid, viscosity, 1.5 * SPEED, boundary=sides, solid=self.cylinder, options=options)
        y = np.broadcast_to(grid.cell_centers()[1], grid.shape)
        fluid.set_flow(np.moveaxis(inflow(np.stack([y, y], axis=-1).reshape(-1, 2), 0.0).reshape(*grid.shape, 2), -1, 0))
        self.use(fluid)

    @property
    def vorticity(self) -> CellField:
        """Vorticity, 1/s; 0 in the cylinder."""
        u, h = self.fluid.velocity, self.fluid.grid.spacing
        field = CellField(self.fluid.grid)
        field.array = np.where(u.any(axis=0), np.gradient(u[1], h, axis=0) - np.gradient(u[0], h, axis=1), 0.0)
        return field

    def report(self, time: float) -> dict[str, float]:
        """As for all lattices; with the coefficients of drag and lift."""
        drag, lift = self.fluid.force_on(self.cylinder) * (2 / (SPEED**2 * DIAMETER))
        return {**super().report(time), "drag": float(drag), "lift": float(lift)}

    def draw(self, frame: FrameData) -> Any:
        """Show the vorticity."""
        from meniscus import viz

        return viz.image(
            frame["vorticity"],
            extent=(0.0, LENGTH, 0.0, HEIGHT),
            title=f"vorticity, 1/s: Re {self.reynolds:g}, t = {frame.time:.2f} s",
            limits=(-60.0, 60.0),
            colors="RdBu_r",
            size=(10.0, 2.6),
            solid=frame["solid"],
        )


def inflow(points: Floats, time: float) -> Floats:
    """Return the parabola (n, 2), m/s, at points (n, 2), m."""
    y = points[:, 1]
    return np.stack([6 * SPEED * y * (HEIGHT - y) / HEIGHT**2, np.zeros(len(y))], axis=1)
