"""Base of the scenes of liquids on Voronoi cells."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meniscus.fluids import VoronoiLiquid
from meniscus.fluids.voronoi.options import LiquidSamples
from meniscus.fluids.voronoi.pool import pool_surface
from meniscus.io.frames import FrameData, FrameItem, FrameMesh
from meniscus.mesh import TriangleMesh
from meniscus.scenes.bodies.base import joined
from meniscus.scenes.scene import Scene, parameter
from meniscus.surface import Shape, Sphere, TrackedSurface, remesh

Floats = npt.NDArray[np.float64]


@dataclass(kw_only=True)
class VoronoiScene(Scene):
    """A liquid on Voronoi cells in a box."""

    on_ranks: ClassVar[bool] = False
    stages: ClassVar[tuple[str, ...]] = ("liquid",)
    eye: ClassVar[tuple[float, float, float]] = (0.5, 0.45, 1.0)

    cell: float = parameter(0.05, "length that samples are spaced by, m")
    samples: LiquidSamples = parameter("surface", "of pressure: beside the surface and on a lattice, or on the lattice alone")
    correction: bool = parameter(False, "move the surface towards the volume that it should have")
    dt: float = parameter(0.01, "longest time step, s")
    frames: int = parameter(10, "frames to write")

    @abstractmethod
    def make_liquid(self) -> VoronoiLiquid:
        """Return the liquid at the beginning."""

    def setup(self) -> None:
        """Create the liquid."""
        self.liquid: VoronoiLiquid = self.declare("liquid", self.make_liquid())
        self.start_energy = sum(self.liquid.energy())

    def ball(self, center: tuple[float, float, float], radius: float) -> TriangleMesh:
        """Return a ball with edges of a cell."""
        return remesh(Sphere(center, radius), self.cell)

    def surface_of(self, shape: Shape) -> TriangleMesh:
        """Return the surface of a shape with edges of a cell."""
        return remesh(shape, self.cell)

    def tracked(self, *meshes: TriangleMesh) -> TrackedSurface:
        """Return a surface of several parts."""
        return TrackedSurface(joined(meshes), self.cell)

    def pool(self, box: npt.ArrayLike, level: float) -> TriangleMesh:
        """Return the surface of liquid that fills a box up to a level."""
        return pool_surface(box, level, self.cell)

    def max_dt(self) -> float:
        """Return the time step, or the shorter one that the liquid demands."""
        return min(self.dt, self.liquid.max_dt())

    def advance(self, time: float, dt: float) -> None:
        """Advance the liquid."""
        with self.stage("liquid"):
            self.last_report = self.liquid.step(dt)

    def report(self, time: float) -> dict[str, float]:
        """Volume, energy, parts and speed."""
        volumes = self.liquid.volume_report()
        kinetic, potential, tension = self.liquid.energy()
        return {
            "volume": volumes.total,
            "drift": volumes.drift,
            "kinetic": kinetic,
            "energy": kinetic + potential + tension,
            "parts": float(len(volumes.volumes)),
            "triangles": float(len(self.liquid.surface.triangles)),
        }

    def frame_data(self) -> dict[str, FrameItem]:
        """The surface."""
        surface = self.liquid.surface
        return {"surface": FrameMesh(np.array(surface.vertices), np.array(surface.triangles))}

    def draw(self, frame: FrameData) -> Any:
        """Show the surface in the box."""
        from meniscus import viz

        mesh = frame.meshes["surface"]
        low, high = self.liquid.box
        middles = mesh.vertices[mesh.elements].mean(axis=1)
        inside = ((middles > low) & (middles < high)).all(axis=1)
        title = f"{self.name}, t = {frame.time:.4g}, {int(inside.sum())} triangles"
        return viz.surface(mesh.vertices, mesh.elements[inside], eye=self.eye, box=(low, high), title=title, edges=False)
