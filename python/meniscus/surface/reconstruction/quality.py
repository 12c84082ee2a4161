"""Measures of surfaces of water: how much they flicker from frame to frame, and how bumpy they are."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.collision import closest_point
from meniscus.surface.reconstruction.inputs import WaterMesh

Floats = npt.NDArray[np.float64]


def flicker(before: WaterMesh, after: WaterMesh, dt: float) -> float:
    """Return by how much a surface moves from frame to frame other than its water does, m.

    The vertices are carried along for dt by the mean of their velocity and of that where they arrive; flicker is the root of the mean, over
    the area, of their squared distance to the next surface. A surface that its water carries along exactly has none, however it moves.

    Args:
        before: surface, with velocities.
        after: the next one.
        dt: s between the two.

    Returns:
        Metres; 0 where both are empty, infinity where one is.

    Raises:
        TypeError, ValueError: no meshes, a dt that is not positive.
    """
    a, b = (_checks.one_of_type(name, m, WaterMesh) for name, m in (("before", before), ("after", after)))
    seconds = _checks.positive("dt", dt)
    if not len(a.triangles) or not len(b.triangles):
        return 0.0 if len(a.triangles) == len(b.triangles) else math.inf
    x = a.vertices + seconds * a.velocities
    there = closest_point(b.vertices, b.triangles, np.ascontiguousarray(x))
    velocity = np.einsum("nk,nkd->nd", there.barycentric, b.velocities[b.triangles[there.triangles]])
    x += 0.5 * seconds * (velocity - a.velocities)
    distance = closest_point(b.vertices, b.triangles, np.ascontiguousarray(x)).distances
    area = vertex_areas(a.vertices, a.triangles)
    return float(np.sqrt((area * distance**2).sum() / area.sum()))


def bumpiness(vertices: Floats, triangles: npt.NDArray[np.int32], length: float) -> float:
    """Return the standard deviation of the mean curvature over a surface, times a length.

    The curvature at a vertex is that of the edges around it, half of their length times the angle between the normals on both sides, over
    the area, both summed with weights that fall off within about the length. A plane, a ball and a cylinder have none.

    Args:
        vertices: (n, 3), m.
        triangles: (m, 3) int32, of a surface whose edges have two triangles, or one at its rim.
        length: m, below which bumps are not seen; for a surface on a lattice, its spacing.

    Raises:
        TypeError, ValueError: other arrays, a length that is not positive.
    """
    scale = _checks.positive("length", length)
    x: Floats = np.asarray(_checks.points("vertices", vertices, np.dtype(np.float64), 3))
    t = _checks.triangles("triangles", triangles)
    if not len(t):
        return 0.0
    n = len(x)
    corners = x[t]
    crossed = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    twice = np.linalg.norm(crossed, axis=1)
    normals = crossed / np.maximum(twice, 1e-300)[:, None]
    ends = np.concatenate([t[:, [0, 1]], t[:, [1, 2]], t[:, [2, 0]]]).astype(np.int64)
    owner = np.tile(np.arange(len(t)), 3)
    forward = ends[:, 0] < ends[:, 1]
    key = np.where(forward, ends[:, 0] * n + ends[:, 1], ends[:, 1] * n + ends[:, 0])
    order = np.argsort(key, kind="stable")
    pairs = np.flatnonzero(key[order][1:] == key[order][:-1])
    e, f = order[pairs], order[pairs + 1]
    e, f = np.where(forward[e], e, f), np.where(forward[e], f, e)
    along = x[ends[e, 1]] - x[ends[e, 0]]
    edge = np.linalg.norm(along, axis=1)
    a, b = normals[owner[e]], normals[owner[f]]
    turned = np.einsum("nd,nd->n", np.cross(a, b), along) / np.maximum(edge, 1e-300)
    angle = np.arctan2(turned, np.einsum("nd,nd->n", a, b))
    angle[(twice[owner[e]] == 0) | (twice[owner[f]] == 0)] = 0
    i, j = ends[e].T
    bent = np.zeros(n)
    for k in (i, j):
        bent += np.bincount(k, 0.25 * edge * angle, n)
    area = vertex_areas(x, t)
    # Shorter edges count more, so that the sums spread over equal lengths whatever the triangles.
    weight = np.exp(-0.5 * (edge / scale) ** 2)
    total = np.bincount(i, weight, n) + np.bincount(j, weight, n) + 1.0
    # Two passes: the angles of single triangles of an extracted surface are no curvature yet.
    for _ in range(2):
        bent, area = (
            (v + np.bincount(i, weight * (v / total)[j], n) + np.bincount(j, weight * (v / total)[i], n)) - v * (total - 1.0) / total
            for v in (bent, area)
        )
    curvature = np.divide(bent, area, out=np.zeros(n), where=area > 0)
    mean = (area * curvature).sum() / area.sum()
    return float(scale * np.sqrt((area * (curvature - mean) ** 2).sum() / area.sum()))


def vertex_areas(vertices: Floats, triangles: npt.NDArray[np.int32]) -> Floats:
    """Return a third of the area of the triangles around each vertex (n,), m^2."""
    corners = vertices[triangles]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) / 6
    result: Floats = np.bincount(triangles.ravel(), np.repeat(area, 3), len(vertices)).astype(np.float64)
    return result
