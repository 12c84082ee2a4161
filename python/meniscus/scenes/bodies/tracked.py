"""Base of the scenes of tracked surfaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from meniscus import _checks
from meniscus.io.frames import FrameData, FrameItem, FrameMesh
from meniscus.mesh import TriangleMesh
from meniscus.scenes.scene import Scene, parameter
from meniscus.scenes.shapes import placed
from meniscus.surface import Shape, TrackedSurface, TrackingOptions, remesh
from meniscus.surface.tracking.options import Operation

Box = tuple[tuple[float, float, float], tuple[float, float, float]]
Without = Literal["none", "split", "flip", "collapse", "smooth"]


@dataclass(kw_only=True)
class Tracked(Scene):
    """A surface that is improved and moved, step after step."""

    on_ranks: ClassVar[bool] = False
    stages: ClassVar[tuple[str, ...]] = ("improve", "move")
    eye: ClassVar[tuple[float, float, float]] = (0.6, 0.7, 2.0)
    box: ClassVar[Box | None] = None
    topology: ClassVar[bool] = True
    volume_change: ClassVar[float] = 0.1

    edge: float = parameter(0.02, "edge length, m")
    safety: bool = parameter(True, "whether the surface is kept from intersecting itself")
    without: Without = parameter("none", "an operation that is left out")
    frames: int = parameter(8, "frames to write")

    def shape(self) -> TriangleMesh:
        """Return the surface at the start."""
        raise TypeError(f"scene {type(self).__name__} has no shape()")

    def setup(self) -> None:
        """Create the surface."""
        operations = tuple(name for name in get_args(Operation) if name != self.without)
        mesh = self.shape()
        self.surface: TrackedSurface = self.declare(
            "surface",
            TrackedSurface(
                mesh,
                self.edge,
                volume_change=self.volume_change,
                topology=self.topology,
                safety=self.safety,
                options=TrackingOptions(operations=operations),
            ),
        )
        self.first_volume = self.surface.volume()

    def report(self, time: float) -> dict[str, float]:
        """Triangles, volume against the start (0 for a sheet), area, parts."""
        tracked = self.surface
        closed = abs(self.first_volume) > 1e-9 * tracked.area() ** 1.5
        return {
            "triangles": float(len(tracked.triangles)),
            "volume change": tracked.volume() / self.first_volume - 1.0 if closed else 0.0,
            "area": tracked.area(),
            "parts": float(tracked.mesh.components if len(tracked.triangles) else 0),
        }

    def frame_data(self) -> dict[str, FrameItem]:
        """The surface."""
        return {"surface": FrameMesh(np.array(self.surface.vertices), np.array(self.surface.triangles))}

    def draw(self, frame: FrameData) -> Any:
        """Show the surface with its edges."""
        from meniscus import viz

        mesh = frame.meshes["surface"]
        title = f"{self.name}, t = {frame.time:.4g}, {len(mesh.elements)} triangles"
        return viz.surface(mesh.vertices, mesh.elements, eye=self.eye, box=self.box, title=title)


def start_mesh(path: str | None, shape: Shape, edge: float, center: tuple[float, float, float], size: float) -> TriangleMesh:
    """Return a mesh of a shape, or of a file that is placed around `center` with its longest side `size`, m, of the edge length."""
    _checks.positive("edge", edge)
    if path is None:
        return remesh(shape, edge)
    mesh = TriangleMesh.read(path)
    return remesh(placed((np.array(mesh.vertices), np.array(mesh.triangles)), center, size), edge)
