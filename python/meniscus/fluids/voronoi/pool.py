"""Surfaces of liquid that fills a box up to a level."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh.structured import tet_block
from meniscus.mesh.triangle_mesh import TriangleMesh

Floats = npt.NDArray[np.float64]
_MARGIN = 2  # edges by which the surface goes through the walls


def pool_surface(box: npt.ArrayLike, level: float | Callable[[Floats], npt.ArrayLike], edge_length: float, *, up: int = 1) -> TriangleMesh:
    """Return a closed surface around the liquid that fills a box up to a level; it goes through all walls but the upper one.

    Args:
        box: lower and upper corner, m.
        level: m; or a function of horizontal places (n, 2), m, in the order of the axes, that returns levels (n,), m, also of those
            up to two edges beyond the walls.
        edge_length: m, of the edges of squares that are cut in two.
        up: the axis that levels are along.

    Raises:
        TypeError, ValueError: values of another kind or out of range; a level that is not above the bottom.
    """
    corners = _checks.numbers("box", box)
    if corners.shape != (2, 3) or not (corners[0] < corners[1]).all():
        raise ValueError("box must have a lower and an upper corner of three numbers each")
    edge, axis = _checks.positive("edge_length", edge_length), _checks.integer("up", up, 0, 3)
    margin = _MARGIN * edge
    low, size = corners[0] - margin, corners[1] - corners[0] + 2 * margin
    counts = np.maximum(np.round(size / edge).astype(int), 1)
    across = [d for d in range(3) if d != axis]
    if callable(level):
        middle = np.asarray(level(0.5 * (corners[0] + corners[1])[None, across]), np.float64)
        counts[axis] = max(round(float(middle.mean() - low[axis]) / edge), 1)
    else:
        counts[axis] = max(round((_checks.number("level", level) - low[axis]) / edge), 1)
    nx, ny, nz = (int(count) for count in counts)
    block = tet_block(nx, ny, nz, size=tuple(size), origin=tuple(low), pattern="five").boundary
    used, numbers = np.unique(block.triangles, return_inverse=True)
    x, triangles = np.array(block.vertices)[used], numbers.reshape(-1, 3).astype(np.int32)
    heights = np.asarray(level(x[:, across]), np.float64) if callable(level) else np.full(len(x), float(level))
    if heights.shape != (len(x),) or not np.isfinite(heights).all() or not (heights > corners[0][axis]).all():
        raise ValueError("level must be above the bottom of the box everywhere")
    x[:, axis] = low[axis] + (x[:, axis] - low[axis]) / size[axis] * (heights - low[axis])
    return TriangleMesh(x, triangles)
