"""Adhesion of water to a solid, on tetrahedra."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.fluids.tetrahedra.geometry import TetGeometry
from meniscus.fluids.tetrahedra.options import WallAdhesion
from meniscus.fluids.tetrahedra.painting import SkinPaint

Floats = npt.NDArray[np.float64]


def force_band(adhesion: WallAdhesion | None) -> float:
    """Return up to which distance from the solid its distances and normals are needed, m; 0: no farther than the mesh needs them."""
    return 0.0 if adhesion is None else adhesion.reach


def paint_of(adhesion: WallAdhesion | None, geometry: TetGeometry) -> SkinPaint | None:
    """Return what an adhesion has painted on the vertices of the skin, directions as at the start of the mesh's motion; None: nothing.

    Raises:
        ValueError: the solid has no such skin, or another number of vertices.
    """
    if adhesion is None or not (isinstance(adhesion.strength, np.ndarray) or isinstance(adhesion.direction, np.ndarray)):
        return None
    strength, direction = (a if isinstance(a, np.ndarray) else None for a in (adhesion.strength, adhesion.direction))
    start = geometry.moving.start
    return SkinPaint(geometry.solid, start if math.isfinite(start) else 0.0, strength, direction)


def adhere(
    stages: Any,
    geometry: TetGeometry,
    adhesion: WallAdhesion,
    paint: SkinPaint | None,
    volume: Floats,
    velocity: Floats,
    time: float,
    dt: float,
) -> Floats:
    """Accelerate the water near the solid for dt, in place. Returns the change of its momentum over density, m^4/s.

    What is painted on the solid holds along its normals: it is asked for at the point of the surface closest to each centroid.

    Raises:
        TypeError, ValueError: a function of the adhesion returns another shape or values that are not finite.
    """
    strengths: Floats = np.zeros(1)
    directions: Floats | None = None
    normals, _ = geometry.solid_motion(where=volume > 0)
    painted: tuple[Floats | None, Floats | None] = (None, None)
    if callable(adhesion.strength) or callable(adhesion.direction) or paint is not None:
        wet = np.flatnonzero(volume > 0)
        corners = geometry.tets[wet]
        near = geometry.distances()[1]
        if near is None:
            raise ValueError("adhesion needs a solid, but there is none")
        distance = near[corners].mean(axis=1)
        close = distance < adhesion.reach
        wet, distance = wet[close], distance[close]
        centroids = np.ascontiguousarray(geometry.positions[geometry.tets[wet]].mean(axis=1))
        points = np.ascontiguousarray(centroids - distance[:, None] * normals[wet])
        if paint is not None and geometry.on_tets is not None and len(wet):
            painted = paint.at(geometry.on_tets.members, centroids)
    if painted[0] is not None:
        strengths = np.zeros(len(volume))
        strengths[wet] = painted[0]
    elif callable(adhesion.strength):
        strengths = np.zeros(len(volume))
        strengths[wet] = _painted("the strength of the adhesion", adhesion.strength(points, time), (len(wet),))
    elif not isinstance(adhesion.strength, np.ndarray):
        strengths[0] = adhesion.strength
    if painted[1] is not None:
        directions = np.zeros((len(volume), 3))
        directions[wet] = painted[1]
    elif callable(adhesion.direction):
        directions = np.zeros((len(volume), 3))
        directions[wet] = _painted("the direction of the adhesion", adhesion.direction(points, time), (len(wet), 3))
    elif adhesion.direction == "outward":
        strengths = -strengths
    elif not isinstance(adhesion.direction, (str, np.ndarray)):
        directions = np.array([adhesion.direction], np.float64)
    return np.array(stages.adhere(volume, velocity, geometry.distances()[1], normals, strengths, directions, adhesion.reach, dt))


def _painted(name: str, value: npt.ArrayLike, shape: tuple[int, ...]) -> Floats:
    array = _checks.numbers(name, value)
    if array.shape != shape and array.shape != shape[1:]:
        raise ValueError(f"{name} must have shape {shape}, not {array.shape}")
    _checks.require_finite(name, array)
    return array
