"""Contents of a picture of water: meshes with their normals, and a camera."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.collision import ThickSurface
from meniscus.viz.optics import Floats, dot, normalized
from meniscus.viz.smoke import Camera

_EDGE = 0.8  # cosine of the angle from which on two triangles form an edge
Mesh = tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]


class Scene:
    """All meshes as one surface: body 0 is water, the others are opaque."""

    def __init__(self, vertices: Any, triangles: Any, normals: Any, solids: Sequence[Mesh], box: Any) -> None:
        meshes: list[Mesh] = []
        for name, mesh in [("", (vertices, triangles)), *((f"solids[{i}] ", m) for i, m in enumerate(solids))]:
            v = _checks.points(f"{name}vertices", mesh[0], np.dtype(np.float64), 3)
            _checks.require_finite(f"{name}vertices", v)
            meshes.append((np.asarray(v, np.float64), _checks.triangles(f"{name}triangles", mesh[1])))
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
        if box is not None:
            meshes.append(frame(self.low, self.high, 0.0016 * self.diagonal))
        starts = np.cumsum([0] + [len(v) for v, _ in meshes])
        self.vertices = np.concatenate([v for v, _ in meshes])
        self.triangles = np.concatenate([t + s for (_, t), s in zip(meshes, starts, strict=False)]).astype(np.int32)
        self.bodies = np.repeat(np.arange(len(meshes)), [len(t) for _, t in meshes]).astype(np.int32)
        self.frame = len(meshes) - 1 if box is not None else -1
        x = self.vertices[self.triangles]
        across = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
        self.face_normals = normalized(across)
        self.normals = _corner_normals(self.vertices, self.triangles, across, normals)
        self.surface = ThickSurface(self.vertices, self.triangles, 1e-8 * self.diagonal, self.bodies) if len(self.triangles) else None

    def normals_at(self, triangles: npt.NDArray[Any], barycentric: Floats) -> Floats:
        """Normals of hits: smooth but for edges of the surface."""
        flat = self.face_normals[triangles]
        smooth = normalized(np.einsum("ij,ijk->ik", barycentric, self.normals[triangles]))
        return np.where((dot(flat, smooth) > 0.3)[:, None], smooth, flat)


def _corner_normals(vertices: Floats, triangles: npt.NDArray[np.int32], across: Floats, given: Floats | None) -> Floats:
    """The normal (m, 3, 3) at each corner of each triangle: that of its vertex, or where the surface has an edge there, the mean over
    those triangles at the vertex that face the same way. `across` are normals as long as twice the areas."""
    at_vertex = np.zeros_like(vertices)
    for i in range(3):
        np.add.at(at_vertex, triangles[:, i], across)
    if given is not None:
        at_vertex[: len(given)] = given
    flat = normalized(across)
    result = normalized(at_vertex)[triangles]
    on_edge = np.zeros(len(vertices), bool)
    on_edge[triangles[np.einsum("ik,ijk->ij", flat, result) < _EDGE]] = True
    corner = np.flatnonzero(on_edge[triangles.ravel()])
    if not len(corner):
        return result
    # The stars of all vertices, then every pair of a corner at an edge and a triangle of its star.
    order = np.argsort(triangles.ravel(), kind="stable")
    counts = np.bincount(triangles.ravel(), minlength=len(vertices))
    starts = np.cumsum(counts) - counts
    vertex = triangles.ravel()[corner]
    sizes = counts[vertex]
    first = np.repeat(np.arange(len(corner)), sizes)
    place = np.arange(len(first)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    other = order[starts[vertex[first]] + place] // 3
    alike = dot(flat[corner[first] // 3], flat[other]) > _EDGE
    sums = np.zeros((len(corner), 3))
    np.add.at(sums, first[alike], across[other[alike]])
    result.reshape(-1, 3)[corner] = normalized(sums)
    return result


def frame(low: Floats, high: Floats, width: float) -> Mesh:
    """The edges of a box as thin beams."""
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


class View:
    """The camera: an eye, and a ray for every sample of the picture."""

    def __init__(self, scene: Scene, axis: int, camera: Camera, size: tuple[int, int]) -> None:
        if abs(camera.elevation) > 89:
            raise ValueError(f"elevation must be from -89 to 89 degrees, not {camera.elevation:g}")
        azimuth, elevation = np.radians(camera.azimuth), np.radians(camera.elevation)
        self.up = np.eye(3)[axis]
        side = np.eye(3)[1 if axis == 0 else 0]
        front = np.cross(side, self.up)
        self.right = np.cos(azimuth) * side - np.sin(azimuth) * front
        level = np.sin(azimuth) * side + np.cos(azimuth) * front
        self.back = np.cos(elevation) * level + np.sin(elevation) * self.up
        self.level = level
        self.above = np.cross(self.back, self.right)
        self.width, self.height = (_checks.integer("size", n, 16) for n in size)
        center = (scene.low + scene.high) / 2
        self.eye = center + max(_checks.positive("distance", camera.distance), 0.75) * scene.diagonal * self.back
        ends = np.stack([scene.low, scene.high])
        corners = np.array([[ends[i >> d & 1, d] for d in range(3)] for i in range(8)])
        seen, _ = self.project(corners, unit=True)
        low, high = seen.min(axis=0), seen.max(axis=0)
        span = np.maximum(high - low, 1e-9)
        self.scale = 0.9 * _checks.positive("zoom", camera.zoom) * min(self.width / span[0], self.height / span[1])
        self.middle = (low + high) / 2

    def direction(self, parts: Sequence[float]) -> Floats:
        """A direction given as (right, up, towards the camera), level with the horizon."""
        result: Floats = normalized((parts[0] * self.right + parts[1] * self.up + parts[2] * self.level)[None])[0]
        return result

    def project(self, points: Floats, *, unit: bool = False) -> tuple[Floats, Floats]:
        """Pixels (n, 2) from the upper left corner (or places on the plane at distance 1) and the depth of points."""
        x = points - self.eye
        depth = -(x @ self.back)
        place = np.stack([x @ self.right, x @ self.above], axis=1) / np.maximum(depth, 1e-9)[:, None]
        if unit:
            return place, depth
        place = (place - self.middle) * self.scale
        return np.stack([self.width / 2 + place[:, 0], self.height / 2 - place[:, 1]], axis=1), depth

    def rays(self, samples: int) -> Floats:
        """Unit directions (n, 3), row by row."""
        x = (np.arange(self.width * samples) + 0.5) / samples
        y = (np.arange(self.height * samples) + 0.5) / samples
        px = (x - self.width / 2) / self.scale + self.middle[0]
        py = (self.height / 2 - y) / self.scale + self.middle[1]
        d = px[None, :, None] * self.right + py[:, None, None] * self.above - self.back
        return normalized(d.reshape(-1, 3))
