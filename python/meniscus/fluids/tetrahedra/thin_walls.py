"""Parts of a solid that are thinner than tetrahedra, which would have one volume of water for both of their sides."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.surface.tetrahedra.solid_at_time import SolidAtTime, union_distance

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
_EDGES = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
_OPPOSED = -0.25  # cosine between the normals where a way goes in and comes out, below which its ends are on different sides
_BENT = 0.7  # cosine between them, below which the way crosses an edge of the surface
_ON_SURFACE = 1e-9  # of the distances from the surface that there are
_STEPS = 48  # of the search along an edge
_TOUCH = 1e-6  # of the length of an edge: as near to the surface it counts as crossed


def two_sided(tets: Ints, neighbours: Ints, x: Floats, phi: Floats, cut: Bools, inside: Bools, members: list[SolidAtTime]) -> Ints:
    """Return those of the cut tetrahedra in which, or across a face of which, water would get from one side of the solid to the other.

    That is where an edge goes through the solid from one side to the other; and where a face has all its vertices in the solid, and the
    way between the vertices opposite to it goes through. Two points are on different sides where the straight way between them comes into
    the solid and out of it across surfaces whose normals are opposed: an edge that grazes a round body, or cuts off a corner of a block,
    has both ends on one side. Without these tetrahedra, and those that are inside, no way across
    faces leads through a plate, however thin: two that are left and share a face have a vertex outside in common there.

    Args:
        tets: (m, 4).
        neighbours: (m, 4), across the face opposite to each corner; -1: none.
        x: (n, 3) vertices, m.
        phi: (n,) signed distances there, m.
        cut: (m,), which the surface cuts.
        inside: (m,), which are in the solid entirely.
        members: of the solid.
    """
    number = np.flatnonzero(cut)
    corners = tets[number]
    near = phi[corners]
    # Vertices on the surface, but for rounding, are on no side of it.
    nil = _ON_SURFACE * float(np.abs(near).max(initial=0.0))
    # Edges with both ends outside that are long enough to meet the solid.
    rows, starts, ends = [], [], []
    for i, j in _EDGES:
        length = np.linalg.norm(x[corners[:, i]] - x[corners[:, j]], axis=1)
        some = np.flatnonzero((near[:, i] > nil) & (near[:, j] > nil) & (near[:, i] + near[:, j] < length))
        rows.append(number[some])
        starts.append(corners[some, i])
        ends.append(corners[some, j])
    # Faces in the solid, with the vertices on either side of them.
    lone = np.flatnonzero((near > nil).sum(axis=1) == 1)
    apex = np.argmax(near[lone] > nil, axis=1)
    beyond = neighbours[number[lone], apex]
    lone, apex, beyond = (a[(beyond >= 0) & ~inside[beyond]] for a in (lone, apex, beyond))
    shared = (tets[beyond][:, :, None] == corners[lone][:, None, :]).any(axis=2)
    there = tets[beyond, np.argmin(shared, axis=1)]
    open_there = phi[there] > nil
    rows.append(number[lone[open_there]])
    starts.append(corners[lone, apex][open_there])
    ends.append(there[open_there])
    row, start, end = np.concatenate(rows), np.concatenate(starts), np.concatenate(ends)
    if not len(row):
        return np.empty(0, np.int32)
    met, first = _touch(members, x[start], x[end], phi[start], phi[end])
    row, start, end, first = row[met], start[met], end[met], first[met]
    if not len(row):
        return np.empty(0, np.int32)
    _, last = _touch(members, x[end], x[start], phi[end], phi[start])
    length = np.linalg.norm(x[end] - x[start], axis=1)
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


def _touch(members: list[SolidAtTime], start: Floats, end: Floats, phi_start: Floats, phi_end: Floats) -> tuple[Bools, Floats]:
    """Return which straight ways between points outside meet the solid, and where first: no step is longer than the distance from it."""
    distance = union_distance(members)
    way = end - start
    length = np.linalg.norm(way, axis=1)
    touch = np.minimum(_TOUCH * length, 0.5 * phi_start)
    met = np.zeros(len(way), bool)
    gone = np.array(phi_start)
    active = np.arange(len(way))
    for _ in range(_STEPS):
        active = active[gone[active] < length[active] - phi_end[active]]
        if not len(active):
            break
        part = gone[active] / length[active]
        here = distance(np.ascontiguousarray(start[active] + part[:, None] * way[active]))
        touched = here <= touch[active]
        met[active[touched]] = True
        gone[active] += np.maximum(here, 0.0)
        active = active[~touched]
    met[active] = True  # what is still on its way grazes the surface
    return met, np.ascontiguousarray(start + (gone / length)[:, None] * way)
