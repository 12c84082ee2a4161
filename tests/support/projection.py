"""Fluids in and around solids for tests of projection, and the divergence that a projection has to remove."""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

import meniscus as ms
from meniscus.fluids import divergence

from .poisson import PlainPoisson


def nodes(grid: ms.Grid, phi: Callable[..., np.ndarray]) -> ms.NodeField:
    """A level set on the nodes from phi(x, y[, z])."""
    field = ms.NodeField(grid)
    field.array = np.broadcast_to(phi(*np.meshgrid(*field.coordinates(), indexing="ij")), field.shape).copy()
    return field


def cells(grid: ms.Grid, values: Callable[..., np.ndarray], dtype: Any = np.float64) -> ms.CellField:
    """A cell field from values(x, y[, z])."""
    field = ms.CellField(grid, dtype)
    field.array = np.broadcast_to(values(*np.meshgrid(*field.coordinates(), indexing="ij")), field.shape).astype(dtype)
    return field


def set_faces(velocity: ms.MacField, function: Callable[..., Any]) -> ms.MacField:
    """Set all components from function(x, y[, z]) -> (u, v[, w])."""
    for d in range(velocity.grid.dimension):
        x = np.meshgrid(*velocity.grid.face_centers(d), indexing="ij")
        c = velocity.component(d)
        c[...] = np.broadcast_to(function(*x)[d], c.shape)
    return velocity


def open_faces(grid: ms.Grid, solid: ms.NodeField | None = None, boundary: Any = None) -> list[np.ndarray]:
    """1 where a face is not wholly in the solid; on sides of the domain only where they are open."""
    faces = []
    for d in range(grid.dimension):
        shape = tuple(n + (k == d) for k, n in enumerate(grid.shape))
        w = np.ones(shape)
        if solid is not None:
            outside = solid.array > 0
            for k in range(grid.dimension):
                if k != d:
                    n = grid.shape[k]
                    outside = outside.take(range(n), axis=k) | outside.take(range(1, n + 1), axis=k)
            w *= outside
        if not grid.periodic[d]:
            side = np.moveaxis(w, d, 0)
            for end, sign in ((0, "-"), (-1, "+")):
                condition = boundary["xyz"[d] + sign] if boundary is not None else None
                if not isinstance(condition, (ms.Open, ms.ZeroGradient)):
                    side[end] = 0
        faces.append(w)
    return faces


def remaining_divergence(velocity: ms.MacField, solid: ms.NodeField | None = None, liquid: np.ndarray | None = None) -> np.ndarray:
    """The divergence in cells of fluid, less its mean over every closed region."""
    plain = PlainPoisson(velocity.grid, open_faces(velocity.grid, solid, velocity.boundary), liquid)
    return plain.without_means(divergence(velocity, solid).array.astype(np.float64))


def fluid_parts(grid: ms.Grid, solid: ms.NodeField | None) -> np.ndarray:
    """The part of each cell that a solid leaves open, by the plane that it has in the middle, but no more than its faces are in all."""
    if solid is None:
        return np.ones(grid.shape)
    parts = np.minimum(2 * grid.dimension * _open_faces_of_cells(grid, solid), 1.0)
    corners = np.stack([solid.array[tuple(slice(o, o + n) for o, n in zip(q, grid.shape, strict=True))] for q in _corners(grid.dimension)])
    for c in np.argwhere((corners <= 0).any(axis=0)):
        values = corners[(slice(None), *c)]
        slopes = [np.mean([v if q[d] else -v for v, q in zip(values, _corners(grid.dimension), strict=True)]) * 2 for d in range(len(c))]
        parts[tuple(c)] = min(parts[tuple(c)], 1 - _part_below(values.mean(), np.abs(slopes)))
    return parts


def _corners(dimension: int) -> list[tuple[int, ...]]:
    return list(product((0, 1), repeat=dimension))


def _part_below(value: float, slopes: np.ndarray) -> float:
    """The part of the unit cube around the origin where value + slopes . x <= 0, by inclusion and exclusion over its corners."""
    slopes = slopes[slopes > 1e-9 * slopes.max()] if slopes.any() else slopes[:0]
    depth = slopes.sum() / 2 - value
    if not len(slopes):
        return float(depth >= 0)
    total = sum((-1) ** sum(q) * max(depth - float(np.dot(q, slopes)), 0.0) ** len(slopes) for q in _corners(len(slopes)))
    return min(max(total / (math.factorial(len(slopes)) * float(np.prod(slopes))), 0.0), 1.0)


def _open_faces_of_cells(grid: ms.Grid, solid: ms.NodeField) -> np.ndarray:
    """The mean open fraction of the faces of each cell, from what unit velocities carry through them."""
    total = np.zeros(grid.shape)
    probe = ms.MacField(grid, boundary=ms.ZeroGradient())
    for d in range(grid.dimension):
        for component in range(grid.dimension):
            probe.component(component)[...] = 0
        planes = np.moveaxis(probe.component(d), d, 0)
        for parity in (0, 1):
            # Every second plane of faces carries one unit, so that a cell has it on one side only.
            planes[...] = 0
            planes[parity::2] = 1
            total += np.abs(divergence(probe, solid).array) * grid.spacing
    return total / (2 * grid.dimension)
