"""Base of the scenes of all fluid solvers: a step of the scene is one step of the solver, and each stage is timed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from meniscus.fluids.gas.solver import SmokeSolver
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.scenes.scene import Scene

Solver = TypeVar("Solver", SmokeSolver, LiquidSolver)


@dataclass(kw_only=True)
class FluidScene(Scene, Generic[Solver]):
    """A scene that steps one solver, its attribute `solver`, which `setup` passes to `use`."""

    def use(self, solver: Solver) -> None:
        """Set the solver of the run."""
        self.solver: Solver = self.declare("solver", solver)
        self.steps_done = self.declare("steps_done", 0)

    def add_particles(self, time: float, dt: float) -> None:
        """Add the vortex particles of a step; here none."""

    def advance(self, time: float, dt: float) -> None:
        """Seed vortex particles, then step."""
        with self.stage("seed"):
            self.add_particles(time, dt)
        super().advance(time, dt)
        self.steps_done += 1
