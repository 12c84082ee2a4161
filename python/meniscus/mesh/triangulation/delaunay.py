"""Delaunay tetrahedra of points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import mesh as _mesh
from meniscus.mesh.tet_mesh import TetMesh


def delaunay(points: npt.NDArray[np.float64]) -> TetMesh:
    """Return the Delaunay tetrahedra of points, which fill their convex hull: no point lies inside of the sphere of any of them.

    The tetrahedra depend on the points alone, not on their order: where more than four points lie on a sphere, as in lattices, infinitely
    small changes of their lifted heights, in lexicographic order, decide. All signs are exact, and no tetrahedron is flat. Points that
    equal an earlier one stay in `vertices` and get no tetrahedron. Of n points spread in space there are about 6.7 n tetrahedra, of points
    on two lines n^2 / 4.

    Args:
        points: float64 (n, 3), m, finite; at least four that do not lie in a plane.

    Raises:
        TypeError, ValueError: points of another shape or type, not finite, or all in a plane.

    Source: Müller, Stam, James and Thürey 2008, section 3.6; Devillers and Teillaud, "Perturbations for Delaunay and weighted Delaunay 3D
    triangulations", 2011.
    """
    x = _checks.points("points", points, np.dtype(np.float64), 3)
    _checks.require_finite("points", x)
    return TetMesh(x, _mesh.delaunay(x))
