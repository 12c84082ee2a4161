"""Handling of Ctrl-C and of the signal to terminate: the running step is finished first if it ends soon."""

from __future__ import annotations

import _thread
import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

GRACE = 0.5
"""Seconds that a running step has after Ctrl-C; then it is broken off."""


class Terminated(KeyboardInterrupt):
    """The process was told to end (SIGTERM), as by a batch system at the end of its time; a run saves its state before."""


class Interruption:
    """Whether Ctrl-C was pressed, or the process was told to end."""

    def __init__(self) -> None:
        self.cause: type[KeyboardInterrupt] | None = None

    def raise_if_noted(self) -> None:
        """Raise KeyboardInterrupt or `Terminated` if there was such a signal."""
        if self.cause is not None:
            raise self.cause

    @contextlib.contextmanager
    def deferred(self) -> Iterator[None]:
        """Record a first signal instead of raising its error; raise that at a second one, or after the grace period.

        Python allows this in the main thread only; elsewhere this does nothing. Handlers of a program that embeds Python, and a SIGTERM
        that the program handles itself, are left alone.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        timers: list[threading.Timer] = []

        def note(number: int, frame: FrameType | None) -> None:
            if self.cause is not None:
                raise self.cause
            self.cause = Terminated if number == signal.SIGTERM else KeyboardInterrupt
            # Not a timer of the system: the program may need the only one that it has.
            timer = threading.Timer(GRACE, _signal_main_thread, (signal.Signals(number),))
            timer.daemon = True
            timers.append(timer)
            timer.start()

        before: dict[int, Any] = {}
        for number, ours in ((signal.SIGINT, None), (signal.SIGTERM, signal.SIG_DFL)):
            present = signal.getsignal(number)
            if present is not None and (ours is None or present is ours):
                before[number] = signal.signal(number, note)
        try:
            yield
        finally:
            for timer in timers:
                timer.cancel()
            for which, handler in before.items():
                signal.signal(which, handler)


def _signal_main_thread(number: signal.Signals) -> None:
    """Send a signal to the main thread: a real one, which ends its waiting, where the system has that."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        _thread.interrupt_main(number)
