"""A fluid and thin shells in it, in one step."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core.solver import OnStage, Solver, stage
from meniscus.coupling.shell_pictures.water_mesh import ShellWaterMesh, water_surface
from meniscus.coupling.shell_water.audit import audit_water
from meniscus.coupling.shell_water.covered_faces import settle_covered_faces
from meniscus.coupling.shell_water.joined_water import JoinedWater
from meniscus.coupling.shell_water.marker_distances import MarkerDistances
from meniscus.coupling.shell_water.particle_stages import PARTICLE_STAGES, ParticleStages
from meniscus.coupling.shell_water.particles_past_shells import ParticlesPastShells
from meniscus.coupling.shell_water.path_audit import FollowedWater, PathAudit
from meniscus.coupling.shell_water.water_past_shells import WaterPastShells
from meniscus.coupling.shell_water.water_stages import WATER_STAGES, WaterStages
from meniscus.coupling.shells.bodies import PushedShellBody
from meniscus.coupling.shells.fitting import Replacement, replacements_of, require_fitting
from meniscus.coupling.shells.joined_pressure import JoinedPressure, require_two_ways
from meniscus.coupling.shells.reports import ClosedShellAudit, ClosedWaterAudit, ShellReport
from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.coupling.shells.shells import Shells
from meniscus.coupling.shells.smoke_audit import audit_smoke
from meniscus.coupling.shells.solid_sight import SolidSight
from meniscus.coupling.shells.vortices import VorticesPastShells
from meniscus.fluids.fluid_solver import FluidSolver
from meniscus.fluids.gas.solver import SmokeSolver
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.particles.solver import ParticleLiquidSolver
from meniscus.fluids.pressure.projection import ProjectionInfo
from meniscus.solids import DeformableBody, RigidBody

Floats = npt.NDArray[np.float64]
ShellMode = Literal["one-way", "monolithic", "lumped", "printed"]
"""How shells and a fluid push each other."""
_LOOK = 1e-3
"""s, the look ahead that tells `max_dt` how fast shells are, before the first step."""


class ShellCoupling(WaterStages, ParticleStages, Solver[ShellReport]):
    """Smoke or water around surfaces thinner than a cell, which nothing crosses: they push it, and in two-way modes it pushes them.

    A step advances fluid and shells together, in these stages, of which each is a public method:

    1. `move_shells`: the shells move to the end of the step;
    2. `emit`: that of the solver;
    3. `transport`: that of the solver, seen one-sidedly with the shells where they were; samples that they pass on their way, or cover
       before or after, get new values from neighbours on their side;
    4. `add_forces`, 5. `diffuse`: those of the solver, with the shells where they are now;
    6. `look_ahead`: the shells go on by the next step and are taken back: that is the velocity that the air beside them gets;
    7. `project`: that of the solver; faces between cells that a shell keeps apart are walls that move with it, and regions that these
       close are solved for by themselves.

    Water has the stages `spray` and `correct_volume` after the transport, in which drops meet the shells on their ways, and ends with
    `extend`. It is that of a `LiquidSolver` with open air, or, one way, of a `ParticleLiquidSolver`: from `transfer_to_grid` to
    `transfer_to_particles` that one sees the shells where they were, with the velocity of their way through this step; `move` takes
    particles past that way, and `resample` sees the shells where they are now.

    `step` is transactional: an error or Ctrl-C leaves fluid and shells unchanged. Between steps both are at the same time. The state is
    that of the solver and of the bodies.

    Transport is of the scheme of the solver where no shell is near, with the same bits as without shells, and of first order near them.
    There is no friction on shells, and smoke does not stick to them.

    Args:
        solver: the fluid, a `SmokeSolver`, a `LiquidSolver` or a `ParticleLiquidSolver`; without viscosity, and with a
            semi-Lagrangian transport, or particles and no solid. Water that is there is from now on what is on
            the side of the shells where its cells are, and particles where they are.
        shells: on the grid of the solver.
        mode: "one-way": the air does not push shells. "monolithic": pressure and velocities of the shells are one solve; "lumped",
            "printed": one after the other, as in `coupling.shell_pressure.ShellPressure`. In these three, `look_ahead` does nothing,
            `project` finds the velocities that shells will have in their next step with what the air gives them, and in that step, one
            of implicit Euler, they get it. Their bodies are `RigidBody`, `DeformableBody`, `KinematicShell`, and in "lumped" and
            "printed" a `PushedShellBody`; with `KinematicShell` alone all modes are the same. A liquid of particles pushes no shells:
            other bodies than `KinematicShell` then need "one-way".
        replacement: what samples that a shell hides count as, for all or by the name of each of "density", "temperature": "mean": of the
            corners that are visible, which keeps what is uniform uniform; "printed": no smoke, the ambient temperature.
        marker_distances: bounds, cells, of the random distance that each marker of the water of a `LiquidSolver` keeps from shells for
            life, at most 1; (0.1, 1.0) in the document. None: none.
        open_rims: whether the last faces beside free rims are open in part for the pressure, so that fluid flows around a rim where it is:
            see `coupling.shell_pressure.open_free_rims`. Transport sees walls as without. Not for a liquid of particles.

    Attributes:
        solver, shells, replacement: as given; the last one by name.
        impulses: (nodes, 3) from the fluid on the nodes in the next step of the shells, N s; state.
        begun: (1,) whether the first step was taken; state.
        report: of the last step; None before the first.

    Raises:
        TypeError, ValueError: wrong types; another grid; a solver with what shells do not go with.

    Source: Guendelman, Selle, Losasso and Fedkiw, "Coupling water and smoke to thin deformable and rigid shells", 2005, sections 3, 4, 6;
    Selle 2008, sections 4.3 and 4.4.
    """

    report_type = ShellReport
    stages: tuple[str, ...] = ("move_shells", "emit", "transport", "add_forces", "diffuse", "look_ahead", "project")

    def __init__(
        self,
        solver: SmokeSolver | LiquidSolver | ParticleLiquidSolver,
        shells: Shells,
        mode: ShellMode = "monolithic",
        *,
        replacement: Replacement | Mapping[str, Replacement] = "mean",
        marker_distances: tuple[float, float] | None = None,
        open_rims: bool = False,
    ) -> None:
        _checks.one_of_type("solver", solver, (SmokeSolver, LiquidSolver, ParticleLiquidSolver))
        _checks.one_of_type("shells", shells, Shells)
        self.mode = _checks.choice("mode", mode, ShellMode)
        open_rims = _checks.flag("open_rims", open_rims)
        if solver.grid != shells.grid:
            raise ValueError(f"shells must have the grid of the solver, {solver.grid}, not {shells.grid}")
        require_fitting(solver, shells, self.mode)
        self.solver = self.declare("solver", solver)
        self.shells = self.declare("shells", shells)
        self.impulses = self.declare("impulses", np.zeros((len(shells.positions), 3)))
        self.begun = self.declare("begun", np.zeros(1, np.int8))
        self._joined: JoinedPressure | None = None
        self._pushes = False
        pushed = any(isinstance(body, (RigidBody, DeformableBody, PushedShellBody)) for body in shells.bodies)
        self._water: WaterPastShells | None = None
        if isinstance(solver, LiquidSolver):
            particles = solver.surface.particles
            distances = MarkerDistances.of_option(marker_distances, 0 if particles is None else particles.options.seed)
            self._water = WaterPastShells(solver.surface, solver.velocity, solver.volume, distances)
            self.stages = WATER_STAGES
        if marker_distances is not None and not (isinstance(solver, LiquidSolver) and solver.surface.particles is not None):
            raise ValueError("marker_distances needs a LiquidSolver with markers")
        self._particles: ParticlesPastShells | None = None
        if isinstance(solver, ParticleLiquidSolver):
            self.stages = PARTICLE_STAGES
            if open_rims:
                raise ValueError("open_rims does not go with a liquid of particles")
        else:
            two_ways = self.mode != "one-way"
            if two_ways or open_rims:
                require_two_ways(solver, shells, self.mode, one_way=not two_ways)
            # What nothing pushes takes the plain way in all modes.
            self._pushes = two_ways and pushed
            if self._pushes or open_rims:
                kind = JoinedWater if isinstance(solver, LiquidSolver) else JoinedPressure
                solve = self.mode if self._pushes else "monolithic"
                self._joined = kind(solver, shells, solve, open_rims, one_way=not self._pushes)
        self._start, self._end = shells.walls(), shells.walls()
        printed = {"density": 0.0, "temperature": solver.options.ambient} if isinstance(solver, SmokeSolver) else {}
        self.replacement = replacements_of(replacement, tuple(printed))
        for walls in (self._start, self._end):
            walls.replacements = {name: None if kind == "mean" else printed[name] for name, kind in self.replacement.items()}
        self._speed: float | None = None
        self._way = 0.0
        self._placed: Floats | None = None
        self._sight = SolidSight(solver)
        if isinstance(solver, LiquidSolver):
            # In two ways faces have the velocities of the solve.
            self._start.slides = self._end.slides = not self._pushes
            self._with_water(solver.set_surface)
        if isinstance(solver, ParticleLiquidSolver):
            self._start.slides = self._end.slides = True
            self._particles = solver.shells = ParticlesPastShells(solver.velocity, self._walls_now)
            solver.particles_changed()

    def copy(self) -> ShellCoupling:
        """Return an independent copy, with copies of the solver and of the bodies."""
        return copy.deepcopy(self)

    @property
    def time(self) -> float:
        """Seconds."""
        return self.solver.time

    @property
    def walls(self) -> ShellWalls:
        """The walls where the shells are, with the velocities of the next step, of the length of the last one."""
        raw = self.shells.positions
        x = raw + self.shells.shifts(raw)
        if self._placed is None or not np.array_equal(x, self._placed):
            following = _LOOK if self.report is None else self.report.next_dt or _LOOK
            self._end.place(x, (self.shells.look_ahead(following, self._loads) - raw) / following)
            self._sight.now(self._end)
            self._placed = x
        return self._end

    def max_dt(self) -> float:
        """Return the step (s) in which neither air nor shells pass more than `cfl` cells."""
        if self._speed is None:
            self._speed = (
                float(
                    np.abs(
                        self.shells.look_ahead(_LOOK, np.zeros_like(self.impulses) if self._pushes else None) - self.shells.positions
                    ).max()
                )
                / _LOOK
            )
        longest = self.solver.max_dt()
        if self._speed > 0:
            longest = min(longest, self.solver.options.cfl * self.solver.grid.spacing / self._speed)
        return longest

    def step(self, dt: float, on_stage: OnStage | None = None, *, next_dt: float | None = None, **options: Any) -> ShellReport:
        """Advance fluid and shells by dt seconds.

        Args:
            dt: seconds, positive.
            on_stage: called with the name of each stage and this object, after the stage.
            next_dt: length of the step after this one, s, if it is another: the velocity of the shells in it is what the air gets.
            **options: none.

        Raises:
            ConvergenceError: a solve failed; nothing has changed.
            ValueError: dt is not positive, a value is not finite; nothing has changed.
        """
        try:
            return super().step(dt, on_stage, next_dt=next_dt, **options)
        except BaseException:
            self._placed = None
            raise

    def begin(self, dt: float, next_dt: float | None = None) -> None:
        """Begin a step of dt seconds whose stages somebody else calls; `next_dt` as for `step`."""
        following = dt if next_dt is None else _checks.positive("next_dt", next_dt)
        require_fitting(self.solver, self.shells, self.mode)
        super().begin(dt)
        self.running_report.next_dt = following
        self.solver.begin(dt)

    def _complete(self, report: ShellReport) -> None:
        report.fluid = self.solver.end()
        report.marked_cells = self._end.marked_cells
        report.blocked_faces = sum(int(mask.sum()) for mask in self._end.blocked_faces)
        if self._joined is None:
            report.closed_regions = sum(region.closed for region in report.fluid.projection.regions)

    # --- stages ----------------------------------------------------------------------------------------------------------------------

    @stage()
    def move_shells(self, dt: float) -> None:
        """Stage 1: move the shells to the end of the step."""
        if self._pushes and isinstance(self._joined, JoinedWater) and not self.begun[0]:
            self._begin_with_water(dt)
        self.begun[0] = 1
        raw = self.shells.positions
        # Images of a body cover the domain while it is about in it.
        shifts = self.shells.shifts(raw)
        self.shells.advance(dt, self._loads)
        self.shells.require_apart()
        x0, x1 = raw + shifts, self.shells.positions + shifts
        velocities = (x1 - x0) / dt
        if self._placed is not None and np.array_equal(x0, self._placed):
            self._start, self._end = self._end, self._start
            self._start.set_velocities(velocities)
        else:
            self._start.place(x0, velocities)
        self._placed = None
        self._end.place(x1, velocities)
        self._placed = x1
        self._sight.between(self._start, self._end, dt)
        self._way = float(np.linalg.norm(x1 - x0, axis=1).max())
        if self._particles is not None:
            # Particles go with what the projection finds, so that shells have the velocity of their way, and its normals in the middle.
            self._start.set_velocities(velocities, dt)
            self._particles.between(self._start, self._end, self._way)
            self._speed = None
            return
        assert not isinstance(self.solver, ParticleLiquidSolver)
        self.solver.walls = self._start
        if isinstance(self.solver, LiquidSolver) and self._water is not None:
            self._water.between(self._start, self._end, self._way)
            self.solver.surface.shells = self._water

    @stage()
    def emit(self, dt: float) -> None:
        """Stage 2: apply the emitters of the solver."""
        self.solver.emit(dt)

    @stage()
    def transport(self, dt: float) -> None:
        """Stage 3: advect on each side of the shells, and give samples that these have swept values of their new side."""
        solver = self.solver
        assert not isinstance(solver, ParticleLiquidSolver)
        vortices = None
        if solver.vortices is not None:
            vortices = VorticesPastShells(solver.vortices, solver.velocity, self._start, self._end, self._way, dt, solver.time)
        solver.transport(dt)
        if vortices is not None:
            vortices.put_back(None if self._water is None else self._water.levels)
            self.running_report.deleted_vortices = vortices.deleted
        dimension = solver.grid.dimension
        told = self.running_report
        if isinstance(solver, SmokeSolver):
            before = solver.running_report.smoke
            cells = self._start.swept(self._end, (0,) * dimension) | self._sight.held()
            replacements = {"density": 0.0, "temperature": solver.options.ambient}
            for name, replacement in replacements.items():
                counts = self._end.revalidate_cells(getattr(solver, name), cells, replacement)
                told.swept[name], told.replaced[name] = counts[:2]
            told.revalidated = solver.smoke() - before
        elif self._water is not None:
            told.swept["levelset"], told.replaced["levelset"] = self._water.swept, self._water.replaced
            told.deleted_markers = self._water.deleted
            told.pushed_markers, told.blocked_markers = self._water.pushed, self._water.blocked
        told.swept["velocity"] = told.replaced["velocity"] = 0
        for d in range(dimension):
            faces = self._start.swept(self._end, tuple(int(a == d) for a in range(dimension)))
            counts = self._end.revalidate_faces(solver.velocity, d, faces)
            if self._water is not None:
                settle_covered_faces(solver.velocity, d, self._end)
            told.swept["velocity"] += counts[0]
            told.replaced["velocity"] += counts[1]
        solver.walls = self._end

    @stage()
    def add_forces(self, dt: float) -> None:
        """Stage 4: add the forces of the solver."""
        solver = self.solver
        plain = isinstance(solver, ParticleLiquidSolver) or self._joined is None or solver.vortices is not None
        if plain or (isinstance(solver, SmokeSolver) and solver.options.vorticity.confinement):
            solver.add_forces(dt)
            return
        assert not isinstance(solver, ParticleLiquidSolver)
        # The fluid beside a sheet moves with it, and forces act on it as well.
        assert self._joined is not None
        self._joined.hold(self._end)
        solver.walls = None
        try:
            solver.add_forces(dt)
        finally:
            solver.walls = self._end

    @stage()
    def diffuse(self, dt: float) -> None:
        """Stage 5: nothing, as there is no viscosity."""
        self.solver.diffuse(dt)

    @stage()
    def look_ahead(self, dt: float) -> None:
        """Stage 6: find the velocity of the shells in the next step."""
        if self._joined is None:
            self._foresee(self.running_report.next_dt or dt)

    def _foresee(self, following: float) -> None:
        x1 = self.shells.positions
        velocities = (self.shells.look_ahead(following, self._loads) - x1) / following
        self._end.set_velocities(velocities, following)
        self._speed = float(np.abs(velocities).max())

    @stage()
    def project(self, dt: float) -> None:
        """Stage 7: make the velocity divergence-free on each side of the shells."""
        if self._joined is None:
            self.solver.project(dt)
            return
        told = self.running_report
        following = told.next_dt or dt
        result = self._joined.act(self._end, following, self.solver.sampled_solid.at(self.solver.time + dt, dt))
        self.solver.pressure.array[...] = result.pressure / dt
        self.solver.running_report.projection = ProjectionInfo(**vars(result.info))
        if self._pushes:
            self.impulses[...] = result.impulses
            told.impulse = tuple(map(float, result.impulses.sum(axis=0)))
        told.inner_iterations = result.inner_iterations
        told.closed_regions = len(self._joined.closed_regions)
        self._foresee(following)

    @property
    def _loads(self) -> Floats | None:
        return self.impulses if self._pushes else None

    # --- afterwards ------------------------------------------------------------------------------------------------------------------

    def audit(self) -> list[ClosedShellAudit] | list[ClosedWaterAudit]:
        """Return the smoke or water inside of and around every closed shell, by counting crossings of its mesh below points.

        This shares no code with the step, so that it can testify. Cells whose centre a wall covers count as the parity says; they hold
        no smoke. Cells in a solid are not counted.
        """
        if not isinstance(self.solver, SmokeSolver):
            return audit_water(self.solver, self.shells)
        return audit_smoke(self.solver, self.shells, self._sight.outside())

    def audit_paths(self, dt: float) -> PathAudit:
        """Return whether water would meet shells on its way through a step of dt seconds, which is taken by a copy of this.

        For open shells as well, exactly: ways of markers of water and of drops against triangles (segments) that move, without code of the
        step. Nothing changes, and ordinary steps cost nothing.

        Raises TypeError for a solver of smoke; and as `step`.
        """
        if isinstance(self.solver, SmokeSolver):
            raise TypeError(f"audit_paths needs a solver of water, not {type(self.solver).__name__}")
        ahead = self.copy()
        assert not isinstance(ahead.solver, SmokeSolver)
        followed = FollowedWater(ahead.solver, ahead.shells)
        ahead.step(dt)
        return followed.audit()

    def surface(self, refine: int = 1) -> ShellWaterMesh:
        """Return the surface of the water now, on its side of the shells; see `shell_pictures.water_mesh.water_surface`.

        Raises TypeError for a solver of smoke, and for a `refine` that is no integer.
        """
        if isinstance(self.solver, SmokeSolver):
            raise TypeError(f"surface needs a solver of water, not {type(self.solver).__name__}")
        return water_surface(self.solver.levelset, self.walls, refine, time=self.time)

    def __repr__(self) -> str:
        """One line: mode, solver, shells."""
        return f"<ShellCoupling {self.mode}: {self.solver!r}, {self.shells!r}>"

    def _walls_now(self) -> ShellWalls:
        return self.walls

    def _members(self) -> tuple[FluidSolver[Any]]:
        return (self.solver,)

    def _leave_step(self) -> None:
        """Let the solver see no walls of a step."""
        super()._leave_step()
        if isinstance(self.solver, ParticleLiquidSolver):
            assert self._particles is not None
            self._particles.leave()
            return
        self.solver.walls = None
        if self._water is not None:
            self._water.leave()

    def _state_replaced(self) -> None:
        self._speed = self._placed = None
