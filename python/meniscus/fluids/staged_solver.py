"""Base of the fluid solvers: a step of named stages that happens as a whole or not at all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from meniscus import _checks

Report = TypeVar("Report")


class StagedSolver(ABC, Generic[Report]):
    """Base of the fluid solvers: their stages in order, the transaction around them, time and the last report.

    A subclass names its `stages`, methods that take the length of the step, and defines how its state is saved and restored.

    Attributes:
        time: s.
        report: of the last step; None before the first.
    """

    stages: ClassVar[tuple[str, ...]]

    def __init__(self) -> None:
        self.time = 0.0
        self.report: Report | None = None
        self._parts: dict[str, Any] = {}
        """Contributions of the stages to the report of the step."""

    def step(self, dt: float, on_stage: Callable[[str, Any], None] | None = None) -> Report:
        """Advance by dt seconds.

        Args:
            dt: seconds, positive.
            on_stage: called with the name of each stage and this solver, after the stage.

        Returns:
            The report of the step; also stored as `report`.

        Raises:
            ConvergenceError: a solve failed; nothing has changed.
            ValueError: dt is not positive, or a value is no longer finite; nothing has changed.
        """
        dt = _checks.positive("dt", dt)
        self._save()
        time, last = self.time, self.report
        self._parts = {}
        try:
            for name in self.stages:
                getattr(self, name)(dt)
                if on_stage:
                    on_stage(name, self)
            report = self._summarise(dt)
            self.time, self.report = time + dt, report
        except BaseException:
            self._restore()
            self.time, self.report = time, last
            raise
        return report

    @abstractmethod
    def _save(self) -> None:
        """Save the state that the stages may change."""

    @abstractmethod
    def _restore(self) -> None:
        """Restore the saved state."""

    @abstractmethod
    def _summarise(self, dt: float) -> Report:
        """Return the report of a step of dt; raises ValueError where something is no longer finite."""
