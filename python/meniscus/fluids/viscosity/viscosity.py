"""Implicit viscosity, component by component."""

from __future__ import annotations

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.fluids.problems import solver_for, viscosity_problem
from meniscus.fluids.pushed_bodies import PushedBodies
from meniscus.grid.boundary import Slip
from meniscus.grid.fields import CellField, MacField
from meniscus.grid.poisson.cached_solver import CachedSolver
from meniscus.numerics.solve import ConvergenceError, SolveInfo, facts, solve_options
from meniscus.surface import LevelSet
from meniscus.surface.shapes.solid_boundary import SolidLike


class ViscositySolver(CachedSolver):
    """Matrices and scratch memory that `diffuse` reuses between steps on one grid."""

    _new_core = staticmethod(_fluids.new_viscosity_solver)


def diffuse(
    velocity: MacField,
    dt: float,
    viscosity: float,
    *,
    solid: SolidLike | None = None,
    liquid: CellField | LevelSet | None = None,
    slip: Slip = "no-slip",
    time: float = 0.0,
    tolerance: float = 1e-8,
    max_iterations: int = 200,
    solver: ViscositySolver | None = None,
) -> tuple[SolveInfo, ...]:
    """Apply viscosity to a velocity for dt, in place: (I - dt nu laplacian) u = u*, by backward Euler.

    No-slip walls, prescribed sides and no-slip solids act with their velocity; there is no shear at free slip and on open sides. At the
    surface of a liquid this is only a part of the stress: waves lose half of the energy that they should, and a rotating drop is slowed
    down. Use `diffuse_liquid` there.

    Args:
        velocity: m/s.
        dt: seconds; any step is stable.
        viscosity: kinematic, m^2/s; zero does nothing.
        solid: as in `project`.
        liquid: a CellField or LevelSet on cells, liquid where <= 0; faces between two cells of air do not change, and carry no shear.
            Default: liquid everywhere.
        slip: 'no-slip': faces whose centre lies in the solid get its velocity, and act with it; 'free': they do not change, and the solid
            carries no shear. A SolidBoundary brings its own.
        time: seconds.
        tolerance: of the residual, relative to the right-hand side.
        max_iterations: limit.
        solver: reused from step to step.

    Returns:
        The report of the solve of each component.

    Raises:
        ConvergenceError: the tolerance was not met; the velocity is unchanged.
        TypeError, ValueError: wrong types, dtypes or grids, values that are NaN or infinite, a negative viscosity.

    Source: Müller et al. 2008, section 10.1; Gibou et al. 2002, section 2 (solids at their distance).
    """
    return diffuse_in_step(
        velocity,
        dt,
        viscosity,
        solid=solid,
        liquid=liquid,
        slip=slip,
        time=time,
        tolerance=tolerance,
        max_iterations=max_iterations,
        solver=solver,
    )


def diffuse_in_step(
    velocity: MacField,
    dt: float,
    viscosity: float,
    *,
    solid: SolidLike | None = None,
    liquid: CellField | LevelSet | None = None,
    slip: Slip = "no-slip",
    time: float = 0.0,
    tolerance: float = 1e-8,
    max_iterations: int = 200,
    solver: ViscositySolver | None = None,
    density: float = 1.0,
    pressure: CellField | None = None,
    bodies: PushedBodies | None = None,
) -> tuple[SolveInfo, ...]:
    """Apply viscosity as `diffuse` does, between the other stages of a step.

    Args:
        velocity, dt, viscosity, solid, liquid, slip, time, tolerance, max_iterations, solver: as for `diffuse`.
        density: of the fluid, kg/m^3; it matters for bodies and for the pressure alone.
        pressure: Pa, a float64 CellField, which a projection after this is expected to find, as that of the last step. Viscosity acts on
            what it leaves of the velocity, and what that differs by is taken back; without, the flow slips along walls without slip.
        bodies: those within `solid`, without slip, that the stresses of the fluid move; they hold the result.

    Source: Van Kan 1986, section 2 (the last pressure within the viscous step).
    """
    solver = solver_for(velocity, ViscositySolver, solver)
    problem = viscosity_problem(
        velocity,
        viscosity=viscosity,
        solid=solid,
        liquid=liquid,
        slip=slip,
        time=_checks.number("time", time),
        density=_checks.positive("density", density),
        pressure=pressure,
        bodies=bodies,
    )
    options = solve_options(tolerance, max_iterations, "multigrid")
    converged, raw = solver._core.diffuse(velocity._core, _checks.positive("dt", dt), problem, options)
    infos = tuple(SolveInfo(**facts(i, 0.0)) for i in raw)
    if not converged:
        worst = max(infos, key=lambda i: i.residual)
        raise ConvergenceError(
            f"viscosity did not converge: the residual is {worst.residual:.2g} after {worst.iterations} iterations ({worst.reason})",
            worst,
        )
    return infos
