"""Forces and viscosity of gases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.fluids.pressure.projection import SolidLike, liquid_field, solid_fields
from meniscus.grid.boundary import Slip
from meniscus.grid.fields import CellField, MacField
from meniscus.grid.poisson.cached_solver import CachedSolver
from meniscus.numerics.solve import ConvergenceError, SolveInfo, facts, solve_options
from meniscus.surface import LevelSet


def add_buoyancy(
    velocity: MacField,
    dt: float,
    *,
    density: CellField | None = None,
    temperature: CellField | None = None,
    density_weight: float = 0.0,
    temperature_weight: float = 0.0,
    ambient: float = 0.0,
    up: Sequence[float] | None = None,
    time: float = 0.0,
) -> None:
    """Add dt (-a density + b (temperature - ambient)) up to a velocity, in place; faces take the mean of the cells beside them.

    Args:
        velocity: m/s.
        dt: seconds.
        density: of the smoke, any unit; of the velocity's dtype and grid.
        temperature: the same.
        density_weight: a, m/s^2 per unit of density.
        temperature_weight: b, m/s^2 per unit of temperature.
        ambient: temperature without buoyancy.
        up: direction against gravity; default along the last axis.
        time: seconds, for functions in the conditions of the fields.

    Raises:
        TypeError, ValueError: wrong types, dtypes or grids.

    Source: Selle 2008, section 4.4.1; Guendelman et al. 2005, section 4.1.
    """
    _checks.one_of_type("velocity", velocity, MacField)
    dimension = velocity.grid.dimension
    for name, field in (("density", density), ("temperature", temperature)):
        if field is None:
            continue
        _checks.one_of_type(name, field, CellField)
        if field.grid != velocity.grid:
            raise ValueError(f"{name} must have the grid of the velocity, {velocity.grid}, not {field.grid}")
        if field.dtype != velocity.dtype:
            raise TypeError(f"{name} must be of dtype {velocity.dtype}, not {field.dtype}")
    core: Any = _fluids  # overloaded over dimension and scalar
    core.add_buoyancy(
        velocity._core,
        None if density is None else density._core,
        None if temperature is None else temperature._core,
        (0.0,) * (dimension - 1) + (1.0,) if up is None else _checks.vector("up", up, dimension),
        _checks.number("density_weight", density_weight),
        _checks.number("temperature_weight", temperature_weight),
        _checks.number("ambient", ambient),
        _checks.number("dt", dt),
        _checks.number("time", time),
    )


class ViscositySolver(CachedSolver):
    """Matrices and scratch memory that `diffuse` keeps between steps on one grid."""

    @staticmethod
    def _module() -> Any:
        return _fluids


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
    """Let viscosity act on a velocity for dt, in place: (I - dt nu laplacian) u = u*, by backward Euler.

    No-slip walls, prescribed sides and no-slip solids act with their velocity; where there is free slip, and on open sides, is no shear.
    At the surface of a liquid that is not all of the stress: waves lose half of what they should, and a drop that turns is braked;
    `diffuse_liquid` does that right.

    Args:
        velocity: m/s.
        dt: seconds; any step is stable.
        viscosity: kinematic, m^2/s; zero does nothing.
        solid: as in `project`.
        liquid: a CellField or LevelSet on cells, liquid where <= 0; faces between two cells of air are left alone, and carry no shear.
            Default: liquid everywhere.
        slip: 'no-slip': faces whose centre lies in the solid take its velocity, and act with it; 'free': they are left alone, and the
            solid carries no shear.
        time: seconds.
        tolerance: of the residual, relative to the right-hand side.
        max_iterations: limit.
        solver: kept from step to step.

    Returns:
        How the solve of each component went.

    Raises:
        ConvergenceError: the tolerance was not met; the velocity is unchanged.
        TypeError, ValueError: wrong types, dtypes or grids, values that are NaN or infinite, a negative viscosity.

    Source: Müller et al. 2008, section 10.1.
    """
    _checks.one_of_type("velocity", velocity, MacField)
    solver = ViscositySolver(velocity.grid) if solver is None else _checks.one_of_type("solver", solver, ViscositySolver)
    if solver.grid != velocity.grid:
        raise ValueError(f"solver must have the grid of the velocity, {velocity.grid}, not {solver.grid}")
    _checks.choice("slip", slip, Slip)
    time = _checks.number("time", time)
    levelset, solid_velocity = solid_fields(solid, velocity, time)
    converged, raw = solver._core.diffuse(
        velocity._core,
        _checks.positive("dt", dt),
        _checks.number("viscosity", viscosity),
        levelset,
        solid_velocity,
        liquid_field(liquid, velocity),
        slip == "no-slip",
        time,
        solve_options(tolerance, max_iterations, "multigrid"),
    )
    infos = tuple(SolveInfo(**facts(i, 0.0)) for i in raw)
    if not converged:
        worst = max(infos, key=lambda i: i.residual)
        raise ConvergenceError(
            f"viscosity did not converge: the residual is {worst.residual:.2g} after {worst.iterations} iterations ({worst.reason})",
            worst,
        )
    return infos
