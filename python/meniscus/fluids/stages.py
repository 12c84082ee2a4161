"""Stages shared by the fluid solvers: forces of vortices, viscosity, projection, and extension into solids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import grid as _grid
from meniscus.core import Workspace
from meniscus.fluids.pressure.projection import PressureSolver, ProjectionInfo, project
from meniscus.fluids.pressure.sampled_solid import SampledSolid
from meniscus.fluids.pushed_bodies import PushedBodies
from meniscus.fluids.viscosity.free_surface import LiquidViscositySolver, diffuse_liquid
from meniscus.fluids.viscosity.viscosity import ViscositySolver, diffuse_in_step
from meniscus.fluids.vorticity.vortex_particles import VortexKernel, VortexParticles, add_vortex_forces
from meniscus.grid.fields import CellField, MacField
from meniscus.grid.transport.walls import ThinWalls
from meniscus.grid.uniform import Grid
from meniscus.numerics.solve import SolveInfo
from meniscus.surface import LevelSet, SolidBoundary

Bools = npt.NDArray[np.bool_]
_START = 1e-3  # times the tolerance of the steps: of the acceleration from which they start
_LAYERS = 4  # as far into a solid as stencils and short traces reach


class ViscosityStage:
    """Viscosity around the solid as it is at the end of a step.

    Args:
        grid: of the velocity.
        viscosity: kinematic, m^2/s; zero: the stage does nothing.
        tolerance: relative to the right-hand side; at most 1e-6 is used.
        free_surface: let the surface of a liquid be free of traction, with all components together; else each component diffuses alone.
        air: kinematic viscosity of the air, m^2/s, and its density relative to that of the liquid; None: it exerts no stress.
        density: of the fluid, kg/m^3, for bodies.

    Attributes:
        bodies: that the stresses move, set by who knows them; None: the motion of solids is given.
    """

    def __init__(
        self,
        grid: Grid,
        viscosity: float,
        tolerance: float,
        *,
        free_surface: bool = False,
        air: tuple[float, float] | None = None,
        density: float = 1.0,
    ) -> None:
        self._viscosity, self._air, self._density = viscosity, air, density
        self.bodies: PushedBodies | None = None
        self._tolerance = min(tolerance, 1e-6)
        self._change: MacField | None = None
        self._solver: ViscositySolver | LiquidViscositySolver | None = None
        if viscosity or (air is not None and air[0]):
            self._solver = LiquidViscositySolver(grid) if free_surface else ViscositySolver(grid)

    @property
    def nbytes(self) -> int:
        """Bytes held by the solver."""
        return 0 if self._solver is None else self._solver.nbytes

    def act(
        self,
        velocity: MacField,
        dt: float,
        solid: SampledSolid,
        time: float,
        liquid: LevelSet | None = None,
        project: Callable[[], None] | None = None,
        pressure: CellField | None = None,
    ) -> tuple[SolveInfo, ...]:
        """Let viscosity act on a velocity, in place, in the step of dt that ends at a time (s); one fact per solve.

        With `project`, which makes the velocity divergence-free, viscosity acts on the result of that, and what this has changed is taken
        back afterwards. Else walls without slip would hold up forces that pressure balances: water at rest would move. For gas, the last
        `pressure` does it, see `diffuse_in_step`.
        """
        if self._solver is None:
            return ()
        if project is None:
            return self._diffuse(velocity, dt, solid, time, liquid, pressure)
        if self._change is None:
            self._change = velocity.copy()
        self._change.assign(velocity)
        project()
        _grid.combine(self._change._core, 1.0, self._change._core, -1.0, velocity._core)
        result = self._diffuse(velocity, dt, solid, time, liquid, None)
        _grid.combine(velocity._core, 1.0, velocity._core, 1.0, self._change._core)
        return result

    def _diffuse(
        self, velocity: MacField, dt: float, solid: SampledSolid, time: float, liquid: LevelSet | None, pressure: CellField | None
    ) -> tuple[SolveInfo, ...]:
        parts: dict[str, Any] = {"solid": solid.at(time, dt), "liquid": liquid, "time": time, "tolerance": self._tolerance}
        if isinstance(self._solver, LiquidViscositySolver):
            if self._air is not None:
                parts["air_viscosity"], parts["air_density"] = self._air
            return (diffuse_liquid(velocity, dt, self._viscosity, solver=self._solver, **parts),)
        parts |= {"density": self._density, "pressure": pressure, "bodies": self.bodies}
        return diffuse_in_step(velocity, dt, self._viscosity, solver=self._solver, **parts)


class ProjectionStage:
    """Projection around the solid as it is at the end of a step.

    Args:
        grid: of the velocity.
        density: of the fluid, kg/m^3.
        tolerance: as in `project`.
        max_iterations: limit.

    Attributes:
        bodies: that the pressure moves, set by who knows them, such as a `coupling.FluidWorld`; None: the motion of solids is given.
    """

    def __init__(self, grid: Grid, density: float, tolerance: float, max_iterations: int = 200) -> None:
        self._density, self._tolerance, self._max_iterations = density, tolerance, max_iterations
        self._solver = PressureSolver(grid)
        self.bodies: PushedBodies | None = None

    @property
    def nbytes(self) -> int:
        """Bytes held by the solver."""
        return self._solver.nbytes

    def act(
        self,
        velocity: MacField,
        dt: float,
        solid: SampledSolid,
        time: float,
        pressure: CellField | None,
        *,
        target_divergence: CellField | None = None,
        liquid: LevelSet | None = None,
        air_pressure: float = 0.0,
        solved_air: Bools | None = None,
        air_density: float = 1.2,
        surface_pressure: CellField | None = None,
        walls: ThinWalls | None = None,
        gravity: list[float] | None = None,
        forced: float | None = None,
    ) -> ProjectionInfo:
        """Make a velocity divergence-free, in place, in the step of dt that ends at a time (s); below a surface from the last pressure.

        The velocity has followed the gravity (m/s^2) for `forced` seconds, by default dt, and so long the pressure acts.
        Faces that thin walls block take their velocity and keep it; what these push into closed regions leaves at their walls.
        """
        if walls is not None:
            walls.hold_faces(velocity)
        return project(
            velocity,
            dt if forced is None else forced,
            solid.at(time, dt),
            self._density,
            self._tolerance,
            liquid=liquid,
            air_pressure=air_pressure,
            solved_air=solved_air,
            air_density=air_density,
            surface_pressure=surface_pressure,
            target_divergence=target_divergence,
            given_faces=None if walls is None else walls.blocked_faces,
            flux_correction="volume" if walls is None else "walls",
            acceleration=gravity,
            pressure=pressure,
            warm_start=liquid is not None,
            time=time,
            max_iterations=self._max_iterations,
            solver=self._solver,
            bodies=self.bodies,
        )

    def balance(
        self,
        acceleration: MacField,
        solid: SolidBoundary | None,
        liquid: LevelSet,
        *,
        solved_air: Bools | None,
        air_density: float,
        gravity: list[float],
    ) -> None:
        """Let pressure balance an acceleration, that of gravity (m/s^2), in place, around a solid that has none.

        More exactly than in steps, so that what is left of it in a liquid at rest is below the tolerance of these.
        """
        project(
            acceleration,
            1.0,
            None if solid is None else SolidBoundary(solid.levelset, None, solid.slip, solid.dtype),
            self._density,
            self._tolerance,
            liquid=liquid,
            solved_air=solved_air,
            air_density=air_density,
            acceleration=gravity,
            max_iterations=self._max_iterations,
            solver=self._solver,
            bodies=self.bodies,
        )


def hand_out(vortices: VortexParticles | None, grid: Grid, workspace: Workspace) -> None:
    """Give vortex particles, if there are any, to the ranks where they are; one rank keeps the order in which they were added."""
    if vortices is not None and grid.comm.size > 1:
        vortices.migrate(grid, workspace=workspace)


def add_forces_of_vortices(
    velocity: MacField,
    vortices: VortexParticles | None,
    dt: float,
    strength: float,
    kernel: VortexKernel,
    time: float,
    workspace: Workspace,
    walls: ThinWalls | None = None,
) -> None:
    """Add the forces of vortex particles, if there are any, to a velocity for dt, in place; arguments as for `add_vortex_forces`."""
    if vortices is not None and strength and any(velocity.grid.comm.gather(len(vortices))):
        add_vortex_forces(velocity, vortices, dt, strength, kernel=kernel, time=time, workspace=workspace, walls=walls)


def extend_into_solid(velocity: MacField, known: list[Bools], solid: SolidBoundary | None, workspace: Workspace) -> None:
    """Continue a velocity from known faces into a solid, in place; elsewhere it becomes zero. The masks become those of all faces known."""
    _grid.fill_unknown_faces(velocity._core, known, 0 if solid is None else _LAYERS, workspace)
