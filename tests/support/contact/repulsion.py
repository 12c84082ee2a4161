"""Single pairs in contact, random pairs, and a plain reference of repulsion."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.collision import CollisionMesh, Repulsion, RepulsionPairs

Floats = npt.NDArray[np.float64]

VERTEX_FACE = CollisionMesh(np.empty((0, 2), np.int32), np.array([[1, 2, 3]]))
EDGE_EDGE = CollisionMesh(np.array([[0, 1], [2, 3]]), np.empty((0, 3), np.int32))
FACE = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
CROSS = np.array([[-0.4, 0.1, 0], [0.6, 0.1, 0], [0.0, -0.5, 0], [0.0, 0.5, 0]])


def vertex_above_face(height: float, at: tuple[float, float] = (0.25, 0.3)) -> Floats:
    """A vertex above a unit right triangle in the plane z = 0."""
    return np.concatenate([[[*at, height]], FACE])


def crossed_edges(height: float) -> Floats:
    """Two edges across each other, the first above the second."""
    return CROSS + np.array([[0, 0, height], [0, 0, height], [0, 0, 0], [0, 0, 0]])


def weights_of(kind: str) -> Floats:
    """Weights of the closest points of the two pairs above."""
    return np.array([1, -0.45, -0.25, -0.3]) if kind == "vertex-face" else np.array([0.6, 0.4, -0.4, -0.6])


def single_pair(kind: str, height: float, masses: npt.ArrayLike = (1, 1, 1, 1), **options: Any) -> tuple[Repulsion, Floats]:
    """One of the pairs above at a height, found there."""
    face = kind == "vertex-face"
    x = vertex_above_face(height) if face else crossed_edges(height)
    options = {"thickness": 0.1, **options}
    repulsion = Repulsion(VERTEX_FACE if face else EDGE_EDGE, x, 1 / np.asarray(masses, float), **options)
    assert repulsion.find(x) == 1
    return repulsion, x


class Reference:
    """Repulsion of plain nodes, pair after pair, in Python numbers: no vectors, no threads, the same operations in the same order."""

    def __init__(
        self,
        inverse_masses: Floats,
        stiffness: float = 30.0,
        part: float = 0.1,
        reach: float = 4.0,
        flip: float = -0.5,
        ends: bool = True,
    ) -> None:
        self.w = [float(w) for w in inverse_masses]
        self.stiffness, self.part, self.reach, self.flip = stiffness, part, reach, flip
        self.ends = ends

    def sweep(self, pairs: list[RepulsionPairs], x: Floats, v: Floats, dt: float | None) -> int:
        """Change v as `push` does, or as `rub` does without dt; return how many pairs took an impulse."""
        impulses = 0
        for p in pairs:
            for k in range(len(p.vertices)):
                before = [float(c) for c in p.direction[k]] if len(p.direction) else None
                impulses += self._pair(p.vertices[k], float(p.thickness[k]), float(p.friction[k]), before, x, v, dt)
        return impulses

    def _pair(self, s: Any, h: float, mu: float, before: list[float] | None, x: Floats, v: Floats, dt: float | None) -> int:
        points = [[float(c) for c in x[i]] for i in s]
        geometry = self._face(points, h) if before is None else self._edges(points, before, h)
        if geometry is None:
            return 0
        a, n, overlap = geometry
        velocity = [[float(c) for c in v[i]] for i in s]
        w = [self.w[i] for i in s]
        u = [a[0] * velocity[0][d] + a[1] * velocity[1][d] + a[2] * velocity[2][d] + a[3] * velocity[3][d] for d in range(3)]
        squares = a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + a[3] * a[3]
        inverse = a[0] * a[0] * w[0] + a[1] * a[1] * w[1] + a[2] * a[2] * w[2] + a[3] * a[3] * w[3]
        if not inverse > 1e-4 * max(w):
            return 0
        along = _dot(n, u)
        j = -along / inverse if along < 0 else 0.0
        if dt is not None:
            rest = self.part / dt * overlap - max(along, 0.0)
            if rest > 0:
                j += min(2 * dt * self.stiffness * overlap / squares, rest / inverse)
        if not j > 0:
            return 0
        impulse = [j * c for c in n]
        if dt is None:
            slip = [u[d] - along * n[d] for d in range(3)]
            speed = math.sqrt(_dot(slip, slip))
            if speed > 0:
                against = min(mu * j, speed / inverse) / speed
                impulse = [impulse[d] - against * slip[d] for d in range(3)]
        for k, i in enumerate(s):
            for d in range(3):
                v[i, d] += (a[k] * w[k]) * impulse[d]
        return 1

    def _face(self, x: list[list[float]], h: float) -> tuple[list[float], list[float], float] | None:
        e2, e3, r = _minus(x[2], x[1]), _minus(x[3], x[1]), _minus(x[0], x[1])
        n = _cross(e2, e3)
        n2 = _dot(n, n)
        w2 = _dot(_cross(r, e3), n) * (1 / n2)
        w3 = _dot(_cross(e2, r), n) * (1 / n2)
        w1 = (1 - w2) - w3
        e23 = _minus(e3, e2)
        margin = h / math.sqrt(max(_dot(e2, e2), _dot(e3, e3), _dot(e23, e23)))
        unit = [(1 / math.sqrt(n2)) * c for c in n]
        distance = _dot(unit, r)
        inside = min(w1, w2, w3) >= -margin and max(w1, w2, w3) <= 1 + margin
        if not (inside and -self.reach * h < distance < h):
            return None
        return [1.0, -w1, -w2, -w3], unit, h - distance

    def _edges(self, x: list[list[float]], before: list[float], h: float) -> tuple[list[float], list[float], float] | None:
        """Of edges that are neither parallel nor in contact."""
        a, b, r = _minus(x[1], x[0]), _minus(x[3], x[2]), _minus(x[0], x[2])
        c = _cross(a, b)
        s = min(max(_dot(_cross(b, r), c) / _dot(c, c), 0.0), 1.0)
        t = (_dot(a, b) * s + _dot(b, r)) / _dot(b, b)
        if t < 0:
            s = min(max(-_dot(a, r) / _dot(a, a), 0.0), 1.0)
        elif t > 1:
            s = min(max((_dot(a, b) - _dot(a, r)) / _dot(a, a), 0.0), 1.0)
        t = min(max(t, 0.0), 1.0)
        if not self.ends and not (0 < s < 1 and 0 < t < 1):
            return None
        g = [r[d] + s * a[d] - t * b[d] for d in range(3)]
        distance = math.sqrt(_dot(g, g))
        n = [(1 / distance) * g[d] for d in range(3)]
        if _dot(before, n) < self.flip and _dot(c, r) < 0:
            n, distance = [-d for d in n], -distance
        if not -self.reach * h < distance < h:
            return None
        return [1 - s, s, t - 1, -t], n, h - distance


def _dot(a: list[float], b: list[float]) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: list[float], b: list[float]) -> list[float]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _minus(a: list[float], b: list[float]) -> list[float]:
    return [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
