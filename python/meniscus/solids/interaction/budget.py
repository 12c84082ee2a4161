"""Bounded work: iterations until a time is used, or as many as a log says."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from meniscus import _checks

Clock = Callable[[], float]
"""Seconds since some time."""
SYSTEM_CLOCK: Clock = time.perf_counter
Counts = Mapping[str, Sequence[int]]
"""Iterations of a step by what iterates, in the order in which they were taken."""


@dataclass(frozen=True)
class Budget:
    """How long a step may take.

    Attributes:
        seconds: of the clock of the world.
        least: iterations of each solve that are taken whatever the time.
        most: iterations of a solve that are never exceeded.
    """

    seconds: float
    least: int = 4
    most: int = 1000

    def __post_init__(self) -> None:
        """Check the values."""
        if _checks.number("seconds", self.seconds) < 0:
            raise ValueError(f"seconds must not be negative, but are {self.seconds:g}")
        _checks.integer("least", self.least, 1)
        if _checks.integer("most", self.most, 1) < self.least:
            raise ValueError(f"most must be at least least, but they are {self.most} and {self.least}")


class StepMeter:
    """Counts the iterations of a step, and says when to stop.

    Args:
        clock: read before each iteration beyond the least number.
        budget: None: as many iterations as usual.
        counts: in place of a budget: the iterations of a step that was taken before.
        tail: s, that the step is expected to take after its last iteration.

    Attributes:
        used: iterations so far, by what iterates.
    """

    def __init__(self, clock: Clock, budget: Budget | None, counts: Counts | None, tail: float = 0.0) -> None:
        self.used: dict[str, list[int]] = {}
        self._clock, self._budget = clock, budget
        self._given = None if counts is None else {name: list(map(int, values)) for name, values in counts.items()}
        self._solves: dict[str, int] = {}
        self._name, self._usual, self._done, self._end = "", 0, 0, 0.0
        self.last = self._start = clock() if budget is not None else 0.0
        self._time = 0.0 if budget is None else max(0.0, budget.seconds - tail)

    def plan(self, name: str, solves: int) -> None:
        """Announce how many solves will iterate in this step; the time is divided among them."""
        self._solves[name] = len(self.used.get(name, [])) + solves

    def begin(self, name: str, usual: int) -> None:
        """Begin a solve that without a budget has `usual` iterations."""
        done = self.used.setdefault(name, [])
        self._name, self._done, self._usual = name, 0, usual
        if self._given is not None:
            own = self._given.get(name, [])
            if len(done) >= len(own):
                raise ValueError(f"the step solves {name!r} more often than the {len(own)} times whose iterations are given")
            self._usual = own[len(done)]
        solves = max(self._solves.get(name, 1), len(done) + 1)
        self._end = self._start + self._time * (len(done) + 1) / solves

    def more(self) -> bool:
        """Return whether to take another iteration, and count it."""
        budget = self._budget
        if budget is None:
            goes_on = self._done < self._usual
        elif self._done < budget.least:
            goes_on = True
        else:
            self.last = self._clock()
            goes_on = self._done < budget.most and self.last < self._end
        self._done += goes_on
        return goes_on

    def end(self) -> None:
        """End the solve."""
        self.used[self._name].append(self._done)

    def choose(self, name: str, usual: int, cost: float) -> int:
        """Return how often to do what must be known in advance, such as the number of substeps, and count it.

        `cost` is what each takes by experience, s; without experience (0) it is done the least number of times.
        """
        done = self.used.setdefault(name, [])
        budget, count = self._budget, usual
        if self._given is not None:
            own = self._given.get(name, [])
            if len(done) >= len(own):
                raise ValueError(f"the step chooses {name!r} more often than the {len(own)} times that are given")
            count = own[len(done)]
        elif budget is not None:
            count = max(budget.least, min(budget.most, int(self._time / cost) if cost > 0 else budget.least))
        done.append(count)
        return count

    @property
    def elapsed(self) -> float:
        """Seconds since the step began; 0 without a budget."""
        return self._clock() - self._start if self._budget is not None else 0.0

    @property
    def tail(self) -> float:
        """Seconds since the clock was last read for an iteration."""
        return self._clock() - self.last if self._budget is not None else 0.0


def budget_of(value: float | Budget | None) -> Budget | None:
    """Return the budget that a number of seconds means."""
    return value if value is None or isinstance(value, Budget) else Budget(_checks.number("budget", value))


def part_of(value: float | Budget | None, part: float) -> Budget | None:
    """Return a part of a budget, with the same least and largest numbers of iterations."""
    budget = budget_of(value)
    return None if budget is None else replace(budget, seconds=part * budget.seconds)
