"""Continuous collision detection by two classical methods, for comparison: roots of a cubic, and simplices in space and time."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import collision as _collision
from meniscus._options import CoreOption
from meniscus.collision._elements import elements, same_length

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
SimplexMethod = Literal["cramer", "elimination", "integer-elimination"]

SIMPLEX_METHOD = CoreOption(SimplexMethod, _collision.SimplexMethod)


class SpaceTimeContacts(NamedTuple):
    """Contacts of n pairs of simplices in space and time.

    Attributes:
        times: (n,) float64 in [0, 1], the first time at which two of the simplices meet; infinity where none do. Where two of
            them meet in several points, it is that of one of these points.
        normals: (n, dimension) float64, unit vectors: of the face, of the segment, or across both edges (their cross product), each
            as it is at the start or at the end of the step, whichever the simplex contains as a whole. Zero for no contact and where
            these elements are degenerate.
        displacements: (n,) float64, m: how far the first element moves along the normal within the step, relative to the other one.
            Of an element that is more than a vertex, the vertex counts whose whole path belongs to the simplex.
    """

    times: Floats
    normals: Floats
    displacements: Floats


def _cubic(kind: Any, start: Floats, end: Floats, tolerance: float) -> Floats:
    checked = _checks.number("tolerance", tolerance)
    if checked < 0:
        raise ValueError(f"tolerance must not be negative, not {checked:g}")
    result: Floats = _collision.cubic_contacts(kind, elements("start", start, 4), elements("end", end, 4), checked)
    return result


def cubic_vertex_face(start: Floats, end: Floats, tolerance: float = 1e-6) -> Floats:
    """Return for n pairs of a moving vertex and a moving face a time at which they are as close as a tolerance, if one is found.

    The times are those at which the four points are coplanar, up to round-off, and both ends of the step. No contact is missed, however
    fast the elements move. Unlike in the exact `vertex_face`, pairs that pass each other within the tolerance count, and so do those within
    round-off, about 2^-44 of their motion relative to each other.

    Args:
        start: (n, 4, 3) float64, C-contiguous, m: the vertex, then the three corners of the face.
        end: the same at the end of the step.
        tolerance: the distance that counts as contact, as a fraction of the largest extent of the face along an axis, at the start or the
            end of the step.

    Returns:
        (n,) float64: the first time found in [0, 1]; infinity for none.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, values that are not finite (the first is named), `tolerance` < 0.

    Source: Brochu, "Dynamic explicit surface meshes and applications", 2012, section 4.2.1; Selle, "Hybrid techniques for high-fidelity
    physical simulation of solids and fluids", 2008, section 6.3.
    """
    return _cubic(_collision.PairKind.vertex_face, start, end, tolerance)


def cubic_edge_edge(start: Floats, end: Floats, tolerance: float = 1e-6) -> Floats:
    """Return for n pairs of moving edges a time at which they are as close as a tolerance, if one is found.

    Args:
        start: (n, 4, 3) float64, C-contiguous, m: the two ends of the first edge, then those of the other.
        end: the same at the end of the step.
        tolerance: as for `cubic_vertex_face`; a fraction of the larger extent of the two edges.

    Returns:
        (n,) float64: the first time found in [0, 1]; infinity for none.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, values that are not finite (the first is named), `tolerance` < 0.

    Source: Brochu, "Dynamic explicit surface meshes and applications", 2012, section 4.2.1; Selle, "Hybrid techniques for high-fidelity
    physical simulation of solids and fluids", 2008, section 6.3.
    """
    return _cubic(_collision.PairKind.edge_edge, start, end, tolerance)


def _indices(indices: Ints | None, points: Floats) -> Ints | None:
    if indices is None:
        return None
    if not isinstance(indices, np.ndarray):
        raise TypeError(f"indices must be a NumPy array, not {type(indices).__name__}")
    if indices.dtype != np.int32:
        raise TypeError(f"indices must be of dtype int32, not {indices.dtype}")
    if indices.shape != points.shape[:2]:
        raise ValueError(f"indices must have shape {points.shape[:2]}, not {indices.shape}")
    return np.ascontiguousarray(indices)


def _space_time(kind: Any, start: Floats, end: Floats, indices: Ints | None, method: SimplexMethod) -> SpaceTimeContacts:
    x0, x1 = elements("start", start, 4), elements("end", end, 4)
    same_length("end", x1, "start", x0)
    return SpaceTimeContacts(*_collision.space_time_contacts(kind, x0, x1, _indices(indices, x0), SIMPLEX_METHOD("method", method)))


def space_time_vertex_face(start: Floats, end: Floats, indices: Ints | None = None, method: SimplexMethod = "cramer") -> SpaceTimeContacts:
    """Tell for n pairs of a moving vertex and a moving face whether their simplices in space and time meet, exactly.

    The face sweeps three tetrahedra in space and time, cut along diagonals that start at the vertex with the smaller index, so that faces
    with a common edge fit together without gaps. Between the ends of the step the tetrahedra differ from the linear motion of
    `vertex_face`, unless both elements are only translated.

    Args:
        start: (n, 4, 3) float64, C-contiguous, m: the vertex, then the three corners of the face.
        end: the same at the end of the step.
        indices: (n, 4) int32, the numbers of the vertices in their mesh; in the order given if None.
        method: "cramer" takes signs of determinants, in floating point where they are certain; "elimination" is fraction-free elimination
            over floating-point expansions, "integer-elimination" over long integers. All give the same answer for all finite values.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, values that are not finite (the first is named), unknown method.

    Source: Brochu, "Dynamic explicit surface meshes and applications", 2012, sections 4.3 and 4.4.
    """
    return _space_time(_collision.PairKind.vertex_face, start, end, indices, method)


def space_time_edge_edge(start: Floats, end: Floats, indices: Ints | None = None, method: SimplexMethod = "cramer") -> SpaceTimeContacts:
    """Tell for n pairs of moving edges whether their simplices in space and time meet, exactly.

    Each edge sweeps two triangles in space and time; see `space_time_vertex_face`.

    Args:
        start: (n, 4, 3) float64, C-contiguous, m: the two ends of the first edge, then those of the other.
        end: the same at the end of the step.
        indices: (n, 4) int32, the numbers of the vertices in their mesh; in the order given if None.
        method: as for `space_time_vertex_face`.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, values that are not finite (the first is named), unknown method.

    Source: Brochu, "Dynamic explicit surface meshes and applications", 2012, sections 4.3 and 4.4.
    """
    return _space_time(_collision.PairKind.edge_edge, start, end, indices, method)


def space_time_point_segment(
    start: Floats, end: Floats, indices: Ints | None = None, method: SimplexMethod = "cramer"
) -> SpaceTimeContacts:
    """Tell for n pairs of a moving point and a moving segment of the plane whether their simplices in space and time meet, exactly.

    Args:
        start: (n, 3, 2) float64, C-contiguous, m: the point, then the two ends of the segment.
        end: the same at the end of the step.
        indices: (n, 3) int32, the numbers of the vertices in their mesh; in the order given if None.
        method: as for `space_time_vertex_face`.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, values that are not finite (the first is named), unknown method.

    Source: Brochu, "Dynamic explicit surface meshes and applications", 2012, section 4.3.1.
    """
    for name, value in (("start", start), ("end", end)):
        if not isinstance(value, np.ndarray):
            raise TypeError(f"{name} must be a NumPy array, not {type(value).__name__}")
        if value.dtype != np.float64:
            raise TypeError(f"{name} must be of dtype float64, not {value.dtype}")
        if value.ndim != 3 or value.shape[1:] != (3, 2):
            raise ValueError(f"{name} must have shape (n, 3, 2), not {value.shape}")
        if not value.flags.c_contiguous:
            raise TypeError(f"{name} must be C-contiguous; pass np.ascontiguousarray({name})")
    same_length("end", end, "start", start)
    return SpaceTimeContacts(*_collision.space_time_point_segment(start, end, _indices(indices, start), SIMPLEX_METHOD("method", method)))
