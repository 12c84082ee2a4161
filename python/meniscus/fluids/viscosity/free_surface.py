"""Viscosity of liquids with a free surface."""

from __future__ import annotations

from typing import Any

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.fluids.pressure.projection import SolidLike, liquid_field, solid_fields
from meniscus.grid.boundary import Slip
from meniscus.grid.fields import CellField, MacField
from meniscus.grid.poisson.cached_solver import CachedSolver
from meniscus.numerics.solve import ConvergenceError, SolveInfo, facts, solve_options
from meniscus.surface import LevelSet


class LiquidViscositySolver(CachedSolver):
    """Coefficients and scratch memory that `diffuse_liquid` keeps between steps on one grid."""

    @staticmethod
    def _module() -> Any:
        return _fluids


def diffuse_liquid(
    velocity: MacField,
    dt: float,
    viscosity: float | CellField,
    *,
    liquid: CellField | LevelSet | None = None,
    solid: SolidLike | None = None,
    slip: Slip = "no-slip",
    time: float = 0.0,
    tolerance: float = 1e-8,
    max_iterations: int = 400,
    solver: LiquidViscositySolver | None = None,
) -> SolveInfo:
    """Let the viscous stress of a liquid act for dt, in place, with a surface that is free of traction; by backward Euler.

    Minimises |u - u*|^2 / 2 + dt nu D(u):D(u) over the liquid, D(u) the strain rate, all components together. Unlike `diffuse`, whose
    Laplacian is right where the viscosity is constant and no surface near, this is free of stress on rotating liquid, lets waves decay
    as they should and takes a viscosity that varies. No-slip walls, prescribed sides and no-slip solids act with their velocity; free
    slip is without shear; open sides are without traction, as the surface is.

    Args:
        velocity: m/s. Faces with no liquid around them are left alone.
        dt: seconds; any step is stable.
        viscosity: kinematic, m^2/s: a number, or a CellField of the velocity's dtype.
        liquid: a CellField or LevelSet on cells, liquid where <= 0; the part of each volume that is liquid follows from it. Default:
            liquid everywhere.
        solid: as in `project`.
        slip: 'no-slip': faces whose centre lies in the solid take its velocity, and act with it; 'free': they are left alone, and the
            solid carries no stress.
        time: seconds.
        tolerance: of the residual, relative to the right-hand side.
        max_iterations: limit.
        solver: kept from step to step.

    Returns:
        How the solve went.

    Raises:
        ConvergenceError: the tolerance was not met; the velocity is unchanged.
        TypeError, ValueError: wrong types, dtypes or grids, values that are NaN or infinite, a negative viscosity.

    Source: Batty and Bridson 2008, sections 3 and 4.
    """
    _checks.one_of_type("velocity", velocity, MacField)
    solver = LiquidViscositySolver(velocity.grid) if solver is None else _checks.one_of_type("solver", solver, LiquidViscositySolver)
    if solver.grid != velocity.grid:
        raise ValueError(f"solver must have the grid of the velocity, {velocity.grid}, not {solver.grid}")
    _checks.choice("slip", slip, Slip)
    time = _checks.number("time", time)
    levelset, solid_velocity = solid_fields(solid, velocity, time)
    varying = None
    if isinstance(viscosity, CellField):
        if viscosity.grid != velocity.grid:
            raise ValueError(f"viscosity must have the grid of the velocity, {velocity.grid}, not {viscosity.grid}")
        if viscosity.dtype != velocity.dtype:
            raise TypeError(f"viscosity must be of dtype {velocity.dtype}, not {viscosity.dtype}")
        varying, viscosity = viscosity._core, 0.0
    raw = solver._core.diffuse(
        velocity._core,
        _checks.positive("dt", dt),
        _checks.number("viscosity", viscosity),
        varying,
        levelset,
        solid_velocity,
        liquid_field(liquid, velocity),
        slip == "no-slip",
        time,
        solve_options(tolerance, max_iterations, "multigrid"),
    )
    info = SolveInfo(**facts(raw, 0.0))
    if not info.converged:
        raise ConvergenceError(
            f"viscosity did not converge: the residual is {info.residual:.2g} after {info.iterations} iterations ({info.reason})", info
        )
    return info
