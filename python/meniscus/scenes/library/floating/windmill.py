"""Scene of a windmill that turns in wind with smoke."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.coupling.bodies.fluid_world import FluidWorld
from meniscus.fluids import VorticityOptions
from meniscus.fluids.flows.emitter import Emitter
from meniscus.fluids.gas.options import SmokeOptions
from meniscus.fluids.gas.solver import SmokeSolver
from meniscus.grid import Grid, Open, Prescribed
from meniscus.grid.boundary import SideCondition
from meniscus.io.frames import FrameData, FrameItem, FrameMesh
from meniscus.scenes.frame_meshes import box_of, solid_meshes
from meniscus.scenes.gas import GasScene
from meniscus.scenes.scene import parameter
from meniscus.scenes.shapes import rotor
from meniscus.solids import RigidBody, World
from meniscus.surface import Box, KinematicSolid, Pose, Shape

LENGTH, WIDTH, HEIGHT = 1.6, 1.0, 1.0
PLACE = (0.6, 0.5, 0.52)
"""Of the hub, m."""
_GAP = 0.06  # m, between sails and tower


@dataclass(kw_only=True)
class Windmill(GasScene):
    """Wind along x turns the sails of a mill on a hinge against a load; three layers of smoke show the wind.

    Air and sails push each other in one solve, in which the hinge is a constraint; the tower stands in the wind and does not move.
    """

    name: ClassVar[str] = "windmill"
    summary: ClassVar[str] = "wind turns the sails of a mill against a load"
    frames_per_second: ClassVar[float] = 24.0
    on_ranks: ClassVar[bool] = False
    stages: ClassVar[tuple[str, ...]] = ("seed", "move_bodies", *SmokeSolver.stages)
    stepped: ClassVar[str] = "both"

    resolution: int = parameter(48, "cells across the box, 1 m")
    speed: float = parameter(2.5, "of the wind, m/s")
    sails: int = parameter(4, "their number")
    radius: float = parameter(0.36, "of the wheel, m")
    chord: float = parameter(0.15, "width of a sail, m")
    pitch: float = parameter(25.0, "angle of the sails to the plane of the wheel, degrees")
    thickness: float = parameter(0.045, "of a sail, m")
    density: float = parameter(8.0, "of the wheel, kg/m^3")
    load: float = parameter(0.002, "torque per rate of turning that the axle gives away, N m s")
    confinement: float = parameter(0.2, "epsilon of vorticity confinement")
    cfl: float = parameter(1.5, "cells that the fastest air passes in a step")
    frames: int = parameter(48, "frames to write")
    end: float = parameter(2.0, "length of the run, s")
    azimuth: float = parameter(-38.0, "of the camera, degrees")

    def setup(self) -> None:
        """Create the wind, the tower, the wheel on its hinge, and the smoke."""
        n = _checks.integer("resolution", self.resolution, 12)
        grid = Grid((round(n * LENGTH), n, round(n * HEIGHT)), WIDTH / n)
        wind = (_checks.positive("speed", self.speed), 0.0, 0.0)
        nozzles: Shape = Box((0.04, 0.14, 0.2), (0.12, 0.86, 0.24))
        for z in (0.5, 0.8):
            nozzles = nozzles | Box((0.04, 0.14, z), (0.12, 0.86, z + 0.04))
        smoke = Emitter(region=nozzles, density=1.0, velocity=wind)
        options = SmokeOptions(vorticity=VorticityOptions(confinement=self.confinement), cfl=self.cfl)
        behind = PLACE[0] + 0.5 * self.chord * np.sin(np.radians(self.pitch)) + _GAP
        tower = Box((behind, PLACE[1] - 0.05, -1.0), (behind + 0.1, PLACE[1] + 0.05, PLACE[2] + 0.06))
        sides: dict[str, SideCondition] = {"x-": Prescribed(wind), "x+": Open()}
        self.use(SmokeSolver(grid, options, boundary=sides, emitters=[smoke], solid=KinematicSolid(tower)))
        self.solver.velocity.u = self.speed
        mesh = rotor(self.sails, self.radius, 0.05, self.chord, np.radians(self.pitch), self.thickness)
        self.wheel = RigidBody(mesh, density=self.density, pose=Pose(PLACE))
        self.world = self.declare("world", World())
        self.world.add(self.wheel)
        self.world.join(self.wheel, None, "hinge", point=PLACE, axis=(1.0, 0.0, 0.0), spring=(0.0, self.load, 0.0))
        self.both = FluidWorld(self.solver, self.world)
        for name in ("loads", "rates", "attached"):
            setattr(self, name, self.declare(name, getattr(self.both, name)))

    def report(self, time: float) -> dict[str, float]:
        """As for all gases; with turns per second, and the power that the load takes, W."""
        rate = float(self.wheel.angular_velocity[0])
        return {**super().report(time), "turns per second": rate / (2 * np.pi), "power": self.load * rate * rate}

    def frame_data(self) -> Mapping[str, FrameItem]:
        """The smoke, the sails, and all solids as a level set."""
        (form,) = self.both.forms
        vertices, triangles = form.mesh
        solids = self.solver.sampled_solid.at(self.solver.time)
        assert solids is not None
        return {"smoke": self.solver.density, "solid": solids.levelset, "bodies": FrameMesh(vertices, triangles, {})}

    def draw(self, frame: FrameData) -> Any:
        """Show the smoke, lit by a sun, the sails and the tower."""
        from meniscus import viz

        return viz.smoke(
            frame["smoke"],
            solid=frame.nodes.get("solid"),
            size=(640, 480),
            camera=viz.Camera(azimuth=self.azimuth, elevation=12.0),
            opacity=6.0,
        )

    def path_tracing_scene(self, frame: FrameData, size: tuple[int, int] | None = None) -> dict[str, Any]:
        """Describe the smoke, and the solids in it, on a floor."""
        from meniscus.viz import Camera, path_tracing

        return path_tracing.smoke_scene(
            frame["smoke"],
            box=box_of(frame),
            solids=solid_meshes(frame),
            size=size or (640, 480),
            camera=Camera(azimuth=self.azimuth, elevation=12.0),
            opacity=6.0,
        )
