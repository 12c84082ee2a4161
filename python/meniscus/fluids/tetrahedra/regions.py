"""Regions of a tetrahedral mesh that are filled or emptied."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.fluids.liquid.sources import Drain, LiquidSource
from meniscus.fluids.tetrahedra.geometry import TetGeometry
from meniscus.mesh.clipping import fractions_below
from meniscus.mesh.quadrature.tet_samples import tet_samples
from meniscus.surface.shapes.pose import Pose
from meniscus.surface.shapes.sampled import as_shape

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
_BENT = 0.25  # how far a distance may be from linear, in units of the tetrahedron


def fill_fractions(name: str, region: Any, positions: Floats, tets: Ints, pose: Pose | None) -> Floats:
    """Return the part (m,) of each tetrahedron that is in a region, by its distance at the vertices.

    Raises:
        TypeError, ValueError: no region, or one that is not 3-D.
    """
    shape = as_shape(name, region, 3)
    points = positions if pose is None else np.ascontiguousarray(pose.to_body(positions))
    distance = shape.signed_distance(points)
    part = np.zeros(len(tets))
    corners = distance[tets]
    inside = corners <= 0
    part[inside.all(axis=1)] = 1
    mixed = np.flatnonzero(inside.any(axis=1) & ~inside.all(axis=1))
    if len(mixed):
        part[mixed] = fractions_below(np.ascontiguousarray(corners[mixed]))
    # Where the region is small for the tetrahedra, or lies between their vertices, points tell more than the vertices.
    x = points[tets]
    middle = np.ascontiguousarray(x.mean(axis=1))
    reach = np.linalg.norm(x - middle[:, None], axis=2).max(axis=1, initial=0.0)
    at_middle = shape.signed_distance(middle)
    bent = np.abs(at_middle - corners.mean(axis=1)) > _BENT * reach
    some = np.flatnonzero((at_middle < reach) & ~inside.all(axis=1) & (bent | ~inside.any(axis=1)))
    if len(some):
        weights = tet_samples("fixed", 64)
        within = shape.signed_distance(np.ascontiguousarray((weights @ x[some]).reshape(-1, 3))) <= 0
        part[some] = within.reshape(len(some), -1).mean(axis=1)
    return part


def source_amounts(source: LiquidSource, geometry: TetGeometry, volume: Floats, time: float) -> tuple[Ints, Floats, Floats]:
    """Return what a source adds so that its region is full: tetrahedra, volumes, m^3, and velocities, m/s."""
    share = _share(source, geometry, time)
    lacking = np.maximum(share * geometry.capacity - volume, 0)
    tets = np.flatnonzero(lacking > 0).astype(np.int32)
    return tets, lacking[tets], np.array((0.0, 0.0, 0.0) if source.velocity is None else source.velocity, np.float64)


def drained_amounts(drain: Drain, geometry: TetGeometry, volume: Floats, time: float, quantum: float) -> Floats:
    """Return what a drain takes from each tetrahedron (m,), m^3: the part of its water that is in the region."""
    share = _share(drain, geometry, time)
    return np.where(share == 1, volume, np.floor(share * volume / quantum) * quantum)


def _share(owner: LiquidSource | Drain, geometry: TetGeometry, time: float) -> Floats:
    pose = None if owner.motion is None else owner.motion(time)
    return fill_fractions("region", owner.region, geometry.positions, geometry.tets, pose)
