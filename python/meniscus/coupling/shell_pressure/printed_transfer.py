"""Forces on the triangles of a shell as printed: pressure differences of faces, averaged over nodes of the grid.

For comparison. On a sheet that lies obliquely, the force along its normal is too large by the sum of the parts of the normal: every face
that is cut carries the whole difference, along each axis.

Source: Guendelman, Selle, Losasso and Fedkiw 2005, section 5.1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.coupling.shell_pressure.sheet_faces import SheetFaces
from meniscus.grid import Grid

Floats = npt.NDArray[np.float64]

_BAND = 3
"""Layers of nodes over which differences are spread."""


def printed_impulses(grid: Grid, sides: SheetFaces, jumps: Floats, positions: npt.ArrayLike, elements: npt.ArrayLike) -> Floats:
    """Return impulses (n, 3) on the nodes of sheets.

    Each axis by itself: a node of the grid has the mean of the faces next to it that are cut; the means spread to a band of nodes; the
    vector of the three is interpolated at the centre of each element, its part along the normal acts on the area, in equal parts on the
    corners.

    Args:
        grid: 2-D or 3-D, without periodic axes.
        sides: faces that are cut.
        jumps: (sides,) pressure impulse below minus above the face, N s/m^2.
        positions: (n, 3) of the nodes, m.
        elements: (m, 3) triangles, or (m, 2) segments, whose impulses are per metre of depth.
    """
    d = grid.dimension
    x, corners = np.asarray(positions, dtype=np.float64), np.asarray(elements, dtype=int).reshape(-1, d)
    centers = x[corners].mean(axis=1)
    if d == 3:
        normals = 0.5 * np.cross(x[corners[:, 1]] - x[corners[:, 0]], x[corners[:, 2]] - x[corners[:, 0]])
    else:
        along = x[corners[:, 1]] - x[corners[:, 0]]
        normals = np.stack([along[:, 1], -along[:, 0], np.zeros(len(along))], axis=1)
    area = np.linalg.norm(normals, axis=1)
    vector = np.zeros((len(corners), 3))
    for axis in range(d):
        vector[:, axis] = _at(_spread(*_node_means(grid, sides, jumps, axis)), (centers[:, :d] - np.array(grid.origin)) / grid.spacing)
    normals = np.divide(normals, area[:, None], out=np.zeros_like(normals), where=area[:, None] > 0)
    push = (vector * normals).sum(axis=1) * area
    out = np.zeros_like(x)
    np.add.at(out, corners, (push[:, None] * normals / d)[:, None, :])
    return out


def _node_means(grid: Grid, sides: SheetFaces, jumps: Floats, axis: int) -> tuple[Floats, Floats]:
    """Return the means of the faces that are cut across an axis, per node of the grid, and where there are any."""
    shape = tuple(n + 1 for n in grid.shape)
    total, count = np.zeros(shape), np.zeros(shape)
    on = (sides.axis == axis) & ~sides.upper
    steps = (
        np.array(np.meshgrid(*([0] if k == axis else [0, 1] for k in range(grid.dimension)), indexing="ij")).reshape(grid.dimension, -1).T
    )
    for step in steps:
        at = tuple((sides.face[on] + step).T)
        np.add.at(total, at, jumps[on])
        np.add.at(count, at, 1.0)
    return np.divide(total, count, out=total, where=count > 0), (count > 0).astype(np.float64)


def _spread(values: Floats, known: Floats) -> Floats:
    for _ in range(_BAND):
        total, count = np.zeros_like(values), np.zeros_like(values)
        for axis in range(values.ndim):
            low = (slice(None),) * axis + (slice(None, -1),)
            high = (slice(None),) * axis + (slice(1, None),)
            total[low] += (values * known)[high]
            total[high] += (values * known)[low]
            count[low] += known[high]
            count[high] += known[low]
        fresh = (known == 0) & (count > 0)
        values = np.where(fresh, total / np.maximum(count, 1.0), values)
        known = np.where(fresh, 1.0, known)
    return values * known


def _at(values: Floats, place: Floats) -> Floats:
    """Interpolate linearly between nodes."""
    most = np.array(values.shape) - 1
    low = np.clip(np.floor(place).astype(int), 0, most - 1)
    part = place - low
    out = np.zeros(len(place))
    for corner in np.ndindex(*(2,) * values.ndim):
        weight = np.prod(np.where(np.array(corner) == 1, part, 1.0 - part), axis=1)
        out += weight * values[tuple((low + corner).T)]
    return out
