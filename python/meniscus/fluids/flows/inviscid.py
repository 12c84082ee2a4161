"""Two splittings of a step of incompressible, inviscid flow into advection and projection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from meniscus import _checks
from meniscus._meniscus import grid as _grid
from meniscus.core import Workspace
from meniscus.fluids.flows.reflection import Reflection, Splitting
from meniscus.fluids.pressure.projection import PressureSolver, ProjectionInfo, project
from meniscus.grid.boundary import Slip
from meniscus.grid.fields import CellField, MacField
from meniscus.grid.transport.advection import Method, advect
from meniscus.surface.shapes.solid_boundary import SolidLike, solid_boundary


@dataclass(frozen=True)
class InviscidStepInfo:
    """Report of a step: its projections, in order."""

    projections: tuple[ProjectionInfo, ...]


def advance(
    velocity: MacField,
    dt: float,
    *,
    splitting: Splitting = "reflection",
    method: Method = "maccormack",
    solid: SolidLike | None = None,
    slip: Slip = "free",
    density: float | CellField = 1.0,
    tolerance: float = 1e-8,
    time: float = 0.0,
    solver: PressureSolver | None = None,
    workspace: Workspace | None = None,
    **options: Any,
) -> InviscidStepInfo:
    """Advance a velocity by dt under u_t + (u . grad) u + grad(p) / rho = 0, div u = 0, in place.

    'projection' is Chorin's splitting: advect the velocity by itself, then project. It is first order in time and removes energy from the
    flow. 'reflection' advects for half a step, projects, continues from the velocity reflected in the projected one, advects for the other
    half by the velocity extrapolated to the end of the step, and projects: twice the work, and second order; see
    `flows.reflection.Reflection`.

    Args:
        velocity: m/s; should be divergence-free.
        dt: seconds, positive.
        splitting: 'projection' or 'reflection'.
        method: advection scheme of the velocity, as in `advect`.
        solid: as in `project`; a moving one is sampled at the end of the (half) step that is projected.
        slip: 'free': the flow is extended into solids before advection; 'no-slip': faces whose centre lies in the solid have its velocity.
        density: as in `project`.
        tolerance: of the projections, as in `project`.
        time: at the start of the step, s.
        solver: reused from step to step.
        workspace: reused from step to step.
        options: further options of `advect`.

    Raises:
        ConvergenceError, TypeError, ValueError: as `advect` and `project`; the velocity is unchanged.

    Source: Selle 2008, section 2.9; Zehnder, Narain and Thomaszewski 2018, An advection-reflection solver for detail-preserving fluid
    simulation; Narain, Zehnder and Thomaszewski 2019, A second-order advection-reflection solver.
    """
    _checks.one_of_type("velocity", velocity, MacField)
    dt = _checks.positive("dt", dt)
    time = _checks.number("time", time)
    _checks.choice("splitting", splitting, Splitting)
    _checks.choice("slip", slip, Slip)
    solver = PressureSolver(velocity.grid) if solver is None else solver
    workspace = Workspace() if workspace is None else workspace
    work = velocity.copy()

    def carry(field: MacField, by: MacField, seconds: float, start: float) -> None:
        boundary = solid_boundary(solid, velocity.grid, velocity.dtype, start, slip)
        if boundary is not None:
            for each in (field,) if field is by else (field, by):
                boundary.extend(each, workspace)
        advect(field, by, seconds, method=method, time=start, workspace=workspace, **options)

    def make_incompressible(field: MacField, seconds: float, end: float) -> ProjectionInfo:
        return project(field, seconds, solid, density, tolerance, time=end, solver=solver)

    if splitting == "projection":
        carry(work, work, dt, time)
        projections: tuple[ProjectionInfo, ...] = (make_incompressible(work, dt, time + dt),)
    else:
        middle = time + dt / 2
        reflection = Reflection(velocity)
        carry(work, work, dt / 2, time)
        reflection.see(work)
        first = make_incompressible(work, dt / 2, middle)
        reflection.reflect(work)
        carry(work, reflection.end, dt / 2, middle)
        projections = (first, make_incompressible(work, dt / 2, time + dt))
    _grid.copy_faces(velocity._core, work._core, None, True)
    return InviscidStepInfo(projections)
