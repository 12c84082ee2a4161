"""Meshes of one edge length on a given surface."""

from __future__ import annotations

import numpy as np

from meniscus import _checks
from meniscus.mesh.surface_like import SurfaceLike, surface_arrays
from meniscus.mesh.triangle_mesh import TriangleMesh, triangle_mesh
from meniscus.surface.shapes.constructive import Shape
from meniscus.surface.shapes.mesh_distance import MeshDistance
from meniscus.surface.tracking.meshes_of_shapes import shape_mesh
from meniscus.surface.tracking.options import TrackingOptions
from meniscus.surface.tracking.tracked_surface import TrackedSurface

# Edges of remeshed surfaces are so long on average, in units of what is aimed at.
_REMESHED = 0.83


def remesh(
    surface: SurfaceLike | Shape, edge_length: float, *, passes: int = 6, curvature: float = 0.0, safety: bool = True
) -> TriangleMesh:
    """Return a mesh of nearly equilateral triangles on a surface.

    The operations of `TrackedSurface` refine and coarsen the mesh without a change of its topology, and after each pass vertices go to the
    closest points of the surface given, as far as nothing is in the way. Ridges and corners stay.

    Args:
        surface: a `TriangleMesh` or what it is made from; or a bounded 3-D shape, which is extracted from a grid first.
        edge_length: m. Edges are half to one and a half times as long, and as long as that on average.
        passes: of the operations.
        curvature: edges are this part of the radius of curvature where that is smaller; 0: alike everywhere.
        safety: as in `TrackedSurface`; False for meshes that intersect themselves.

    Raises:
        TypeError, ValueError: what is no surface, or as `TrackedSurface`; a shape of two dimensions or without bounds.
    """
    length = _checks.positive("edge_length", edge_length) / _REMESHED
    if isinstance(surface, Shape):
        mesh = shape_mesh(surface, length)
        target: Shape | MeshDistance = surface
    else:
        mesh = surface_arrays(triangle_mesh(surface).compacted()[0])
        target = MeshDistance(*mesh)
    options = TrackingOptions(lengths=(0.55, 4.0 / 3.0), curvature=curvature)
    tracked = TrackedSurface(mesh, length, topology=False, safety=safety, merge="none", options=options)
    for _ in range(_checks.integer("passes", passes, 1)):
        tracked.improve()
        x = np.array(tracked.vertices)
        if isinstance(target, MeshDistance):
            ends = target.closest(x).positions
        else:
            ends = x - target.signed_distance(x)[:, None] * target.normals(x)
        tracked.move(np.ascontiguousarray(ends))
    return tracked.mesh
