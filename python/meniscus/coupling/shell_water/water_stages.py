"""Stages of a coupling with shells for water."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.core.solver import stage
from meniscus.coupling.shell_water.filling import fill_side
from meniscus.coupling.shell_water.particle_stages import fill_with_particles
from meniscus.coupling.shell_water.water_past_shells import WaterPastShells
from meniscus.coupling.shells.reports import ShellReport
from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.coupling.shells.shells import Shells
from meniscus.coupling.shells.solid_sight import SolidSight
from meniscus.fluids.gas.solver import SmokeSolver
from meniscus.fluids.liquid.options import VolumeReport
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.particles.solver import ParticleLiquidSolver
from meniscus.solids import DeformableBody, RigidBody
from meniscus.surface import LevelSet, Shape

Floats = npt.NDArray[np.float64]

WATER_STAGES = (
    "move_shells",
    "emit",
    "transport",
    "spray",
    "correct_volume",
    "add_forces",
    "diffuse",
    "look_ahead",
    "project",
    "extend",
)
"""The stages of a step with water."""


class WaterStages:
    """Stages and filling of a `ShellCoupling` whose solver is a `LiquidSolver`."""

    solver: SmokeSolver | LiquidSolver | ParticleLiquidSolver
    shells: Shells
    running_report: ShellReport
    impulses: Any
    _joined: Any
    _start: ShellWalls
    _end: ShellWalls
    _water: WaterPastShells | None
    _placed: Any
    _sight: SolidSight
    walls: Any

    @stage()
    def spray(self, dt: float) -> None:
        """After the transport of water: that of the solver; drops end their ways on the side of the shells where they began."""
        assert isinstance(self.solver, LiquidSolver)
        assert self._water is not None
        self._water.deleted_drops = 0
        self.solver.spray(dt)
        self.running_report.deleted_drops = self._water.deleted_drops

    @stage()
    def correct_volume(self, dt: float) -> None:
        """After that: that of the solver of water."""
        assert isinstance(self.solver, LiquidSolver)
        self.solver.correct_volume(dt)

    @stage()
    def extend(self, dt: float) -> None:
        """Last stage of water, and after the projection of particles: continue the velocity into the air, from faces that are visible."""
        assert isinstance(self.solver, (LiquidSolver, ParticleLiquidSolver))
        self.solver.extend(dt)

    def fill(self, region: Shape | LevelSet, side_of: Sequence[float]) -> None:
        """Add water on one side of the shells, and restart with the resulting surface.

        Args:
            region: a Shape, or a LevelSet on the cells of the grid.
            side_of: a point, m, in the cells to fill: the others are those that this one is connected to, through faces that no shell
                blocks.

        Raises:
            TypeError, ValueError: wrong types; the solver is none of water; a point outside of the region or of the domain.
        """
        if isinstance(self.solver, ParticleLiquidSolver):
            fill_with_particles(self.solver, self.walls, region, side_of)
            return
        if not isinstance(self.solver, LiquidSolver):
            raise TypeError(f"fill needs a solver of water, not {type(self.solver).__name__}")
        solver = self.solver
        self._with_water(lambda: fill_side(solver, self._start, region, side_of))

    def volume_report(self) -> VolumeReport:
        """Return the volumes of the water on each side of the shells, and inflow and outflow since the surface was set.

        Of a `ParticleLiquidSolver`, what is expected is the volume of the particles.

        Raises:
            TypeError: the solver is none of water.
        """
        if isinstance(self.solver, ParticleLiquidSolver):
            return self.solver.volume_report()
        if not isinstance(self.solver, LiquidSolver):
            raise TypeError(f"volume_report needs a solver of water, not {type(self.solver).__name__}")
        solver, found = self.solver, []
        self._with_water(lambda: found.append(solver.volume_report()))
        return found[0]

    def _begin_with_water(self, dt: float) -> None:
        """Find what water and shells give each other in their first step: without, what floats would begin with a fall.

        The velocity of the water is from now on that of this step, as between all others; so the shells get no impulse that the water
        does not give.
        """
        solver, joined = self.solver, self._joined
        assert joined is not None
        assert isinstance(solver, LiquidSolver)
        x = self.shells.positions
        self._end.place(x + self.shells.shifts(x), self._velocities_now(x, dt))
        self._sight.now(self._end)
        solver.walls = self._end
        # The water beside a sheet moves with it, as in `add_forces`.
        joined.hold(self._end)
        solver.add_forces(dt)
        self.impulses[...] = joined.act(self._end, dt, solver.sampled_solid.at(solver.time)).impulses
        solver.extend(0.0)

    def _velocities_now(self, x: Floats, dt: float) -> Floats:
        """Return the velocities (n, dim) of the nodes at x, m/s, before the forces of a step of dt seconds."""
        velocities = (self.shells.look_ahead(dt, np.zeros_like(self.impulses)) - x) / dt
        for i, body in enumerate(self.shells.bodies):
            rows = self.shells.rows(i)
            if isinstance(body, DeformableBody):
                velocities[rows] = body.velocities
            elif isinstance(body, RigidBody) and body.is_dynamic:
                velocities[rows] = body.velocities(x[rows])
        return velocities

    def _with_water(self, change: Callable[[], None]) -> None:
        """Change the surface of the water with the walls where the shells are now."""
        assert isinstance(self.solver, LiquidSolver)
        assert self._water is not None
        x = self.shells.positions
        self._start.place(x, np.zeros_like(x))
        self._sight.now(self._start)
        self._water.between(self._start, self._start)
        self.solver.walls, self.solver.surface.shells = self._start, self._water
        self._placed = None
        try:
            change()
        finally:
            self.solver.walls = None
            self._water.leave()
