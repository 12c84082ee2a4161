"""Advance of a world by a duration, in whole loops of equal steps."""

from __future__ import annotations

import math
from typing import Any

from meniscus import _checks
from meniscus.core.solver import OnStep
from meniscus.solids.contact.coupling.leaving_bodies import LeavingBodies
from meniscus.solids.contact.loop import ContactLoop
from meniscus.solids.contact.loop_lengths import whole_loops
from meniscus.solids.contact.reports import WorldInfo
from meniscus.solids.interaction.budget import Budget, part_of
from meniscus.solids.interaction.interactive_world import InteractiveWorld
from meniscus.solids.rigid.rigid_system import RIGID_STEP

_LONGEST = 100  # cuts in a row before `advance` gives up


class AdvanceInLoops(InteractiveWorld, LeavingBodies, ContactLoop):
    """What a `World` does to advance by a duration."""

    _elasticity: str
    _finish: str

    def advance(self, duration: float, on_step: OnStep | None = None, *, budget: float | Budget | None = None) -> list[WorldInfo]:
        """Advance by a duration (s) in whole loops of steps of at most `max_dt`; return the reports of the steps.

        A `budget` as for `step` is divided among the steps by their lengths; `on_step` is called with this world after each.

        A loop that has begun is finished. Where a loop was cut, another one follows. Errors are those of `step`; then the state is that
        after the last completed step.
        """
        end = self.time + _checks.positive("duration", duration)
        if on_step is not None:
            _checks.function("on_step", on_step)
        infos: list[WorldInfo] = []
        cuts, planned = 0, 0.0
        while True:
            left = end - self.time
            if self.inner_steps == 0 and left <= 1e-12 * max(abs(end), duration):
                break
            longest = self.max_dt()
            if not longest > 0:
                raise ValueError("no step is stable: the limit of the time step is 0")
            # Steps of a loop are equal, unless the limit falls below them: then another loop takes what is left.
            if self.inner_steps == 0 or planned == 0.0:
                if self._only_rigid:
                    # There are no loops.
                    planned = left / max(1, math.ceil(left / longest - 1e-9))
                elif self.steps_per_loop == "auto":
                    planned = self._plan_loop(left, longest)
                else:
                    k = self.loop_steps
                    loops = max(1, math.ceil((left / longest + self.inner_steps) / k - 1e-9)) if longest < math.inf else 1
                    planned = left / (loops * k - self.inner_steps)
            h = min(planned, longest)
            infos.append(self.step(h, budget=part_of(budget, h / duration)))
            if on_step is not None:
                on_step(self)
            cuts = cuts + infos[-1].contact.cuts if infos[-1].contact.loop_ended else cuts
            if infos[-1].contact.loop_ended and not infos[-1].contact.cuts:
                cuts = 0
            if cuts > _LONGEST:
                raise RuntimeError(
                    f"{cuts} loops in a row were cut at contacts; the last took {infos[-1].contact.fraction:.1e} of its length"
                )
        self._arrive_at(end)
        return infos

    def _plan_loop(self, left: float, longest: float) -> float:
        """Return the length of the steps of an "auto" loop (s), and set their number where it has not begun."""
        if self.inner_steps:
            return left / max(self.loop_steps - self.inner_steps, math.ceil(left / longest - 1e-9))
        dt, self._auto_loop = whole_loops(left, longest, self._auto_steps)
        return dt

    def max_dt(self) -> float:
        """Return the longest step (s) that the limits of all bodies allow: without one infinite, 0.01 s where some have their own steps."""
        if self._response == "barrier":
            return math.inf
        named: Any = {"elasticity": self._elasticity, "finish": self._finish}
        longest = min((body.max_dt("newmark", **named) for body in self.bodies), default=math.inf)
        return min(longest, RIGID_STEP) if self.rigid.bodies or self.others else longest

    @property
    def _only_rigid(self) -> bool:
        return bool(self.rigid.bodies) and not self.bodies and not self.others
