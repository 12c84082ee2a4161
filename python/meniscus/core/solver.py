"""Solvers: named stages over declared state, and one step for all of them.

A solver declares its state (`meniscus.core.stateful`) and lists its stages, public methods that take the length of a step:

    class Heat(Solver[HeatReport]):
        stages = ("conduct", "radiate")

        @stage(reads=("temperature",), writes=("temperature",))
        def conduct(self, dt: float) -> None: ...

The step, its transaction, hooks, report and seconds follow. A script may also call the stages itself, between `begin` and `end` or alone.
"""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from meniscus import _checks
from meniscus.core.advancing import OnStep, advance_in_steps
from meniscus.core.stateful import Stateful


class SolverWarning(UserWarning):
    """A solver goes on, with a result that is not what was asked for."""


class HasLength(Protocol):
    """Reports of steps of dt seconds."""

    dt: float


@dataclass
class PlainReport:
    """Report of a step that tells its length, s, and nothing else."""

    dt: float = 0.0


Report = TypeVar("Report", bound=HasLength)
OnStage = Callable[[str, Any], None]
_Method = Callable[[Any, float], None]


@dataclass(frozen=True)
class Stage:
    """Name of a stage, and the parts of the state that it reads and writes; None: it may be any.

    What a stage writes only in part, it also reads.
    """

    name: str
    reads: tuple[str, ...] | None = None
    writes: tuple[str, ...] | None = None


def stage(
    *, reads: Iterable[str] | None = None, writes: Iterable[str] | None = None, positive: bool = False
) -> Callable[[_Method], _Method]:
    """Return a decorator that makes a stage of a method which takes the length of a step, s.

    The stage refuses lengths that are negative or not finite, before anything has changed, and other threads.

    Args:
        reads: names of the parts of the state that it reads; None: any.
        writes: names of those that it changes; None: any. A step keeps copies of these alone.
        positive: whether it also refuses a step of length zero.
    """
    declared = tuple(None if names is None else tuple(names) for names in (reads, writes))

    def decorate(method: _Method) -> _Method:
        @wraps(method)
        def checked(solver: Any, dt: float) -> None:
            if positive:
                length = _checks.positive("dt", dt)
            elif (length := _checks.number("dt", dt)) < 0:
                raise ValueError(f"dt must not be negative, not {dt:g}")
            with solver.exclusive():
                method(solver, length)

        checked.stage = Stage(method.__name__, *declared)  # type: ignore[attr-defined]
        return checked

    return decorate


class Solver(Stateful, Generic[Report]):
    """Base of all solvers: a step of named stages inside of a transaction.

    A subclass names its `stages` and the type of its reports, and declares its state. Stages write their results into `running_report`.

    Attributes:
        time: s; only a step changes it.
        report: of the last step; None before the first.
        running_report: results of the stages since the last step.
        stage_seconds: seconds that each stage of the last step, or of the one that goes on, has taken.
        stage_dt: length (s) of the stage that a step called last: what a hook after it acts for. Stages of a part of a step are shorter.
    """

    stages: tuple[str, ...] = ()
    """Names of the stages of a step, in their order; another order, or fewer, may be set."""
    report_type: ClassVar[type[Any]] = PlainReport
    step_writes: ClassVar[tuple[str, ...]] = ("time",)
    """Parts of the state that a step changes beside those that its stages write."""
    time: Any
    report: Report | None = None
    running_report: Report
    stage_seconds: dict[str, float]
    stage_dt: float = 0.0

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        """Make a solver without a report."""
        self = super().__new__(cls, *arguments, **named)
        self.running_report = cls.report_type()
        self.stage_seconds = {}
        return self

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Make stages of the methods of that name which are none yet."""
        super().__init_subclass__(**arguments)
        for name in cls.__dict__.get("stages", ()):
            method = cls.__dict__.get(name)
            if callable(method) and not hasattr(method, "stage"):
                setattr(cls, name, stage()(method))

    @property
    def stage_table(self) -> tuple[Stage, ...]:
        """What each of the `stages` reads and writes. A method that was put in place of a stage without declaring so may do anything."""
        return tuple(getattr(getattr(self, name), "stage", Stage(name)) for name in self.stages)

    def step(self, dt: float, on_stage: OnStage | None = None, **options: Any) -> Report:
        """Advance by dt seconds.

        Args:
            dt: seconds, positive.
            on_stage: called with the name of each stage and this solver, after the stage; it may change the state.
            **options: of the step, as the solver documents them.

        Returns:
            The report of the step; also stored as `report`.

        Raises:
            ConvergenceError: a solve failed; nothing has changed.
            ValueError: dt is not positive, or a value is no longer finite; nothing has changed.
        """
        return self._take_step(_checks.positive("dt", dt), on_stage, **options)

    def _take_step(self, dt: float, on_stage: OnStage | None = None, **options: Any) -> Report:
        """Take a step whose length is checked; see `step`."""
        if on_stage is not None:
            _checks.function("on_stage", on_stage)
        with self._step_transaction(None if on_stage else self._written()):
            try:
                self.begin(dt, **options)
                seconds = self.stage_seconds
                seconds.clear()
                for name, length in self._schedule(dt):
                    start = clock.perf_counter()
                    self.stage_dt = length
                    getattr(self, name)(length)
                    seconds[name] = seconds.get(name, 0.0) + clock.perf_counter() - start
                    if on_stage is not None:
                        on_stage(name, self)
                return self.end()
            finally:
                self._leave_step()

    def begin(self, dt: float) -> None:
        """Begin a step of dt seconds whose stages somebody else calls; `end` ends it, and whoever calls undoes it after an error."""
        self.running_report = self.report_type(dt=_checks.positive("dt", dt))

    def end(self) -> Report:
        """End the step that `begin` has begun, when all stages were called; return its report, also stored as `report`.

        Raises:
            ValueError: a value is no longer finite.
        """
        report = self.running_report
        self._complete(report)
        self.running_report = self.report_type()
        if "time" in self._declared:  # else it is that of a member
            self.time += report.dt
        self.report = report
        return report

    def max_dt(self) -> float:
        """Return the step (s) that the solver advises now; infinite where nothing limits it."""
        return math.inf

    def advance(self, duration: float, on_step: OnStep | None = None) -> list[Report]:
        """Advance by a duration, s, in steps of at most `max_dt` that end exactly there; return the reports of the steps.

        What is left of the duration is always cut into equal steps, so that none is short.

        Args:
            duration: seconds, positive.
            on_step: called with this solver after each step.

        Raises:
            ValueError, ConvergenceError: as `step`; the state is then that after the last completed step.
        """
        return advance_in_steps(self, duration, on_step, self.max_dt, self.step)

    def frames(self, count: int, *, per_second: float = 24.0) -> Iterator[int]:
        """Advance from frame to frame; yield the number of each, from 1 on. Raises as `advance`."""
        n, rate = _checks.integer("count", count, at_least=1), _checks.positive("per_second", per_second)
        start = self.time
        for frame in range(1, n + 1):
            self.advance(start + frame / rate - self.time)
            yield frame

    def _complete(self, report: Report) -> None:
        """Add to a report the values after all stages of a step. Raises ValueError if a value is not finite."""

    def _schedule(self, dt: float) -> Iterator[tuple[str, float]]:
        """Yield the stages of a step of dt seconds and the length (s) of each."""
        for name in self.stages:
            yield name, dt

    def _members(self) -> Iterable[Solver[Any]]:
        """Return the solvers whose stages those of this one call; during a step they take none of their own."""
        return ()

    def _written(self) -> list[str]:
        """Return the parts of the state that a step changes."""
        written = {name for s in self.stage_table for name in (self._declared if s.writes is None else s.writes)}
        return [name for name in self._declared if name in written or name in self.step_writes]

    @contextmanager
    def _step_transaction(self, parts: list[str] | None) -> Iterator[None]:
        """Return the context that undoes a step after an error."""
        with ExitStack() as contexts:
            contexts.enter_context(self.transaction(parts))
            for member in self._members():
                contexts.enter_context(member.transaction(()))
            yield

    def _leave_step(self) -> None:
        """Drop what belongs to one step alone, after its end or after an error."""
        for solver in (self, *self._members()):
            solver.running_report = solver.report_type()
