"""Scene of a sphere that settles in a box of oil, by the lattice Boltzmann method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from meniscus import _checks
from meniscus.coupling import FluidBodies
from meniscus.fluids.lattice.options import LatticeOptions
from meniscus.fluids.lattice.solver import LatticeBoltzmann
from meniscus.grid import Grid, Wall
from meniscus.io.frames import FrameData
from meniscus.scenes.bodies.lattice import LatticeScene
from meniscus.scenes.scene import parameter
from meniscus.solids import RigidBody, World
from meniscus.surface import Pose

Oil = Literal["thick", "medium", "thin", "thinnest"]

# Density (kg/m^3), viscosity (Pa s) and terminal speed (m/s) of the four oils: ten Cate et al. 2002, table I.
OILS = {"thick": (970.0, 0.373, 0.038), "medium": (965.0, 0.212, 0.060), "thin": (962.0, 0.113, 0.091), "thinnest": (960.0, 0.058, 0.128)}
WIDTH, HEIGHT, DIAMETER, NYLON = 0.1, 0.16, 0.015, 1120.0
_START = 0.1275  # m, of the centre above the ground


@dataclass(kw_only=True)
class Settling(LatticeScene):
    """A nylon sphere of 15 mm that falls through a box of silicon oil, and slows down as it comes near the ground.

    Source: ten Cate, Nieuwstad, Derksen and Van den Akker 2002, Phys. Fluids 14, 4012: the largest speeds are 0.947, 0.953, 0.959 and 0.955
    of the terminal ones in the four oils.
    """

    name: ClassVar[str] = "settling"
    summary: ClassVar[str] = "a sphere that settles in a box of oil by the lattice Boltzmann method"
    stepped: ClassVar[str] = "coupling"
    shows: ClassVar[Mapping[str, str]] = {**LatticeScene.shows, "solid": "solid_distance"}

    resolution: int = parameter(10, "cells across the sphere, 15 mm")
    frames: int = parameter(16, "frames to write")
    end: float = parameter(1.6, "length of the run, s")
    oil: Oil = parameter("thin", "thick, medium, thin or thinnest")

    def setup(self) -> None:
        """Create the box, the oil and the sphere."""
        h = DIAMETER / _checks.integer("resolution", self.resolution, 4)
        density, viscosity, terminal = OILS[self.oil]
        grid = Grid([round(length / h) for length in (WIDTH, WIDTH, HEIGHT)], h)
        options = LatticeOptions(density=density, lattice_speed=0.04)
        fluid = LatticeBoltzmann(grid, viscosity / density, terminal, boundary=Wall(slip="no-slip"), options=options)
        world = World(gravity=(0.0, 0.0, -9.81))
        self.sphere = RigidBody.sphere(0.5 * DIAMETER, NYLON, pose=Pose((0.5 * WIDTH, 0.5 * WIDTH, _START)))
        world.add(self.sphere)
        self.coupling = self.declare("coupling", FluidBodies(fluid, world))
        self.fluid = fluid

    def report(self, time: float) -> dict[str, float]:
        """As for all lattices; with height and speed of the sphere, this over the terminal one."""
        height, speed = float(self.sphere.center[2]), -float(self.sphere.velocity[2]) / self.terminal_speed()
        return {**super().report(time), "height": height, "settling speed": speed}

    def draw(self, frame: FrameData) -> Any:
        """Show the speed in the middle plane, and the sphere."""
        from meniscus import viz

        middle = frame["velocity"].shape[1] // 2
        section = frame["velocity"][:, middle]
        return viz.image(
            np.sqrt((section**2).sum(axis=-1)) / self.terminal_speed(),
            extent=(0.0, WIDTH, 0.0, HEIGHT),
            title=f"speed over that of the end, {self.oil} oil, t = {frame.time:.2f} s",
            limits=(0.0, 1.0),
            colors="viridis",
            solid=frame["solid"][:, middle],
        )

    def terminal_speed(self) -> float:
        """Return the terminal speed in an endless box of this oil, m/s."""
        return OILS[self.oil][2]
