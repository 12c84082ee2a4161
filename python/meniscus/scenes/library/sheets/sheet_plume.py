"""Scene of a plume as a vortex sheet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus.fluids import VortexSheet
from meniscus.io.frames import FrameData, FrameItem, FrameMesh
from meniscus.mesh import TriangleMesh
from meniscus.numerics import BiotSavartKernel
from meniscus.scenes.scene import Scene, parameter
from meniscus.surface import Sphere, Torus, TrackedSurface, remesh

SOURCE, RADIUS, RING_HEIGHT, RING_RADIUS, RING_TUBE = (0.0, 0.0, 0.0), 0.15, 0.75, 0.32, 0.07


@dataclass(kw_only=True)
class SheetPlume(Scene):
    """Balls of light gas leave a source, one as soon as the one before is gone, merge, and rise through a ring, without any grid.

    Source: Brochu 2012, chapter 6, Figure 6.1.
    """

    name: ClassVar[str] = "sheet-plume"
    summary: ClassVar[str] = "a plume as a vortex sheet, which rises through a ring"
    on_ranks: ClassVar[bool] = False
    stages: ClassVar[tuple[str, ...]] = ("emit", "sheet")
    eye: ClassVar[tuple[float, float, float]] = (0.9, 2.0, 0.5)

    edge: float = parameter(0.03, "edge length, m")
    buoyancy: float = parameter(3.0, "acceleration of the gas, m/s^2, upwards")
    ring: bool = parameter(True, "a ring in the way")
    kernel: BiotSavartKernel = parameter("mollified", "of the velocities")
    core: float = parameter(2.0, "radius of vortices in edge lengths; what is smaller than that does not roll up")
    accuracy: float = parameter(1e-3, "relative error of velocities")
    dt: float = parameter(0.02, "longest time step, s")
    end: float = parameter(1.6, "end, s")
    frames: int = parameter(8, "frames to write")

    def ball(self) -> TriangleMesh:
        """Return what the source emits."""
        return remesh(Sphere(SOURCE, RADIUS), self.edge)

    def make_surface(self) -> TrackedSurface:
        """Return the surface of the first ball."""
        return TrackedSurface(self.ball(), self.edge)

    def setup(self) -> None:
        """Create the sheet and the ring."""
        self.sheet: VortexSheet = self.declare(
            "sheet", VortexSheet(self.make_surface(), (0.0, 0.0, self.buoyancy), self.kernel, self.core, accuracy=self.accuracy)
        )
        self.solid: TriangleMesh | None = None
        if self.ring:
            self.solid = remesh(Torus((0.0, 0.0, RING_HEIGHT), (0.0, 0.0, 1.0), RING_RADIUS, RING_TUBE), 1.5 * self.edge)
            self.sheet.add_solid(self.solid)

    def max_dt(self) -> float:
        """Return the time step, or the shorter one that the speed of the sheet demands."""
        return min(self.dt, self.sheet.max_dt())

    def advance(self, time: float, dt: float) -> None:
        """Emit a ball where nothing is in the way, and move the sheet."""
        with self.stage("emit"):
            if self.sheet.surface.vertices[:, 2].min() > SOURCE[2] + RADIUS + self.edge:
                self.sheet.emit(self.ball())
        with self.stage("sheet"):
            self.last_report = self.sheet.step(dt)

    def report(self, time: float) -> dict[str, float]:
        """Triangles, parts, height of the top and impulse."""
        surface = self.sheet.surface
        return {
            "triangles": float(len(surface.triangles)),
            "parts": float(surface.mesh.components),
            "top": float(surface.vertices[:, 2].max()),
            "volume": surface.volume(),
            "impulse": float(self.sheet.impulse()[2]),
        }

    def frame_data(self) -> dict[str, FrameItem]:
        """The sheet, and the ring."""
        surface = self.sheet.surface
        items: dict[str, FrameItem] = {"sheet": FrameMesh(np.array(surface.vertices), np.array(surface.triangles))}
        if self.solid is not None:
            items["ring"] = FrameMesh(np.array(self.solid.vertices), np.array(self.solid.triangles))
        return items

    def draw(self, frame: FrameData) -> Any:
        """Show the sheet and the ring."""
        from meniscus import viz

        parts = [frame.meshes[name] for name in ("sheet", "ring") if name in frame.meshes]
        firsts = np.cumsum([0, *(len(p.vertices) for p in parts[:-1])])
        triangles = np.concatenate([p.elements + np.int32(first) for p, first in zip(parts, firsts, strict=True)])
        title = f"{self.name}, t = {frame.time:.4g}, {len(parts[0].elements)} triangles"
        return viz.surface(np.concatenate([p.vertices for p in parts]), triangles, eye=self.eye, title=title)
