"""Meshes of analytic shapes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.grid import Grid
from meniscus.surface.extraction.surfaces import extract
from meniscus.surface.levelset import LevelSet
from meniscus.surface.shapes.constructive import Shape

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
# Edges of extracted surfaces are so long on average, in spacings.
_EXTRACTED = 0.75


def shape_mesh(shape: Shape, edge_length: float) -> tuple[Floats, Ints]:
    """Return vertices (n, 3), m, and triangles (m, 3) of a bounded 3-D shape, with edges of about this length, m, on average.

    Raises:
        ValueError: two dimensions, no bounds.
    """
    lower, upper = (np.asarray(corner, np.float64) for corner in shape.bounds)
    if shape.dimension != 3 or not np.isfinite([lower, upper]).all():
        raise ValueError("the shape must have three dimensions and bounds")
    spacing = edge_length / _EXTRACTED
    cells = np.ceil((upper - lower) / spacing).astype(int) + 4
    # Off all symmetries, so that no plane of samples lies on a side of the shape.
    origin = 0.5 * (lower + upper) - 0.5 * spacing * cells + 0.137 * spacing
    grid = Grid(tuple(map(int, cells)), spacing, tuple(map(float, origin)))
    vertices, triangles = extract(LevelSet.from_shape(grid, shape))
    return vertices, triangles
