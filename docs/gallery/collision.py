"""Picture of two tubes that pass through each other in one step, each triangle coloured by the time of its first contact.

python docs/gallery/collision.py PICTURE [--samples N]
"""

from __future__ import annotations

import argparse

import numpy as np
import numpy.typing as npt
from PIL import Image

from meniscus.collision import CollisionMesh, time_of_impact_edge_edge, time_of_impact_vertex_face
from meniscus.scenes.shapes import knot
from meniscus.viz import Camera, path_tracing

Floats = npt.NDArray[np.float64]

SHIFT = np.array((-2.6, 0.0, 0.0))  # of the second tube within the step, m
EARLY, LATE = np.array((1.0, 0.72, 0.10)), np.array((0.45, 0.02, 0.30))


class Body:
    """A mesh, its positions at the start and the end of the step, and when its triangles are first touched."""

    def __init__(self, start: Floats, triangles: npt.NDArray[np.int32], shift: Floats) -> None:
        self.start, self.end = np.ascontiguousarray(start), np.ascontiguousarray(start + shift)
        self.mesh = CollisionMesh(None, triangles)
        self.triangles, self.edges = triangles, self.mesh.edges
        self.touched = np.full(len(triangles), np.inf)
        # The number of an edge from its ends, and with it the edges of each triangle.
        n = len(start)
        ends = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]], axis=2).astype(np.int64)
        numbers = self.edges.astype(np.int64) @ (n, 1)
        self.edges_of = np.searchsorted(numbers, ends @ (n, 1))

    def corners(self, elements: npt.NDArray[np.int32]) -> tuple[Floats, Floats]:
        """Return the corners of elements at the start and the end."""
        return self.start[elements], self.end[elements]

    def touch_faces(self, faces: npt.NDArray[np.int32], times: Floats) -> None:
        """Note contacts of triangles."""
        np.minimum.at(self.touched, faces, times)

    def touch_vertices(self, vertices: npt.NDArray[np.int32], times: Floats) -> None:
        """Note contacts of vertices, at the triangles around them."""
        first = np.full(len(self.start), np.inf)
        np.minimum.at(first, vertices, times)
        np.minimum(self.touched, first[self.triangles].min(axis=1), out=self.touched)

    def touch_edges(self, edges: npt.NDArray[np.int32], times: Floats) -> None:
        """Note contacts of edges, at the triangles beside them."""
        first = np.full(len(self.edges), np.inf)
        np.minimum.at(first, edges, times)
        np.minimum(self.touched, first[self.edges_of].min(axis=1), out=self.touched)

    def colors(self, plain: tuple[float, float, float]) -> Floats:
        """Return the colours of the triangles."""
        t = np.clip(self.touched, 0, 1)[:, None]
        return np.where(np.isfinite(self.touched)[:, None], EARLY + (LATE - EARLY) * np.sqrt(t), np.array(plain))


def detect(a: Body, b: Body) -> int:
    """Find all contacts of two bodies within the step; return the number of pairs that touch."""
    pairs = a.mesh.candidates_with(b.mesh, a.start, a.end, b.start, b.end)
    found = 0
    for x, y, (vertices, faces) in ((a, b, pairs.vertex_face.T), (b, a, pairs.face_vertex[:, ::-1].T)):
        points, triangles = x.corners(vertices[:, None]), y.corners(y.triangles[faces])
        times = time_of_impact_vertex_face(*(np.concatenate(p, axis=1) for p in zip(points, triangles, strict=True)))
        x.touch_vertices(vertices, times)
        y.touch_faces(faces, times)
        found += int(np.isfinite(times).sum())
    first, second = pairs.edge_edge.T
    ours, theirs = a.corners(a.edges[first]), b.corners(b.edges[second])
    times = time_of_impact_edge_edge(*(np.concatenate(p, axis=1) for p in zip(ours, theirs, strict=True)))
    a.touch_edges(first, times)
    b.touch_edges(second, times)
    return found + int(np.isfinite(times).sum())


def main() -> None:
    """Make the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture")
    parser.add_argument("--samples", type=int, default=48)
    options = parser.parse_args()
    vertices, triangles = knot(160, 18, 0.55)
    standing = np.ascontiguousarray(vertices[:, [0, 2, 1]] * (1, 1, -1))  # turned upright, around the x axis
    still = Body(vertices + np.array((0.0, 0.0, 2.6)), triangles, np.zeros(3))
    moving = Body(standing + np.array((6.0, 0.2, 2.6)), triangles, SHIFT)
    print(detect(still, moving), "pairs of vertices and faces and of edges touch within the step")
    shown = [
        path_tracing.Surface(vertices=body.start, triangles=triangles, triangle_colors=body.colors(plain), glossy=True)
        for body, plain in ((still, (0.30, 0.40, 0.52)), (moving, (0.55, 0.56, 0.58)))
    ]
    box = ((-3.2, -3.2, -0.6), (9.2, 3.2, 5.8))
    scene = path_tracing.surface_scene(shown, box=box, up="z", camera=Camera(azimuth=-22, elevation=24), size=(800, 480))
    Image.fromarray(path_tracing.render(scene, samples=options.samples)).save(options.picture)


if __name__ == "__main__":
    main()
