"""Base of the scenes of all fluid solvers: a step of the scene is one step of the solver, and each stage is timed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from meniscus.fluids.gas.solver import SmokeSolver
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.vorticity.vortex_particles import seed_vortices
from meniscus.scenes.scene import Scene

Solver = TypeVar("Solver", SmokeSolver, LiquidSolver)


@dataclass(kw_only=True)
class FluidScene(Scene, Generic[Solver]):
    """A scene that steps one solver, its attribute `solver`, which `setup` passes to `use`."""

    def use(self, solver: Solver) -> None:
        """Set the solver of the run."""
        self.solver: Solver = self.declare("solver", solver)
        self.steps_done = self.declare("steps_done", 0)

    def vortex_source(self, time: float, dt: float) -> dict[str, Any] | None:
        """Return the arguments of `seed_vortices` for a step from `time`, or None where no vortex particles come; here none do."""
        return None

    def add_particles(self, time: float, dt: float) -> None:
        """Add the vortex particles of a step, if the solver has any."""
        vortices = self.solver.vortices
        source = None if vortices is None else self.vortex_source(time, dt)
        if vortices is not None and source is not None:
            seed_vortices(vortices, **{"dt": dt, "time": time, "step": self.steps_done, **source})

    def advance(self, time: float, dt: float) -> None:
        """Seed vortex particles, then step."""
        with self.stage("seed"):
            self.add_particles(time, dt)
        super().advance(time, dt)
        self.steps_done += 1
