"""Shells for tests: closed and open surfaces that lie at no angle to the grid that is special."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from meniscus.surface import Pose

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Mesh = tuple[Floats, Ints]

TURN = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
"""A rotation without special angles."""


def box(center: tuple[float, ...], half: float, turned: bool = True) -> Mesh:
    """Return a closed cube of 12 triangles."""
    corners = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)], float) * 2 - 1
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    x = half * corners
    return np.array(center) + (x @ TURN.T if turned else x), np.array(triangles, np.int32)


def ball(center: tuple[float, ...], radius: float, splits: int = 2) -> Mesh:
    """Return a closed sphere: a cube whose triangles are split and blown up."""
    x, t = box((0.0, 0.0, 0.0), 1.0)
    for _ in range(splits):
        x, t = split(x, t)
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
    return np.array(center) + radius * x / np.linalg.norm(x, axis=1, keepdims=True), t


def split(x: Floats, t: Ints) -> Mesh:
    """Return the mesh with each triangle cut into four."""
    edges, number = np.unique(np.sort(np.concatenate([t[:, [0, 1]], t[:, [1, 2]], t[:, [2, 0]]]), axis=1), axis=0, return_inverse=True)
    ab, bc, ca = (number.ravel() + len(x)).reshape(3, -1)
    a, b, c = t.T
    parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    triangles = np.concatenate([np.stack(p, axis=1) for p in parts]).astype(np.int32)
    return np.concatenate([x, x[edges].mean(axis=1)]), triangles


def sheet(corner: tuple[float, ...], first: tuple[float, ...], second: tuple[float, ...], n: int = 8) -> Mesh:
    """Return a parallelogram of 2 n^2 triangles from a corner along two edges."""
    s = np.linspace(0.0, 1.0, n + 1)
    u, v = np.meshgrid(s, s, indexing="ij")
    x = np.array(corner) + u.reshape(-1, 1) * np.array(first) + v.reshape(-1, 1) * np.array(second)
    i = np.arange((n + 1) ** 2).reshape(n + 1, n + 1)
    a, b, c, d = i[:-1, :-1].ravel(), i[1:, :-1].ravel(), i[1:, 1:].ravel(), i[:-1, 1:].ravel()
    return x, np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]).astype(np.int32)


def ring(center: tuple[float, float], radius: float, n: int = 24) -> Mesh:
    """Return a closed polygon."""
    a = 2 * np.pi * (np.arange(n) + 0.123) / n
    x = np.array(center) + radius * np.stack([np.cos(a), np.sin(a)], axis=1)
    i = np.arange(n)
    return x, np.stack([i, (i + 1) % n], axis=1).astype(np.int32)


def line(points: list[tuple[float, float]], n: int = 1) -> Mesh:
    """Return a polygonal line through points, each part of which is cut into n."""
    p = np.array(points, float)
    x = [p[:1]] + [p[k] + (p[k + 1] - p[k]) * (np.arange(1, n + 1) / n)[:, None] for k in range(len(p) - 1)]
    vertices = np.concatenate(x)
    i = np.arange(len(vertices) - 1)
    return vertices, np.stack([i, i + 1], axis=1).astype(np.int32)


def closed_below(x: Floats, t: Ints, to: float) -> Mesh:
    """Return an open sheet (3-D) with its projection to the plane x = to and the band between: closed, if the sheet has one rim."""
    n = len(x)
    far = x.copy()
    far[:, 0] = to
    sides = np.concatenate([t[:, [0, 1]], t[:, [1, 2]], t[:, [2, 0]]])
    _, first, count = np.unique(np.sort(sides, axis=1), axis=0, return_index=True, return_counts=True)
    a, b = sides[first[count == 1]].T
    band = np.concatenate([np.stack([a, b, b + n], axis=1), np.stack([a, b + n, a + n], axis=1)])
    return np.concatenate([x, far]), np.concatenate([t, t + n, band]).astype(np.int32)


def star(rng: np.random.Generator) -> Mesh:
    """A closed polygon with tips and notches."""
    k = 2 * int(rng.integers(3, 7))
    angle = np.linspace(0, 2 * np.pi, k, endpoint=False) + rng.uniform(0, 1)
    r = np.where(np.arange(k) % 2, rng.uniform(0.1, 0.2), rng.uniform(0.2, 0.3)) * rng.uniform(0.85, 1.1, k)
    sides = np.stack([np.arange(k), (np.arange(k) + 1) % k], axis=1).astype(np.int32)
    return r[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1), sides


def swinging(rng: np.random.Generator) -> tuple[Callable[[float], Pose], Floats]:
    """A random motion to and fro of what turns meanwhile, and its middle, m."""
    way, rate, turn, middle = rng.uniform(0, 0.12), rng.uniform(1, 8), rng.uniform(0, 5), rng.uniform(0.45, 0.55, 2)

    def pose(t: float) -> Pose:
        return Pose((middle[0] + way * np.sin(rate * t), middle[1] + 0.5 * way * np.sin(1.7 * rate * t)), turn * t)

    return pose, middle
