"""Base of the scenes of hair: strands on a skin that moves, and their pictures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meniscus.io.frames import FrameData
from meniscus.mesh import SegmentMesh, TriangleMesh
from meniscus.scenes.bodies.base import Bodies, Surface, joined
from meniscus.scenes.scene import parameter
from meniscus.solids import Groom, HairBody

Floats = npt.NDArray[np.float64]

_SIDES = 3  # of a strand that is drawn
_DARK, _LIGHT = np.array([0.20, 0.10, 0.05]), np.array([0.62, 0.40, 0.20])  # of strands
_SKIN = (0.80, 0.62, 0.52)


def tubes(points: Floats, groom: Groom, radius: float) -> Surface:
    """Return the strands of a groom at `points` (n, 3) as tubes of three sides that become thin towards the tips, m."""
    along = np.gradient(points, axis=0)
    first, last = groom.offsets[:-1], groom.offsets[1:] - 1
    along[first] = points[first + 1] - points[first]
    along[last] = points[last] - points[last - 1]
    along /= np.maximum(np.linalg.norm(along, axis=1), 1e-300)[:, None]
    side = np.cross(along, np.eye(3)[np.abs(along).argmin(axis=1)])
    side /= np.linalg.norm(side, axis=1)[:, None]
    over = np.cross(along, side)
    counts = np.diff(groom.offsets)
    place = np.arange(len(points)) - np.repeat(first, counts)
    thick = radius * (1 - 0.7 * place / np.repeat(counts - 1, counts))[:, None]
    angles = 2 * math.pi * np.arange(_SIDES) / _SIDES
    rings = points[:, None] + thick[:, None] * (np.cos(angles)[:, None] * side[:, None] + np.sin(angles)[:, None] * over[:, None])
    start = np.delete(np.arange(len(points)), last)[:, None]
    i = np.arange(_SIDES)
    j = (i + 1) % _SIDES
    a, b, c, d = (_SIDES * start + i, _SIDES * start + j, _SIDES * (start + 1) + i, _SIDES * (start + 1) + j)
    triangles = np.concatenate([np.stack([a, b, d], axis=-1), np.stack([a, d, c], axis=-1)], axis=1)
    return Surface(rings.reshape(-1, 3), triangles.reshape(-1, 3).astype(np.int32))


def coat_colors(groom: Groom, skin_triangles: int) -> Floats:
    """Return colours of the triangles of `tubes`, of a different shade per strand, and of those of the skin behind them."""
    shade = np.random.default_rng(0).random(len(groom))[:, None]
    each = np.repeat(_DARK + shade * (_LIGHT - _DARK), 2 * _SIDES * (np.diff(groom.offsets) - 1), axis=0)
    return np.concatenate([each, np.tile(_SKIN, (skin_triangles, 1))])


@dataclass(kw_only=True)
class Strands(Bodies):
    """Strands of hair whose roots move with a skin. Strands do not touch each other, or the skin.

    A subclass makes the groom, and says where its skin is.
    """

    edges: ClassVar[bool] = False

    EI: float = parameter(8e-9, "bending stiffness, N m^2")
    GJ: float = parameter(6e-9, "twisting stiffness, N m^2")
    drag: float = parameter(1.0, "of the air, 1/s")
    drawn_radius: float = parameter(4e-4, "of the strands in pictures, m")
    dt: float = parameter(1.0 / 480.0, "longest step, s")

    def make_groom(self) -> Groom:
        """Return the strands at rest, from the parameters alone."""
        raise TypeError(f"scene {type(self).__name__} has no make_groom()")

    def skin_at(self, time: float) -> Floats:
        """Return the vertices of the skin at a time (s), m."""
        return self.skin_mesh.vertices

    @property
    def groom(self) -> Groom:
        """The strands at rest."""
        known: Groom | None = self.__dict__.get("_groom")
        if known is None:
            known = self._groom = self.make_groom()
        return known

    @property
    def skin_mesh(self) -> TriangleMesh:
        """The skin at rest."""
        skin = self.groom.skin
        assert isinstance(skin, TriangleMesh)  # a groom of a scene grows on one
        return skin

    def make_mesh(self) -> SegmentMesh:
        """The segments of all strands."""
        return self.groom.mesh

    def make_body(self, mesh: SegmentMesh) -> HairBody:
        """Strands that are at rest in the shape of the groom."""
        return HairBody(self.groom, EI=self.EI, GJ=self.GJ, gravity=(0.0, -9.81, 0.0))

    def max_dt(self) -> float:
        """Return the longest step."""
        return self.dt

    def advance(self, time: float, dt: float) -> None:
        """Move the roots, and take one step."""
        with self.stage("step"):
            self.body.follow(self.skin_at(time + dt))
            self.last_report = self.body.advance_strands(dt, drag=self.drag)

    def draw(self, frame: FrameData) -> Any:
        """Show the strands as thin tubes, and the skin."""
        from meniscus import viz

        parts, colors = self._shown(frame)
        return viz.surface(
            *joined(parts),
            eye=self.eye,
            box=self.shown_box(),
            color=colors,
            back=colors,
            edges=False,
            floor=self.ground,
            title=f"{self.name}, t = {frame.time:.2f} s",
        )

    def _shown(self, frame: FrameData) -> tuple[list[Surface], Floats]:
        groom = self.groom
        strands = tubes(np.asarray(frame.meshes[self.drawn].vertices, np.float64), groom, self.drawn_radius)
        skin = TriangleMesh(self.skin_at(frame.time), self.skin_mesh.triangles)
        return [strands, Surface(skin.vertices, skin.triangles)], coat_colors(groom, len(skin.triangles))

    def path_tracing_scene(self, frame: FrameData, size: tuple[int, int] | None = None) -> dict[str, Any]:
        """Describe the strands and the skin, above a floor."""
        from meniscus.viz import Camera, path_tracing

        (strands, skin), colors = self._shown(frame)
        count = len(strands.triangles)
        shown = [
            path_tracing.Surface(strands.vertices, strands.triangles, triangle_colors=colors[:count], glossy=True),
            path_tracing.Surface(skin.vertices, skin.triangles, color=_SKIN),
        ]
        a, b, c = self.eye
        camera = Camera(azimuth=float(np.degrees(np.arctan2(a, c))), elevation=float(np.degrees(np.arctan2(b, np.hypot(a, c)))))
        return path_tracing.surface_scene(shown, box=self.shown_box(), size=size or (640, 560), camera=camera)
