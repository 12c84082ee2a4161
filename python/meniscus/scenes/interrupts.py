"""Handling of Ctrl-C: the running step is finished first if it ends soon."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

GRACE = 0.5
"""Seconds that a running step has after Ctrl-C; then it is broken off."""


class Interruption:
    """Whether Ctrl-C was pressed."""

    def __init__(self) -> None:
        self.pressed = False

    @contextlib.contextmanager
    def deferred(self) -> Iterator[None]:
        """Record a first Ctrl-C instead of raising KeyboardInterrupt; raise it at a second one, or after the grace period.

        Python allows this in the main thread only; elsewhere, and where the system has no such timer, this does nothing.
        """
        if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
            yield
            return

        def note(number: int, frame: FrameType | None) -> None:
            if self.pressed:
                raise KeyboardInterrupt
            self.pressed = True
            signal.setitimer(signal.ITIMER_REAL, GRACE)

        def break_off(number: int, frame: FrameType | None) -> None:
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGINT, note), signal.signal(signal.SIGALRM, break_off)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGINT, before[0])
            signal.signal(signal.SIGALRM, before[1])
