"""Segments aimed at triangle meshes, and plain references for their distances to all triangles."""

from __future__ import annotations

import numpy as np

from support.meshes import Mesh, distances_to_all


def segment_distances(mesh: Mesh, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Distance of one segment to each triangle: zero where it pierces, else reached at an end of the segment or on an edge."""
    corners = mesh[0][mesh[1]]
    best = np.stack([distances_to_all(mesh, p) for p in (a, b)]).min(axis=0)
    d = b - a
    for k in range(3):
        p, q = corners[:, k], corners[:, (k + 1) % 3]
        best = np.minimum(best, segment_segment(a, d, p, q - p))
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    h0, h1 = ((normal * (x - corners[:, 0])).sum(axis=1) for x in (a, b))
    sides = np.stack([(np.cross(corners[:, k] - a, corners[:, (k + 1) % 3] - a) * d).sum(axis=1) for k in range(3)])
    pierced = (h0 * h1 < 0) & ((sides > 0).all(axis=0) | (sides < 0).all(axis=0))
    return np.where(pierced, 0, best)


def nearest(p: np.ndarray, e: np.ndarray, x: np.ndarray) -> np.ndarray:
    square = (e * e).sum(axis=-1)
    return np.clip(((x - p) * e).sum(axis=-1) / np.where(square > 0, square, 1), 0, 1)


def segment_segment(a: np.ndarray, d: np.ndarray, p: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Distances of the segment a + s d to the segments p + t e, by the four ends and the inner solution."""
    best = np.full(len(p), np.inf)
    for x in (a, a + d):
        best = np.minimum(best, np.linalg.norm(p + nearest(p, e, x)[:, None] * e - x, axis=1))
    for x in (p, p + e):
        best = np.minimum(best, np.linalg.norm(a + nearest(a, d, x)[:, None] * d - x, axis=1))
    r, dd, ee, de = a - p, d @ d, (e * e).sum(axis=1), e @ d
    area = dd * ee - de * de
    with np.errstate(invalid="ignore", divide="ignore"):
        s = (de * (e * r).sum(axis=1) - ee * (r @ d)) / area
        t = (dd * (e * r).sum(axis=1) - de * (r @ d)) / area
    inner = (area > 1e-12 * dd * ee) & (s > 0) & (s < 1) & (t > 0) & (t < 1)
    gap = np.linalg.norm(r + np.where(inner, s, 0)[:, None] * d - np.where(inner, t, 0)[:, None] * e, axis=1)
    return np.where(inner, np.minimum(best, gap), best)


def dyadic(mesh: Mesh, bits: int) -> Mesh:
    """The mesh with coordinates in [0, 1] that are multiples of 2^-bits."""
    v = mesh[0] - mesh[0].min(axis=0)
    return np.round(v / v.max() * 2**bits) / 2**bits, mesh[1]


def aimed_segments(mesh: Mesh, n: int, bits: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Segments whose exact midpoint is a vertex, the middle of an edge, or a dyadic point of an edge; some along an edge's plane."""
    v, t = mesh
    rows = t[rng.integers(0, len(t), n)]
    k = rng.integers(0, 3, n)
    p, q, r = (v[rows[np.arange(n), (k + j) % 3]] for j in range(3))
    part = rng.choice([0.0, 0.5, 0.25, 0.375], n)[:, None]
    middle = p + part * (q - p)
    reach = 2.0 ** -rng.integers(0, 9, n)[:, None]
    way = np.round(rng.uniform(-1, 1, (n, 3)) * reach * 2**bits) / 2**bits
    flat = rng.random(n) < 0.1
    way[flat] = (r - middle)[flat]
    return middle - way, middle + way
