"""Queries of a triangle mesh: closest points, distances and winding numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import collision as _collision
from meniscus.mesh.surface_like import SurfaceLike, is_surface
from meniscus.mesh.triangle_mesh import triangle_mesh

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
_FLOAT64 = np.dtype(np.float64)


class ClosestPoints(NamedTuple):
    """The closest point of a mesh to each of n points.

    Attributes:
        distances: (n,), m, never negative.
        triangles: (n,), the triangle it lies on; of several at equal distance, the first.
        barycentric: (n, 3), its barycentric coordinates in that triangle: not negative, with sum 1.
        positions: (n, 3), m.
    """

    distances: Floats
    triangles: Ints
    barycentric: Floats
    positions: Floats


def closest_point(surface: SurfaceLike, triangles: npt.ArrayLike | None = None, points: Floats | None = None) -> ClosestPoints:
    """Return the closest point of a triangle mesh to each point: `closest_point(surface, points)`.

    For many calls, use `surface.MeshDistance`, which stores the tree.

    Args:
        surface: a `TriangleMesh` or what it is made from. In place of it also vertices (n, 3) and triangles (m, 3), two arguments; thin
            and degenerate triangles are welcome.
        triangles: see above.
        points: (k, 3) float64, C-contiguous, m; the second argument after a surface.

    Raises:
        TypeError, ValueError: what is no surface, no triangle, indices out of range, positions that are not finite.

    Source: Ericson, "Real-time collision detection", 2005, section 5.1.5; Lauterbach et al., "Fast BVH construction on GPUs", 2009.
    """
    x, t, p = _mesh_and_points(surface, triangles, points)
    return ClosestPoints(*_collision.closest_point(x, t, p))


def winding_number(
    surface: SurfaceLike,
    triangles: npt.ArrayLike | None = None,
    points: Floats | None = None,
    *,
    accuracy: float | None = float(_collision.DEFAULT_ACCURACY),
) -> Floats:
    """Return the generalised winding number (k,) of a triangle mesh at points: 1 inside and 0 outside of a closed mesh.

    Args:
        surface: a `TriangleMesh` or what it is made from. In place of it also vertices (n, 3) and triangles (m, 3), two arguments.
        triangles: see above; counter-clockwise as seen from outside.
        points: (k, 3) float64, C-contiguous, m; the second argument after a surface.
        accuracy: parts of the mesh that are farther away than this multiple of their radius are summed at once, with the first two
            terms of their expansion; greater is slower and more accurate, and None adds up every triangle.

    Raises:
        TypeError, ValueError: what is no surface, no triangle, indices out of range, positions that are not finite, `accuracy` below 1.

    Source: Jacobson, Kavan and Sorkine-Hornung, "Robust inside-outside segmentation using generalized winding numbers", 2013; Barill
    et al., "Fast winding numbers for soups and clouds", 2018.
    """
    x, t, p = _mesh_and_points(surface, triangles, points)
    if accuracy is not None and _checks.number("accuracy", accuracy) < 1:
        raise ValueError(f"accuracy must be at least 1, or None for the sum over all triangles, not {accuracy:g}")
    return _collision.winding_number(x, t, p, None if accuracy is None else float(accuracy))


def _mesh_and_points(surface: SurfaceLike, triangles: Any, points: Any) -> tuple[Floats, Ints, Floats]:
    """Return the arrays of (surface, points) or (vertices, triangles, points), of which nobody else can change the mesh."""
    if points is None and is_surface(surface) and not is_surface(triangles):
        triangles, points = None, triangles
    mesh = triangle_mesh(surface, triangles)
    p: Any = _checks.points("points", points, _FLOAT64, 3)
    return mesh.vertices, mesh.triangles, p
