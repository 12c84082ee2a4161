"""Viscosity of liquids with a free surface."""

from __future__ import annotations

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.fluids.problems import solver_for, viscosity_problem
from meniscus.grid.boundary import Slip
from meniscus.grid.fields import CellField, MacField
from meniscus.grid.poisson.cached_solver import CachedSolver
from meniscus.numerics.solve import ConvergenceError, SolveInfo, facts, solve_options
from meniscus.surface import LevelSet
from meniscus.surface.shapes.solid_boundary import SolidLike


class LiquidViscositySolver(CachedSolver):
    """Coefficients and scratch memory that `diffuse_liquid` reuses between steps on one grid."""

    _new_core = staticmethod(_fluids.new_liquid_viscosity_solver)


def diffuse_liquid(
    velocity: MacField,
    dt: float,
    viscosity: float | CellField,
    *,
    liquid: CellField | LevelSet | None = None,
    solid: SolidLike | None = None,
    slip: Slip = "no-slip",
    air_viscosity: float | None = None,
    air_density: float = 1.2e-3,
    time: float = 0.0,
    tolerance: float = 1e-8,
    max_iterations: int = 1000,
    solver: LiquidViscositySolver | None = None,
) -> SolveInfo:
    """Apply the viscous stress of a liquid for dt, in place, with a surface that is free of traction or below a viscous air; by backward
    Euler.

    Minimises |u - u*|^2 / 2 + dt nu D(u):D(u) over the liquid (and, weighted with its density, over the air), D(u) the strain rate, all
    components together. The Laplacian of `diffuse` is right only for a constant viscosity and away from surfaces. This operator exerts
    no stress on rotating liquid, damps waves at the right rate, and accepts a viscosity that varies. No-slip walls, prescribed sides and
    no-slip solids act with their velocity; free slip is without shear; open sides are without traction, as the surface is.

    Args:
        velocity: m/s.
        dt: seconds; any step is stable.
        viscosity: kinematic, m^2/s: a number, or a CellField of the velocity's dtype.
        liquid: a CellField or LevelSet on cells, liquid where <= 0; the part of each volume that is liquid follows from it. Default:
            liquid everywhere.
        solid: as in `project`.
        slip: 'no-slip': faces whose centre lies in the solid get its velocity, and act with it; 'free': they do not change, and the solid
            carries no stress. A SolidBoundary brings its own.
        air_viscosity: kinematic, m^2/s, of the fluid on the other side of the surface, which then fills the rest of the domain. None: it
            exerts no stress, and faces without liquid around them do not change.
        air_density: of that fluid, relative to that of the liquid.
        time: seconds.
        tolerance: of the residual, relative to the right-hand side.
        max_iterations: limit.
        solver: reused from step to step.

    Returns:
        The report of the solve.

    Raises:
        ConvergenceError: the tolerance was not met; the velocity is unchanged.
        TypeError, ValueError: wrong types, dtypes or grids, values that are NaN or infinite, a negative viscosity.

    Source: Batty and Bridson 2008, sections 3 and 4.
    """
    solver = solver_for(velocity, LiquidViscositySolver, solver)
    problem = viscosity_problem(
        velocity,
        viscosity=viscosity,
        solid=solid,
        liquid=liquid,
        slip=slip,
        time=_checks.number("time", time),
        air_viscosity=air_viscosity,
        air_density=air_density,
    )
    options = solve_options(tolerance, max_iterations, "multigrid")
    raw = solver._core.diffuse(velocity._core, _checks.positive("dt", dt), problem, options)
    info = SolveInfo(**facts(raw, 0.0))
    if not info.converged:
        raise ConvergenceError(
            f"viscosity did not converge: the residual is {info.residual:.2g} after {info.iterations} iterations ({info.reason})", info
        )
    return info
