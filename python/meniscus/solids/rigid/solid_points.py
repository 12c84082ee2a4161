"""Points of rigid bodies in or near solids that are known by their distance."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.solids.rigid.rotations import rotation_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

# So many points of a pair go on, the deepest ones.
_MOST = 64


def points_in_solid(parts: list[Any], states: Floats, time: float, dt: float, slop: float) -> tuple[Ints, Floats]:
    """Return contacts of bodies with solids: groups (g, 3) of body, solid and number of points, and points (n, 17).

    `parts` are those of a system; `states` (n, 13) theirs. Points count that are inside, or may be within dt seconds.
    """
    groups: list[list[int]] = []
    points: list[Floats] = [np.zeros((0, 17))]
    solids = [(j, p) for j, p in enumerate(parts) if p.solid is not None]
    if not solids:
        return np.zeros((0, 3), np.int32), points[0]
    for i, part in enumerate(parts):
        if part.body is None or part.form is None or not part.body.is_dynamic:
            continue
        s = states[i]
        x = part.form.vertices @ rotation_of(s[3:7]).T + s[:3]
        way = dt * float(np.linalg.norm(part.body.velocity) + np.linalg.norm(part.body.angular_velocity) * part.form.core.reach)
        way += dt * dt * float(np.linalg.norm(part.body.gravity))
        for j, other in solids:
            gaps = other.solid.signed_distance(x, time) - part.form.radius - 0.5 * (part.thickness + other.thickness)
            near = np.flatnonzero(gaps < way + slop)
            if not len(near):
                continue
            near = np.sort(near[np.argsort(gaps[near], kind="stable")[:_MOST]])
            n = other.solid.normals(x[near], time)
            rows = np.zeros((len(near), 17))
            rows[:, :3] = x[near] - (part.form.radius + 0.5 * gaps[near])[:, None] * n
            rows[:, 3:6], rows[:, 6] = n, gaps[near]
            rows[:, 16] = near.astype(np.uint64).view(np.float64)
            points.append(rows)
            groups.append([i, j, len(near)])
    if not groups:
        return np.zeros((0, 3), np.int32), points[0]
    # The core asks for groups in the order of their bodies.
    return np.array(groups, np.int32), np.ascontiguousarray(np.concatenate(points))
