"""Meshes of segments, triangles and tetrahedra for tests, with plain references for their topology."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np

import meniscus as ms

THREADS = (1, 2, 3, 5, 8)


def delaunay(n: int, rng: np.random.Generator) -> ms.mesh.TetMesh:
    """The Delaunay tetrahedra of random points, all of positive volume, in random order."""
    from scipy.spatial import Delaunay

    x = rng.random((n, 3))
    tets = Delaunay(x).simplices.astype(np.int32)
    return ms.mesh.TetMesh(x, np.ascontiguousarray(rng.permutation(tets))).oriented()


def bcc(n: int, a: float = 1.0) -> ms.mesh.TetMesh:
    """A body-centred cubic lattice: four tetrahedra at every inner face of n x n x n cubes, between two centres and an edge."""
    corner = {c: i for i, c in enumerate(itertools.product(range(n + 1), repeat=3))}
    center = {c: len(corner) + i for i, c in enumerate(itertools.product(range(n), repeat=3))}
    points = [np.array(c, float) for c in corner] + [np.array(c, float) + 0.5 for c in center]
    tets = []
    for c in center:
        for axis in range(3):
            up = tuple(v + (d == axis) for d, v in enumerate(c))
            if up not in center:
                continue
            others = [d for d in range(3) if d != axis]
            ring = [up]
            for d, step in ((others[0], 1), (others[1], 1), (others[0], -1)):
                ring.append(tuple(v + step * (k == d) for k, v in enumerate(ring[-1])))
            tets += [(center[c], center[up], corner[ring[k]], corner[ring[(k + 1) % 4]]) for k in range(4)]
    return ms.mesh.TetMesh(a * np.array(points), np.array(tets, np.int32)).oriented()


def edges_of(elements: np.ndarray) -> list[list[int]]:
    """All pairs of corners, each once."""
    return [list(e) for e in sorted({tuple(sorted(p)) for t in elements.tolist() for p in itertools.combinations(t, 2)})]


def facets_of(elements: np.ndarray) -> dict[tuple[int, ...], list[tuple[int, int]]]:
    """Of each facet, by its sorted corners, the elements that have it and the opposite corner."""
    found = defaultdict(list)
    for t, corners in enumerate(elements.tolist()):
        for k in range(len(corners)):
            found[tuple(sorted(corners[:k] + corners[k + 1 :]))].append((t, k))
    return dict(found)


def neighbours_of(elements: np.ndarray) -> np.ndarray:
    """The other element of each facet that two elements have; -1 elsewhere."""
    result = np.full(elements.shape, -1)
    for at in facets_of(elements).values():
        if len(at) == 2:
            (s, j), (t, k) = at
            result[s, j], result[t, k] = t, s
    return result


def affine(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A random matrix of positive determinant and a random shift."""
    a = rng.normal(size=(3, 3))
    if np.linalg.det(a) < 0:
        a[0] *= -1
    return a, rng.normal(size=3)
