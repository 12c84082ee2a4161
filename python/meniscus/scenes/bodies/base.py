"""Base of the scenes of bodies: meshes, stepping, diagnostics, frames, and pictures of their surfaces."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus.io.frames import FrameData, FrameItem, FrameMesh
from meniscus.mesh import TriangleMesh
from meniscus.scenes.scene import Scene, parameter
from meniscus.surface import HalfSpace

Floats = npt.NDArray[np.float64]
Color = tuple[float, float, float]
Box = tuple[tuple[float, float, float], tuple[float, float, float]]

GREY: Color = (0.62, 0.62, 0.62)
# Front and back of the bodies of a scene, in turn.
_FRONT = ((0.35, 0.55, 0.80), (0.40, 0.65, 0.45), (0.72, 0.42, 0.55), (0.55, 0.50, 0.75), (0.75, 0.65, 0.35))
_BACK = ((0.85, 0.55, 0.30), (0.85, 0.75, 0.40), (0.45, 0.60, 0.65), (0.80, 0.60, 0.60), (0.45, 0.55, 0.40))
_JELLY = (0.62, 0.16, 0.10)  # of a path-traced body of elements that is alone


class Surface(NamedTuple):
    """Vertices (n, 3), m, and triangles (m, 3) of a surface that is drawn."""

    vertices: Floats
    triangles: npt.NDArray[np.int32]


def joined(surfaces: Iterable[Any]) -> Surface:
    """Return several surfaces, with `vertices` and `triangles`, as one."""
    parts, triangles, first = [], [], 0
    for surface in surfaces:
        parts.append(surface.vertices)
        triangles.append(surface.triangles + first)
        first += len(surface.vertices)
    return Surface(np.concatenate(parts), np.concatenate(triangles).astype(np.int32))


class Painted(NamedTuple):
    """A mesh at rest, of triangles or of elements with a boundary, and its colours: of front and back, and, if it shines, path-traced."""

    mesh: Any
    front: Color
    back: Color
    gloss: Color | None = None


@dataclass(kw_only=True)
class Bodies(Scene):
    """Bodies whose surfaces are drawn as one, in colours of their own.

    A subclass makes the mesh at rest and the body, or several of them; `declare_bodies` declares what steps them: here the only one itself.
    """

    stages: ClassVar[tuple[str, ...]] = ("step",)
    stepped: ClassVar[str] = "body"
    frames_per_second: ClassVar[float] = 24.0
    on_ranks: ClassVar[bool] = False
    eye: ClassVar[tuple[float, float, float]] = (1.0, 0.7, 2.0)
    box: ClassVar[Box] = ((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0))
    edges: ClassVar[bool] = False
    """Whether pictures show the edges of triangles."""
    ground: ClassVar[float | None] = None
    """Height of the ground, m, where y is up; None: there is none."""
    drawn: ClassVar[str] = "body"
    """Name of the mesh of a frame that is drawn."""

    end: float = parameter(4.0, "length of the run, s")
    frames: int = parameter(96, "frames to write")

    def make_mesh(self) -> Any:
        """Return the mesh at rest, of a scene of one body, from the parameters alone."""
        raise TypeError(f"scene {type(self).__name__} has no make_mesh()")

    def make_meshes(self) -> Sequence[Any]:
        """Return the meshes of all bodies at rest, from the parameters alone."""
        return [self.make_mesh()]

    def split_meshes(self) -> list[Any]:
        """Return the meshes of all bodies at rest as they are used, from the parameters alone."""
        return list(self.make_meshes())

    def make_body(self, mesh: Any) -> Any:
        """Return the body of a mesh at time 0 with its forces."""
        raise TypeError(f"scene {type(self).__name__} has no make_body()")

    def make_bodies(self, meshes: Sequence[Any]) -> list[Any]:
        """Return the bodies of these meshes."""
        return [self.make_body(mesh) for mesh in meshes]

    def setup(self) -> None:
        """Create the bodies."""
        self.meshes = self.split_meshes()
        self.mesh = self.meshes[0]
        self.last_report = None
        self.declare_bodies(self.make_bodies(self.meshes))

    def declare_bodies(self, bodies: list[Any]) -> None:
        """Declare the bodies and what steps them."""
        self.body = self.declare("body", bodies[0])

    def all_bodies(self) -> Sequence[Any]:
        """Return the bodies with positions and velocities of nodes, in the order of their meshes."""
        return [self.body]

    def equal_dt(self, longest: float) -> float:
        """Return a step of at most that length (s) of which a frame is a multiple: resting contacts shiver where steps vary."""
        frame = self.end / self.frames
        return frame / math.ceil(frame / longest - 1e-9)

    def report(self, time: float) -> dict[str, float]:
        """Energies (J), the largest speed (m/s) and the mean position (m)."""
        bodies = self.all_bodies()
        energies = [body.energy() for body in bodies]
        mean = sum(body.positions.sum(axis=0) for body in bodies) / sum(len(body.positions) for body in bodies)
        return {
            **{name: float(sum(e[name] for e in energies)) for name in energies[0]},
            "max speed": max(float(np.linalg.norm(body.velocities, axis=1).max()) for body in bodies),
            **{f"mean {axis}": float(mean[k]) for k, axis in enumerate("xyz")},
        }

    def frame_data(self) -> Mapping[str, FrameItem]:
        """The mesh of the only body, or the surfaces of all as one, with the velocities of the nodes."""
        bodies = self.all_bodies()
        positions = np.concatenate([b.positions for b in bodies], dtype=np.float64)
        velocities = np.concatenate([b.velocities for b in bodies], dtype=np.float64)
        elements = self.mesh.elements if len(self.meshes) == 1 else self.drawn_triangles()
        return {self.drawn: FrameMesh(positions, elements, {"velocity": velocities})}

    def obstacles(self, time: float) -> list[TriangleMesh]:
        """Return what is drawn of the obstacles at a time (s), from the parameters alone."""
        return []

    def ground_plane(self) -> HalfSpace:
        """Return the ground as an obstacle."""
        if self.ground is None:
            raise TypeError(f"scene {type(self).__name__} has no ground")
        return HalfSpace((0.0, self.ground, 0.0), (0.0, 1.0, 0.0))

    def shown_box(self) -> Box:
        """Return two opposite corners (m) of what pictures show, from the parameters alone."""
        return self.box

    def drawn_triangles(self) -> npt.NDArray[np.int32]:
        """Return the triangles of all bodies that are drawn, from the parameters alone."""
        return self._painted()[1]

    def painted(self) -> list[Painted]:
        """Return the meshes of all bodies with their colours, from the parameters alone."""
        meshes = self.__dict__.get("meshes") or self.split_meshes()
        gloss = None if len(meshes) > 1 or isinstance(meshes[0], TriangleMesh) else _JELLY
        return [Painted(mesh, _FRONT[k % len(_FRONT)], _BACK[k % len(_BACK)], gloss) for k, mesh in enumerate(meshes)]

    def _painted(self) -> tuple[list[Painted], npt.NDArray[np.int32], Floats]:
        """The meshes of all bodies, all of their triangles, and the colours of these on both sides, (m, 6)."""
        known = self.__dict__.get("_known")
        if known is None:
            painted = self.painted()
            surfaces = [p.mesh if isinstance(p.mesh, TriangleMesh) else p.mesh.boundary for p in painted]
            colors = [np.tile((*p.front, *p.back), (len(s.triangles), 1)) for p, s in zip(painted, surfaces, strict=True)]
            known = self._known = painted, joined(surfaces).triangles, np.concatenate(colors)
        return known

    def _others(self, frame: FrameData) -> list[Any]:
        """Obstacles at the time of a frame, and the rigid bodies among deformable ones, as the frame has them."""
        rigid = frame.meshes.get("rigid")
        return [*self.obstacles(frame.time), *([] if rigid is None else [Surface(rigid.vertices, rigid.elements)])]

    def draw(self, frame: FrameData) -> Any:
        """Show bodies and obstacles."""
        from meniscus import viz

        _, triangles, colors = self._painted()
        others = self._others(frame)
        colors = np.concatenate([colors, *(np.tile((*GREY, *GREY), (len(o.triangles), 1)) for o in others)])
        surface = joined([Surface(frame.meshes[self.drawn].vertices, triangles), *others])
        return viz.surface(
            *surface,
            eye=self.eye,
            box=self.shown_box(),
            color=np.ascontiguousarray(colors[:, :3]),
            back=np.ascontiguousarray(colors[:, 3:]),
            edges=self.edges,
            floor=self.ground,
            title=f"{self.name}, t = {frame.time:.2f} s",
        )

    def path_tracing_scene(self, frame: FrameData, size: tuple[int, int] | None = None) -> dict[str, Any]:
        """Describe bodies and obstacles, above a floor."""
        from meniscus.viz import Camera, path_tracing

        painted, triangles, colors = self._painted()
        x, shown = frame.meshes[self.drawn].vertices, []
        for paint, gloss in sorted({(*p.front, *p.back): p.gloss for p in painted}.items()):
            front, back = gloss or tuple(0.6 * c for c in paint[:3]), None if gloss else tuple(0.8 * c for c in paint[3:])
            part = triangles[(colors == paint).all(axis=1)]
            shown.append(path_tracing.Surface(vertices=x, triangles=part, color=front, back=back, glossy=gloss is not None))
        shown += [path_tracing.Surface(vertices=o.vertices, triangles=o.triangles, color=(0.4, 0.4, 0.4)) for o in self._others(frame)]
        a, b, c = self.eye
        camera = Camera(azimuth=float(np.degrees(np.arctan2(a, c))), elevation=float(np.degrees(np.arctan2(b, np.hypot(a, c)))))
        return path_tracing.surface_scene(shown, box=self.shown_box(), size=size or (640, 560), camera=camera)


def rigid_surfaces(bodies: Iterable[Any]) -> FrameMesh:
    """Return the surfaces of rigid bodies as one mesh."""
    return FrameMesh(*joined(Surface(body.positions(), body.mesh.triangles) for body in bodies), {})
