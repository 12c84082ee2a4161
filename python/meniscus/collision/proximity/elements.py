"""Proximity of two elements: distance, closest points, and the data that a response to their collision needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import collision as _collision
from meniscus.collision._elements import elements, same_length

Floats = npt.NDArray[np.float64]


class ElementDistances(NamedTuple):
    """The closest points of n pairs of elements, a point and a triangle or two edges.

    Attributes:
        distances: (n,), m.
        weights: (n, 4), barycentric coordinates of the closest points for the four points of a pair, those of the second element
            with a minus: the distance is the length of the sum of weight times position.
        first: (n, 3), the closest point on the first element, m.
        second: (n, 3), on the second, m.
        normals: (n, 3), of length 1, from the second to the first; where they touch, perpendicular to the triangle or to both
            edges, of either sign.
    """

    distances: Floats
    weights: Floats
    first: Floats
    second: Floats
    normals: Floats


class ContactGeometry(NamedTuple):
    """Data for the response to n collisions within a step, without their times: the geometry in the middle of the step.

    Attributes:
        weights: (n, 4), as in `ElementDistances`, in the middle of the step.
        distances: (n,), then, m.
        normals: (n, 3), of length 1, from the second element to the first in the middle of the step; it points the other way where
            they have passed each other by then. `sources` says where it comes from if they touch then.
        normal_displacements: (n,), displacement of the first element relative to the second along the normal over the step, m.
        sources: (n,) int8: 0 the middle of the step; 1 its end; 2 the normal of the triangle, or the one across both edges, at the
            start; 3 the direction between the elements at the start; 4 a direction perpendicular to the longest edge; 5 the y axis.
    """

    weights: Floats
    distances: Floats
    normals: Floats
    normal_displacements: Floats
    sources: npt.NDArray[np.int8]


def point_triangle_distance(points: Floats, triangles: Floats) -> ElementDistances:
    """Return distance, closest points, weights and normal of each point and its triangle.

    Args:
        points: (n, 3) float64, C-contiguous, m.
        triangles: (n, 3, 3) float64, C-contiguous, m; thin and degenerate ones are welcome.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, arrays of different length, positions that are not finite.

    Source: Brochu 2012, section 3.2.3; Ericson, "Real-time collision detection", 2005, section 5.1.5.
    """
    p = _checks.points("points", points, np.dtype(np.float64), 3)
    t = elements("triangles", triangles, 3)
    same_length("triangles", t, "points", p)
    return ElementDistances(*_collision.point_triangle_distance(p, t))


def edge_edge_distance(first: Floats, second: Floats) -> ElementDistances:
    """Return distance, closest points, weights and normal of each pair of edges.

    Args:
        first, second: (n, 2, 3) float64, C-contiguous, m; parallel ones and ones of no length are welcome.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, arrays of different length, positions that are not finite.

    Source: Brochu 2012, section 3.2.3; Ericson, "Real-time collision detection", 2005, section 5.1.9.
    """
    a = elements("first", first, 2)
    b = elements("second", second, 2)
    same_length("second", b, "first", a)
    return ElementDistances(*_collision.edge_edge_distance(a, b))


def vertex_face_contact(start: Floats, end: Floats) -> ContactGeometry:
    """Return normal, weights and relative normal displacement of vertices and faces that collide within a step.

    An impulse that zeroes the relative normal displacement does not prove that the elements are separate then: test again.

    Args:
        start, end: (n, 4, 3) float64, C-contiguous, m: the vertex and the corners of the face, before and after the step.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, arrays of different length, positions that are not finite.

    Source: Brochu 2012, sections 3.2.3 and 4.5.5.
    """
    a, b = _step(start, end)
    return ContactGeometry(*_collision.vertex_face_contact(a, b))


def edge_edge_contact(start: Floats, end: Floats) -> ContactGeometry:
    """Return normal, weights and relative normal displacement of pairs of edges that collide within a step.

    An impulse that zeroes the relative normal displacement does not prove that the elements are separate then: test again.

    Args:
        start, end: (n, 4, 3) float64, C-contiguous, m: the ends of one edge and of the other, before and after the step.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, arrays of different length, positions that are not finite.

    Source: Brochu 2012, sections 3.2.3 and 4.5.5.
    """
    a, b = _step(start, end)
    return ContactGeometry(*_collision.edge_edge_contact(a, b))


def _step(start: Floats, end: Floats) -> tuple[Floats, Floats]:
    a = elements("start", start, 4)
    b = elements("end", end, 4)
    same_length("end", b, "start", a)
    return a, b
