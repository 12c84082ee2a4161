"""Base of the scenes of several bodies, which are drawn together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus.io.frames import FrameData
from meniscus.mesh import TriangleMesh
from meniscus.scenes.deformable import Deforming

Colors = npt.NDArray[np.float64]

# Front and back of the cloths of a scene, in turn.
_FRONT = ((0.35, 0.55, 0.80), (0.40, 0.65, 0.45), (0.72, 0.42, 0.55), (0.55, 0.50, 0.75), (0.75, 0.65, 0.35))
_BACK = ((0.85, 0.55, 0.30), (0.85, 0.75, 0.40), (0.45, 0.60, 0.65), (0.80, 0.60, 0.60), (0.45, 0.55, 0.40))
_OBSTACLE = (0.62, 0.62, 0.62)


class Obstacle(NamedTuple):
    """Triangles of an obstacle that are drawn: vertices (n, 3), m, and triangles (m, 3)."""

    vertices: npt.NDArray[np.float64]
    triangles: npt.NDArray[np.int32]


@dataclass(kw_only=True)
class ManyBodies(Deforming):
    """Bodies whose surfaces are drawn as one, in colours of their own.

    A subclass makes the meshes at rest and the bodies.
    """

    def make_meshes(self) -> Sequence[Any]:
        """Return the meshes of all bodies at rest, from the parameters alone."""
        return [self.make_mesh()]

    def split_meshes(self) -> list[Any]:
        """Return the meshes of all bodies at rest as they are used, from the parameters alone."""
        return list(self.make_meshes())

    def obstacles(self, time: float) -> list[Obstacle]:
        """Return what is drawn of the obstacles at a time (s), from the parameters alone."""
        return []

    def shown_others(self, frame: FrameData) -> list[Obstacle]:
        """Return what is drawn besides the bodies: the obstacles at the time of the frame."""
        return self.obstacles(frame.time)

    def shown_box(self) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
        """Return two opposite corners (m) of what pictures show, from the parameters alone."""
        return self.box

    def drawn_triangles(self) -> npt.NDArray[np.int32]:
        """Return the triangles of all bodies that are drawn, from the parameters alone."""
        return self._shown()[0]

    def _shown(self) -> tuple[npt.NDArray[np.int32], Colors, Colors]:
        """Triangles of all bodies, colours of their fronts and backs."""
        known = self.__dict__.get("_triangles")
        if known is None:
            parts, which, first = [], [], 0
            for k, mesh in enumerate(self.__dict__.get("meshes") or self.split_meshes()):
                cloth = isinstance(mesh, TriangleMesh)
                parts.append((mesh if cloth else mesh.boundary).triangles + first)
                which.append(np.full(len(parts[-1]), k))
                first += len(mesh.vertices)
            kinds = np.concatenate(which) % len(_FRONT)
            known = self._triangles = (np.concatenate(parts).astype(np.int32), np.array(_FRONT)[kinds], np.array(_BACK)[kinds])
        return known

    def draw(self, frame: FrameData) -> Any:
        """Show bodies and obstacles."""
        from meniscus import viz

        triangles, front, back = self._shown()
        vertices = [frame.meshes["body"].vertices]
        elements, fronts, backs = [triangles], [front], [back]
        for o in self.shown_others(frame):
            elements.append((o.triangles + sum(map(len, vertices))).astype(np.int32))
            vertices.append(o.vertices)
            grey = np.tile(_OBSTACLE, (len(o.triangles), 1))
            fronts.append(grey)
            backs.append(grey)
        return viz.surface(
            np.concatenate(vertices),
            np.concatenate(elements),
            eye=self.eye,
            box=self.shown_box(),
            color=np.concatenate(fronts),
            back=np.concatenate(backs),
            title=f"{self.name}, t = {frame.time:.2f} s",
        )

    def path_tracing_scene(self, frame: FrameData, size: tuple[int, int] | None = None) -> dict[str, Any]:
        """Describe bodies and obstacles, above a floor."""
        from meniscus.viz import Camera, path_tracing

        triangles, front, back = self._shown()
        x = frame.meshes["body"].vertices
        colors, which = np.unique(np.concatenate([front, back], axis=1), axis=0, return_inverse=True)
        shown = [
            path_tracing.Surface(vertices=x, triangles=triangles[which.ravel() == k], color=tuple(0.6 * c[:3]), back=tuple(0.8 * c[3:]))
            for k, c in enumerate(colors)
        ]
        shown += [path_tracing.Surface(vertices=o.vertices, triangles=o.triangles, color=(0.4, 0.4, 0.4)) for o in self.shown_others(frame)]
        a, b, c = self.eye
        camera = Camera(azimuth=float(np.degrees(np.arctan2(a, c))), elevation=float(np.degrees(np.arctan2(b, np.hypot(a, c)))))
        return path_tracing.surface_scene(shown, box=self.shown_box(), size=size or (640, 560), camera=camera)
