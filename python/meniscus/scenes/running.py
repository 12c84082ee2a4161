"""Run of a scene: steps, frames, files, checkpoints."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import time as clock
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meniscus import _checks
from meniscus._extras import install_command
from meniscus._meniscus import __version__
from meniscus.io import checkpoint as checkpoints
from meniscus.io import checkpoint_folder, vtk
from meniscus.io.checkpoint import Checkpoint, grids_of
from meniscus.io.checkpoint_folder import StoredCheckpoint
from meniscus.io.folder_lock import FolderLock
from meniscus.io.frame_gathering import gathered
from meniscus.io.frames import FrameData, collect
from meniscus.io.names import SERIES_FILE
from meniscus.io.spread import Spread, spread_of
from meniscus.numerics.solve import order_free_sums
from meniscus.parallel import RankError, one_rank, ranks
from meniscus.parallel.communicator import resolve
from meniscus.scenes.interrupts import Interruption
from meniscus.scenes.pictures import picture_path, save_picture
from meniscus.scenes.record import Diagnostics, parameters_of, write_run_file
from meniscus.scenes.run_ranks import meet, require_same_run
from meniscus.scenes.scene import Scene, StageTimes

CHECKPOINT_FOLDER = "checkpoints"
"""Folder of checkpoints in the folder of a run."""
SLOW_STEP = 0.25
"""Seconds from which on a step may not end within the grace after Ctrl-C, so that the state before it is kept in memory."""

_log = logging.getLogger("meniscus")


@dataclass(frozen=True)
class Frame:
    """One finished frame of a run of `total` frames after frame 0; `time` in seconds; its picture and its VTK files, if written."""

    number: int
    total: int
    time: float
    diagnostics: dict[str, float]
    picture: Path | None
    files: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Step:
    """One completed step: its number, the time after it and its size (s), the seconds it took, and the cells of the grid (0: no grid)."""

    number: int
    frame: int
    frames: int
    time: float
    end: float
    dt: float
    seconds: float
    cells: int


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Outputs and callbacks of a run.

    Attributes:
        pictures: whether to draw frames (needs the extra `viz`).
        files: whether to write frames as VTK files; None: where vtk is installed.
        resume: continue from the newest checkpoint in the folder.
        checkpoint_every: seconds of wall time between checkpoints; there is one at the end of every frame too. None: no checkpoints.
        on_step: called after each step.
        on_stage: called as on_stage(name, scene) after each stage that the scene declares.
    """

    pictures: bool = True
    files: bool | None = None
    resume: bool = False
    checkpoint_every: float | None = 30.0
    on_step: Callable[[Step], None] | None = None
    on_stage: Callable[[str, Scene], None] | None = None


def frames(scene: Scene, out: str | os.PathLike[str] | None = None, **options: Any) -> Iterator[Frame]:
    """Run a scene and yield its frames one by one, frame 0 (the start) included.

    With `out`, the folder gets `run.json` (version, options, machine), `diagnostics.csv` (a row per step), `frame-NNNN.png`, the frames as
    `.vti` and `.vtp` with a `frames.pvd`, and `checkpoints/`, each written immediately, so that an interrupted run keeps its finished
    frames. A resumed run yields the frames that are still to come, or the last one if there are none.

    Within `parallel.ranks` all ranks call it, and go through its frames together. Rank 0 writes what is there once; it draws from gathered
    data. Steps, saving, stopping and errors are decided by all ranks together, and each may have been told to stop.

    Args:
        scene: the scene; it is set up by this call.
        out: the folder; default: nothing is written.
        **options: the attributes of `RunOptions`.

    Raises:
        OSError: the folder cannot be written, or another run writes to it.
        ValueError: the checkpoint is of another scene or of other parameters; nothing to resume from; a scene that several ranks cannot
            run, or that differs between them.
        RankError: an error on any of several ranks.
        ImportError: a required library is missing.
    """
    run = _Run(_checks.one_of_type("scene", scene, Scene), None if out is None else Path(out), RunOptions(**options))
    try:
        yield from run.frames()
    finally:
        run.close()


def run(
    scene: Scene,
    out: str | os.PathLike[str] | None = None,
    *,
    on_frame: Callable[[Frame, int], None] | None = None,
    **options: Any,
) -> Frame:
    """Run a scene to its end and return its last frame; `on_frame(frame, number of frames)` is called for each. See `frames`."""
    last: Frame | None = None
    for last in frames(scene, out, **options):
        if on_frame:
            on_frame(last, last.total)
    assert last is not None  # at least one frame comes
    return last


@dataclass(frozen=True)
class _Saved:
    """What a checkpoint is made of."""

    progress: Mapping[str, Any]
    state: Mapping[str, Any]
    spread: Spread


class _Run:
    """State of a running run."""

    def __init__(self, scene: Scene, folder: Path | None, options: RunOptions) -> None:
        self._scene, self._folder, self._options = scene, folder, options
        self._comm = resolve(None)
        self._first = self._comm.rank == 0
        self._log_file: Diagnostics | None = None
        self._lock: FolderLock | None = None
        if options.checkpoint_every is not None and _checks.number("checkpoint_every", options.checkpoint_every) < 0:
            raise ValueError(f"checkpoint_every must be at least 0 s, not {options.checkpoint_every:g}")
        require_same_run(self._comm, scene, folder, options)
        found = self._find_checkpoint()
        try:
            if folder is not None:
                with self._comm.agreement():
                    folder.mkdir(parents=True, exist_ok=True)
                    # A folder that cannot be written is noticed before a long setup.
                    self._lock = FolderLock(folder) if self._first else None
            self._set_up(found)
        except BaseException:
            self.close()
            raise

    @order_free_sums()  # a scene has the same bits on one rank and on many
    def _set_up(self, found: StoredCheckpoint | None) -> None:
        """Make the scene's objects, or restore them from a checkpoint, and open the files."""
        scene, folder, options = self._scene, self._folder, self._options
        self._stepper = scene.clock()
        scene.setup()
        self._stages = StageTimes(scene, options.on_stage)
        self._frames_done = 0
        self._diagnostics: dict[str, float] = {}
        self._checkpoints = self._wants_checkpoints(bool(scene.state))
        self._files = self._wants_files()
        self._series: list[tuple[float, list[Path]]] = []
        self._cells = max((math.prod(g.shape) for g in grids_of(scene).values()), default=0)
        # State to which a cancelled step returns: None while it is not known, or not needed because the live state is complete.
        self._whole = True
        self._before: _Saved | None = None
        self._seconds = math.inf
        if found is not None:
            self._restore(found.read(scene))
        if folder is not None:
            with self._comm.agreement():
                if self._first:
                    self._open(folder, None if found is None else self._stepper.step)
        if found is None:
            self._diagnostics = self._report(0.0)
            self._row(0.0, 0.0)
        self._saved_at = clock.monotonic()

    def frames(self) -> Iterator[Frame]:
        """Yield the frames to come; see the function."""
        with self._stages.attached(self._scene):
            if self._frames_done > self._stepper.frames:
                yield self._frame_again()
            while self._frames_done <= self._stepper.frames:
                yield self._next_frame()
        if self._folder is not None and self._options.pictures:
            pictures = [picture_path(self._folder, i, self._stepper.frames) for i in range(self._frames_done)]
            with self._alone() as first:
                if first:
                    self._scene.finish(self._folder, [p for p in pictures if p.exists()])

    def close(self) -> None:
        if self._log_file is not None:
            self._log_file.close()
        if self._lock is not None:
            self._lock.release()

    @order_free_sums()
    def _next_frame(self) -> Frame:
        """Step to the next frame, finish it and save the state. Ctrl-C and SIGTERM leave a checkpoint of the last completed step."""
        interruption = Interruption(self._comm.size)
        with interruption.deferred():
            try:
                with self._comm.agreement():
                    return self._stepped_to_frame(interruption)
            except BaseException as error:
                cause = error.__class__ if isinstance(error, KeyboardInterrupt) else None
                if cause is None and (self._comm.size == 1 or not isinstance(error, RankError)):
                    raise
                interruption.settle()
                told = self._comm.gather((cause, self._whole, None if self._before is None else self._before.progress["step"]))
                interruption.learn([c for c, _, _ in told])
                if not any(c for c, _, _ in told):
                    raise
                # Of a step that some ranks have completed and others not, the state before it is left.
                if all(whole for _, whole, _ in told):
                    self._save(self._present())
                elif self._before is not None and all(step == self._before.progress["step"] for _, _, step in told):
                    self._save(self._before)
                if cause is not None:
                    raise
                interruption.raise_if_noted()
                raise

    def _stepped_to_frame(self, interruption: Interruption) -> Frame:
        every = self._options.checkpoint_every
        while self._stepper.frame < self._frames_done:
            self._step()
            told = self._comm.gather((interruption.cause, clock.monotonic() - self._saved_at, self._seconds))
            interruption.learn([cause for cause, _, _ in told])
            interruption.raise_if_noted()
            self._seconds = max(seconds for _, _, seconds in told)
            if every is not None and told[0][1] >= every:
                self._save(self._present())
        frame = self._finish_frame()
        self._frames_done += 1
        self._save(self._present())
        interruption.learn(self._comm.gather(interruption.cause))
        interruption.raise_if_noted()
        return frame

    def _step(self) -> None:
        self._before = self._present() if self._checkpoints and self._seconds >= SLOW_STEP else None
        self._whole = False
        dt = self._stepper.next_dt(min(self._comm.gather(float(self._scene.max_dt()))))
        start = clock.perf_counter()
        self._stages.reset()
        self._scene.advance(self._stepper.time, dt)
        self._seconds = clock.perf_counter() - start
        complete = self._stepper.advance(dt)
        if complete or self._folder is not None:
            self._diagnostics = self._report(self._stepper.time)
        self._row(dt, self._seconds)
        self._whole = True
        if self._comm.size == 1:
            self._before = None
        if self._options.on_step is not None:
            s = self._stepper
            self._options.on_step(Step(s.step, s.frame, s.frames, s.time, s.end, dt, self._seconds, self._cells))

    def _report(self, time: float) -> dict[str, float]:
        """Return the diagnostics, which all ranks must have alike."""
        report = self._scene.report(time)
        told = self._comm.gather({name: repr(value) for name, value in report.items()})
        for rank, theirs in enumerate(told):
            for name in {**told[0], **theirs} if theirs != told[0] else ():
                if theirs.get(name) != told[0].get(name):
                    meet(self._comm)
                    raise ValueError(
                        f"report() must return the same on all ranks, but {name} is {told[0].get(name)} on rank 0 and {theirs.get(name)} "
                        f"on rank {rank}; sum(), max() and min() of a field are those of all ranks, those of its array are not"
                    )
        return report

    def _finish_frame(self) -> Frame:
        """Write the files and the picture of the present frame."""
        s = self._stepper
        picture, files = None, []
        if self._folder is not None and (self._files or self._options.pictures):
            data = collect(self._scene.frame_data(), s.frame, s.time)
            if self._files:
                files = vtk.write_frame(self._folder, data, frames=s.frames)
                if files:
                    self._series = [*self._series[: s.frame], (s.time, files)]
                    if self._first:
                        vtk.write_series(self._folder / SERIES_FILE, self._series)
            if self._options.pictures:
                picture = self._draw(data)
        return Frame(s.frame, s.frames, s.time, self._diagnostics, picture, tuple(files))

    def _draw(self, data: FrameData) -> Path | None:
        assert self._folder is not None
        whole, path = gathered(data), None
        with self._alone() as first:
            if first and whole is not None:
                path = save_picture(self._scene, whole, picture_path(self._folder, data.number, self._stepper.frames))
        drawn: Path | None = self._comm.gather(path)[0]
        return drawn

    @contextlib.contextmanager
    def _alone(self) -> Iterator[bool]:
        """Return a context in which rank 0, which is told so, makes grids and does other things without the others."""
        with self._comm.agreement(), ranks(one_rank()):
            yield self._first

    def _frame_again(self) -> Frame:
        """Return the last frame of a run that was already finished."""
        s = self._stepper
        picture = None if self._folder is None else picture_path(self._folder, s.frame, s.frames)
        files = self._series[-1][1] if self._series else []
        return Frame(s.frame, s.frames, s.time, self._diagnostics, picture if picture and picture.exists() else None, tuple(files))

    def _row(self, dt: float, seconds: float) -> None:
        if self._log_file is None:
            return
        s = self._stepper
        stages = {f"seconds {name}": value for name, value in self._stages.seconds.items()}
        self._log_file.row(
            {"step": s.step, "frame": s.frame, "time": s.time, "dt": dt, **self._diagnostics, "seconds": seconds, **stages},
        )

    def _present(self) -> _Saved:
        """Return copies of the present state."""
        progress = {**self._stepper.snapshot(), "frames done": self._frames_done, "diagnostics": dict(self._diagnostics)}
        if not self._checkpoints:
            return _Saved(progress, {}, {})
        return _Saved(progress, self._scene.snapshot(), spread_of(self._scene))

    def _save(self, saved: _Saved) -> None:
        if not self._checkpoints:
            return
        assert self._folder is not None
        if self._log_file is not None:
            self._log_file.flush()
        told = self._scene.name, parameters_of(self._scene), __version__
        made = Checkpoint(*told, saved.progress, saved.state, grids_of(self._scene), saved.spread)
        checkpoint_folder.save_checkpoint(self._folder / CHECKPOINT_FOLDER, made)
        self._saved_at = clock.monotonic()

    def _find_checkpoint(self) -> StoredCheckpoint | None:
        """Return the checkpoint to resume from, if there is one and resuming is wanted."""
        if not self._options.resume:
            return None
        if self._folder is None:
            raise ValueError("a run can be resumed only in the folder (out) that holds its checkpoints")
        checkpoints.require()
        found, passed_over = checkpoint_folder.latest_stored(self._folder / CHECKPOINT_FOLDER)
        meet(self._comm)
        for sentence in passed_over:
            self._warn("%s; it is passed over", sentence)
        if found is None:
            self._warn("%s holds no checkpoint; the run starts from the beginning", self._folder)
            return None
        header = found.header
        if header["scene"] != self._scene.name:
            raise ValueError(f"the checkpoint in {self._folder} is of the scene {header['scene']!r}, not {self._scene.name!r}")
        mine, parameters = parameters_of(self._scene), header["parameters"]
        if parameters != mine:
            names = [n for n in {**mine, **parameters} if parameters.get(n) != mine.get(n)]
            theirs, ours = (", ".join(f"{n}={p.get(n)!r}" for n in names) for p in (parameters, mine))
            raise ValueError(f"the checkpoint in {self._folder} was made with {theirs}, not {ours}; use that or choose another folder")
        if header["version"] != __version__:
            self._warn("the checkpoint is of meniscus %s, this is %s: results may differ in rounding", header["version"], __version__)
        return found

    def _restore(self, found: Checkpoint) -> None:
        self._scene.restore(found.state)
        self._stepper.restore({name: found.progress[name] for name in self._stepper.state})
        self._frames_done = int(found.progress["frames done"])
        self._diagnostics = dict(found.progress["diagnostics"])
        assert self._folder is not None
        if self._files and (self._folder / SERIES_FILE).exists():
            self._series = vtk.read_series(self._folder / SERIES_FILE)[: self._frames_done]

    def _open(self, folder: Path, resumed_at: int | None) -> None:
        if resumed_at is None:
            # Those of an earlier run in this folder would be taken for ours.
            checkpoint_folder.remove_checkpoints(folder / CHECKPOINT_FOLDER)
            (folder / SERIES_FILE).unlink(missing_ok=True)
        for part in (*folder.glob(".*.part"), *(folder / CHECKPOINT_FOLDER).glob(".*.part")):
            part.unlink()
        o = self._options
        told = {"pictures": o.pictures, "files": self._files, "checkpoint_every": o.checkpoint_every}
        write_run_file(folder, self._scene, told, self._scene.file, resumed_at, self._comm)
        self._log_file = Diagnostics(folder, resumed_at)

    def _wants_checkpoints(self, has_state: bool) -> bool:
        if self._folder is None or self._options.checkpoint_every is None:
            return False
        if not has_state:
            if self._options.resume:
                raise ValueError(f"scene {self._scene.name!r} declares no state, so it cannot be resumed")
            return False
        if not checkpoints.available():
            self._warn(f"no checkpoints are written, because h5py is not installed ({install_command('h5py')})")
            return False
        return True

    def _wants_files(self) -> bool:
        if self._folder is None or self._options.files is False or not self._scene.frame_data():
            return False
        if self._options.files is None and not vtk.available():
            self._warn(f"no VTK files are written, because vtk is not installed ({install_command('vtkmodules')})")
            return False
        return True

    def _warn(self, sentence: str, *values: object) -> None:
        if self._first:
            _log.warning(sentence, *values)
