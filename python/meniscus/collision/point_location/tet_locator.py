"""Point location in a moving tetrahedral mesh."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import collision as _collision
from meniscus.mesh.arrays import float_rows, index_rows
from meniscus.mesh.tet_locations import TetLocations
from meniscus.mesh.tet_mesh import TetMesh

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
_FLOAT64 = np.dtype(np.float64)


class TetLocator:
    """Exact point location in a tetrahedral mesh that moves. It copies the mesh.

    Of several closed tetrahedra that contain a point, it belongs to the one with the lowest rank, and of these to the one with the lowest
    number; so points on faces, edges and vertices belong to exactly one. Tetrahedra without volume and those with a negative rank contain
    nothing. Inverted ones contain the points between their corners.

    Args:
        vertices: a `mesh.TetMesh`; with `tets`, positions (n, 3), m.
        tets: (m, 4) integers, of any orientation.
        ranks: (m,) int32; without, all have the same.
        overlapping: False promises that no two tetrahedra ever have inner points in common. Then points are found by walking from
            tetrahedron to tetrahedron from a hint, which is several times faster; the results are the same.

    Raises:
        TypeError, ValueError: wrong dtype or shape, indices out of range, positions that are not finite.

    Source: Devillers, Pion and Teillaud, "Walking in a triangulation", 2002; Kamel and Faloutsos, "On packing R-trees",
    1993.
    """

    def __init__(
        self, vertices: npt.ArrayLike | TetMesh, tets: npt.ArrayLike | None = None, ranks: Ints | None = None, *, overlapping: bool = True
    ) -> None:
        if tets is None:
            mesh = _checks.one_of_type("vertices", vertices, TetMesh)
            x, t = mesh.vertices, mesh.tets
        else:
            x, t = float_rows("vertices", vertices, 3), index_rows("tets", tets, 4)
        if ranks is not None:
            numbers("ranks", ranks, len(t))
        _checks.one_of_type("overlapping", overlapping, bool)
        self._core: Any = _collision.TetLocator(x, t, ranks, overlapping)

    def move(self, vertices: Floats) -> None:
        """Set new positions of the same vertices. Raises TypeError or ValueError; then nothing changes."""
        self._core.move(_checks.points("vertices", vertices, _FLOAT64, 3))

    def locate(self, points: Floats, hints: Ints | None = None) -> TetLocations:
        """Return the tetrahedra that contain points, and their barycentric coordinates.

        Args:
            points: (k, 3) float64, C-contiguous, m; neighbours in the array should be close together.
            hints: (k,) int32, a tetrahedron close to each point, or -1; the result does not depend on them.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, positions that are not finite, hints out of range.
        """
        x = _checks.points("points", points, _FLOAT64, 3)
        if hints is not None:
            numbers("hints", hints, len(x))
        return TetLocations(*self._core.locate(x, hints))


def tetrahedra(name: str, value: Any) -> Ints:
    """Check an (m, 4) int32 C-contiguous array that is used in place."""
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{name} must be a NumPy array, not {type(value).__name__}")
    if value.dtype != np.int32:
        raise TypeError(f"{name} must be of dtype int32, not {value.dtype}")
    if value.ndim != 2 or value.shape[1] != 4:
        raise ValueError(f"{name} must have shape (m, 4), not {value.shape}")
    if not value.flags.c_contiguous:
        raise TypeError(f"{name} must be C-contiguous; pass np.ascontiguousarray({name})")
    return value


def numbers(name: str, value: Any, n: int | None = None) -> Ints:
    """Check an (n,) int32 C-contiguous array that is used in place."""
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{name} must be a NumPy array, not {type(value).__name__}")
    if value.dtype != np.int32:
        raise TypeError(f"{name} must be of dtype int32, not {value.dtype}")
    if value.ndim != 1 or (n is not None and len(value) != n):
        raise ValueError(f"{name} must have shape ({'n' if n is None else n},), not {value.shape}")
    if not value.flags.c_contiguous:
        raise TypeError(f"{name} must be C-contiguous; pass np.ascontiguousarray({name})")
    return value
