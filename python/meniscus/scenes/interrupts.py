"""Handling of Ctrl-C and of the signal to terminate: the running step is finished first if it ends soon."""

from __future__ import annotations

import _thread
import contextlib
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

GRACE = 0.5
"""Seconds that a running step has after Ctrl-C; then it is broken off."""
ECHO = 1.0
"""Seconds in which a rank takes further signals for the first one: a terminal and `mpirun` may both send it, and not to all at once."""


class Terminated(KeyboardInterrupt):
    """The process was told to end (SIGTERM), as by a batch system at the end of its time; a run saves its state before."""


class Interruption:
    """Whether Ctrl-C was pressed, or the process was told to end; with several `ranks`, on any of them once they have told each other."""

    def __init__(self, ranks: int = 1) -> None:
        self.cause: type[KeyboardInterrupt] | None = None
        self._echo = ECHO if ranks > 1 else 0.0
        self._known_at = 0.0
        self._overdue = False
        self._timers: list[threading.Timer] = []

    def raise_if_noted(self) -> None:
        """Raise KeyboardInterrupt or `Terminated` if there was such a signal."""
        if self.cause is not None:
            raise self.cause

    def learn(self, causes: Sequence[type[KeyboardInterrupt] | None]) -> None:
        """Take over what all ranks have noted."""
        first = next((c for c in causes if c is not None), None)
        if first is not None:
            if self.cause is None:
                self._known_at = time.monotonic()
            self.cause = first

    def settle(self) -> None:
        """Let what is saved now take its time: only another signal breaks it off."""
        self._overdue = False
        for timer in self._timers:
            timer.cancel()

    @contextlib.contextmanager
    def deferred(self) -> Iterator[None]:
        """Record a first signal instead of raising its error; raise that at a second one, or after the grace period.

        Python allows this in the main thread only; elsewhere this does nothing. Handlers of a program that embeds Python, and a SIGTERM
        that the program handles itself, are left alone.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def note(number: int, frame: FrameType | None) -> None:
            if self.cause is None:
                self.cause = Terminated if number == signal.SIGTERM else KeyboardInterrupt
                self._known_at = time.monotonic()
                # Not a timer of the system: the program may need the only one that it has.
                timer = threading.Timer(GRACE, self._end_grace, (signal.Signals(number),))
                timer.daemon = True
                self._timers.append(timer)
                timer.start()
            elif self._overdue or time.monotonic() - self._known_at >= self._echo:
                raise self.cause

        before: dict[int, Any] = {}
        for number, ours in ((signal.SIGINT, None), (signal.SIGTERM, signal.SIG_DFL)):
            present = signal.getsignal(number)
            if present is not None and (ours is None or present is ours):
                before[number] = signal.signal(number, note)
        try:
            yield
        finally:
            self.settle()
            for which, handler in before.items():
                signal.signal(which, handler)

    def _end_grace(self, number: signal.Signals) -> None:
        self._overdue = True
        _signal_main_thread(number)


def _signal_main_thread(number: signal.Signals) -> None:
    """Send a signal to the main thread: a real one, which ends its waiting, where the system has that."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        _thread.interrupt_main(number)
