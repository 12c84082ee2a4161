"""Pressure projection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus._options import CoreOption
from meniscus.fluids.problems import cells_of, core_type, solver_for
from meniscus.fluids.pushed_bodies import PushedBodies
from meniscus.grid.fields import CellField, MacField
from meniscus.grid.poisson.cached_solver import CachedSolver
from meniscus.grid.transport.visibility import component_masks
from meniscus.numerics.solve import ConvergenceError, SolveInfo, SolveMethod, facts, solve_options
from meniscus.surface import LevelSet
from meniscus.surface.shapes.solid_boundary import SolidLike, solid_core

FluxCorrection = Literal["volume", "walls"]
FLUX_CORRECTION = CoreOption(FluxCorrection, _fluids.FluxCorrection)


@dataclass(frozen=True)
class Region:
    """A connected region of fluid.

    Attributes:
        cells: their number.
        closed: walls all around, so that the pressure is known up to a constant and no net flux is possible.
        first_cell: index of the first cell in storage order.
        flux: net flux out through the walls of a closed region, minus that of the target divergence, m^3/s (m^2/s in 2-D). It has been
            distributed by `flux_correction`.
        residual: norm of the region's residual, relative to the norm of the whole right-hand side.
    """

    cells: int
    closed: bool
    first_cell: tuple[int, ...]
    flux: float
    residual: float


@dataclass(frozen=True)
class ProjectionInfo(SolveInfo):
    """Report of a projection: a SolveInfo with one entry per region of fluid."""

    regions: tuple[Region, ...] = field(default=())


class PressureSolver(CachedSolver):
    """Matrix, multigrid levels and scratch memory that projections on one grid may share.

    A projection with a reused solver allocates nothing, and reuses the matrix if nothing around the fluid has changed.
    """

    _new_core = staticmethod(_fluids.new_pressure_solver)


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
    solved_air: npt.ArrayLike | None = None,
    air_density: float = 1.2,
    surface_pressure: CellField | None = None,
    target_divergence: CellField | None = None,
    acceleration: Sequence[float] | None = None,
    pressure: CellField | None = None,
    warm_start: bool = False,
    time: float = 0.0,
    flux_correction: FluxCorrection = "volume",
    max_iterations: int = 200,
    method: SolveMethod = "multigrid",
    raise_on_failure: bool = True,
    solver: PressureSolver | None = None,
    bodies: PushedBodies | None = None,
) -> ProjectionInfo:
    """Make a velocity divergence-free, in place, by the gradient of a pressure.

    The conditions on the sides follow from those of the velocity: its normal component is given on a Wall and a Prescribed side, the
    pressure is given on an Open one (zero where there is ZeroGradient). Solids cut cells: a face that is partly open carries fluid
    through that part and moves with the solid in the rest, which is second order in the spacing. Regions that are closed all around
    are found and solved with their own null space.

    Args:
        velocity: 2-D (float64) or 3-D (float32 or float64), m/s.
        dt: seconds.
        solid: a KinematicSolid or other Solid (sampled at `time`), a SolidSample, a SolidBoundary; or at rest: a Shape, or a LevelSet on
            nodes or a NodeField of dtype float64 (solid where <= 0).
        density: kg/m^3, a number or a CellField of the velocity's dtype.
        tolerance: of the remaining divergence, in the L2 norm relative to the one before (including given normal velocities and target
            divergence).
        liquid: region of liquid; elsewhere is air. A CellField or LevelSet on cells (liquid where <= 0), with the free surface resolved
            between the cells (ghost fluid), or a bool array.
        given_faces: per axis a bool mask of faces that keep their velocity, as on a wall.
        air_pressure: Pa.
        solved_air: bool array over the cells: air that keeps its volume (as it is enclosed, or as a fluid of its own), so that its pressure
            is solved for with that of the liquid. It needs a `liquid` with a resolved surface; cells of liquid do not count. Faces
            between it and other air are closed: they keep their velocity.
        air_density: of that air, kg/m^3.
        surface_pressure: excess of the pressure in the liquid over that of the air at the free surface, Pa: for surface tension its
            coefficient times the curvature. A CellField of the velocity's dtype, read in the cells beside the surface and interpolated to
            it.
        target_divergence: 1/s per volume of fluid, of the velocity's dtype.
        acceleration: m/s^2, of gravity or another uniform force that the velocity has followed for dt and that pressure balances at walls;
            default none. Where a solid with free slip closes cells to the air, the flow along it is that without this.
        pressure: a float64 CellField that gets the pressure, Pa (mean zero in closed regions); with `warm_start` it is also the initial
            guess.
        warm_start: start from `pressure`.
        time: seconds, for functions in the conditions and for the motion of the solid.
        flux_correction: correction of a net flux through the walls of a closed region: 'volume' distributes it evenly over its fluid, as a
            divergence, 'walls' gives it to the cells at the walls in proportion to their wall area (Guendelman et al. 2005, section 4.3).
        max_iterations: limit.
        method: 'multigrid'; for comparison 'hypre', its PFMG under conjugate gradients, where that library is installed, or
            'incomplete-cholesky', on ranks of the couplings in each block.
        raise_on_failure: raise if the tolerance is not met; else accept the result.
        solver: reused from call to call, so that nothing is allocated again.
        bodies: those within `solid` that the pressure moves; they hold the result.

    Returns:
        The report of the solve, by region.

    Raises:
        ConvergenceError: says which region failed and why; the velocity is unchanged.
        TypeError, ValueError: wrong types, dtypes or grids, values that are NaN or infinite, a density that is not positive.
        ImportError: hypre or its MPI is missing.

    Source: Selle 2008, sections 2.9 and 3.2; Müller et al. 2008, section 10; Guendelman et al. 2005, section 4.3.
    """
    solver = solver_for(velocity, PressureSolver, solver)
    if _checks.flag("warm_start", warm_start) and pressure is None:
        raise ValueError("warm_start needs pressure")
    time = _checks.number("time", time)
    varying, resolved = isinstance(density, CellField), isinstance(liquid, (LevelSet, CellField))
    masks = component_masks("given_faces", given_faces, velocity)
    if solved_air is not None and not resolved:
        raise ValueError("solved_air needs a liquid with a level set")
    if solved_air is not None and varying:
        raise ValueError("solved_air needs a density that is a number")
    problem = core_type("PressureProblem", velocity)(
        grid=velocity.grid._core,
        density=1.0 if varying else _checks.positive("density", density),
        density_field=cells_of("density", density, velocity) if varying else None,
        solid=solid_core(solid, velocity.grid, velocity.dtype, time),
        liquid=cells_of("liquid", liquid, velocity) if resolved else None,
        liquid_mask=None if liquid is None or resolved else _checks.mask("liquid", liquid, velocity.grid.local_shape),
        given_faces=None if masks is None else tuple(masks),
        air_pressure=_checks.number("air_pressure", air_pressure),
        solved_air=None if solved_air is None else _checks.mask("solved_air", solved_air, velocity.grid.local_shape),
        air_density=_checks.positive("air_density", air_density),
        surface_pressure=cells_of("surface_pressure", surface_pressure, velocity),
        target_divergence=cells_of("target_divergence", target_divergence, velocity),
        pressure=cells_of("pressure", pressure, velocity, np.float64),
        warm_start=warm_start,
        time=time,
        acceleration=(0.0,) * velocity.grid.dimension
        if acceleration is None
        else _checks.vector("acceleration", acceleration, velocity.grid.dimension),
        bodies=None if bodies is None else bodies.core,
        owners=None if bodies is None else bodies.owners,
        films=None if bodies is None else bodies.films,
    )
    options = _fluids.ProjectionOptions(
        solve_options(tolerance, max_iterations, method),
        FLUX_CORRECTION("flux_correction", flux_correction),
        not _checks.flag("raise_on_failure", raise_on_failure),
    )
    raw, setup_seconds, regions = solver._core.project(velocity._core, _checks.positive("dt", dt), problem, options)
    info = ProjectionInfo(
        **facts(raw, setup_seconds),
        regions=tuple(Region(cells, closed, tuple(first), flux, rest) for cells, closed, first, flux, rest in regions),
    )
    if raise_on_failure and not info.converged:
        raise ConvergenceError(_failure(info), info)
    return info


def divergence(velocity: MacField, solid: SolidLike | None = None, *, time: float = 0.0, out: CellField | None = None) -> CellField:
    """Return the divergence of a velocity, 1/s: the flux out of a cell through its faces, per volume of the cell.

    Args:
        velocity: m/s.
        solid: as in `project`; then the flux is that of the fluid through the open part of a face and of the solid through the rest, minus
            the growth of the solid in the cell.
        time: seconds, for the motion of the solid.
        out: takes the result; default a new field of the velocity's dtype.

    Raises:
        TypeError, ValueError: wrong types, dtypes or grids.

    Source: Selle 2008, section 3.2.
    """
    _checks.one_of_type("velocity", velocity, MacField)
    result = CellField(velocity.grid, dtype=velocity.dtype) if out is None else out
    boundary = solid_core(solid, velocity.grid, velocity.dtype, _checks.number("time", time))
    PressureSolver(velocity.grid)._core.divergence(velocity._core, boundary, cells_of("out", result, velocity))
    return result


def _failure(info: ProjectionInfo) -> str:
    worst = max(range(len(info.regions)), key=lambda k: info.regions[k].residual)
    region = info.regions[worst]
    kind = "closed" if region.closed else "open"
    return (
        f"the pressure did not converge: after {info.iterations} iterations the relative residual is {info.residual:.2g} ({info.reason}); "
        f"worst is region {worst} of {len(info.regions)}, {kind}, {region.cells} cells from {region.first_cell}, with {region.residual:.2g}"
        f"; {info.remedy}"
    )
