"""Triangles of a water scene: all meshes as one surface, with shading normals at the corners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.collision import ThickSurface
from meniscus.mesh.surface_like import SurfaceLike
from meniscus.mesh.triangle_mesh import triangle_mesh
from meniscus.viz.corner_normals import corner_normals
from meniscus.viz.optics import Floats, dot, normalized

Mesh = tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]


class Scene:
    """All meshes as one surface: body 0 is water, the others are opaque."""

    def __init__(
        self, surface: SurfaceLike, triangles: Any, normals: Any, solids: Sequence[SurfaceLike], box: Any, *, edges: bool = True
    ) -> None:
        water = triangle_mesh(surface, triangles)
        self.has_water = len(water.triangles) > 0
        meshes: list[Mesh] = [(m.vertices, m.triangles) for m in (water, *map(triangle_mesh, solids))]
        if normals is not None:
            given = _checks.points("normals", normals, np.dtype(np.float64), 3)
            if len(given) != len(meshes[0][0]):
                raise ValueError(f"normals must have {len(meshes[0][0])} rows, not {len(given)}")
        if box is not None:
            ends = [np.asarray(_checks.vector(f"box[{i}]", b, 3)) for i, b in enumerate(box)]
            if not (ends[0] < ends[1]).all():
                raise ValueError("box must be its lowest and its highest corner")
            self.low, self.high = ends
        else:
            everything = np.concatenate([v for v, _ in meshes])
            if not len(everything):
                raise ValueError("a picture of nothing needs a box")
            self.low, self.high = everything.min(axis=0), everything.max(axis=0)
        self.diagonal = float(np.linalg.norm(self.high - self.low)) or 1.0
        framed = box is not None and edges
        if framed:
            meshes.append(frame(self.low, self.high, 0.0016 * self.diagonal))
        starts = np.cumsum([0] + [len(v) for v, _ in meshes])
        self.vertices = np.concatenate([v for v, _ in meshes])
        self.triangles = np.concatenate([t + s for (_, t), s in zip(meshes, starts, strict=False)]).astype(np.int32)
        self.bodies = np.repeat(np.arange(len(meshes)), [len(t) for _, t in meshes]).astype(np.int32)
        self.frame = len(meshes) - 1 if framed else -1
        x = self.vertices[self.triangles]
        across = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
        self.face_normals = normalized(across)
        self.normals = corner_normals(self.vertices, self.triangles, across, normals)
        self.surface = ThickSurface(self.vertices, self.triangles, 1e-8 * self.diagonal, self.bodies) if len(self.triangles) else None

    def normals_at(self, triangles: npt.NDArray[Any], barycentric: Floats) -> Floats:
        """Return the normals of hits: smooth except at edges of the surface."""
        flat = self.face_normals[triangles]
        smooth = normalized(np.einsum("ij,ijk->ik", barycentric, self.normals[triangles]))
        return np.where((dot(flat, smooth) > 0.3)[:, None], smooth, flat)


def frame(low: Floats, high: Floats, width: float) -> Mesh:
    """Return the edges of a box as thin beams."""
    corner = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])
    vertices: list[Floats] = []
    triangles: list[npt.NDArray[Any]] = []
    for axis in range(3):
        for side in range(4):
            start, end = low - width, low + width
            for n, d in enumerate(a for a in range(3) if a != axis):
                if side >> n & 1:
                    start[d], end[d] = high[d] - width, high[d] + width
            end[axis] = high[axis] + width
            triangles.append(faces + 8 * len(vertices))
            vertices.append(np.where(corner, end, start))
    return np.concatenate(vertices), np.concatenate(triangles).astype(np.int32)
