"""Spatial hashing: vertices in tetrahedra, overlapping boxes, and points near bodies."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import collision as _collision
from meniscus._options import CoreOption
from meniscus.collision.point_location.tet_locator import numbers, tetrahedra

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
_FLOAT64 = np.dtype(np.float64)

CellHash = Literal["corrected", "printed", "teschner"]

CELL_HASH = CoreOption(CellHash, _collision.CellHash)


class BodyPoints(NamedTuple):
    """The points near each of n bodies: those of body b are `points[starts[b] : starts[b + 1]]`.

    Attributes:
        starts: (n + 1,).
        points: (starts[n],), rows of the points, ascending for each body.
    """

    starts: Longs
    points: Ints


def cell_buckets(cells: Longs, buckets: int, hash: CellHash = "corrected") -> Longs:
    """Return the bucket (k,) of each cell of an unbounded grid in a table of the given size.

    Args:
        cells: (k, 3) int64, C-contiguous, coordinates of cells, also negative ones.
        buckets: the size of the table.
        hash: as in `vertices_in_tets`.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, no bucket, an unknown hash.

    Source: Müller, Stam, James and Thürey, "Real time physics", 2008, equation 3.35.
    """
    if not isinstance(cells, np.ndarray) or cells.dtype != np.int64:
        raise TypeError(f"cells must be an array of dtype int64, not {getattr(cells, 'dtype', type(cells).__name__)}")
    n = _checks.integer("buckets", buckets, at_least=1)
    return _collision.cell_hashes(cells, _hash(hash)).astype(np.int64) % n


def vertices_in_tets(
    vertices: Floats, tets: Ints, points: Ints | None = None, *, cell_size: float | None = None, hash: CellHash = "corrected"
) -> Ints:
    """Return the pairs (k, 2) of a vertex and a tetrahedron that contains it but does not have it as a corner, sorted.

    The test is exact, and faces belong to their tetrahedra; those without volume contain nothing. Several bodies are one mesh whose arrays
    are joined. Edges that cross without a vertex inside are not found.

    Args:
        vertices: (n, 3) float64, C-contiguous, m.
        tets: (m, 4) int32, C-contiguous, of any orientation.
        points: (p,) int32, the vertices to be tested, for instance those of the surface; without, all.
        cell_size: of the grid, m; without, the mean of the tetrahedra's largest extents along the axes. It changes the time only.
        hash: function that maps a cell to its bucket: with the constants of the notes ("corrected"), as printed there, where all three
            constants multiply the first coordinate and most cells share few buckets ("printed"), or with the constants of Teschner et al.
            It changes the time only.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, indices out of range, positions that are not finite.

    Source: Müller, Stam, James and Thürey, "Real time physics", 2008, section 3.7; Teschner et al., "Optimized spatial hashing for
    collision detection of deformable objects", 2003.
    """
    x = _checks.points("vertices", vertices, _FLOAT64, 3)
    t = tetrahedra("tets", tets)
    if points is not None:
        numbers("points", points)
    return _collision.vertices_in_tets(x, t, points, _cell_size(cell_size), _hash(hash))


def overlapping_boxes(boxes: Floats, *, cell_size: float | None = None, hash: CellHash = "corrected") -> Ints:
    """Return the pairs (k, 2) of boxes i < j that have a point in common, sorted.

    Args:
        boxes: (n, 2, 3) float64, C-contiguous, the lowest and highest corner of each box, m; those with low > high are empty.
        cell_size: of the finest grid, m; without, the mean of the boxes' largest sides. It changes the time only.
        hash: as in `vertices_in_tets`.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, boxes that are not finite.

    Source: as `vertices_in_tets`; large boxes lie on coarser grids.
    """
    return _collision.overlapping_boxes(_boxes(boxes), _cell_size(cell_size), _hash(hash))


def points_of_bodies(boxes: Floats, points: Floats, displacement: float | Floats = 0.0) -> BodyPoints:
    """Return for each body the points that lie in its box: one pass over the points, after which each body is visited once.

    Args:
        boxes: (n, 2, 3) float64, C-contiguous, the lowest and highest corner of each body, m.
        points: (k, 3) float64, C-contiguous, m.
        displacement: enlargement of the boxes on all sides, m: the largest motion of bodies and points in a step; one number or (n,)
            float64.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, values that are not finite, a negative displacement.

    Source: Selle, "Hybrid techniques for high-fidelity physical simulation of solids and fluids", 2008, section 6.5.
    """
    b = _boxes(boxes)
    x = _checks.points("points", points, _FLOAT64, 3)
    if isinstance(displacement, np.ndarray):
        if displacement.dtype != _FLOAT64 or displacement.shape != (len(b),):
            raise ValueError(f"displacement must have shape ({len(b)},) and dtype float64, not {displacement.shape} {displacement.dtype}")
        _checks.require_finite("displacement", displacement)
        wide = displacement
    else:
        wide = np.full(len(b), _checks.number("displacement", displacement))
    if (wide < 0).any():
        raise ValueError(f"displacement must not be negative, but the least is {wide.min():g}")
    return BodyPoints(*_collision.points_of_bodies(b + wide[:, None, None] * np.array([-1.0, 1.0])[:, None], x))


def _hash(hash: str) -> Any:
    return CELL_HASH("hash", hash)


def _cell_size(cell_size: float | None) -> float:
    return 0.0 if cell_size is None else _checks.positive("cell_size", cell_size)


def _boxes(boxes: Any) -> Floats:
    if not isinstance(boxes, np.ndarray):
        raise TypeError(f"boxes must be a NumPy array, not {type(boxes).__name__}")
    if boxes.dtype != _FLOAT64:
        raise TypeError(f"boxes must be of dtype float64, not {boxes.dtype}")
    if boxes.ndim != 3 or boxes.shape[1:] != (2, 3):
        raise ValueError(f"boxes must have shape (n, 2, 3), not {boxes.shape}")
    if not boxes.flags.c_contiguous:
        raise TypeError("boxes must be C-contiguous; pass np.ascontiguousarray(boxes)")
    return boxes
