"""Tetrahedra that a surface of triangles touches."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import surface as _surface

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


def touched_tets(vertices: Floats, tets: Ints, surface_vertices: Floats, triangles: Ints) -> Bools:
    """Return which closed tetrahedra have a point in common with a closed triangle of a surface; exact for all finite doubles.

    Contact in a common plane, edge or corner counts; the orientation of tetrahedra and triangles does not, and they may be degenerate.

    Args:
        vertices: (n, 3) float64, m.
        tets: (m, 4) int32.
        surface_vertices: (k, 3) float64, m.
        triangles: (l, 3) int32; there may be none.

    Raises:
        TypeError, ValueError: wrong dtypes or shapes, corners that are no vertices, positions that are not finite.

    Source: Lee 2018, section 3.3.1.
    """
    x = _checks.points("vertices", vertices, np.dtype(np.float64), 3)
    _checks.require_finite("vertices", x)
    elements = checked_tets(tets, len(x))
    surface_x = _checks.points("surface_vertices", surface_vertices, np.dtype(np.float64), 3)
    out = np.zeros(len(elements), np.bool_)
    if len(_checks.triangles("triangles", triangles)):
        _surface.touched_tets(x, elements, _surface.SurfaceTree(surface_x, triangles), None, 0.0, False, out)
    return out


def checked_tets(tets: Ints, vertices: int) -> Ints:
    """Return C-contiguous tetrahedra; raise TypeError or ValueError for wrong dtypes or shapes, and for corners that are no vertices."""
    if not isinstance(tets, np.ndarray) or tets.dtype != np.int32:
        raise TypeError(f"tets must be a NumPy array of dtype int32, not {getattr(tets, 'dtype', type(tets).__name__)}")
    if tets.ndim != 2 or tets.shape[1] != 4:
        raise ValueError(f"tets must have shape (m, 4), not {tets.shape}")
    wrong = (tets < 0) | (tets >= vertices)
    if wrong.any():
        row = int(np.argmax(wrong.any(axis=1)))
        raise ValueError(f"tets must name vertices from 0 to {vertices - 1}, but tetrahedron {row} has {tets[row].tolist()}")
    return np.ascontiguousarray(tets)
