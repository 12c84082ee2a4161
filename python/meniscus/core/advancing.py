"""Steps that cover a duration exactly, for all that has a time and a step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from meniscus import _checks

Report = TypeVar("Report")
OnStep = Callable[[Any], None]

LONGEST = 1 / 60
"""Steps (s) that bodies without a limit of their own take at most, where a duration is covered."""
_MOST_STEPS = 1e9  # more than anybody would wait for


class HasTime(Protocol):
    """What has a time, s."""

    @property
    def time(self) -> float:
        """Seconds."""


def advance_in_steps(
    stepped: HasTime, duration: float, on_step: OnStep | None, longest: Callable[[], float], step: Callable[[float], Report]
) -> list[Report]:
    """Advance by a duration, s, in steps of at most `longest()` that end exactly there; return what `step` has returned.

    What is left of the duration is always cut into equal steps, so that none is short.

    Raises:
        ValueError: a duration that is not positive; a longest step that is zero, or too short for the duration.
    """
    end = stepped.time + _checks.positive("duration", duration)
    if on_step is not None:
        _checks.function("on_step", on_step)
    reports: list[Report] = []
    while (left := end - stepped.time) > 1e-12 * max(abs(end), duration):
        most = longest()
        if not left < _MOST_STEPS * most:
            raise ValueError(f"steps of {most:g} s are too short to advance by {left:g} s")
        reports.append(step(left / max(math.ceil(left / most - 1e-9), 1)))
        if on_step is not None:
            on_step(stepped)
    return reports
