"""Meshes on which forces are tested: cloth, tetrahedra in a block, a sphere; their edges and hinges."""

from __future__ import annotations

from itertools import product

import numpy as np


def herring_bone(columns: int, rows: int, rng: np.random.Generator | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of a sheet of unit squares, with alternating diagonals; with `rng`, bent and uneven."""
    i, j = np.meshgrid(np.arange(columns + 1), np.arange(rows + 1), indexing="ij")
    v = np.stack([i.ravel(), j.ravel(), np.zeros(i.size)], axis=1).astype(float)
    if rng is not None:
        v += 0.25 * rng.uniform(-1, 1, v.shape)
    t = []
    for a, b in product(range(columns), range(rows)):
        p, q, r, s = (a * (rows + 1) + b, (a + 1) * (rows + 1) + b, (a + 1) * (rows + 1) + b + 1, a * (rows + 1) + b + 1)
        t += [(p, q, r), (p, r, s)] if (a + b) % 2 else [(p, q, s), (q, r, s)]
    return v, np.array(t, np.int32)


def hinges(triangles: np.ndarray) -> np.ndarray:
    """Interior edges i < j with the opposite corners k (of the triangle that passes i to j) and l."""
    beyond = {}
    for t in triangles.tolist():
        for c in range(3):
            beyond[t[c], t[(c + 1) % 3]] = t[(c + 2) % 3]
    pairs = [(i, j, k, beyond[j, i]) for (i, j), k in beyond.items() if i < j and (j, i) in beyond]
    return np.array(sorted(pairs), np.int32).reshape(-1, 4)


def edges_of(elements: np.ndarray) -> np.ndarray:
    """All edges of triangles or tetrahedra, once each."""
    n = elements.shape[1]
    e = np.concatenate([elements[:, [a, b]] for a in range(n) for b in range(a)])
    return np.unique(np.sort(e, axis=1), axis=0).astype(np.int32)


def tet_block(n: int, rng: np.random.Generator | None = None) -> tuple[np.ndarray, np.ndarray]:
    """A block of n^3 unit cubes of six tetrahedra each, all of positive volume."""
    i = np.arange(n + 1)
    v = np.stack(np.meshgrid(i, i, i, indexing="ij"), axis=-1).reshape(-1, 3).astype(float)
    if rng is not None:
        v += 0.15 * rng.uniform(-1, 1, v.shape)
    tets = []
    strides = np.array([(n + 1) ** 2, n + 1, 1])
    for cell in product(range(n), repeat=3):
        for order in ((0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (2, 1, 0), (1, 0, 2)):
            corner = [int(np.dot(cell, strides))]
            for axis in order:
                corner.append(corner[-1] + int(strides[axis]))
            if order in ((0, 2, 1), (2, 1, 0), (1, 0, 2)):
                corner[2], corner[3] = corner[3], corner[2]
            tets.append(corner)
    return v, np.array(tets, np.int32)


def sphere(divisions: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """An octahedron whose triangles are divided into four once or more often, on the unit sphere."""
    v = [np.array(p, float) for p in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))]
    t = [(0, 2, 4), (2, 1, 4), (1, 3, 4), (3, 0, 4), (2, 0, 5), (1, 2, 5), (3, 1, 5), (0, 3, 5)]
    middle: dict[tuple[int, int], int] = {}

    def between(a: int, b: int) -> int:
        key = (min(a, b), max(a, b))
        if key not in middle:
            m = v[a] + v[b]
            v.append(m / np.linalg.norm(m))
            middle[key] = len(v) - 1
        return middle[key]

    for _ in range(divisions):
        fine = []
        for a, b, c in t:
            ab, bc, ca = between(a, b), between(b, c), between(c, a)
            fine += [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        t = fine
    return np.array(v), np.array(t, np.int32)
