"""Sides of the domain of a lattice: conditions of `meniscus.grid` in lattice units."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus.grid.boundary import Open, Prescribed, SideCondition, Wall, side_names
from meniscus.grid.uniform import Grid

_KINDS = _fluids.LatticeSide


def side_points(grid: Grid, side: int) -> npt.NDArray[np.float64]:
    """Return the centres (n, dimension), m, of the faces on a side of the domain, in C order."""
    axis, upper = divmod(side, 2)
    centers = list(grid.cell_centers())
    shape = [1] * grid.dimension
    centers[axis] = np.full(shape, grid.origin[axis] + upper * grid.extent[axis])
    return np.stack([np.broadcast_to(c, np.broadcast_shapes(*(x.shape for x in centers))).ravel() for c in centers], axis=1)


class LatticeSides:
    """The sides of a flow, handed to its core in the units of the present step.

    Args:
        grid: of the flow.
        conditions: of all sides by name.
        relaxation: share of its pressure that an outflow forgets in the time that sound needs through the domain.
    """

    def __init__(self, grid: Grid, conditions: dict[str, SideCondition], relaxation: float) -> None:
        self._grid, self._conditions, self._relaxation = grid, conditions, relaxation
        self.varies = any(callable(_velocity_of(c)) for c in conditions.values())

    def set(self, core: _fluids.LatticeFlow, time: float, dt: float, density: float) -> None:
        """Set the sides of the core for a step of dt (s) from a time (s) of a fluid of a density, kg/m^3."""
        grid = self._grid
        speed = dt / grid.spacing
        for number, name in enumerate(side_names(grid.dimension)):
            condition = self._conditions[name]
            velocity, profile, pressure, relaxation = [0.0] * grid.dimension, None, 0.0, 0.0
            if name not in grid.sides:
                kind = _KINDS.around
            elif isinstance(condition, Open):
                kind, pressure = _KINDS.pressure, 3.0 * condition.pressure / density * speed * speed
            elif isinstance(condition, (Wall, Prescribed)):
                slips = isinstance(condition, Wall) and condition.slip == "free"
                kind = _KINDS.free_slip if slips else _KINDS.no_slip
                given = _velocity_of(condition)
                if callable(given):
                    points = side_points(grid, number)
                    values = np.asarray(given(points, time), np.float64)
                    if values.shape != points.shape or not np.isfinite(values).all():
                        raise ValueError(f"the velocity of side {name} must be {points.shape[0]} rows of {grid.dimension} finite numbers")
                    profile = np.ascontiguousarray(values.T * speed)
                elif given is not None:
                    velocity = [speed * float(v) for v in np.atleast_1d(given)]
            else:
                kind, relaxation = _KINDS.outflow, self._relaxation / (3**0.5 * grid.shape[number // 2])
            core.set_side(number, kind, velocity, pressure, relaxation, profile)


def checked_sides(grid: Grid, conditions: dict[str, SideCondition]) -> dict[str, SideCondition]:
    """Return the conditions. Raises ValueError for what a lattice does not have."""
    for name, condition in conditions.items():
        if name not in grid.sides:
            continue
        velocity = _velocity_of(condition)
        if isinstance(condition, Wall) and condition.slip == "free" and velocity is not None:
            raise ValueError(f"boundary[{name!r}] must not slip freely where it moves: only walls without slip have a velocity here")
        if velocity is not None and not callable(velocity) and np.shape(velocity) != (grid.dimension,):
            raise ValueError(f"boundary[{name!r}] must have a velocity of {grid.dimension} numbers, not {velocity!r}")
    return conditions


def _velocity_of(condition: SideCondition) -> Any:
    if isinstance(condition, Wall):
        return condition.velocity
    return condition.value if isinstance(condition, Prescribed) else None
