"""Registration of a surface to another one with other triangles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.collision.proximity.queries import closest_point
from meniscus.mesh import TriangleMesh

Floats = npt.NDArray[np.float64]

_ROUNDS = 40  # of closest points; 30 are enough for a limb that moves by its own thickness
_LARGEST_TURN = 0.5  # cosine of the angle between normals of points that belong together


def registered(template: TriangleMesh, start: Floats, target: TriangleMesh) -> Floats:
    """Return positions (n, 3) of the vertices of a template, m, that lie on another surface.

    From `start` on, each vertex is drawn to the closest point of the target, if the normals there are compatible (within 60 degrees). The
    displacements are smoothed over the template, first over large and in the end over small neighbourhoods, so that it moves as a whole
    before it bends. At last each vertex takes its closest point. For frames that differ by less than the distance between parts of the
    surface.

    Args:
        template: a closed surface.
        start: (n, 3), its positions on the previous frame, m.
        target: the surface of this frame.

    Source: Lee 2018, section 2.3.1, which leaves the method open; non-rigid iteration of closest points.
    """
    x = np.array(start)
    rings, count = template.one_rings, np.maximum(np.diff(template.one_rings.starts), 1)[:, None]
    owner = np.repeat(np.arange(len(x)), np.diff(rings.starts))
    used = np.zeros(len(x), bool)
    used[template.used_vertices] = True
    corners = target.vertices[target.triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    for turn in range(_ROUNDS):
        closest = closest_point(target, points=x)
        compatible = (normals[closest.triangles] * _vertex_normals(template, x)).sum(axis=1) > _LARGEST_TURN
        wanted = np.where((compatible & used)[:, None], closest.positions - x, 0.0)
        weight = np.where(compatible & used, 1.0, 1e-6)[:, None]
        moved, sweeps = wanted * weight, max(1, round(60 * (1.0 - (turn + 1) / _ROUNDS) ** 2))
        for _ in range(sweeps):
            total, share = np.zeros_like(moved), np.zeros_like(weight)
            np.add.at(total, owner, moved[rings.values])
            np.add.at(share, owner, weight[rings.values])
            moved, weight = 0.5 * moved + 0.5 * total / count, 0.5 * weight + 0.5 * share / count
        x += moved / np.maximum(weight, 1e-12)
    result: Floats = np.where(used[:, None], closest_point(target, points=x).positions, x)
    return result


def _vertex_normals(mesh: TriangleMesh, x: Floats) -> Floats:
    corners = x[mesh.triangles]
    areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    sums = np.zeros_like(x)
    for k in range(3):
        np.add.at(sums, mesh.triangles[:, k], areas)
    result: Floats = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-300)
    return result
