"""Builders of grids, fields and velocities with random samples, and comparisons."""

from typing import Any

import numpy as np

import meniscus as ms

SHAPES = {2: (7, 5), 3: (6, 4, 5)}
FIELD_TYPES = {"cell": ms.CellField, "node": ms.NodeField}


def scalar_types(dimension: int) -> tuple[Any, ...]:
    """The types of fields, the smallest first: float32 in three dimensions only."""
    return (np.float32, np.float64) if dimension == 3 else (np.float64,)


def grid_of(dimension: int, *, periodic: Any = False, spacing: float = 0.25, shape: tuple[int, ...] | None = None) -> ms.Grid:
    """A small grid that is not at the origin and not as long as wide."""
    return ms.Grid(shape or SHAPES[dimension], spacing, (0.5, -1.25, 2.0)[:dimension], periodic)


def random_scalar(kind: str, grid: ms.Grid, dtype: Any, rng: np.random.Generator, boundary: Any = None) -> Any:
    """A cell or node field of uniform random numbers in [-1, 1]."""
    field = FIELD_TYPES[kind](grid, dtype, boundary)
    field.array = rng.uniform(-1, 1, field.shape).astype(dtype)
    share_periodic(field.array, grid, field.on_side)
    return field


def random_velocity(grid: ms.Grid, dtype: Any, rng: np.random.Generator, boundary: Any = None, speed: float = 1.0) -> ms.MacField:
    """Random components in [-speed, speed]; given faces have their values."""
    velocity = ms.MacField(grid, dtype, boundary)
    for d in range(grid.dimension):
        c = velocity.component(d)
        c[...] = rng.uniform(-speed, speed, c.shape)
        share_periodic(c, grid, tuple(int(a == d) for a in range(grid.dimension)))
    velocity.enforce_boundary(0.0)
    return velocity


def share_periodic(samples: np.ndarray, grid: ms.Grid, on_side: tuple[int, ...]) -> None:
    """Make the first of two samples that are one unknown agree with the last, its owner."""
    for d in range(grid.dimension):
        if grid.periodic[d] and on_side[d]:
            first, last = [slice(None)] * grid.dimension, [slice(None)] * grid.dimension
            first[d], last[d] = 0, -1
            samples[tuple(first)] = samples[tuple(last)]


def components(velocity: ms.MacField) -> list[np.ndarray]:
    """Copies of u, v[, w]."""
    return [velocity.component(d).copy() for d in range(velocity.grid.dimension)]


def same_bits(a: Any, b: Any) -> bool:
    """Return whether two arrays, or sequences of arrays, are equal bit for bit (NaN equals itself and 0 differs from -0)."""
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same_bits(x, y) for x, y in zip(a, b, strict=True))
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
