"""Triangle meshes for tests, and slow but plain references for distances, winding numbers and insides."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np
import pytest

import meniscus as ms

Mesh = tuple[np.ndarray, np.ndarray]
WATERTIGHT_FILES = ("spot", "rocker-arm", "fandisk")


def mesh_file(name: str) -> Path:
    """A file of the folder of test data; skips the test where there is none."""
    folder = os.environ.get("MENISCUS_TEST_DATA")
    if not folder:
        pytest.skip("MENISCUS_TEST_DATA does not name the folder of test meshes")
    path = Path(folder) / f"{name}.obj"
    if not path.exists():
        pytest.skip(f"there is no {path.name} in MENISCUS_TEST_DATA")
    pytest.importorskip("trimesh", reason="mesh files need trimesh")
    return path


def real_mesh(name: str) -> Mesh:
    """A mesh of the folder of test data."""
    return tuple(ms.mesh.read(mesh_file(name)))


def box(low: tuple[float, ...] = (0.0, 0.0, 0.0), high: tuple[float, ...] = (1.0, 1.0, 1.0)) -> Mesh:
    """The surface of a box: 8 vertices, 12 triangles."""
    corners = np.array(list(itertools.product(*zip(low, high, strict=True))), float)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))], np.int32)


def torus(major: float = 1.0, minor: float = 0.4, n: int = 40, m: int = 24) -> Mesh:
    """A torus around the z axis."""
    u, v = np.meshgrid(2 * np.pi * np.arange(n) / n, 2 * np.pi * np.arange(m) / m, indexing="ij")
    r = major + minor * np.cos(v)
    vertices = np.stack([r * np.cos(u), r * np.sin(u), minor * np.sin(v)], axis=-1).reshape(-1, 3)
    i, j = (a.ravel() for a in np.meshgrid(np.arange(n), np.arange(m), indexing="ij"))
    a, b, c, d = i * m + j, (i + 1) % n * m + j, (i + 1) % n * m + (j + 1) % m, i * m + (j + 1) % m
    return np.ascontiguousarray(vertices), np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)]).astype(np.int32)


def join(*meshes: Mesh) -> Mesh:
    """One mesh of several parts."""
    starts = np.cumsum([0] + [len(v) for v, _ in meshes[:-1]])
    return np.concatenate([v for v, _ in meshes]), np.concatenate([t + s for (_, t), s in zip(meshes, starts, strict=True)]).astype(
        np.int32
    )


def reversed_mesh(mesh: Mesh) -> Mesh:
    """The same mesh with the opposite orientation."""
    return mesh[0], np.ascontiguousarray(mesh[1][:, ::-1])


def random_points(mesh: Mesh, n: int, rng: np.random.Generator, margin: float = 0.1) -> np.ndarray:
    """Points in the bounding box, widened by a part of its size."""
    low, high = mesh[0].min(axis=0), mesh[0].max(axis=0)
    return rng.uniform(low - margin * (high - low), high + margin * (high - low), (n, 3))


def size_of(mesh: Mesh) -> float:
    """The diagonal of the bounding box."""
    return float(np.linalg.norm(np.ptp(mesh[0], axis=0)))


def distances_to_all(mesh: Mesh, point: np.ndarray) -> np.ndarray:
    """Distance of one point to each triangle: to its plane where the point projects into it, else to the nearest of its edges."""
    corners = mesh[0][mesh[1]]
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    best = np.full(len(corners), np.inf)
    normal = np.cross(b - a, c - a)
    length = np.linalg.norm(normal, axis=1)
    inside = length > 0
    for p, q in ((a, b), (b, c), (c, a)):
        edge = q - p
        square = np.einsum("ij,ij->i", edge, edge)
        t = np.clip(np.einsum("ij,ij->i", point - p, edge) / np.where(square > 0, square, 1), 0, 1)
        best = np.minimum(best, np.linalg.norm(point - p - t[:, None] * edge, axis=1))
        inside &= np.einsum("ij,ij->i", np.cross(edge, point - p), normal) >= 0
    with np.errstate(invalid="ignore"):
        plane = np.abs(np.einsum("ij,ij->i", point - a, normal)) / length
    return np.where(inside, np.minimum(best, plane), best)


def brute_force_distance(mesh: Mesh, points: np.ndarray) -> np.ndarray:
    """Distance of points to a mesh."""
    return np.array([distances_to_all(mesh, p).min() for p in points])


def brute_force_winding(mesh: Mesh, points: np.ndarray) -> np.ndarray:
    """The sum of the solid angles of all triangles over 4 pi (Van Oosterom and Strackee 1983)."""
    corners = mesh[0][mesh[1]]
    result = []
    for p in points:
        r = corners - p
        n = np.linalg.norm(r, axis=2)
        a, b, c = r[:, 0], r[:, 1], r[:, 2]
        numerator = np.einsum("ij,ij->i", a, np.cross(b, c))
        dots = [np.einsum("ij,ij->i", x, y) for x, y in ((a, b), (b, c), (c, a))]
        denominator = n.prod(axis=1) + dots[0] * n[:, 2] + dots[1] * n[:, 0] + dots[2] * n[:, 1]
        result.append(np.where(numerator == 0, 0, 2 * np.arctan2(numerator, denominator)).sum() / (4 * np.pi))
    return np.array(result)


def inside_by_parity(mesh: Mesh, lines: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """Insides (len(lines), heights.shape[1]) of points on vertical lines through (x, y): an odd number of crossings lies above."""
    corners = mesh[0][mesh[1]]
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]

    def side(p: np.ndarray, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return (q[:, 0] - p[:, 0]) * (x[1] - p[:, 1]) - (q[:, 1] - p[:, 1]) * (x[0] - p[:, 0])

    result = np.empty(heights.shape, bool)
    for i, x in enumerate(lines):
        w = np.stack([side(b, c, x), side(c, a, x), side(a, b, x)])
        hit = (w > 0).all(axis=0) | (w < 0).all(axis=0)
        w = w[:, hit]
        crossings = np.sort((w * corners[hit, :, 2].T).sum(axis=0) / w.sum(axis=0))
        result[i] = (len(crossings) - np.searchsorted(crossings, heights[i])) % 2 == 1
    return result


def sphere_like(n: int, rng: np.random.Generator) -> Mesh:
    """An octahedron whose faces are cut in n x n and pushed out to random radii: star-shaped, with thin and fat triangles."""
    corners = np.array([(1.0, 0, 0), (0, 1.0, 0), (0, 0, 1.0)])
    vertices: dict[tuple[int, ...], int] = {}
    triangles = []
    for signs in itertools.product((1, -1), repeat=3):

        def vertex(i: int, j: int, signs: tuple[int, ...] = signs) -> int:
            key = tuple(s * k for s, k in zip(signs, (i, j, n - i - j), strict=True))
            return vertices.setdefault(key, len(vertices))

        for i, j in itertools.product(range(n), repeat=2):
            if i + j < n:
                quad = [(vertex(i, j), vertex(i + 1, j), vertex(i, j + 1))]
                if i + j < n - 1:
                    quad.append((vertex(i + 1, j), vertex(i + 1, j + 1), vertex(i, j + 1)))
                triangles += [t if np.prod(signs) > 0 else t[::-1] for t in quad]
    x = np.array(list(vertices), dtype=float) @ corners
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x * rng.uniform(0.8, 1.2, (len(x), 1)), np.array(triangles, np.int32)
