"""Control of time, steps and frames."""

from __future__ import annotations

import math

from meniscus import _checks
from meniscus.core.stateful import Stateful

_MOST_FRAMES = 10**9
# Steps shorter than this part of a run would not end it within a lifetime, and the time would lose them in rounding.
_SHORTEST_STEP = 1e-13


class TimeStepper(Stateful):
    """Clock of a run, with steps that end exactly on frames. Its state is the time and the numbers of the frame and of the step.

    Args:
        end: time of the last frame, s; the first frame (number 0) is at time 0.
        frames: number of frames after frame 0, equally spaced.
        even: whether the last two steps of a frame are equal, so that none is short. False: full steps, and then what is left.

    Raises:
        TypeError, ValueError: `end` not positive and finite, fewer than one frame.
    """

    def __init__(self, end: float, frames: int = 1, *, even: bool = True) -> None:
        self.end = _checks.positive("end", end)
        self.frames = _checks.integer("frames", frames, 1, _MOST_FRAMES)
        self._even = _checks.one_of_type("even", even, bool)
        self.time = self.declare("time", 0.0)
        self.frame = self.declare("frame", 0)
        self.step = self.declare("step", 0)

    @property
    def finished(self) -> bool:
        """Whether the last frame is reached."""
        return self.frame == self.frames

    @property
    def frame_time(self) -> float:
        """Time of the next frame, s."""
        return self.time_of(self.frame + 1)

    def time_of(self, frame: int) -> float:
        """Return the time of a frame, s."""
        return self.end * frame / self.frames

    def next_dt(self, max_dt: float) -> float:
        """Return the next step: `max_dt` (infinite: no limit), or what is left of the frame, in two equal steps if it takes two.

        No step of a frame is then shorter than half of `max_dt`, unless the frame is or `even` is False. Raises ValueError for steps
        that would not end.
        """
        if max_dt != math.inf:
            _checks.positive("max_dt", max_dt)
        if max_dt < _SHORTEST_STEP * self.end:
            raise ValueError(f"steps of {max_dt:g} s are too short to reach {self.end:g} s")
        remaining = self.frame_time - self.time
        # A remainder of rounding size is no step of its own.
        if remaining <= max_dt * (1.0 + 1e-9):
            return remaining
        return 0.5 * remaining if self._even and remaining < 2.0 * max_dt else max_dt

    def advance(self, dt: float) -> bool:
        """Count a step of dt seconds as done; returns whether it completed a frame."""
        self.step += 1
        if dt >= self.frame_time - self.time:
            self.time = self.frame_time
            self.frame += 1
            return True
        self.time += dt
        return False

    def _state_replaced(self) -> None:
        if self.time < 0:
            raise ValueError(f"time must not be negative, not {self.time:g}")
        self.frame = _checks.integer("frame", self.frame, 0, self.frames + 1)
        self.step = _checks.integer("step", self.step, 0)
        first, following = self.time_of(self.frame), self.frame_time
        if not first - 1e-9 * self.end <= self.time < following:
            frames = f"frames {self.frame} and {self.frame + 1}, {first:g} to {following:g} s"
            raise ValueError(f"time must be between {frames}, not {self.time:g}")
