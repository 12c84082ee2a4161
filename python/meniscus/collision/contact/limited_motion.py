"""Motions that end before anything touches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import collision as _collision
from meniscus.collision.collision_mesh import CollisionMesh
from meniscus.mesh.surface_like import SurfaceLike
from meniscus.mesh.triangle_mesh import TriangleMesh, triangle_mesh

Floats = npt.NDArray[np.float64]
_FLOAT64 = np.dtype(np.float64)


class StillObstacles:
    """What does not move: points, or surfaces.

    Args:
        obstacles: arrays (k, 3), m, of points; or surfaces, as a `TriangleMesh` is made from.

    Raises:
        TypeError, ValueError: what is neither, wrong shapes, positions that are not finite.
    """

    def __init__(self, obstacles: Sequence[npt.NDArray[np.float64] | SurfaceLike]) -> None:
        self.parts: list[tuple[CollisionMesh, Floats]] = []
        none = np.zeros((0, 3), np.int32)
        for one in obstacles:
            if isinstance(one, np.ndarray):
                points = np.ascontiguousarray(_checks.points("obstacles", np.ascontiguousarray(one), _FLOAT64, 3), np.float64)
                self.parts.append((CollisionMesh(none[:, :2], none), points))
            else:
                surface: TriangleMesh = triangle_mesh(one)
                self.parts.append((CollisionMesh(surface), np.ascontiguousarray(surface.vertices)))


def limited_motion(mesh: CollisionMesh, start: Floats, end: Floats, obstacles: StillObstacles | None = None) -> tuple[Floats, Floats]:
    """Return positions on the ways from `start` to `end` that all vertices reach together without contact, and the parts of the ways.

    Vertices whose elements touch something on their ways, by the exact test, go half as far, again and again, and stay where they are after
    six times. Where nothing touches at the start, nothing touches on the ways to the result.

    Args:
        mesh: the surface that moves.
        start, end: (n, 3) float64, m.
        obstacles: which the surface must not touch either.

    Returns:
        Positions (n, 3), m, and parts (n,) from 0 to 1.

    Raises:
        TypeError, ValueError: wrong shapes, positions that are not finite; elements that touch at the start.

    Source: Bridson, Fedkiw and Anderson, "Robust treatment of collisions, contact and friction for cloth animation", 2002, section 8
    (subdivision as a motion); Selle 2008, section 4.6. Halving is our own.
    """
    x = np.ascontiguousarray(_checks.points("start", start, _FLOAT64, 3), np.float64)
    y = np.ascontiguousarray(_checks.points("end", end, _FLOAT64, 3), np.float64)
    if x.shape != y.shape:
        raise ValueError(f"end must have {len(x)} rows, not {len(y)}")
    still = [] if obstacles is None else [(other._core, place) for other, place in obstacles.parts]
    ends, parts = _collision.limit_motion(mesh._core, x, y, still)
    return ends, parts
