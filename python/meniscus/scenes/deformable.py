"""Base of the scenes of deformable bodies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meniscus.io.frames import FrameData, FrameItem, FrameMesh
from meniscus.mesh import QuadraticTetMesh, TetMesh, TriangleMesh
from meniscus.scenes.scene import Scene, parameter
from meniscus.solids import DeformableBody


@dataclass(kw_only=True)
class Deforming(Scene):
    """A deformable body whose surface is drawn.

    A subclass makes the mesh and the body, and defines how steps are taken.
    """

    stages: ClassVar[tuple[str, ...]] = ("step",)
    eye: ClassVar[tuple[float, float, float]] = (1.0, 0.7, 2.0)
    box: ClassVar[tuple[tuple[float, float, float], tuple[float, float, float]]] = ((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0))
    frames_per_second: ClassVar[float] = 24.0
    on_ranks: ClassVar[bool] = False

    end: float = parameter(4.0, "length of the run, s")
    frames: int = parameter(96, "frames to write")

    def make_mesh(self) -> TriangleMesh | TetMesh | QuadraticTetMesh:
        """Return the mesh at rest; it depends on the parameters alone."""
        raise TypeError(f"scene {type(self).__name__} has no make_mesh()")

    def make_body(self, mesh: Any) -> DeformableBody:
        """Return the body at time 0 with its forces."""
        raise TypeError(f"scene {type(self).__name__} has no make_body()")

    def take_step(self, dt: float) -> None:
        """Advance the body."""
        self.body.step(dt)

    def setup(self) -> None:
        """Create the body."""
        self.mesh = self.make_mesh()
        self.body = self.declare("body", self.make_body(self.mesh))

    def max_dt(self) -> float:
        """Return the limit of the body."""
        return self.body.max_dt()

    def advance(self, time: float, dt: float) -> None:
        """Take one step."""
        with self.stage("step"):
            self.take_step(dt)

    def report(self, time: float) -> dict[str, float]:
        """Energies (J), the largest speed (m/s) and the mean position (m)."""
        e = self.body.energy()
        mean = self.body.positions.mean(axis=0)
        speed = float(np.linalg.norm(self.body.velocities, axis=1).max())
        return {**e, "max speed": speed, "mean x": float(mean[0]), "mean y": float(mean[1]), "mean z": float(mean[2])}

    def frame_data(self) -> Mapping[str, FrameItem]:
        """The mesh where it is, with the velocities of its nodes."""
        return {"body": FrameMesh(self.body.positions, self.mesh.elements, {"velocity": self.body.velocities})}

    def drawn_triangles(self) -> npt.NDArray[np.int32]:
        """Return the triangles that are drawn, from the parameters alone."""
        mesh = self.__dict__.get("mesh") or self.make_mesh()
        self.mesh = mesh
        surface = mesh if isinstance(mesh, TriangleMesh) else mesh.boundary
        result: npt.NDArray[np.int32] = surface.triangles
        return result

    def draw(self, frame: FrameData) -> Any:
        """Show the surface."""
        from meniscus import viz

        x = frame.meshes["body"].vertices
        return viz.surface(x, self.drawn_triangles(), eye=self.eye, box=self.box, title=f"{self.name}, t = {frame.time:.2f} s")

    def path_tracing_scene(self, frame: FrameData, size: tuple[int, int] | None = None) -> dict[str, Any]:
        """Describe the surface, above a floor."""
        from meniscus.viz import Camera, path_tracing

        triangles = self.drawn_triangles()
        cloth = isinstance(self.mesh, TriangleMesh)
        shown = path_tracing.Surface(
            vertices=frame.meshes["body"].vertices,
            triangles=triangles,
            color=(0.20, 0.36, 0.66) if cloth else (0.62, 0.16, 0.10),
            back=(0.80, 0.46, 0.18) if cloth else None,
            glossy=not cloth,
        )
        x, y, z = self.eye
        camera = Camera(azimuth=float(np.degrees(np.arctan2(x, z))), elevation=float(np.degrees(np.arctan2(y, np.hypot(x, z)))))
        return path_tracing.surface_scene([shown], box=self.box, size=size or (640, 560), camera=camera)


def turned(mesh: TriangleMesh, columns: tuple[int, int, int]) -> TriangleMesh:
    """Return a mesh whose coordinates are those of another in a new order."""
    return TriangleMesh(np.ascontiguousarray(mesh.vertices[:, columns]), mesh.triangles)
