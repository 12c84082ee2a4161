"""Scene of a heap of bodies that are not convex."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.mesh import TriangleMesh, read
from meniscus.scenes.bodies.rigid import COLORS, Piece, Rigid
from meniscus.scenes.scene import parameter
from meniscus.scenes.shapes import cup, ring, star
from meniscus.solids import RigidBody, World
from meniscus.surface import HalfSpace, Pose


@dataclass(kw_only=True)
class Heap(Rigid):
    """Rings, cups and stars, or meshes from files, fall on a heap, into and through each other's holes, and never intersect.

    Source: Guendelman, Bridson and Fedkiw 2003, section 8.
    """

    name: ClassVar[str] = "heap"
    summary: ClassVar[str] = "rings, cups and stars fall on a heap without intersections"
    box: ClassVar[Any] = ((-1.5, 0.0, -1.5), (1.5, 2.0, 1.5))
    eye: ClassVar[tuple[float, float, float]] = (0.9, 0.8, 2.0)
    counts_intersections: ClassVar[bool] = True
    guarantee: ClassVar[bool] = True

    bodies: int = parameter(30, "their number")
    files: str = parameter("", "of closed meshes, with commas between them, in place of rings, cups and stars; scaled to a size of 1 m")
    friction: float = parameter(0.4, "of all surfaces")
    thickness: float = parameter(0.02, "distance that surfaces keep, m")
    seed: int = parameter(1, "of places and turns")
    end: float = parameter(5.0, "length of the run, s")
    frames: int = parameter(120, "frames to write")

    def make_meshes(self) -> list[TriangleMesh]:
        """Return the kinds of bodies."""
        if not self.files:
            return [ring(0.33, 0.1), cup(0.4, 0.45, 0.08), star(5, 0.2, 0.48, 0.16)]
        meshes = [read(_checks.path("files", name.strip())) for name in self.files.split(",")]
        scaled = [(m, np.ptp(m.vertices, axis=0).max()) for m in meshes]
        return [TriangleMesh(np.ascontiguousarray((m.vertices - m.vertices.mean(axis=0)) / s), m.triangles) for m, s in scaled]

    def make_pieces(self) -> Sequence[Piece]:
        """Bodies in layers of four, turned at random."""
        rng = np.random.default_rng(self.seed)
        meshes = self.make_meshes()
        pieces = []
        for k in range(self.bodies):
            q, r = np.linalg.qr(rng.normal(size=(3, 3)))
            q *= np.sign(np.diag(r))
            turn = q * np.sign(np.linalg.det(q))
            x, z = 1.45 * (k % 2 - 0.5) + 0.02 * rng.normal(), 1.45 * (k // 2 % 2 - 0.5) + 0.02 * rng.normal()
            body = RigidBody(meshes[k % len(meshes)], density=1000.0, pose=Pose((x, 0.9 + 1.45 * (k // 4), z), turn.tolist()))
            options = {"friction": self.friction, "thickness": self.thickness, "form": "mesh"}
            pieces.append(Piece(body, options, COLORS[k % len(COLORS)]))
        return pieces

    def prepare(self, world: World) -> None:
        """The ground, and slopes around it."""
        normals = [(0, 1, 0), (1, 1, 0), (-1, 1, 0), (0, 1, 1), (0, 1, -1)]
        for n in normals:
            at = (0.0, 0.0, 0.0) if n == (0, 1, 0) else (-1.3 * n[0], 0.0, -1.3 * n[2])
            world.add_obstacle(HalfSpace(at, tuple(map(float, n))), friction=self.friction)
