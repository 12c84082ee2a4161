"""Parts of a solid that are thinner than tetrahedra, which would have one volume of water for both of their sides."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus.surface.tetrahedra.solid_at_time import SolidAtTime, union_distance

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
_OPPOSED = -0.25  # cosine between the normals where a way goes in and comes out, below which its ends are on different sides
_BENT = 0.7  # cosine between them, below which the way crosses an edge of the surface


def two_sided(graph: _fluids.TetGraph, x: Floats, phi: Floats, cut: Bools, inside: Bools, members: list[SolidAtTime]) -> Ints:
    """Return those of the cut tetrahedra in which, or across a face of which, water would get from one side of the solid to the other.

    That is where an edge goes through the solid from one side to the other; and where a face has all its vertices in the solid, and the
    way between the vertices opposite to it goes through. Two points are on different sides where the straight way between them comes into
    the solid and out of it across surfaces whose normals are opposed: an edge that grazes a round body, or cuts off a corner of a block,
    has both ends on one side. Without these tetrahedra, and those that are inside, no way across
    faces leads through a plate, however thin: two that are left and share a face have a vertex outside in common there.

    Args:
        graph: of the tetrahedra.
        x: (n, 3) vertices, m.
        phi: (n,) signed distances there, m.
        cut: (m,), which the surface cuts.
        inside: (m,), which are in the solid entirely.
        members: of the solid.
    """
    distance = members[0].field if len(members) == 1 else union_distance(members)
    row, first, last, length = graph.ways_through_solid(x, phi, cut, inside, distance)
    if not len(row):
        return np.empty(0, np.int32)
    step = 1e-6 * float(length.max())
    normal, other = _normals(members, first, step), _normals(members, last, step)
    cosine = np.einsum("nd,nd->n", normal, other)
    through = cosine < _OPPOSED
    # Across an edge of the surface: behind that of a block there is solid, behind that of thin walls there is not.
    bend = np.flatnonzero(~through & (cosine < _BENT))
    if len(bend):
        inward = -(normal[bend] + other[bend])
        inward *= (0.5 * length[bend] / np.linalg.norm(inward, axis=1))[:, None]
        behind = np.ascontiguousarray(0.5 * (first[bend] + last[bend]) + inward)
        through[bend] = union_distance(members)(behind) > 0
    return np.unique(row[through]).astype(np.int32)


def _normals(members: list[SolidAtTime], points: Floats, step: float) -> Floats:
    """Return unit normals of the surface of the nearest member, by differences over `step` where it has no better ones."""
    if len(members) == 1:
        return members[0].motion(points, step)[1]
    nearest = np.argmin([member.distance(points) for member in members], axis=0)
    result = np.empty_like(points)
    for i, member in enumerate(members):
        mine = np.flatnonzero(nearest == i)
        if len(mine):
            result[mine] = member.motion(np.ascontiguousarray(points[mine]), step)[1]
    return result
