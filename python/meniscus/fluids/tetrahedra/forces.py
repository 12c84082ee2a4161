"""Adhesion of water to a solid, on tetrahedra."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.fluids.tetrahedra.geometry import TetGeometry
from meniscus.fluids.tetrahedra.options import Adhesion

Floats = npt.NDArray[np.float64]


def force_band(adhesion: Adhesion | None) -> float:
    """Return up to which distance from the solid its distances and normals are needed, m; 0: no farther than the mesh needs them."""
    return 0.0 if adhesion is None else adhesion.reach


def adhere(stages: Any, geometry: TetGeometry, adhesion: Adhesion, volume: Floats, velocity: Floats, time: float, dt: float) -> Floats:
    """Accelerate the water near the solid for dt, in place. Returns the change of its momentum over density, m^4/s.

    What is painted on the solid holds along its normals: it is asked for at the point of the surface closest to each centroid.

    Raises:
        TypeError, ValueError: a function of the adhesion returns another shape or values that are not finite.
    """
    strengths: Floats = np.zeros(1)
    directions: Floats | None = None
    normals, _ = geometry.solid_motion()
    if callable(adhesion.strength) or callable(adhesion.direction):
        wet = np.flatnonzero(volume > 0)
        corners = geometry.tets[wet]
        near = geometry.distances()[1]
        if near is None:
            raise ValueError("adhesion needs a solid, but there is none")
        distance = near[corners].mean(axis=1)
        close = distance < adhesion.reach
        wet, distance = wet[close], distance[close]
        points = np.ascontiguousarray(geometry.positions[geometry.tets[wet]].mean(axis=1) - distance[:, None] * normals[wet])
    if callable(adhesion.strength):
        strengths = np.zeros(len(volume))
        strengths[wet] = _painted("the strength of the adhesion", adhesion.strength(points, time), (len(wet),))
    else:
        strengths[0] = adhesion.strength
    if callable(adhesion.direction):
        directions = np.zeros((len(volume), 3))
        directions[wet] = _painted("the direction of the adhesion", adhesion.direction(points, time), (len(wet), 3))
    elif adhesion.direction == "outward":
        strengths = -strengths
    elif not isinstance(adhesion.direction, str):
        directions = np.array([adhesion.direction], np.float64)
    return np.array(stages.adhere(volume, velocity, geometry.distances()[1], normals, strengths, directions, adhesion.reach, dt))


def _painted(name: str, value: npt.ArrayLike, shape: tuple[int, ...]) -> Floats:
    array = _checks.numbers(name, value)
    if array.shape != shape and array.shape != shape[1:]:
        raise ValueError(f"{name} must have shape {shape}, not {array.shape}")
    _checks.require_finite(name, array)
    return array
