"""Stages of a coupling with shells for liquids of particles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.core.solver import stage
from meniscus.coupling.shell_water.filling import cells_of_side
from meniscus.coupling.shell_water.particles_past_shells import ParticlesPastShells
from meniscus.coupling.shells.bodies import KinematicShell
from meniscus.coupling.shells.reports import ShellReport
from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.coupling.shells.shells import Shells
from meniscus.fluids.gas.solver import SmokeSolver
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.particles.solver import ParticleLiquidSolver
from meniscus.surface import LevelSet, Shape

PARTICLE_STAGES = ("move_shells", *ParticleLiquidSolver.stages)
"""The stages of a step with a liquid of particles."""


class ParticleStages:
    """Stages of a `ShellCoupling` whose solver is a `ParticleLiquidSolver`."""

    solver: SmokeSolver | LiquidSolver | ParticleLiquidSolver
    running_report: ShellReport
    _start: ShellWalls
    _particles: ParticlesPastShells | None

    @stage()
    def transfer_to_grid(self, dt: float) -> None:
        """With particles: that of the solver; particles and faces that a wall hides from each other do not see each other."""
        self._of_particles.transfer_to_grid(dt)

    @stage()
    def transfer_to_particles(self, dt: float) -> None:
        """With particles: that of the solver, from faces that they see."""
        self._of_particles.transfer_to_particles(dt)

    @stage()
    def move(self, dt: float) -> None:
        """With particles: that of the solver, while the shells move; ways end on the side of the shells where they begin."""
        self._of_particles.move(dt)
        assert self._particles is not None
        self.running_report.deleted_markers = self._particles.deleted

    @stage()
    def resample(self, dt: float) -> None:
        """With particles: that of the solver, with the shells where they are now."""
        solver = self._of_particles
        assert self._particles is not None
        self.running_report.swept["velocity"] = self._particles.moved()
        solver.resample(dt)

    @property
    def _of_particles(self) -> ParticleLiquidSolver:
        assert isinstance(self.solver, ParticleLiquidSolver)
        return self.solver


def fill_with_particles(solver: ParticleLiquidSolver, walls: ShellWalls, region: Shape | LevelSet, side_of: Sequence[float]) -> None:
    """Add particles in the part of a region that cells are connected to; see `ShellCoupling.fill`."""
    side = LevelSet(solver.grid, "cells", solver.velocity.dtype)
    side.array[...] = cells_of_side(solver, walls, region, side_of)[1]

    def here(positions: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Return which points see a centre of these cells around them."""
        found: npt.NDArray[np.bool_] = solver.shells.levels(side, positions) > 0
        return found

    solver.fill_where(region, None, here)


def require_one_way(solver: ParticleLiquidSolver, shells: Shells, mode: str) -> None:
    """Raise ValueError for what particles beside shells do not go with."""
    o = solver.options
    for there, what in (
        (solver.solid is not None, "a solid"),
        (o.viscosity > 0, "viscosity"),
    ):
        if there:
            raise ValueError(f"shells do not go with a liquid of particles that has {what}")
    if mode != "one-way" and any(not isinstance(part, KinematicShell) for part in shells.parts):
        raise ValueError(f'a liquid of particles does not push shells: their mode must be "one-way", not "{mode}"')
