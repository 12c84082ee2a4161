"""What a scene is, and how one is run."""

from __future__ import annotations

import csv
import dataclasses
import json
import os
import platform
import time as clock
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from meniscus import _checks, core
from meniscus._meniscus import __version__
from meniscus.scenes.stepper import TimeStepper


@dataclass(kw_only=True)
class Scene:
    """A named experiment: a dataclass of parameters, whose fields become options of the command line.

    A subclass sets `name` and `summary`, declares its parameters with `parameter`, and implements the stages `setup`, `max_dt`, `advance`,
    `report` and, where it has something to show, `draw`. It composes the library and holds no numerics of its own.
    """

    name: ClassVar[str]
    summary: ClassVar[str]

    def setup(self) -> TimeStepper:
        """Create the state at time 0 and return the clock of the run."""
        raise TypeError(f"scene {type(self).__name__} has no setup()")

    def max_dt(self) -> float:
        """Return the largest step (s) that the scene wants to take now."""
        raise TypeError(f"scene {type(self).__name__} has no max_dt()")

    def advance(self, time: float, dt: float) -> None:
        """Carry the state from `time` to `time + dt` (s)."""
        raise TypeError(f"scene {type(self).__name__} has no advance()")

    def report(self, time: float) -> dict[str, float]:
        """Return the diagnostics of the state at `time`, by name."""
        return {}

    def draw(self, time: float) -> Any:
        """Return a matplotlib figure of the state at `time`, or None."""
        return None

    def finish(self, out: Path, pictures: list[Path]) -> list[Path]:
        """Write what summarises the whole run, of which `pictures` are the frames; returns the files."""
        return []


def parameter(default: Any, help: str, *, choices: tuple[Any, ...] | None = None) -> Any:
    """Return a dataclass field of a scene with its help text (units included) and, if limited, its choices."""
    return dataclasses.field(default=default, metadata={"help": help, "choices": choices})


@dataclass(frozen=True)
class Frame:
    """One finished frame of a run of `total` frames after frame 0; `time` in seconds."""

    number: int
    total: int
    time: float
    diagnostics: dict[str, float]
    picture: Path | None


def frames(scene: Scene, out: str | os.PathLike[str] | None = None, *, pictures: bool = True) -> Iterator[Frame]:
    """Run a scene and yield its frames one by one, frame 0 (the start) included.

    With `out`, the folder takes `run.json` (version, options, machine), `diagnostics.csv` (a row per step) and `frame-NNNN.png`, each
    written as soon as it is known, so that an interrupted run keeps its finished frames.

    Raises:
        OSError: the folder cannot be written.
    """
    folder = None if out is None else Path(out)
    writer = None if folder is None else _RunFiles(scene, folder)
    stepper = scene.setup()
    drawn: list[Path] = []

    def finished(diagnostics: dict[str, float]) -> Frame:
        picture = None
        if folder is not None and pictures:
            picture = _save_picture(scene, stepper, folder)
        if picture is not None:
            drawn.append(picture)
        return Frame(stepper.frame, stepper.frames, stepper.time, diagnostics, picture)

    try:
        diagnostics = scene.report(0.0)
        if writer:
            writer.row(stepper, 0.0, 0.0, diagnostics)
        yield finished(diagnostics)
        while not stepper.finished:
            dt = stepper.next_dt(scene.max_dt())
            start = clock.perf_counter()
            scene.advance(stepper.time, dt)
            seconds = clock.perf_counter() - start
            complete = stepper.advance(dt)
            diagnostics = scene.report(stepper.time) if complete or writer else {}
            if writer:
                writer.row(stepper, dt, seconds, diagnostics)
            if complete:
                yield finished(diagnostics)
        if folder is not None and pictures:
            scene.finish(folder, drawn)
    finally:
        if writer:
            writer.close()


def run(
    scene: Scene,
    out: str | os.PathLike[str] | None = None,
    *,
    pictures: bool = True,
    on_frame: Callable[[Frame, int], None] | None = None,
) -> Frame:
    """Run a scene to its end and return its last frame; `on_frame(frame, number of frames)` is called for each. See `frames`."""
    _checks.one_of_type("scene", scene, Scene)
    last: Frame | None = None
    for last in frames(scene, out, pictures=pictures):
        if on_frame:
            on_frame(last, last.total)
    assert last is not None  # frame 0 always comes
    return last


class _RunFiles:
    """run.json and diagnostics.csv of one run."""

    def __init__(self, scene: Scene, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        description = {
            "scene": scene.name,
            "parameters": dataclasses.asdict(scene),
            "version": __version__,
            "build": core.build_info(),
            "threads": core.num_threads(),
            "simd": core.simd_level(),
            "machine": platform.machine(),
            "system": platform.system(),
            "python": platform.python_version(),
        }
        (folder / "run.json").write_text(json.dumps(description, indent=1, default=str) + "\n")
        self._file = (folder / "diagnostics.csv").open("w", newline="")
        self._csv: Any = None

    def row(self, stepper: TimeStepper, dt: float, seconds: float, diagnostics: dict[str, float]) -> None:
        row = {
            "step": stepper.step,
            "frame": stepper.frame,
            "time": stepper.time,
            "dt": dt,
            "seconds": seconds,
            **diagnostics,
        }
        if self._csv is None:
            self._csv = csv.DictWriter(self._file, fieldnames=list(row))
            self._csv.writeheader()
        self._csv.writerow(row)
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def _save_picture(scene: Scene, stepper: TimeStepper, folder: Path) -> Path | None:
    figure = scene.draw(stepper.time)
    if figure is None:
        return None
    digits = max(4, len(str(stepper.frames)))
    path = folder / f"frame-{stepper.frame:0{digits}d}.png"
    aside = path.with_name("." + path.name)
    figure.savefig(aside, format="png")
    aside.replace(path)
    return path
