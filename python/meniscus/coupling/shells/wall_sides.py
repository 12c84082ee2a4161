"""Blocked faces of walls as rows of the pressure of shells."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.coupling.shell_pressure.sheet_faces import SheetFaces
from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.grid.face_arrays import first_copies, shifts_to_images

Floats = npt.NDArray[np.float64]
_Exact = tuple[npt.NDArray[np.bool_], Floats, Floats, Floats]

_ONE_LAYER = 2.0
"""Hits from the two sides of a face this many thicknesses apart, or less, are of one layer."""
_BEYOND = 0.05
"""A line that meets the thickness of an edge passes the triangle by less than this, in parts of it: weights are then extrapolated."""


def wall_sides(walls: ShellWalls, positions: Floats, closed: tuple[npt.NDArray[np.bool_], ...]) -> SheetFaces:
    """Return both sides of all faces that walls block, each with the hit that its cell sees first.

    These are exactly the faces of `walls.blocked_faces`, without those of `closed` and without second copies on axes that close.

    What both cells of a face see of one layer is one hit, also at an edge of two triangles: equal pressures on both sides move nothing.
    A centre that a wall covers counts as on that side of it on which the walls take it to be.

    Hit and distance are of the point where the line between the two centres meets the plane of the triangle, so that forces on face and
    sheet lie on one line; where this is far beyond an edge, as triangles that are seen edge-on, they are those of the nearest point of
    the triangle, at most the thickness of the walls off that line.

    Args:
        walls: as they are placed.
        positions: (n, dim) of the vertices there, m.
        closed: per axis, faces that are walls of the domain.
    """
    grid, d = walls.grid, walls.grid.dimension
    axes, faces, _, _ = walls._core.faces()
    corners, weights, hits = walls._core.face_hits()
    keep = first_copies(grid, axes, faces)
    for k in range(d):
        on = axes == k
        keep[on] &= ~closed[k][tuple(faces[on].T)]
    both = np.repeat(keep, 2)
    axis, face = np.repeat(axes[keep], 2), np.repeat(faces[keep], 2, axis=0)
    nodes, weights, hits = corners[both], weights[both], hits[both]
    upper = np.tile([False, True], int(keep.sum()))
    # The way from above is free by rounding alone: what is seen from below counts.
    missed = np.flatnonzero(nodes[:, 0] < 0)
    nodes[missed], weights[missed], hits[missed] = nodes[missed - 1], weights[missed - 1], hits[missed - 1]
    every = np.arange(len(axis))
    center = (face + 0.5) * grid.spacing + np.array(grid.origin)
    center[every, axis] -= np.where(upper, 0.0, grid.spacing)
    x = positions[nodes]
    x = x + shifts_to_images(grid, x.mean(axis=1), hits)[:, None, :]
    # Two of the three corners of a strip in the plane are one vertex.
    met, weights, along, normal = (_exact_3d if d == 3 else _exact_2d)(x, axis, center, weights)
    first = np.arange(0, len(axis), 2)
    one = np.abs(along[first] - along[first + 1]) <= _ONE_LAYER * walls.thickness
    from_above = one & met[first + 1] & ~met[first]
    for chosen, other in ((first[one & ~from_above], 1), (first[from_above] + 1, -1)):
        for values in (nodes, weights, along, normal):
            values[chosen + other] = values[chosen]
    distance = np.clip(np.where(upper, -1.0, 1.0) * (along - center[every, axis]), 0.0, grid.spacing)
    return SheetFaces(
        axis=axis.astype(np.int32),
        face=face.astype(np.int64),
        upper=upper,
        nodes=nodes.astype(np.int32),
        weights=weights,
        distance=distance,
        normal=normal,
        open=np.zeros(len(axis)),
    )


def _exact_3d(x: Floats, axis: npt.NDArray[np.int32], center: Floats, nearest: Floats) -> _Exact:
    """Return where lines along axes through centres meet triangles.

    That is, whether they do (n,), and there weights (n, 3), place along the axis (n,), and unit normals (n, 3).
    """
    rows = np.arange(len(axis))
    one, two = (axis + 1) % 3, (axis + 2) % 3
    way = center - x[:, 0]
    a, b = x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]
    size = a[rows, one] * b[rows, two] - a[rows, two] * b[rows, one]
    safe = np.where(size == 0.0, 1.0, size)
    s = (way[rows, one] * b[rows, two] - way[rows, two] * b[rows, one]) / safe
    t = (a[rows, one] * way[rows, two] - a[rows, two] * way[rows, one]) / safe
    exact = np.stack([1.0 - s - t, s, t], axis=1)
    return _chosen(x, axis, exact, nearest, size, np.cross(a, b))


def _exact_2d(x: Floats, axis: npt.NDArray[np.int32], center: Floats, nearest: Floats) -> _Exact:
    """As `_exact_3d`, for segments whose two ends are among three corners."""
    rows = np.arange(len(axis))
    end = np.where((x[:, 1] != x[:, 0]).any(axis=1), 1, 2)
    along = x[rows, end] - x[:, 0]
    other = 1 - axis
    size = along[rows, other]
    s = (center[rows, other] - x[rows, 0, other]) / np.where(size == 0.0, 1.0, size)
    exact = np.zeros_like(nearest)
    exact[:, 0], exact[rows, end] = 1.0 - s, s
    normal = np.stack([along[:, 1], -along[:, 0], np.zeros(len(along))], axis=1)
    return _chosen(x, axis, exact, nearest, size, normal)


def _chosen(x: Floats, axis: npt.NDArray[np.int32], exact: Floats, nearest: Floats, size: Floats, normal: Floats) -> _Exact:
    inside = (size != 0.0) & (exact >= -_BEYOND).all(axis=1)
    weights = np.where(inside[:, None], exact, nearest)
    weights = weights / weights.sum(axis=1, keepdims=True)
    along = np.einsum("sk,sk->s", weights, x[np.arange(len(axis)), :, axis])
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    return inside, weights, along, normal / np.where(length > 0, length, 1.0)
