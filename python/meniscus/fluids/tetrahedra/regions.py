"""Regions of a tetrahedral mesh that are filled or emptied."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import surface as _surface
from meniscus.fluids.liquid.sources import Drain, LiquidSource
from meniscus.fluids.tetrahedra.geometry import TetGeometry
from meniscus.mesh.clipping import fractions_below
from meniscus.mesh.quadrature.tet_samples import tet_samples
from meniscus.surface.shapes.constructive import Shape
from meniscus.surface.shapes.pose import Pose
from meniscus.surface.shapes.sampled import FunctionShape, LevelSetShape, as_shape

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
_BENT = 0.25  # how far a distance may be from linear, in units of the tetrahedron
_AT_ONCE = 1 << 15  # tetrahedra that are looked at together, so that little memory is needed


def fill_fractions(name: str, region: Any, positions: Floats, tets: Ints, pose: Pose | None) -> tuple[Ints, Floats]:
    """Return the tetrahedra with a part in a region, ascending, and these parts (k,), by its distance at the vertices.

    Raises:
        TypeError, ValueError: no region, or one that is not 3-D.
    """
    shape = as_shape(name, region, 3)
    # Functions of users may write to the points that they are given, and use the memory of what they return again.
    points = np.array(positions if pose is None else pose.to_body(positions), order="C")
    distance = np.array(shape.signed_distance(points if _is_distance(shape) else points.copy()), order="C")
    # A distance changes by at most an edge from a vertex to the middle, where it is compared with less than an edge.
    reach = 2.001 * float(_surface.longest_edge(points, tets)) if _is_distance(shape) else math.inf
    near = _surface.tets_of_region(tets, distance, reach)
    parts = [_parts(shape, points, distance, tets[near[i : i + _AT_ONCE]]) for i in range(0, len(near), _AT_ONCE)]
    part = np.concatenate(parts) if parts else np.empty(0)
    some = part > 0
    return near[some], part[some]


def _is_distance(shape: Shape) -> bool:
    """Return whether values are known to change by no more than the way between points."""
    if isinstance(shape, (FunctionShape, LevelSetShape)):
        return False
    given = (getattr(shape, f.name) for f in dataclasses.fields(shape) if f.init)
    members = (m for value in given for m in (value if isinstance(value, tuple) else (value,)))
    return all(_is_distance(m) for m in members if isinstance(m, Shape))


def _parts(shape: Shape, points: Floats, distance: Floats, tets: Ints) -> Floats:
    """Return the part (k,) of tetrahedra (k, 4) that is in a shape, of which distances at the points (n, 3) are given."""
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
    at_middle = np.array(shape.signed_distance(middle.copy()))
    bent = np.abs(at_middle - corners.mean(axis=1)) > _BENT * reach
    slope = np.ones(len(tets))
    if not _is_distance(shape):
        # How fast values change is known from the corners alone.
        change = np.abs(corners - at_middle[:, None])
        away = np.linalg.norm(x - middle[:, None], axis=2)
        slope = np.maximum(1.0, 2.0 * np.divide(change, away, out=np.zeros_like(change), where=away > 0).max(axis=1, initial=0.0))
    some = np.flatnonzero((at_middle < slope * reach) & ~inside.all(axis=1) & (bent | ~inside.any(axis=1)))
    if len(some):
        weights = tet_samples("fixed", 64)
        within = shape.signed_distance(np.ascontiguousarray((weights @ x[some]).reshape(-1, 3))) <= 0
        part[some] = within.reshape(len(some), -1).mean(axis=1)
    return part


def source_amounts(source: LiquidSource, geometry: TetGeometry, volume: Floats, time: float) -> tuple[Ints, Floats, Floats]:
    """Return what a source adds so that its region is full: tetrahedra, volumes, m^3, and velocities, m/s."""
    tets, share = _share(source, geometry, time)
    lacking = share * geometry.capacity[tets] - volume[tets]
    some = lacking > 0
    return tets[some], lacking[some], np.array((0.0, 0.0, 0.0) if source.velocity is None else source.velocity, np.float64)


def drained_amounts(drain: Drain, geometry: TetGeometry, volume: Floats, time: float, quantum: float) -> tuple[Ints, Floats]:
    """Return what a drain takes: tetrahedra with water (k,), and volumes (k,), m^3, the part of their water that is in the region."""
    tets, share = _share(drain, geometry, time)
    wet = volume[tets] > 0
    tets, share = tets[wet], share[wet]
    return tets, np.where(share == 1, volume[tets], np.floor(share * volume[tets] / quantum) * quantum)


def _share(owner: LiquidSource | Drain, geometry: TetGeometry, time: float) -> tuple[Ints, Floats]:
    pose = None if owner.motion is None else owner.motion(time)
    return fill_fractions("region", owner.region, geometry.positions, geometry.tets, pose)
