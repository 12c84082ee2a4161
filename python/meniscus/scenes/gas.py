"""Base of the scenes of the gas solver: stepping, diagnostics, state, and pictures of smoke in a box."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.fluids import VorticityOptions
from meniscus.fluids.flows.emitter import Emitter
from meniscus.fluids.gas.options import SmokeOptions
from meniscus.fluids.gas.solver import SmokeSolver
from meniscus.fluids.vorticity.measures import enstrophy, kinetic_energy
from meniscus.fluids.vorticity.vortex_particles import VortexParticles
from meniscus.grid import Grid, Open
from meniscus.grid.transport.advection import max_speed
from meniscus.io.frames import FrameData
from meniscus.scenes.fluid import FluidScene
from meniscus.scenes.frame_meshes import box_of, solid_meshes
from meniscus.scenes.global_measures import count
from meniscus.scenes.scene import parameter
from meniscus.surface import Pose, SolidSample, Sphere
from meniscus.viz.smoke import Background

WIDTH = 1.0
"""Of the boxes of smoke, m."""
VORTICITY = 2e-3
"""Magnitude that vortex particles carry, 1/s: the one of the thesis. Only its product with the strength of the force acts."""


@dataclass(kw_only=True)
class GasScene(FluidScene[SmokeSolver]):
    """A scene that steps one `SmokeSolver`, its attribute `solver`, which `setup` passes to `use`."""

    stages: ClassVar[tuple[str, ...]] = ("seed", *SmokeSolver.stages)

    def report(self, time: float) -> dict[str, float]:
        """Kinetic energy, enstrophy, largest speed, and the iterations of the pressure in the last step."""
        velocity, last = self.solver.velocity, self.solver.report
        return {
            "kinetic energy": kinetic_energy(velocity),
            "enstrophy": enstrophy(velocity, time=time),
            "max speed": max_speed(velocity),
            "pressure iterations": 0.0 if last is None else float(last.projection.iterations),
        }


@dataclass(kw_only=True)
class BoxOfSmoke(GasScene):
    """Smoke in a box of 1 m by 1 m by `HEIGHT`, with or without vortex particles, and its pictures by the volume renderer."""

    frames_per_second: ClassVar[float] = 16.0
    HEIGHT: ClassVar[float] = 1.5
    OPACITY: ClassVar[float] = 40.0
    shows: ClassVar[Mapping[str, str]] = {"smoke": "solver.density", "vortices": "solver.vortices"}

    resolution: int = parameter(64, "cells across the width of the box, 1 m")
    frames: int = parameter(40, "frames to write")
    cfl: float = parameter(2.0, "cells that the fastest air passes in a step")
    confinement: float = parameter(0.3, "epsilon of vorticity confinement")
    vortex_particles: bool = parameter(True, "seed vortex particles at the source")
    vortex_radius: float = parameter(3.0, "reach of a vortex particle, cells")
    vortex_force: float = parameter(6.0, "acceleration of the air beside a vortex particle, m/s^2")
    seed: int = parameter(1, "of the random numbers of the vortex particles")
    background: Background = parameter("dark", "of the pictures")
    azimuth: float = parameter(28.0, "of the camera, degrees")

    def make_grid(self) -> Grid:
        """Return the grid of the box."""
        n = _checks.integer("resolution", self.resolution, 4)
        return Grid((n, n, round(n * self.HEIGHT / WIDTH)), WIDTH / n)

    def make_particles(self) -> VortexParticles | None:
        """Return an empty set of vortex particles, or None for a scene without them."""
        return VortexParticles(np.empty((0, 3), np.float32), (0.0, 0.0, 0.0), 1.0) if self.vortex_particles else None

    @property
    def reach(self) -> float:
        """Radius of a vortex particle, m."""
        radius: float = _checks.positive("vortex_radius", self.vortex_radius) * WIDTH / self.resolution
        return radius

    @property
    def vortex_strength(self) -> float:
        """The epsilon with which a vortex particle gives the wanted acceleration, where its Gaussian kernel is largest, m^4/s."""
        peak = VORTICITY / (self.reach**3 * (2 * math.pi) ** 1.5)
        return float(self.vortex_force / peak)

    def report(self, time: float) -> dict[str, float]:
        """As for all gases; with the amount of smoke, the error of its transport in the last step, and the number of vortex particles."""
        s = self.solver
        cell = s.grid.spacing**3
        return {
            **super().report(time),
            "smoke": s.density.sum() * cell,
            "transport change": 0.0 if s.report is None else s.report.transport_change,
            "vortices": 0.0 if s.vortices is None else float(count(s.vortices, s.grid)),
        }

    def draw(self, frame: FrameData) -> Any:
        """Show the smoke, lit by a sun, and the solid in it."""
        from meniscus import viz

        return viz.smoke(
            frame["smoke"],
            solid=frame.nodes.get("solid"),
            size=(480, 640),
            camera=viz.Camera(azimuth=self.azimuth),
            opacity=self.OPACITY,
            background=self.background,
        )

    def path_tracing_scene(self, frame: FrameData, size: tuple[int, int] | None = None) -> dict[str, Any]:
        """Describe the smoke, and the solid in it, on a floor."""
        from meniscus.viz import Camera, path_tracing

        return path_tracing.smoke_scene(
            frame["smoke"],
            box=box_of(frame),
            solids=solid_meshes(frame),
            size=size or (480, 640),
            camera=Camera(azimuth=self.azimuth),
            opacity=self.OPACITY,
            background=self.background,
        )


@dataclass(kw_only=True)
class RisingSmoke(BoxOfSmoke):
    """Hot smoke from a swaying source at the floor of a box with an open top."""

    end: float = parameter(2.0, "length of the run, s")
    buoyancy: float = parameter(4.0, "upward acceleration of the hot smoke at the source, m/s^2")
    weight: float = parameter(0.3, "downward acceleration of smoke of density 1, m/s^2")
    source_radius: float = parameter(0.11, "radius of the ball that smokes, m")
    sway: float = parameter(0.03, "how far the source moves to and fro, m")
    vortex_rate: float = parameter(250.0, "vortex particles per second")

    def start(self, solid: SolidSample | None = None) -> None:
        """Create the solver, with the first puff at the source."""
        self.nozzle = Sphere((0.5 * WIDTH, 0.5 * WIDTH, 0.06 + _checks.positive("source_radius", self.source_radius)), self.source_radius)
        options = SmokeOptions(
            density_weight=self.weight,
            temperature_weight=self.buoyancy,
            vorticity=VorticityOptions(confinement=self.confinement, vortex_strength=self.vortex_strength),
            cfl=self.cfl,
        )
        emitter = Emitter(region=self.nozzle, motion=lambda t: Pose(self.offset(t)), density=1.0, temperature=1.0)
        self.use(
            SmokeSolver(self.make_grid(), options, boundary={"z+": Open()}, solid=solid, emitters=[emitter], vortices=self.make_particles())
        )
        self.solver.emit(self.clock().time_of(1))

    def offset(self, time: float) -> tuple[float, float, float]:
        """Return the offset of the swaying source, m. Its two frequencies have no common period within a run."""
        return self.sway * math.sin(5.7 * time), self.sway * math.sin(8.2 * time + 1.0), 0.0

    def vortex_source(self, time: float, dt: float) -> dict[str, Any]:
        """Return the source of vortex particles of random direction: that of the smoke."""
        region = self.nozzle.translated(self.offset(time))
        return {"region": region, "rate": self.vortex_rate, "strength": VORTICITY, "radius": self.reach, "seed": self.seed}
