"""Locations of points in tetrahedral meshes."""

from __future__ import annotations

from typing import NamedTuple

from meniscus.mesh.simplices import Floats, Ints


class TetLocations(NamedTuple):
    """Locations of n points in a tetrahedral mesh.

    Attributes:
        tets: (n,), the tetrahedron; -1 outside of all.
        barycentric: (n, 4), not negative, with sum 1 up to round-off, exactly 0 for corners whose opposite face the point lies on;
            zero outside.
    """

    tets: Ints
    barycentric: Floats
