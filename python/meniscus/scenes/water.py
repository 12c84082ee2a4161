"""Base of the scenes of the liquid solver: stepping, diagnostics, state, and pictures of water."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus.fluids import TransportOptions
from meniscus.fluids.liquid.liquid_blocks import liquid_blocks
from meniscus.fluids.liquid.options import LiquidOptions, SurfaceOrder, Tracking, VolumeReport
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.whitewater.solver import Whitewater
from meniscus.grid import Grid, Particles, ScalarField
from meniscus.grid.transport.advection import Limiter, Method
from meniscus.io.frames import FrameData
from meniscus.scenes.fluid import FluidScene
from meniscus.scenes.frame_meshes import box_of, drops_of, liquid_of, meshed, solid_meshes, surface_of
from meniscus.scenes.scene import parameter
from meniscus.surface import Box, LevelSet, Shape


@dataclass(kw_only=True)
class Water(FluidScene[LiquidSolver]):
    """A scene that steps one `LiquidSolver`, its attribute `solver`, which `setup` passes to `use`."""

    stages: ClassVar[tuple[str, ...]] = ("seed", *LiquidSolver.stages, "whitewater")
    frames_per_second: ClassVar[float] = 24.0
    shows: ClassVar[Mapping[str, str]] = {
        "liquid": "solver.levelset",
        "velocity": "solver.velocity",
        "spray": "solver.particles.spray",
        "whitewater": "white_particles",
    }

    cfl: float = parameter(1.0, "cells that the fastest liquid passes in a step")
    method: Method = parameter("maccormack", "transport of the velocity")
    limiter: Limiter = parameter("reversion", "limiter of the transport")
    surface_order: SurfaceOrder = parameter("second", "order of the transport at the surface")
    tracking: Tracking = parameter("particle-level-set", "of the surface")
    spray: bool = parameter(True, "let escaped particles fly on as drops")
    whitewater: bool = parameter(False, "spray, foam and bubbles where the water takes in air, which do not act on it")
    drift_correction: bool = parameter(True, "keep the volume of every part of the liquid")
    azimuth: float = parameter(28.0, "of the camera, degrees")
    elevation: float = parameter(18.0, "of the camera, degrees")

    def liquid_options(self, **more: Any) -> LiquidOptions:
        """Return the options of the solver: those that follow from the parameters, and others."""
        return LiquidOptions(
            cfl=self.cfl,
            transport=TransportOptions(method=self.method, limiter=self.limiter),
            surface_order=self.surface_order,
            tracking=self.tracking,
            spray=self.spray,
            drift_correction=self.drift_correction,
            **more,
        )

    def use(self, solver: LiquidSolver) -> None:
        """Set the solver of the run, and let whitewater follow it if the parameters say so."""
        super().use(solver)
        self.white: Whitewater | None = self.declare("white", Whitewater(solver) if self.whitewater else None, optional=False)

    @property
    def white_particles(self) -> Particles | None:
        """Spray, foam and bubbles, or None."""
        return None if self.white is None else self.white.particles

    def advance(self, time: float, dt: float) -> None:
        """Step the water, then what follows it."""
        super().advance(time, dt)
        if self.white is not None:
            with self.stage("whitewater"):
                self.white.step(dt)

    def report(self, time: float) -> dict[str, float]:
        """Volumes, their error, the number of drops, energy, largest speed, and the iterations of the pressure in the last step."""
        volume, last = self.volume_report(), self.solver.report
        worst = max((abs(c.error) for c in volume.components if c.cells > 8), default=0.0)
        return {
            "volume": volume.liquid,
            "spray": volume.spray,
            "expected": volume.expected,
            "volume error": volume.relative_error,
            "components": float(len(volume.components)),
            "worst component": worst,
            "drops": 0.0 if last is None else float(last.drops),
            "kinetic energy": 0.0 if last is None else last.kinetic_energy,
            "max speed": 0.0 if last is None else last.max_speed,
            "pressure iterations": 0.0 if last is None else float(last.projection.iterations),
        }

    def volume_report(self) -> VolumeReport:
        """Return the volumes of the liquid."""
        return self.solver.volume_report()

    def draw(self, frame: FrameData) -> Any:
        """Show the water."""
        from meniscus import viz

        return viz.water(**self._shown(frame))

    def path_tracing_scene(self, frame: FrameData, size: tuple[int, int] | None = None) -> dict[str, Any] | None:
        """Describe the water, the solid in it and the drops around it, on a floor."""
        from meniscus.viz import path_tracing

        if frame.grid is None or frame.grid.dimension != 3:
            return None
        return path_tracing.water_scene(**self._shown(frame), size=size or (640, 480))

    def _shown(self, frame: FrameData) -> dict[str, Any]:
        """Return the arguments of both renderers."""
        from meniscus.viz import Camera

        return {
            **self.shown_surface(frame),
            "solids": solid_meshes(frame),
            "camera": Camera(azimuth=self.azimuth, elevation=self.elevation),
            "box": box_of(frame),
            **drops_of(frame, "spray"),
            "whitewater": frame.particles.get("whitewater"),
        }

    def shown_surface(self, frame: FrameData) -> dict[str, Any]:
        """Return vertices, triangles and normals of the water of a frame."""
        if "surface" in frame.meshes:
            return surface_of(frame)
        return meshed(self.clipped(liquid_of(frame), frame))

    def clipped(self, liquid: LevelSet, frame: FrameData) -> LevelSet:
        """Return the liquid of a frame outside of the solid."""
        phi = frame.nodes.get("solid")
        if phi is not None:
            for d in range(phi.ndim):
                n = phi.shape[d]
                phi = 0.5 * (phi.take(range(n - 1), axis=d) + phi.take(range(1, n), axis=d))
            # A little into the solid, so that no gap shows.
            np.maximum(liquid.array, -phi - 0.25 * liquid.grid.spacing, out=liquid.array)
        return liquid


def water_grid(shape: Sequence[int], spacing: float, *water: Shape) -> Grid:
    """Return the grid of a scene, cut among the ranks in use so that the water is divided: the given shapes, and where it will lie."""
    return Grid(shape, spacing, blocks=liquid_blocks(shape, spacing, water))


def below(level: float, dimension: int = 3) -> Shape:
    """Return the region below a level (m) along the last axis."""
    across = (1e3,) * (dimension - 1)
    return Box((*(-c for c in across), -1e3), (*across, level))


def pool(level: float, field: ScalarField) -> LevelSet:
    """Return the level set, on the cells of a field's grid, of liquid below a level (m) along the last axis."""
    result = LevelSet(field.grid, "cells", field.dtype)
    result.array[...] = result.field.coordinates()[-1] - level
    return result
