"""Intersection tests of elements at rest, exact for all finite doubles."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import collision as _collision
from meniscus._options import CoreOption
from meniscus.collision._elements import elements, same_length

Floats = npt.NDArray[np.float64]
DegenerateContact = Literal["counts", "does not count"]

DEGENERATE_CONTACT = CoreOption(DegenerateContact, _collision.DegenerateContact)


def edge_triangle(edges: Floats, triangles: Floats, degenerate: DegenerateContact = "counts") -> npt.NDArray[np.bool_]:
    """Return whether each edge intersects its triangle (n,); exact, and independent of the order of ends and corners.

    Args:
        edges: (n, 2, 3) float64, C-contiguous, m; edges of no length are points.
        triangles: (n, 3, 3) float64, C-contiguous, m; degenerate ones are segments or points.
        degenerate: 'counts' takes both as closed sets, so that any common point counts; with 'does not count' the ends of the edge
            have to lie strictly on both sides of the triangle, and the crossing strictly inside of it.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, arrays of different length, positions that are not finite, an
            unknown choice.

    Source: Brochu 2012, section 3.2.3.
    """
    e = elements("edges", edges, 2)
    t = elements("triangles", triangles, 3)
    same_length("triangles", t, "edges", e)
    return _collision.edge_triangle(e, t, DEGENERATE_CONTACT("degenerate", degenerate))


def triangle_triangle(first: Floats, second: Floats, degenerate: DegenerateContact = "counts") -> npt.NDArray[np.bool_]:
    """Return whether each of the first triangles intersects its second (n,); exact, and independent of all orders.

    Args:
        first, second: (n, 3, 3) float64, C-contiguous, m; degenerate ones are segments or points.
        degenerate: 'counts' takes both as closed sets, so that any common point counts; with 'does not count' an edge of one has to
            cross the other as `edge_triangle` says.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, arrays of different length, positions that are not finite, an
            unknown choice.

    Source: Guigue and Devillers, "Fast and robust triangle-triangle overlap test using orientation predicates", 2003; Brochu 2012,
    section 3.2.3.
    """
    s = elements("first", first, 3)
    t = elements("second", second, 3)
    same_length("second", t, "first", s)
    return _collision.triangle_triangle(s, t, DEGENERATE_CONTACT("degenerate", degenerate))


def point_in_tetrahedron(points: Floats, tetrahedra: Floats) -> npt.NDArray[np.int8]:
    """Return where each point lies (n,): +1 inside of its tetrahedron, 0 on the boundary, -1 outside; exact.

    Args:
        points: (n, 3) float64, C-contiguous, m.
        tetrahedra: (n, 4, 3) float64, C-contiguous, m, of either orientation; a flat one is all boundary.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, arrays of different length, positions that are not finite.

    Source: Brochu 2012, section 3.2.3.
    """
    p = _checks.points("points", points, np.dtype(np.float64), 3)
    t = elements("tetrahedra", tetrahedra, 4)
    same_length("tetrahedra", t, "points", p)
    return _collision.point_in_tetrahedron(p, t)
