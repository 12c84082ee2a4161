"""Force of the pressure of a grid on a body."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.grid import sample
from meniscus.surface import DeformingSolid, LevelSet

Floats = npt.NDArray[np.float64]


def force_of_pressure(liquid: LiquidSolver) -> Floats:
    """Return the force (3,) of the last projection's pressure on the solid, N.

    The pressure at each triangle of the surface, its skin or else that of its level set, is that a cell outward, continued by its gradient;
    up to a cell below the surface of the liquid it is the gradient times the depth, so that it is zero at the surface wherever that lies.
    """
    solid = liquid.sampled_solid.at(liquid.time)
    if solid is None:
        return np.zeros(liquid.grid.dimension)
    body = liquid.solid
    if isinstance(body, DeformingSolid):
        vertices, triangles = body.mesh_at(liquid.time)
    else:
        level = LevelSet(liquid.grid, "nodes")
        level.array[...] = solid.levelset.array
        vertices, triangles = level.to_mesh()
    if not len(triangles):
        return np.zeros(liquid.grid.dimension)
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    areas = 0.5 * np.cross(b - a, c - a)
    size = np.linalg.norm(areas, axis=1)
    some = size > 0
    areas, at = areas[some], ((a + b + c) / 3)[some]
    h, origin = liquid.grid.spacing, np.array(liquid.grid.origin)
    outward = np.clip(at + h * areas / size[some, None], origin, origin + np.array(liquid.grid.extent))
    dtype = liquid.levelset.dtype
    depth = -np.asarray(liquid.levelset.sample(np.ascontiguousarray(at, dtype)), np.float64)
    below = -np.asarray(liquid.levelset.sample(np.ascontiguousarray(outward, dtype)), np.float64)
    gradient = np.asarray(liquid.pressure_gradient_at(outward), np.float64)
    air = liquid.options.air_pressure
    deep = np.asarray(sample(liquid.pressure, np.ascontiguousarray(outward)), np.float64) - air
    deep -= ((outward - at) * gradient).sum(axis=1)
    shallow = np.linalg.norm(gradient, axis=1) * depth
    pressure = np.where(depth <= 0, 0.0, np.where(below > math.sqrt(3.0) * h, deep, shallow))
    result: Floats = -(pressure[:, None] * areas).sum(axis=0)
    return result
