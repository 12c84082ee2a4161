"""Moving solids with known velocities, and slow but plain distances of a mesh."""

from typing import Any, NamedTuple

import numpy as np

import meniscus as ms
from meniscus.surface import Ellipsoid, Pose, Sphere


def unit_grid(dimension: int, cells: int = 24, periodic: Any = False) -> ms.Grid:
    return ms.Grid((cells,) * dimension, 1.0 / cells, periodic=periodic)


def stacked(coordinates: tuple[np.ndarray, ...]) -> np.ndarray:
    return np.stack([x.ravel() for x in np.broadcast_arrays(*coordinates)], axis=1)


def quaternion(axis: Any, angle: float) -> np.ndarray:
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * np.array(axis) / np.linalg.norm(axis)])


def swing2(t: float) -> Pose:
    """A pendulum that also drifts."""
    return Pose((0.5 + 0.1 * np.sin(3 * t), 0.4 + 0.2 * t), 0.8 * np.sin(2 * t))


AXIS = np.array([1.0, 2.0, -0.5]) / np.linalg.norm([1.0, 2.0, -0.5])


def swing3(t: float) -> Pose:
    """The same around a fixed direction in space."""
    return Pose((0.5 + 0.1 * np.sin(3 * t), 0.4 + 0.2 * t, 0.5), quaternion(AXIS, 0.8 * np.sin(2 * t)))


def exact_velocity(x: np.ndarray, t: float) -> np.ndarray:
    """Velocity of swing2 or swing3 at points, from the formulas."""
    n = x.shape[1]
    linear = np.array([0.3 * np.cos(3 * t), 0.2, 0.0])[:n]
    c = np.array([0.5 + 0.1 * np.sin(3 * t), 0.4 + 0.2 * t, 0.5])[:n]
    rate = 1.6 * np.cos(2 * t)
    y = x - c
    if n == 2:
        return linear + rate * np.stack([-y[:, 1], y[:, 0]], axis=1)
    return linear + np.cross(rate * AXIS, y)


def body(dimension: int) -> Any:
    return Ellipsoid((0.05,) * dimension, (0.3, 0.15, 0.2)[:dimension]) - Sphere((0.1,) * dimension, 0.1)


def images_of(points: np.ndarray, reach: int, axes: tuple[bool, ...]) -> list[np.ndarray]:
    shifts = np.meshgrid(*[np.arange(-reach, reach + 1) if a else np.zeros(1) for a in axes])
    return [points - s for s in stacked(tuple(shifts))]


def drifting(t: float) -> np.ndarray:
    return icosahedron(0.2, (0.95, 0.5, 0.5))[0] + [t, 0.0, 0.0]


class Closest(NamedTuple):
    triangles: np.ndarray
    barycentric: np.ndarray


def icosahedron(radius: float = 0.25, center: Any = (0.5, 0.5, 0.5)) -> tuple[np.ndarray, np.ndarray]:
    g = (1 + np.sqrt(5)) / 2
    v = np.array(
        [(-1, g, 0), (1, g, 0), (-1, -g, 0), (1, -g, 0), (0, -1, g), (0, 1, g), (0, -1, -g), (0, 1, -g),
         (g, 0, -1), (g, 0, 1), (-g, 0, -1), (-g, 0, 1)]
    )  # fmt: skip
    t = np.array(
        [(0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11), (1, 5, 9), (5, 11, 4), (11, 10, 2), (10, 7, 6), (7, 1, 8),
         (3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9), (4, 9, 5), (2, 4, 11), (6, 2, 10), (8, 6, 7), (9, 8, 1)],
        np.int32,
    )  # fmt: skip
    return radius * v / np.linalg.norm(v[0]) + center, t


class Oracle:
    """Distances of a convex mesh, triangle by triangle."""

    def __init__(self, calls: list[int] | None = None, vertices: Any = None, triangles: Any = None) -> None:
        start, faces = icosahedron()
        self.vertices = start if vertices is None else np.array(vertices)
        self.triangles = faces if triangles is None else triangles
        self.calls = [] if calls is None else calls

    def update(self, vertices: np.ndarray) -> None:
        self.vertices = vertices.copy()

    def closest(self, points: np.ndarray) -> Closest:
        best = np.full(len(points), np.inf)
        which, weights = np.zeros(len(points), int), np.zeros((len(points), 3))
        for i, corners in enumerate(self.vertices[self.triangles]):
            w = barycentric_of_closest(points, corners)
            d = np.linalg.norm(w @ corners - points, axis=1)
            nearer = d < best
            best[nearer], which[nearer], weights[nearer] = d[nearer], i, w[nearer]
        return Closest(which, weights)

    def signed_distance(self, points: np.ndarray) -> np.ndarray:
        self.calls.append(len(points))
        which, weights = self.closest(points)
        corners = self.vertices[self.triangles]
        d = np.linalg.norm(np.einsum("nk,nkd->nd", weights, corners[which]) - points, axis=1)
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        behind = np.einsum("md,nmd->nm", normals, points[:, None] - corners[None, :, 0]) < 0
        return np.where(behind.all(axis=1), -d, d)


def barycentric_of_closest(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Of the foot of the perpendicular if it lies in the triangle, else of the closest point of an edge."""
    a, b, c = corners
    basis = np.stack([b - a, c - a], axis=1)
    v, w = np.linalg.lstsq(basis, (points - a).T, rcond=None)[0]
    inside = np.stack([1 - v - w, v, w], axis=1)
    candidates, distances = [], []
    for i in range(3):
        p, q = corners[i], corners[(i + 1) % 3]
        t = np.clip((points - p) @ (q - p) / ((q - p) @ (q - p)), 0, 1)
        weights = np.zeros((len(points), 3))
        weights[:, i], weights[:, (i + 1) % 3] = 1 - t, t
        candidates.append(weights)
        distances.append(np.linalg.norm(weights @ corners - points, axis=1))
    edges = np.stack(candidates)[np.argmin(distances, axis=0), np.arange(len(points))]
    return np.where((inside >= 0).all(axis=1)[:, None], inside, edges)
