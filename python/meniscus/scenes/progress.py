"""Progress of runs: a bar on a terminal, through rich where it is installed, and one in a notebook; silent otherwise."""

from __future__ import annotations

import html
import importlib
import importlib.util
import sys
import time
from typing import Any

from meniscus.scenes.running import Step

_REFRESH = 0.25  # s between changes of the bar in a notebook


class _Speed:
    """Cells per second: steady enough to read, quick enough to follow a change within some ten steps."""

    def __init__(self) -> None:
        self._rate = 0.0

    def after(self, step: Step) -> float:
        """Return the speed after a step."""
        now = step.cells / max(step.seconds, 1e-9)
        self._rate = now if self._rate == 0.0 else 0.9 * self._rate + 0.1 * now
        return self._rate


class ProgressBar:
    """Frames, steps, cells per second and time left of a run, on standard error."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._bar: Any = None
        self._task: Any = None
        self._speed = _Speed()

    def __enter__(self) -> ProgressBar:
        """Show the bar, if there is a terminal to show it on."""
        if sys.stderr.isatty() and importlib.util.find_spec("rich") is not None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TimeRemainingColumn

            columns = ("{task.description}", BarColumn(), "{task.fields[where]}", TimeRemainingColumn(), "left")
            self._bar = Progress(*columns, console=Console(stderr=True))
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=None, where="setting up")
        return self

    def step(self, step: Step) -> None:
        """Show where a run is after a step."""
        rate = self._speed.after(step)
        if self._bar is not None:
            self._bar.update(self._task, completed=step.time, total=step.end, where=describe(step, rate))

    def frame(self, number: int, last: int) -> None:
        """Show how many frames are drawn."""
        if self._bar is not None:
            self._bar.update(self._task, completed=number, total=last, where=f"frame {number} of {last}")

    def samples(self, done: int, count: int) -> None:
        """Show how many samples per pixel of a frame are taken."""
        if self._bar is not None:
            self._bar.update(self._task, where=f"{done} of {count} samples per pixel")

    def __exit__(self, *error: object) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()


def describe(step: Step, cells_per_second: float) -> str:
    """Return 'frame 3 of 48, step 120, 1.25 Mcells/s'."""
    speed = f", {cells_per_second / 1e6:.3g} Mcells/s" if step.cells else ""
    return f"frame {step.frame} of {step.frames}, step {step.number}{speed}"


class NotebookBar:
    """The same bar below the cell of a notebook that runs a scene."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._handle: Any = None
        self._shown_at = 0.0
        self._speed = _Speed()

    def __enter__(self) -> NotebookBar:
        """Show the bar."""
        self._ipython: Any = importlib.import_module("IPython.display")
        self._handle = self._ipython.display(self._ipython.HTML(_bar(self._title, 0.0, "setting up")), display_id=True)
        return self

    def step(self, step: Step) -> None:
        """Show where the run is after a step, at most some times per second."""
        rate = self._speed.after(step)
        last = step.time >= step.end
        if last or time.monotonic() - self._shown_at >= _REFRESH:
            self._handle.update(self._ipython.HTML(_bar(self._title, step.time / step.end, describe(step, rate))))
            self._shown_at = time.monotonic()

    def __exit__(self, *error: object) -> None:
        """Leave the bar where the run ended."""


def in_notebook() -> bool:
    """Return whether this process runs the cells of a notebook."""
    shell = sys.modules.get("IPython")
    active = shell.get_ipython() if shell is not None else None
    return active is not None and type(active).__name__ == "ZMQInteractiveShell"


def _bar(title: str, done: float, where: str) -> str:
    return f'{html.escape(title)} <progress value="{done:.4f}" max="1"></progress> {html.escape(where)}'
