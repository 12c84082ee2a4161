"""Base of the fluid solvers on grids, and the report of their steps."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core import Workspace
from meniscus.core.solver import OnStage, Solver, SolverWarning
from meniscus.fluids.control.control import Control
from meniscus.fluids.control.stage import Controls, ControlStage
from meniscus.fluids.pressure.projection import ProjectionInfo
from meniscus.fluids.pressure.sampled_solid import SampledSolid
from meniscus.grid.boundary import BoundarySpec, Slip
from meniscus.grid.fields import CellField, MacField
from meniscus.grid.uniform import Grid
from meniscus.numerics.solve import SolveInfo
from meniscus.surface.shapes.solid_boundary import SolidLike

NO_PROJECTION = ProjectionInfo(0, 0.0, True, "there was nothing to solve", 0.0, 0.0, ())
"""Report of a step without a projection."""

# Of sqrt(spacing / gravity): a step of which waves of two cells grow, where the surface lies worst in its cells (1.25: none, 1.4: slowly).
_WAVES = 1.3


@dataclass(kw_only=True)
class StepReport:
    """Report of one step, for all solvers.

    Attributes:
        dt: seconds.
        kinetic_energy: J (J/m in 2-D), unless a solver says otherwise.
        max_speed: largest velocity component, m/s.
        projection: report of the pressure solve.
        viscosity: reports of the viscosity solves.
        control_impulse: momentum that the controls gave the fluid, N s (N s/m in 2-D), one number per axis; empty without controls.
    """

    dt: float = 0.0
    kinetic_energy: float = 0.0
    max_speed: float = 0.0
    projection: ProjectionInfo = NO_PROJECTION
    viscosity: tuple[SolveInfo, ...] = ()
    control_impulse: tuple[float, ...] = ()


Report = TypeVar("Report", bound=StepReport)


class Acceleration:
    """Attribute of a solver that holds an acceleration, m/s^2, one number per axis of its grid; checked when it is set."""

    def __set_name__(self, owner: type, name: str) -> None:
        """Store the name of the attribute."""
        self._name = name

    def __get__(self, solver: FluidSolver[Any], owner: type) -> npt.NDArray[np.float64]:
        """Return the array, which may be written to."""
        value: npt.NDArray[np.float64] = solver.__dict__[self._name]
        return value

    def __set__(self, solver: FluidSolver[Any], value: Any) -> None:
        """Set the acceleration. Raises TypeError or ValueError for anything but finite numbers, one per axis."""
        solver.__dict__[self._name] = np.array(_checks.vector(self._name, value, solver.grid.dimension))


class FluidSolver(Solver[Report]):
    """Base of the fluid solvers on grids: velocity, pressure, solid and time.

    Args:
        grid: of all fields.
        dtype: of the velocity.
        boundary: of the velocity.
        solid: the obstacle.
        slip: of the fluid on the solid.
        controls: what draws the fluid to places, and gives it a velocity there.

    Attributes:
        grid: of all fields.
        velocity: m/s.
        pressure: of the last projection, Pa, float64.
        time: s; only a step changes it.
        sampled_solid: the solid on the grid, at any time.
        controls: what draws the fluid to places, and gives it a velocity there; may be set.
        control_stage: the controls on the grid.
    """

    settings: ClassVar[tuple[str, ...]] = ("solid", "controls")
    far_beyond: ClassVar[float] = 6.0
    """Steps that are more than as many times longer than advised are warned of. Transport is stable at any length, but one straight way per
    step is no path of the flow: a column of liquid that falls over has at most 0.95 of the energy that it starts with at 5 times, 2.1
    times that at 8, 3.3 times at 10."""
    has_surface: ClassVar[bool] = False
    """Whether gravity makes waves, which limit steps: in ones longer than 1.3 sqrt(spacing / gravity), those of two cells grow, up to tens
    of m/s in water that was at rest; such steps are warned of too."""
    controls = Controls()
    options: Any
    time: float

    def __init__(
        self,
        grid: Grid,
        dtype: npt.DTypeLike,
        boundary: BoundarySpec,
        solid: SolidLike | None,
        slip: Slip,
        controls: Sequence[Control] = (),
    ) -> None:
        self.grid = _checks.one_of_type("grid", grid, Grid)
        self.velocity = self.declare("velocity", MacField(grid, dtype, boundary))
        self.pressure = self.declare("pressure", CellField(grid))
        self.time = self.declare("time", 0.0)
        self.sampled_solid = SampledSolid(grid, self.velocity.dtype, solid, slip)
        self.control_stage = ControlStage(self.velocity)
        self.controls = controls
        self._workspace = Workspace()
        self._warned_of_length = self._warned_of_waves = False

    @property
    def solid(self) -> SolidLike | None:
        """The obstacle; may be set. Raises TypeError or ValueError for what is no solid, and for one on another grid."""
        return self.sampled_solid.solid

    @solid.setter
    def solid(self, value: SolidLike | None) -> None:
        self.sampled_solid.solid = value
        self._state_replaced()

    def _take_step(self, dt: float, on_stage: OnStage | None = None, **options: Any) -> Report:
        gravity = float(np.linalg.norm(getattr(self, "gravity", 0.0)))
        waves = _WAVES * math.sqrt(self.grid.spacing / gravity) if self.has_surface and gravity > 0 else math.inf
        if dt > waves and not self._warned_of_waves:
            self._warned_of_waves = True
            warnings.warn(
                f"a step of {dt:.3g} s is longer than waves of two cells bear, {waves:.3g} s: water will not stay at rest; "
                f"advance({dt:.3g}) takes steps that are short enough",
                SolverWarning,
                stacklevel=3,
            )
        # By the speed that the last report tells: no kernel runs for it.
        speed = (0.0 if self.report is None else self.report.max_speed) + math.sqrt(self.grid.spacing * gravity)
        far = dt * speed > self.far_beyond * self.options.cfl * self.grid.spacing and not self._warned_of_length
        if far and dt > self.far_beyond * (longest := self.max_dt()):
            self._warned_of_length = True
            warnings.warn(
                f"a step of {dt:.3g} s is {dt / longest:.2g} times as long as max_dt() advises, {longest:.3g} s: the flow will be wrong; "
                f"advance({dt:.3g}) takes steps that are short enough",
                SolverWarning,
                stacklevel=3,
            )
        return super()._take_step(dt, on_stage, **options)

    def __repr__(self) -> str:
        """One line: cells, time, state, memory."""
        cells = "x".join(map(str, self.grid.shape))
        state = ", ".join(name for name, part in self.state.items() if part is not None and name != "time")
        return f"<{type(self).__name__} {cells} cells, t = {self.time:g} s, {state}, {self.nbytes / 1e6:.3g} MB>"

    def _require_finite(self, part: CellField | MacField, name: str, total: float) -> None:
        """Raise ValueError where a sum over a part of the state is not finite: on the ranks that hold what is not, else on all."""
        if math.isfinite(total):
            return
        arrays = [part.component(d) for d in range(self.grid.dimension)] if isinstance(part, MacField) else [part.array]
        culprits = self.grid.comm.gather(not all(np.isfinite(a).all() for a in arrays))
        if culprits[self.grid.comm.rank] or not any(culprits):
            raise ValueError(f"the {name} must be finite after a step")

    def _state_replaced(self) -> None:
        self.sampled_solid.forget()
