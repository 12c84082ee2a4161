"""Force of the pressure of a grid on a body."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.surface import LevelSet

Floats = npt.NDArray[np.float64]


def force_of_pressure(liquid: LiquidSolver) -> Floats:
    """Return the force (3,) of the last projection's pressure on the solid, N.

    Over the surface of the body, pressure times normal is the integral of pressure times the gradient of the solid's part of the cells:
    summed over faces, each with the pressure of the liquid beside it.
    """
    dim = liquid.grid.dimension
    force = np.zeros(dim)
    solid = liquid._solid.at(liquid.time)
    if solid is None:
        return force
    body = LevelSet(liquid.grid, "nodes")
    body.array[...] = solid.levelset.array
    part = np.asarray(body.volume_fractions().array)
    wet = (liquid.levelset.array <= 0) & solid.outside_cells
    p: Any = np.where(wet, liquid.pressure.array - liquid.options.air_pressure, 0.0)
    area = liquid.grid.spacing ** (dim - 1)
    for d in range(dim):
        change = np.diff(part, axis=d)
        a, b = (np.take(wet, range(i, wet.shape[d] - 1 + i), axis=d).astype(np.float64) for i in (0, 1))
        pa, pb = (np.take(p, range(i, p.shape[d] - 1 + i), axis=d) for i in (0, 1))
        face = (pa + pb) / np.maximum(a + b, 1.0)
        force[d] = float((face * change).sum()) * area
    return force
