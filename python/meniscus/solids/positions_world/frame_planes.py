"""Planes of obstacles that vertices stay above during a frame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from meniscus.solids.contact.obstacles import SolidObstacle

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

NO_PLANES = np.zeros(0, np.int32), np.zeros((0, 8))


def frame_planes(
    obstacles: Sequence[SolidObstacle], x: Floats, v: Floats, gravity: Floats, slack: float, time: float, dt: float
) -> tuple[Ints, Floats]:
    """Return rows of vertices, ascending for each obstacle, and planes (k, 8): normal, least n . x now, velocity, friction.

    Args:
        obstacles: whose planes are taken where vertices enter them in the frame, or nearest to them.
        x, v: (n, 3), m and m/s, of the vertices now.
        gravity: (3,), m/s^2.
        slack: m: what contact may move vertices.
        time: s, now.
        dt: s, of the frame.
    """
    rows, planes = [], []
    for o in obstacles:
        way = dt * v + dt * dt * gravity
        ends = x + way
        near = np.linalg.norm(way, axis=1) + slack
        low, high = o.box(time)
        beside = (np.maximum(x, ends) >= low - near[:, None]).all(axis=1) & (np.minimum(x, ends) <= high + near[:, None]).all(axis=1)
        found = np.flatnonzero(beside)
        if not len(found):
            continue
        start, end = np.ascontiguousarray(x[found]), np.ascontiguousarray(ends[found])
        before, after = o.distance(start, time), o.distance(end, time + dt)
        close = (before < near[found]) | (after < slack)
        found, start, end, before, after = found[close], start[close], end[close], before[close], after[close]
        if not len(found):
            continue
        part = np.where((after < 0) & (before > 0), before / np.where(before > after, before - after, 1.0), 1.0)
        at = np.ascontiguousarray(start + part[:, None] * (end - start))
        normals = o.solid.normals(at, time + dt)
        values = np.zeros((len(found), 8))
        values[:, :3] = normals
        if o.solid.moves:
            values[:, 4:7] = o.solid.velocity(at, time + dt, -dt)
        values[:, 3] = np.einsum("nd,nd->n", normals, at) - o.distance(at, time + dt)
        # The plane is that at the end of the frame: it has come there with its velocity.
        values[:, 3] -= dt * np.einsum("nd,nd->n", normals, values[:, 4:7])
        values[:, 7] = o.friction
        rows.append(found.astype(np.int32))
        planes.append(values)
    if not rows:
        return NO_PLANES
    return np.concatenate(rows), np.concatenate(planes)
