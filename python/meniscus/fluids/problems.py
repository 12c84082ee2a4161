"""Checked parts of pressure and viscosity problems, in the form that the core takes."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.fluids.pushed_bodies import PushedBodies
from meniscus.grid.boundary import Slip
from meniscus.grid.fields import CellField, MacField
from meniscus.grid.poisson.cached_solver import CachedSolver
from meniscus.surface import LevelSet
from meniscus.surface.shapes.solid_boundary import SolidLike, solid_core

_S = TypeVar("_S", bound=CachedSolver)


def viscosity_problem(
    velocity: MacField,
    *,
    viscosity: float | CellField,
    solid: SolidLike | None,
    liquid: CellField | LevelSet | None,
    slip: Slip,
    time: float,
    air_viscosity: float | None = None,
    air_density: float = 0.0,
    density: float = 1.0,
    pressure: CellField | None = None,
    bodies: PushedBodies | None = None,
) -> Any:
    """Return the core's description of a viscosity problem; arguments as for `diffuse_liquid`. Raises TypeError or ValueError."""
    _checks.choice("slip", slip, Slip)
    varying = isinstance(viscosity, CellField)
    return core_type("ViscosityProblem", velocity)(
        viscosity=0.0 if varying else _checks.number("viscosity", viscosity),
        viscosity_field=cells_of("viscosity", viscosity, velocity) if varying else None,
        solid=solid_core(solid, velocity.grid, velocity.dtype, time, slip),
        liquid=cells_of("liquid", liquid, velocity),
        air_viscosity=0.0 if air_viscosity is None else _checks.number("air_viscosity", air_viscosity),
        air_density=0.0 if air_viscosity is None else _checks.positive("air_density", air_density),
        time=time,
        density=density,
        pressure=cells_of("pressure", pressure, velocity, np.float64),
        bodies=None if bodies is None else bodies.core,
        owners=None if bodies is None else bodies.owners,
    )


def solver_for(velocity: MacField, kind: type[_S], solver: _S | None) -> _S:
    """Return the solver for a velocity: the given one, or a new one. Raises TypeError or ValueError for one that does not fit."""
    _checks.one_of_type("velocity", velocity, MacField)
    if solver is None:
        return kind(velocity.grid)
    _checks.one_of_type("solver", solver, kind)
    if solver.grid != velocity.grid:
        raise ValueError(f"solver must have the grid of the velocity, {velocity.grid}, not {solver.grid}")
    return solver


def core_type(name: str, velocity: MacField) -> Any:
    """Return the type of the core for the dimension and dtype of a velocity."""
    return getattr(_fluids, f"{name}{velocity.grid.dimension}{'f' if velocity.dtype == np.float32 else 'd'}")


def cells_of(name: str, value: Any, velocity: MacField, dtype: npt.DTypeLike | None = None) -> Any:
    """Return the core of a field or level set on the cells of a velocity's grid, or None; `dtype` defaults to that of the velocity."""
    if value is None:
        return None
    cells = value.field if isinstance(value, LevelSet) else value
    _checks.one_of_type(name, cells, CellField)
    if cells.grid != velocity.grid:
        raise ValueError(f"{name} must have the grid of the velocity, {velocity.grid}, not {cells.grid}")
    expected = velocity.dtype if dtype is None else np.dtype(dtype)
    if cells.dtype != expected:
        raise TypeError(f"{name} must be of dtype {expected}, not {cells.dtype}")
    return cells._core
