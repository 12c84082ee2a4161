"""Pressure projection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus._options import CoreOption
from meniscus.grid.fields import CellField, MacField, NodeField
from meniscus.grid.poisson.cached_solver import CachedSolver
from meniscus.grid.transport.advection import component_masks
from meniscus.grid.uniform import Grid
from meniscus.numerics.solve import ConvergenceError, SolveInfo, SolveMethod, facts, solve_options
from meniscus.surface import KinematicSolid, LevelSet, Shape, Solid, SolidSample

FluxFix = Literal["volume", "walls"]
FLUX_FIX = CoreOption(FluxFix, _fluids.FluxFix)
SolidLike = Solid | SolidSample | Shape | LevelSet | NodeField


@dataclass(frozen=True)
class Region:
    """A connected region of fluid.

    Attributes:
        cells: their number.
        closed: walls all around, so that the pressure is known up to a constant and no net flux is possible.
        first_cell: index of the first cell in storage order.
        flux: net flux out through the walls of a closed region, less what the target divergence asks for, m^3/s (m^2/s in 2-D). It
            has been spread as `flux_fix` says.
        residual: norm of the region's residual, relative to the norm of the whole right-hand side.
    """

    cells: int
    closed: bool
    first_cell: tuple[int, ...]
    flux: float
    residual: float


@dataclass(frozen=True)
class ProjectionInfo(SolveInfo):
    """How a projection went: a SolveInfo with one entry per region of fluid."""

    regions: tuple[Region, ...] = field(default=())


class PressureSolver(CachedSolver):
    """Matrix, multigrid levels and scratch memory that projections on one grid may share.

    A projection with a kept solver allocates nothing and reuses the matrix where nothing around the fluid has changed.
    """

    @staticmethod
    def _module() -> Any:
        return _fluids


def project(
    velocity: MacField,
    dt: float,
    solid: SolidLike | None = None,
    density: float | CellField = 1.0,
    tolerance: float = 1e-8,
    *,
    liquid: CellField | LevelSet | npt.ArrayLike | None = None,
    given_faces: Sequence[npt.ArrayLike] | None = None,
    air_pressure: float = 0.0,
    surface_pressure: CellField | None = None,
    target_divergence: CellField | None = None,
    pressure: CellField | None = None,
    warm_start: bool = False,
    time: float = 0.0,
    flux_fix: FluxFix = "volume",
    max_iterations: int = 200,
    method: SolveMethod = "multigrid",
    raise_on_failure: bool = True,
    solver: PressureSolver | None = None,
) -> ProjectionInfo:
    """Make a velocity divergence-free, in place, by the pressure that does so.

    The conditions on the sides follow from those of the velocity: its normal component is given on a Wall and a Prescribed side, the
    pressure is given on an Open one (zero where there is ZeroGradient). Solids cut cells: a face that is partly open carries fluid
    through that part and moves with the solid in the rest, which is second order in the spacing. Regions that are closed all around
    are found and solved with their own null space.

    Args:
        velocity: float32 or float64, 2-D or 3-D, m/s.
        dt: seconds.
        solid: a KinematicSolid or other Solid (sampled at `time`), a SolidSample; or at rest: a Shape, or a LevelSet on nodes or a
            NodeField of dtype float64 (solid where <= 0).
        density: kg/m^3, a number or a CellField of the velocity's dtype.
        tolerance: of the divergence that is left, in the L2 norm relative to the one before (given normal velocities and target
            divergence included).
        liquid: where there is liquid; elsewhere is air. A CellField or LevelSet on cells (liquid where <= 0), with the free surface
            resolved between the cells (ghost fluid), or a bool array.
        given_faces: per axis a bool mask of faces that keep their velocity, as those on a wall do.
        air_pressure: Pa.
        surface_pressure: what the pressure in the liquid exceeds that of the air by at the free surface, Pa: for surface tension its
            coefficient times the curvature. A CellField of the velocity's dtype, read in the cells beside the surface and interpolated to
            it.
        target_divergence: 1/s per volume of fluid, of the velocity's dtype.
        pressure: a float64 CellField that takes the pressure, Pa (mean zero in closed regions), and with `warm_start` gives the start.
        warm_start: start from `pressure`.
        time: seconds, for functions in the conditions and for the motion of the solid.
        flux_fix: what a closed region does with a net flux through its walls: 'volume' spreads it evenly as a divergence, 'walls'
            lets the cells at its walls have it in proportion to their wall area (Guendelman et al. 2005, section 4.3).
        max_iterations: limit.
        method: 'multigrid', or 'incomplete-cholesky' for comparison.
        raise_on_failure: raise where the tolerance is not met; else take what was reached.
        solver: kept from call to call, so that nothing is allocated again.

    Returns:
        How the solve went, by region.

    Raises:
        ConvergenceError: says which region failed and why; the velocity is unchanged.
        TypeError, ValueError: wrong types, dtypes or grids, values that are NaN or infinite, a density that is not positive.

    Source: Selle 2008, sections 2.9 and 3.2; Müller et al. 2008, section 10; Guendelman et al. 2005, section 4.3.
    """
    _checks.one_of_type("velocity", velocity, MacField)
    grid, dtype = velocity.grid, velocity.dtype
    if solver is None:
        solver = PressureSolver(grid)
    _checks.one_of_type("solver", solver, PressureSolver)
    if solver.grid != grid:
        raise ValueError(f"solver must have the grid of the velocity, {grid}, not {solver.grid}")
    time = _checks.number("time", time)
    levelset, solid_velocity = solid_fields(solid, velocity, time)
    density_field = None
    if isinstance(density, CellField):
        density_field = _cells("density", density, grid, dtype)
        density = 1.0
    liquid_field, liquid_mask = _liquid(liquid, grid, dtype)
    target = None if target_divergence is None else _cells("target_divergence", target_divergence, grid, dtype)
    kept = None if pressure is None else _cells("pressure", pressure, grid, np.dtype(np.float64))
    if warm_start and kept is None:
        raise ValueError("warm_start needs pressure")
    options = _fluids.ProjectionOptions(
        solve_options(tolerance, max_iterations, method),
        FLUX_FIX("flux_fix", flux_fix),
        not raise_on_failure,
    )
    raw, setup_seconds, regions = solver._core.project(
        velocity._core,
        _checks.positive("dt", dt),
        _checks.positive("density", density),
        density_field,
        levelset,
        solid_velocity,
        liquid_field,
        liquid_mask,
        component_masks("given_faces", given_faces, velocity),
        _checks.number("air_pressure", air_pressure),
        None if surface_pressure is None else _cells("surface_pressure", surface_pressure, grid, dtype),
        target,
        kept,
        bool(warm_start),
        time,
        options,
    )
    info = ProjectionInfo(
        **facts(raw, setup_seconds),
        regions=tuple(Region(cells, closed, tuple(first), flux, rest) for cells, closed, first, flux, rest in regions),
    )
    if raise_on_failure and not info.converged:
        raise ConvergenceError(_failure(info), info)
    return info


def divergence(velocity: MacField, solid: SolidLike | None = None, *, time: float = 0.0, out: CellField | None = None) -> CellField:
    """Return the divergence of a velocity, 1/s: what leaves a cell through its faces, per volume of the cell.

    Args:
        velocity: m/s.
        solid: as in `project`; then the flux is that of the fluid through the open part of a face and of the solid through the rest,
            less what the solid grows by in the cell.
        time: seconds, for the motion of the solid.
        out: takes the result; default a new field of the velocity's dtype.

    Raises:
        TypeError, ValueError: wrong types, dtypes or grids.

    Source: Selle 2008, section 3.2.
    """
    _checks.one_of_type("velocity", velocity, MacField)
    result = CellField(velocity.grid, dtype=velocity.dtype) if out is None else out
    core = _cells("out", result, velocity.grid, velocity.dtype)
    levelset, solid_velocity = solid_fields(solid, velocity, _checks.number("time", time))
    PressureSolver(velocity.grid)._core.divergence(velocity._core, levelset, solid_velocity, core)
    return result


def on_grid(solid: SolidLike, velocity: MacField, time: float) -> tuple[NodeField, MacField | None]:
    """Return the level set and the velocity (None: at rest) of a solid on the grid of a velocity; samples are not copied."""
    if isinstance(solid, Shape):
        solid = KinematicSolid(solid)
    if isinstance(solid, Solid):
        solid = solid.sample(velocity.grid, time, dtype=velocity.dtype)
    if isinstance(solid, SolidSample):
        return solid.levelset, solid.velocity
    levelset = solid.field if isinstance(solid, LevelSet) else solid
    if not isinstance(levelset, NodeField):
        raise TypeError(
            "solid must be a Solid such as KinematicSolid, a SolidSample, a Shape, or a LevelSet on nodes or NodeField, "
            f"not {type(solid).__name__}" + (" on cells" if isinstance(solid, LevelSet) else "")
        )
    if levelset.dtype != np.float64:
        raise TypeError(f"the level set of the solid must be of dtype float64, not {levelset.dtype}")
    return levelset, None


def solid_fields(solid: SolidLike | None, velocity: MacField, time: float) -> tuple[Any, Any]:
    """Return the level set and the velocity of a solid, as the core wants them."""
    if solid is None:
        return None, None
    levelset, solid_velocity = on_grid(solid, velocity, time)
    if levelset.grid != velocity.grid:
        raise ValueError(f"solid must have the grid of the velocity, {velocity.grid}, not {levelset.grid}")
    if solid_velocity is None:
        return levelset._core, None
    if solid_velocity.dtype != velocity.dtype:
        raise TypeError(f"the velocity of the solid must be of dtype {velocity.dtype}, not {solid_velocity.dtype}")
    return levelset._core, solid_velocity._core


def _cells(name: str, value: Any, grid: Grid, dtype: np.dtype[Any]) -> Any:
    _checks.one_of_type(name, value, CellField)
    if value.grid != grid:
        raise ValueError(f"{name} must have the grid {grid}, not {value.grid}")
    if value.dtype != dtype:
        raise TypeError(f"{name} must be of dtype {dtype}, not {value.dtype}")
    return value._core


def liquid_field(liquid: CellField | LevelSet | None, velocity: MacField) -> Any:
    """Return the level set of a liquid, or None, as the core wants it."""
    if liquid is None:
        return None
    return _cells("liquid", liquid.field if isinstance(liquid, LevelSet) else liquid, velocity.grid, velocity.dtype)


def _liquid(liquid: CellField | LevelSet | npt.ArrayLike | None, grid: Grid, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    if liquid is None:
        return None, None
    if isinstance(liquid, (LevelSet, CellField)):
        return _cells("liquid", liquid.field if isinstance(liquid, LevelSet) else liquid, grid, dtype), None
    return None, _checks.mask("liquid", liquid, grid.shape)


def _failure(info: ProjectionInfo) -> str:
    worst = max(range(len(info.regions)), key=lambda k: info.regions[k].residual)
    region = info.regions[worst]
    kind = "closed" if region.closed else "open"
    return (
        f"the pressure did not converge: after {info.iterations} iterations the relative residual is {info.residual:.2g} ({info.reason}); "
        f"worst is region {worst} of {len(info.regions)}, {kind}, {region.cells} cells from {region.first_cell}, with {region.residual:.2g}"
    )
