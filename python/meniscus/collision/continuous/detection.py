"""Continuous collision detection of pairs of moving elements, exact for every finite float64."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import collision as _collision
from meniscus._options import CoreOption
from meniscus.collision._elements import elements

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
ContactMode = Literal["parity", "any"]

CONTACT_MODE = CoreOption(ContactMode, _collision.ContactMode)


def _contacts(kind: Any, start: Floats, end: Floats, mode: ContactMode) -> Bools:
    chosen = CONTACT_MODE("mode", mode)
    result: Bools = _collision.contacts(kind, elements("start", start, 4), elements("end", end, 4), chosen)
    return result


def _times(kind: Any, start: Floats, end: Floats, tolerance: float) -> Floats:
    checked = _checks.positive("tolerance", tolerance)
    result: Floats = _collision.times_of_impact(kind, elements("start", start, 4), elements("end", end, 4), checked)
    return result


def vertex_face(start: Floats, end: Floats, mode: ContactMode = "any") -> Bools:
    """Tell for n pairs of a moving vertex and a moving face whether they collide within the step.

    The points move from `start` (t = 0) to `end` (t = 1) on straight lines at constant speed. The answers are those of real arithmetic: no
    tolerance, no rounding, for all finite values from subnormal to huge.

    Args:
        start: (n, 4, 3) float64, C-contiguous, m: the vertex, then the three corners of the face; degenerate faces are welcome.
        end: the same at the end of the step.
        mode: "any" tells whether vertex and face touch at any time in [0, 1]. "parity" counts a contact at t = 0 or 1 or with the rim
            of the face, and else an odd number of contacts: a vertex that passes a face and comes back within the step does not
            collide. It keeps meshes free of intersections at the ends of steps, but several percent of the contacts in full Newton
            steps are even: to stop a step at the first contact, use "any".

    Returns:
        (n,) bool.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, values that are not finite (the first is named), unknown mode.

    Source: Brochu, "Dynamic explicit surface meshes and applications", 2012, sections 4.5.1 to 4.5.4 and appendix A.
    """
    return _contacts(_collision.PairKind.vertex_face, start, end, mode)


def edge_edge(start: Floats, end: Floats, mode: ContactMode = "any") -> Bools:
    """Tell for n pairs of moving edges whether they collide within the step.

    Args:
        start: (n, 4, 3) float64, C-contiguous, m: the two ends of the first edge, then those of the other; edges may have no length.
        end: the same at the end of the step.
        mode: as for `vertex_face`; the rim of an edge is its two ends.

    Returns:
        (n,) bool.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, values that are not finite (the first is named), unknown mode.

    Source: Brochu, "Dynamic explicit surface meshes and applications", 2012, sections 4.5.1 to 4.5.4 and appendix A.
    """
    return _contacts(_collision.PairKind.edge_edge, start, end, mode)


def time_of_impact_vertex_face(start: Floats, end: Floats, tolerance: float = 1e-6) -> Floats:
    """Return for n pairs of a moving vertex and a moving face a time up to which they certainly do not touch.

    Args:
        start: (n, 4, 3) float64, C-contiguous, m: the vertex, then the three corners of the face.
        end: the same at the end of the step.
        tolerance: largest difference by which a time may be earlier than the first contact (in t, which runs from 0 to 1). The precision of
            a double limits it.

    Returns:
        (n,) float64: never later than the first contact of any kind; exactly 0 for contact at the start, infinity for none.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, values that are not finite (the first is named), `tolerance` <= 0.

    Source: Brochu, "Dynamic explicit surface meshes and applications", 2012, section 4.5.1 (the function whose roots are contacts).
    """
    return _times(_collision.PairKind.vertex_face, start, end, tolerance)


def time_of_impact_edge_edge(start: Floats, end: Floats, tolerance: float = 1e-6) -> Floats:
    """Return for n pairs of moving edges a time up to which they certainly do not touch.

    Args:
        start: (n, 4, 3) float64, C-contiguous, m: the two ends of the first edge, then those of the other.
        end: the same at the end of the step.
        tolerance: as for `time_of_impact_vertex_face`.

    Returns:
        (n,) float64: never later than the first contact of any kind; exactly 0 for contact at the start, infinity for none.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, values that are not finite (the first is named), `tolerance` <= 0.

    Source: Brochu, "Dynamic explicit surface meshes and applications", 2012, section 4.5.1 (the function whose roots are contacts).
    """
    return _times(_collision.PairKind.edge_edge, start, end, tolerance)
