"""Parts of a solid that are thinner than tetrahedra, which would have one volume of water for both of their sides."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.surface.tetrahedra.solid_at_time import SolidAtTime, union_distance

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
_EDGES = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
_OPPOSED = -0.25  # cosine between the ways from the surface to two vertices, below which they are on different sides of it
_ON_SURFACE = 1e-9  # of the distances from the surface that there are
_STEPS = 48  # of the search along an edge
_TOUCH = 1e-6  # of the length of an edge: as near to the surface it counts as crossed


def two_sided(tets: Ints, neighbours: Ints, x: Floats, phi: Floats, cut: Bools, inside: Bools, members: list[SolidAtTime]) -> Ints:
    """Return those of the cut tetrahedra in which, or across a face of which, water would get from one side of the solid to the other.

    That is where an edge goes through the solid from one side to the other; and where a face has all its vertices in the solid, and the
    way between the vertices opposite to it goes through. Two points are on different sides where the ways to them from the surface are
    opposed: an edge that grazes a round body has both ends on one side. Without these tetrahedra, and those that are inside, no way across
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
    asked = np.unique(np.concatenate([start, end]))
    away = x[asked] - _closest(members, np.ascontiguousarray(x[asked]))
    through = np.flatnonzero(_opposed(away[np.searchsorted(asked, start)], away[np.searchsorted(asked, end)]))
    row, start, end = row[through], start[through], end[through]
    return np.unique(row[_crosses(members, x[start], x[end], phi[start], phi[end])]).astype(np.int32)


def _opposed(a: Floats, b: Floats) -> Bools:
    size = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    result: Bools = np.einsum("nd,nd->n", a, b) < _OPPOSED * size
    return result


def _closest(members: list[SolidAtTime], points: Floats) -> Floats:
    """Return the closest points of the surface of the nearest member."""
    step = 1e-6 * max(float(np.ptp(points, axis=0).max()), 1e-300)
    if len(members) == 1:
        return members[0].motion(points, step)[0]
    nearest = np.argmin([member.distance(points) for member in members], axis=0)
    result = np.empty_like(points)
    for i, member in enumerate(members):
        mine = np.flatnonzero(nearest == i)
        if len(mine):
            result[mine] = member.motion(np.ascontiguousarray(points[mine]), step)[0]
    return result


def _crosses(members: list[SolidAtTime], start: Floats, end: Floats, phi_start: Floats, phi_end: Floats) -> Bools:
    """Return which straight ways between points outside meet the solid: no step along them is longer than the distance from it."""
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
        gone[active] += here
        active = active[~touched]
    met[active] = True  # what is still on its way grazes the surface
    return met
