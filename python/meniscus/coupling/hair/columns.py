"""Columns of tetrahedra around single hairs, which keep their shape."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh import TetMesh

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

# A box is one tetrahedron of a third of its volume and four of a sixth, in two mirrored ways so that the diagonals of boxes that follow
# each other agree. Corners: bit 0 along the first side, bit 1 along the second, bit 2 along the hair.
_EVEN = np.array([[0, 1, 2, 4], [3, 2, 1, 7], [5, 4, 7, 1], [6, 7, 4, 2], [1, 2, 4, 7]])
_ODD = np.array([[1, 0, 5, 3], [2, 3, 6, 0], [4, 5, 0, 6], [7, 6, 3, 5], [0, 3, 6, 5]])


def column(points: Floats, boxes: int, thickness: float) -> tuple[Floats, Ints]:
    """Return vertices (4 (boxes + 1), 3) and tetrahedra (5 boxes, 4) of a column around one hair.

    Args:
        points: (n, 3) of the hair, root first, m.
        boxes: along the hair.
        thickness: least half width, m; a curl makes it wider, so that all points are inside.

    Raises:
        ValueError: fewer than one box, a thickness that is not positive.

    Source: Lee 2018, section 2.3.2, figure 2.9; Bowline and Kacic-Alesic 2011. The box lies along the line from root to tip; its sides are
    the principal directions of the points across.
    """
    count, least = _checks.integer("boxes", boxes, 1), _checks.positive("thickness", thickness)
    axis = points[-1] - points[0]
    length = float(np.linalg.norm(axis))
    if length == 0:  # a hair that returns to its root
        axis, length = points[len(points) // 2] - points[0], 0.0
    axis = axis / np.linalg.norm(axis)
    off = points - points[0]
    along = off @ axis
    across = off - along[:, None] * axis
    side = (
        np.linalg.eigh(across.T @ across)[1][:, 2]
        if np.abs(across).max() > 1e-9 * np.abs(off).max()
        else np.eye(3)[np.argmin(np.abs(axis))]
    )
    side = side - (side @ axis) * axis
    side /= np.linalg.norm(side)
    other = np.cross(axis, side)
    low = np.array([(across @ side).min(), (across @ other).min()]) - least
    high = np.array([(across @ side).max(), (across @ other).max()]) + least
    start, end = along.min() - 1e-6 * least, along.max() + 1e-6 * least
    corners = []
    for k in range(count + 1):
        z = start + (end - start) * k / count
        corners += [points[0] + z * axis + a * side + b * other for b in (low[1], high[1]) for a in (low[0], high[0])]
    tets = np.concatenate([4 * k + (_EVEN if k % 2 == 0 else _ODD) for k in range(count)])
    x = np.array(corners)
    volume = np.einsum("ti,ti->t", np.cross(x[tets[:, 1]] - x[tets[:, 0]], x[tets[:, 2]] - x[tets[:, 0]]), x[tets[:, 3]] - x[tets[:, 0]])
    tets[volume < 0] = tets[volume < 0][:, [0, 1, 3, 2]]
    return x, tets.astype(np.int32)


def columns(shapes: list[Floats], boxes: int, thickness: float) -> tuple[TetMesh, Ints]:
    """Return one mesh with a column around each hair, and the first vertex of each column (m + 1,)."""
    each = [column(x, boxes, thickness) for x in shapes]
    first = np.cumsum([0] + [len(x) for x, _ in each]).astype(np.int32)
    vertices = np.concatenate([x for x, _ in each])
    tets = np.concatenate([t + o for (_, t), o in zip(each, first[:-1], strict=True)])
    return TetMesh(vertices, tets.astype(np.int32)), first
