"""Base of worlds: interaction with their bodies, and steps of bounded work."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from meniscus.core.solver import OnStage, Solver
from meniscus.solids.contact.reports import WorldInfo
from meniscus.solids.interaction.budget import SYSTEM_CLOCK, Budget, Clock, Counts, StepMeter, budget_of
from meniscus.solids.interaction.fields import FieldFunction
from meniscus.solids.interaction.interaction import Interaction
from meniscus.solids.options import world_step
from meniscus.solids.rigid.rigid_system import RigidSystem


class InteractiveWorld(Solver[Any]):
    """Base of worlds of any kind: interaction. The world has `rigid`, `time` and `named_bodies`.

    Attributes:
        interaction: picks, attachments, aims and fields, and the account of what they have given to bodies.
        clock: for budgets: a function that returns seconds.
        meter: of the step that goes on, if it has a budget or given counts.
    """

    interaction: Interaction
    clock: Clock
    rigid: RigidSystem

    def __init__(self) -> None:
        self.interaction = self.declare("interaction", Interaction(self))
        self.clock = SYSTEM_CLOCK
        self.meter: StepMeter | None = None
        self._tail = 0.0

    @abstractmethod
    def named_bodies(self) -> list[tuple[str, Any, Any]]:
        """Return name, body, and surface that contact sees (if it is not the body's own) of all bodies."""

    # --- steps ---------------------------------------------------------------------------------------------------------------

    def step(
        self,
        dt: float,
        on_stage: OnStage | None = None,
        *,
        budget: float | Budget | None = None,
        counts: Counts | None = None,
        **options: Any,
    ) -> Any:
        """Advance by dt seconds, and end the loop if it was its last step.

        What pulls and fields give acts on the velocities as the step begins; then come the stages.

        Args:
            dt: s, positive, at most 1e4.
            on_stage: called with the name of each stage and this world, after the stage.
            budget: s of `clock`, or a `Budget`: what iterates (sweeps over rigid bodies) does so until the time is used, but at least
                as often as `Budget.least` says. The report has the `counts`; a step with these has the same bits.
            counts: iterations of a step that was taken before, in place of a budget.
            **options: guarantee: of worlds of rigid bodies alone, as in `RigidSystem.step`; surfaces of deformable ones never intersect
                after a loop anyway.

        Returns:
            The report of the step; also stored as `report`.

        Raises:
            ConvergenceError: a velocity solve failed.
            ContactError: contacts at the end of a loop that nothing resolves.
            TypeError, ValueError: dt is not positive, absurd, or beyond the limit of stability; surfaces that intersect at the start of a
                loop, with their number and the first; values that are not finite. In all cases nothing has changed.

        Source: Selle 2008, section 6.2.
        """
        dt = world_step(dt)
        if budget is not None and counts is not None:
            raise ValueError("give either a budget or counts, not both")
        allowed = budget_of(budget)
        meter = None if allowed is None and counts is None else StepMeter(self.clock, allowed, counts, self._tail)
        acting = self.interaction
        with self.exclusive(), acting.undone(self.rigid.quiet):
            acting.act(self.time, dt, self.rigid.wake)
            self.meter = self.rigid.meter = meter
            try:
                info = self._take_step(dt, on_stage, **options)
            finally:
                self.meter = self.rigid.meter = None
            _take_back(acting, info)
        acting.steps += 1
        acting.counts = {} if meter is None else {name: tuple(values) for name, values in meter.used.items()}
        if isinstance(info, WorldInfo):
            info.pulls, info.counts = acting.report, acting.counts
        if meter is not None:
            self._tail = meter.tail
        acting.record("step", dt=dt, counts={name: list(values) for name, values in acting.counts.items()}, options=dict(options))
        return info

    def arrive_at(self, time: float) -> None:
        """Set the time (s) that steps have come to but for rounding."""
        self.time = time
        self.interaction.record("time", time=time)

    # --- copies --------------------------------------------------------------------------------------------------------------

    @property
    def _functions(self) -> dict[str, FieldFunction]:
        """Functions of fields, which copies and pickles take over before the state that names them."""
        return dict(self.interaction.functions)

    @_functions.setter
    def _functions(self, functions: dict[str, FieldFunction]) -> None:
        self.interaction.functions = dict(functions)

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "_functions": self._functions}

    def _within_step(self) -> bool:
        """Return whether a step has begun and not ended: some bodies are where they were, others have moved."""
        return False

    def _require_whole(self) -> None:
        if self._within_step():
            raise ValueError("in the middle of a step the state is not whole: make copies, snapshots and pickles between steps")

    def snapshot(self) -> dict[str, Any]:
        """Return copies of all parts of the state by name. Raises BusyError while another thread changes them, ValueError within a step."""
        self._require_whole()
        return super().snapshot()

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore the state of a snapshot, bit by bit. Raises ValueError or TypeError for one of another kind, and within a step."""
        self._require_whole()
        super().restore(snapshot)

    def _duplicate(self: Any, arguments: tuple[Any, ...], named: dict[str, Any], settings: dict[str, Any]) -> Any:
        self._require_whole()
        return super()._duplicate(arguments, named, {**settings, "_functions": self._functions})


def _take_back(acting: Interaction, info: Any) -> None:
    """Keep of the account what a loop that was cut or undone has kept of the velocities."""
    contact = getattr(info, "contact", None)
    if contact is not None and (contact.cuts or contact.rewound):
        acting.take_back(0.0 if contact.rewound else contact.fraction)
