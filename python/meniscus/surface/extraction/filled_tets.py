"""Smooth surface of a region that is given by how full tetrahedra are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.collision import TetLocator
from meniscus.grid import Grid
from meniscus.parallel.communicator import one_rank
from meniscus.surface.levelset import LevelSet

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
_MOST_CELLS = 20_000_000
_INTO_SOLID = 0.25  # cells, so that no gap shows between the region and a solid


@dataclass(frozen=True)
class FilledSurface:
    """Surface of what fills tetrahedra.

    Attributes:
        vertices: (n, 3), m.
        triangles: (m, 3), with normals out of the region.
        normals: (n, 3).
        apart: numbers of the tetrahedra whose centroid the surface leaves out although something fills them: thin sheets and debris.
    """

    vertices: Floats
    triangles: Ints
    normals: Floats
    apart: Ints


def saturation_at_vertices(tets: Ints, volume: Floats, room: Floats, vertices: int) -> Floats:
    """Return how full (n,) the tetrahedra around each vertex are: their volume over their room, continued to where there is no room."""
    filled, space = np.zeros(vertices), np.zeros(vertices)
    for k in range(4):
        filled += np.bincount(tets[:, k], volume, vertices)
        space += np.bincount(tets[:, k], room, vertices)
    known = space > 0
    share = np.divide(filled, space, out=np.zeros(vertices), where=known)
    for _ in range(2):
        mixed = np.flatnonzero(known[tets].any(axis=1) & ~known[tets].all(axis=1))
        if not len(mixed):
            break
        corners = tets[mixed]
        weight = known[corners]
        mean = (share[corners] * weight).sum(axis=1) / weight.sum(axis=1)
        count, total = np.zeros(vertices), np.zeros(vertices)
        for k in range(4):
            count += np.bincount(corners[:, k], minlength=vertices)
            total += np.bincount(corners[:, k], mean, vertices)
        new = ~known & (count > 0)
        share[new] = total[new] / count[new]
        known = known | new
    return share


def filled_surface(
    positions: Floats,
    tets: Ints,
    volume: Floats,
    room: Floats,
    *,
    solid: Callable[[Floats], Floats] | None = None,
    cell_size: float | None = None,
    smoothing: int = 1,
    level: float = 0.15,
) -> FilledSurface:
    """Return the smooth surface of what fills tetrahedra, such as water; for pictures.

    How full they are is averaged at the vertices, sampled on a grid and smoothed, and the surface is where it passes a level. It shows
    where something is, not how much: a low level keeps films closed, which look thicker than they are; what is left out is `apart`.

    Args:
        positions: (n, 3), m.
        tets: (m, 4) int32.
        volume: (m,) in each tetrahedron, m^3.
        room: (m,) m^3, volumes that they may hold.
        solid: signed distance (k,), m, at points (k, 3), negative inside; the surface ends a little within it.
        cell_size: of the grid, m; default: half of the mean edge of the tetrahedra that are filled, or more where the grid would be too
            large.
        smoothing: how often neighbouring values on the grid are averaged.
        level: share of room that is filled at the surface, above 0 and below 1.

    Raises:
        TypeError, ValueError: other shapes or values.
    """
    x = np.asarray(_checks.points("positions", positions, np.dtype(np.float64), 3), np.float64)
    _checks.integer("smoothing", smoothing, at_least=0)
    if not 0 < _checks.number("level", level) < 1:
        raise ValueError(f"level must be between 0 and 1, not {level:g}")
    if volume.shape != (len(tets),) or room.shape != (len(tets),):
        raise ValueError(f"volume and room must have shape ({len(tets)},), not {volume.shape} and {room.shape}")
    wet = np.flatnonzero(volume > 0).astype(np.int32)
    if not len(wet):
        return FilledSurface(np.empty((0, 3)), np.empty((0, 3), np.int32), np.empty((0, 3)), wet)
    share = np.minimum(saturation_at_vertices(tets, volume, room, len(x)), 1.0)
    near = tets[(share[tets] > 0).any(axis=1)]
    corners = x[tets[wet]]
    edge = float(np.mean([np.linalg.norm(corners[:, i] - corners[:, j], axis=1).mean() for i in range(4) for j in range(i)]))
    low, high = x[near].min(axis=(0, 1)), x[near].max(axis=(0, 1))
    cell = 0.5 * edge if cell_size is None else _checks.positive("cell_size", cell_size)
    margin = smoothing + 2
    if cell_size is None:
        cell = max(cell, float(np.cbrt(np.prod(high - low) / _MOST_CELLS)))
    shape = np.ceil((high - low) / cell).astype(int) + 2 * margin
    if np.prod(shape.astype(float)) > 4 * _MOST_CELLS:
        raise ValueError(f"cell_size {cell:g} m is too small for what is filled, which is {(high - low).max():g} m long")
    grid = Grid(shape.tolist(), cell, (low - margin * cell).tolist(), comm=one_rank())
    centers = np.ascontiguousarray(np.stack(np.broadcast_arrays(*grid.cell_centers()), axis=-1).reshape(-1, 3))
    found = TetLocator(x, near).locate(centers)
    inside = np.flatnonzero(found.tets >= 0)
    samples = np.zeros(len(centers))
    samples[inside] = np.einsum("nk,nk->n", found.barycentric[inside], share[near[found.tets[inside]]])
    field: Floats = samples.reshape(grid.shape)
    for _ in range(smoothing):
        for axis in range(3):
            padded = np.pad(field, [(1, 1) if a == axis else (0, 0) for a in range(3)])
            field = 0.25 * padded.take(range(shape[axis]), axis) + 0.5 * field + 0.25 * padded.take(range(2, shape[axis] + 2), axis)
    barrier = None if solid is None else -np.asarray(solid(centers), np.float64).reshape(grid.shape)
    phi = edge * (level - field)
    if barrier is not None:
        np.maximum(phi, barrier - _INTO_SOLID * cell, out=phi)
    liquid = LevelSet(grid, "cells")
    liquid.array = phi
    vertices, triangles, normals = liquid.to_mesh(normals=True)
    middle = x[tets[wet]].mean(axis=1)
    at = np.clip(((middle - np.array(grid.origin)) / cell).astype(int), 0, shape - 1)
    return FilledSurface(vertices, triangles, normals, wet[field[tuple(at.T)] < level])
