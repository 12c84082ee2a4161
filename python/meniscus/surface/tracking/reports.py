"""Report of a motion and audit of a tracked surface."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meniscus._meniscus import surface as _surface
from meniscus.collision import CollisionMesh


class MotionReport(NamedTuple):
    """What a motion met.

    Attributes:
        contacts: pairs of elements that would have touched.
        repelled, pushed, zone_vertices: vertices that repulsion, impulses and zones moved from their ends.
        fraction: of the way that was taken; below 1 where nothing but an end before a contact helped.
        cuts: further motions that a step needed for that.
    """

    contacts: int
    repelled: int
    pushed: int
    zone_vertices: int
    fraction: float
    cuts: int = 0

    @classmethod
    def total(cls, parts: list[MotionReport]) -> MotionReport:
        """Return the sums over the motions of a whole step."""
        sums = [sum(part[i] for part in parts) for i in range(4)]
        return cls(int(sums[0]), int(sums[1]), int(sums[2]), int(sums[3]), 1.0, len(parts) - 1)


class SurfaceAudit(NamedTuple):
    """The state of a surface, found anew.

    Attributes:
        intersections: pairs of an edge and a triangle without a common vertex that have a point in common, by the exact test.
        boundary_edges, odd_edges, crowded_edges, unpaired_edges: edges with one triangle, with three or more of an odd number, with four or
            more, with triangles of opposed orientation.
        repeated_triangles: those with the corners of another one or with a corner twice.
        euler: vertices minus edges plus triangles: 2 for each sphere, 0 for a torus.
        components: parts of the surface.
        edges_within: share of the edges within the bounds of the options.
        small_angles: share of the triangles with an angle below 20 degrees.
        shortest, longest: edges, m.
    """

    intersections: int
    boundary_edges: int
    odd_edges: int
    crowded_edges: int
    unpaired_edges: int
    repeated_triangles: int
    euler: int
    components: int
    edges_within: float
    small_angles: float
    shortest: float
    longest: float

    @property
    def sound(self) -> bool:
        """Whether nothing intersects and every edge passes the surface on; boundaries are allowed."""
        return not (self.intersections or self.odd_edges or self.unpaired_edges or self.repeated_triangles)


def audit_of(core: _surface.TrackedSurface, components: int, lengths: tuple[float, float]) -> SurfaceAudit:
    """Return the state of the surface of the core, whose parts are so many; `lengths` are the bounds of the options."""
    t = np.array(core.triangles)
    x = core.vertices
    defects = _surface.surface_defects(t)
    edges = CollisionMesh(None, t).edges
    sizes = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)
    bounds = core.options.edge_length * np.array(lengths)
    within = (sizes >= bounds[0]) & (sizes <= bounds[1])
    corners = x[t]
    sides = np.linalg.norm(corners[:, (1, 2, 0)] - corners, axis=2)
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    ordered = np.sort(sides, axis=1)
    sines = areas / np.maximum(ordered[:, 1] * ordered[:, 2], np.finfo(np.float64).tiny)
    return SurfaceAudit(
        int(core.intersections()),
        defects["boundary_edges"],
        defects["odd_edges"],
        defects["crowded_edges"],
        defects["unpaired_edges"],
        defects["repeated_triangles"] + defects["repeated_corners"],
        len(np.unique(t)) - len(edges) + len(t),
        components,
        float(within.mean()) if len(edges) else 1.0,
        float((sines < np.sin(np.deg2rad(20.0))).mean()) if len(t) else 0.0,
        float(sizes.min()) if len(edges) else 0.0,
        float(sizes.max()) if len(edges) else 0.0,
    )
