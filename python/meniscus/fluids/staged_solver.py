"""Base of the fluid solvers: a step of named stages inside of a transaction."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core import Workspace
from meniscus.core.stateful import Stateful
from meniscus.fluids.pressure.projection import ProjectionInfo
from meniscus.fluids.pressure.sampled_solid import SampledSolid
from meniscus.grid.boundary import BoundarySpec, Slip
from meniscus.grid.fields import CellField, MacField
from meniscus.grid.uniform import Grid
from meniscus.numerics.solve import SolveInfo
from meniscus.surface.shapes.solid_boundary import SolidLike

NO_PROJECTION = ProjectionInfo(0, 0.0, True, "there was nothing to solve", 0.0, 0.0, ())
"""Report of a step without a projection."""


@dataclass(kw_only=True)
class StepReport:
    """Report of one step, for all solvers.

    Attributes:
        dt: seconds.
        kinetic_energy: J (J/m in 2-D), unless a solver says otherwise.
        max_speed: largest velocity component, m/s.
        projection: report of the pressure solve.
        viscosity: reports of the viscosity solves.
    """

    dt: float = 0.0
    kinetic_energy: float = 0.0
    max_speed: float = 0.0
    projection: ProjectionInfo = NO_PROJECTION
    viscosity: tuple[SolveInfo, ...] = ()


Report = TypeVar("Report", bound=StepReport)


class Acceleration:
    """Attribute of a solver that holds an acceleration, m/s^2, one number per axis of its grid; checked when it is set."""

    def __set_name__(self, owner: type, name: str) -> None:
        """Store the name of the attribute."""
        self._name = name

    def __get__(self, solver: StagedSolver[Any], owner: type) -> npt.NDArray[np.float64]:
        """Return the array, which may be written to."""
        value: npt.NDArray[np.float64] = solver.__dict__[self._name]
        return value

    def __set__(self, solver: StagedSolver[Any], value: Any) -> None:
        """Set the acceleration. Raises TypeError or ValueError for anything but finite numbers, one per axis."""
        solver.__dict__[self._name] = np.array(_checks.vector(self._name, value, solver.grid.dimension))


class StagedSolver(Stateful, Generic[Report]):
    """Base of the fluid solvers: velocity, pressure, solid and time; the stages of a step and the transaction around them.

    A subclass names its `stages`, methods that take the length of the step, and declares its state. Stages write their results into
    `running_report`.

    Args:
        grid: of all fields.
        dtype: of the velocity.
        boundary: of the velocity.
        solid: the obstacle.
        slip: of the fluid on the solid.

    Attributes:
        grid: of all fields.
        velocity: m/s.
        pressure: of the last projection, Pa, float64.
        time: s; only a step changes it.
        report: of the last step; None before the first.
        running_report: results of the stages since the last step.
    """

    stages: ClassVar[tuple[str, ...]]
    settings: ClassVar[tuple[str, ...]] = ("solid",)
    _report_type: type[Report]

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Let every public stage check the length of its step before it begins."""
        super().__init_subclass__(**arguments)
        for name in cls.stages if "stages" in cls.__dict__ else ():
            if name in cls.__dict__:
                setattr(cls, name, checked_stage(cls.__dict__[name]))

    def __init__(self, grid: Grid, dtype: npt.DTypeLike, boundary: BoundarySpec, solid: SolidLike | None, slip: Slip) -> None:
        self.grid = _checks.one_of_type("grid", grid, Grid)
        self.velocity = self.declare("velocity", MacField(grid, dtype, boundary))
        self.pressure = self.declare("pressure", CellField(grid), changed_by=("diffuse", "project"))
        self.time = self.declare("time", 0.0)
        self.report: Report | None = None
        self.running_report: Report = self._report_type()
        self._solid = SampledSolid(grid, self.velocity.dtype, solid, slip)
        self._workspace = Workspace()

    @property
    def solid(self) -> SolidLike | None:
        """The obstacle; may be set. Raises TypeError or ValueError for what is no solid, and for one on another grid."""
        return self._solid.solid

    @solid.setter
    def solid(self, value: SolidLike | None) -> None:
        self._solid.solid = value
        self._state_replaced()

    def step(self, dt: float, on_stage: Callable[[str, Any], None] | None = None) -> Report:
        """Advance by dt seconds.

        Args:
            dt: seconds, positive.
            on_stage: called with the name of each stage and this solver, after the stage; it may change the state.

        Returns:
            The report of the step; also stored as `report`.

        Raises:
            ConvergenceError: a solve failed; nothing has changed.
            ValueError: dt is not positive, or a value is no longer finite; nothing has changed.
        """
        dt = _checks.positive("dt", dt)
        if on_stage is not None:
            _checks.function("on_stage", on_stage)
        with self.transaction(None if on_stage or not self._has_own_stages() else self.changed_by(self.stages)):
            self.begin(dt)
            try:
                for name in self.stages:
                    getattr(self, name)(dt)
                    if on_stage:
                        on_stage(name, self)
                return self.end()
            finally:
                self.running_report = self._report_type()

    def begin(self, dt: float) -> None:
        """Begin a step of dt seconds whose stages somebody else calls; `end` ends it, and whoever calls undoes it after an error."""
        self.running_report = self._report_type(dt=_checks.positive("dt", dt))

    def end(self) -> Report:
        """End the step that `begin` has begun, when all stages were called; return its report, also stored as `report`.

        Raises:
            ValueError: a value is no longer finite.
        """
        report, self.running_report = self.running_report, self._report_type()
        self._complete(report)
        self.time += report.dt
        self.report = report
        return report

    def __repr__(self) -> str:
        """One line: cells, time, state, memory."""
        cells = "x".join(map(str, self.grid.shape))
        state = ", ".join(name for name, part in self.state.items() if part is not None and name != "time")
        return f"<{type(self).__name__} {cells} cells, t = {self.time:g} s, {state}, {self.nbytes / 1e6:.3g} MB>"

    def _has_own_stages(self) -> bool:
        """Return whether all stages are those of the package, whose effects are declared; a stage of somebody else may change anything."""
        package = __name__.partition(".")[0]
        return all(name not in self.__dict__ and getattr(type(self), name).__module__.partition(".")[0] == package for name in self.stages)

    def _require_finite(self, part: CellField | MacField, name: str, total: float) -> None:
        """Raise ValueError where a sum over a part of the state is not finite: on the ranks that hold what is not, else on all."""
        if math.isfinite(total):
            return
        arrays = [part.component(d) for d in range(self.grid.dimension)] if isinstance(part, MacField) else [part.array]
        culprits = self.grid.comm.gather(not all(np.isfinite(a).all() for a in arrays))
        if culprits[self.grid.comm.rank] or not any(culprits):
            raise ValueError(f"the {name} must be finite after a step")

    @abstractmethod
    def _complete(self, report: Report) -> None:
        """Add to a report the values after all stages of a step. Raises ValueError if a value is not finite."""

    def _state_replaced(self) -> None:
        self._solid.forget()


def checked_stage(stage: Callable[[Any, float], None]) -> Callable[[Any, float], None]:
    """Return a stage that refuses lengths of steps that are negative or not finite, before anything has changed, and other threads."""

    @wraps(stage)
    def checked(solver: Any, dt: float) -> None:
        if _checks.number("dt", dt) < 0:
            raise ValueError(f"dt must not be negative, not {dt:g}")
        with solver.exclusive():
            stage(solver, float(dt))

    return checked
