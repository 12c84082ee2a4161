"""Base of all scenes."""

from __future__ import annotations

import contextlib
import dataclasses
import time as clock
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from meniscus import _checks
from meniscus.core.state import Arguments
from meniscus.core.stateful import Stateful
from meniscus.io.frames import FrameData, FrameItem
from meniscus.scenes.stepper import TimeStepper


@dataclass(kw_only=True)
class Scene(Stateful):
    """A named experiment: a dataclass of parameters, whose fields become options of the command line.

    A subclass sets `name` and `summary`, declares its parameters with `parameter`, and implements `setup`. There it declares its state with
    `declare`, which makes its runs resumable; from its `frame_data` frames are written and drawn. A step of the scene is one of its
    attribute `solver`, unless `stepped` names another or `advance` says more. It composes the library and contains no numerics of its own.
    A subclass with a name is registered under it, see `registered`.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    stages: ClassVar[tuple[str, ...]] = ()
    """Names of the stages of `advance` that are timed, see `stage`. With the only stage `step`, those of the solver are not told apart."""
    stepped: ClassVar[str] = "solver"
    """Name of the attribute that a step of the scene steps."""
    frames_per_second: ClassVar[float] = 8.0
    """Of the animation."""
    shows: ClassVar[Mapping[str, str]] = {}
    """What frames hold, by name: attributes of the scene, or of what these hold, as `solver.density`. Those that are None are left out."""
    on_ranks: ClassVar[bool] = True
    """Whether several ranks can run it: its grids are cut among them."""
    file: ClassVar[str | None] = None
    """The file that a scene of a user was loaded from."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Register a scene that has a name of its own."""
        super().__init_subclass__(**arguments)
        if "name" in vars(cls):
            registered[cls.__module__, cls.name] = cls

    def __post_init__(self) -> None:
        """Check the parameters by their annotations. Raises TypeError or ValueError that names one."""
        _checks.options(self)
        self.last_report: Any = None
        """Of the solver; None before its first step in this process."""

    def clock(self) -> TimeStepper:
        """Return the clock of a run, from two of the parameters `end` (s), `frames`, and `rate` (frames per second of time)."""
        known = {f.name for f in dataclasses.fields(self)}
        end, frames, rate = (getattr(self, name) if name in known else None for name in ("end", "frames", "rate"))
        if end is not None and frames is not None:
            return TimeStepper(end, frames)
        if rate is None or end is frames:
            raise TypeError(f"scene {type(self).__name__} has no clock(), nor two of the parameters end, frames and rate")
        _checks.positive("rate", rate)
        count = max(round(_checks.positive("end", end) * rate), 1) if frames is None else _checks.integer("frames", frames, 1)
        return TimeStepper(count / rate, count)

    def setup(self) -> None:
        """Create and declare the state at time 0.

        Declared is everything that the next steps depend on and that `setup` does not create anew. A run of a scene that declares nothing
        cannot be resumed.
        """
        raise TypeError(f"scene {type(self).__name__} has no setup()")

    def max_dt(self) -> float:
        """Return the largest step (s) that the scene allows now; here that of the solver."""
        limit: float = self._solver().max_dt()
        return limit

    def advance(self, time: float, dt: float) -> None:
        """Advance the state from `time` to `time + dt` (s): here by a step of the solver, which is timed by its stages or as a whole."""
        step, options = self._solver().step, self.step_options()
        if self.stages != ("step",):
            self.last_report = step(dt, on_stage=self.after_stage, **options)
            return
        with self.stage("step"):
            self.last_report = step(dt, **options)

    def step_options(self) -> dict[str, Any]:
        """Return options of the steps of the solver."""
        return {}

    def report(self, time: float) -> dict[str, float]:
        """Return the diagnostics of the state at `time`, by name: the same names at every step. Changes nothing."""
        return {}

    def frame_data(self) -> Mapping[str, FrameItem]:
        """Return the data of a frame, what `shows` says: fields on one grid, level sets, particles, meshes, arrays per cell or node."""

        def part_of(whole: Any, attribute: str) -> Any:
            return None if whole is None else getattr(whole, attribute)

        scene: Any = self
        found = {name: reduce(part_of, path.split("."), scene) for name, path in self.shows.items()}
        return {name: item for name, item in found.items() if item is not None}

    def draw(self, frame: FrameData) -> Any:
        """Return a picture of a frame: a matplotlib figure, an RGB array (height, width, 3) of bytes, or None.

        The arrays of `frame_data` are in `frame`, from the live state or from files. A picture made of them and of the parameters alone can
        be made again without simulating.
        """
        return None

    def path_tracing_scene(self, frame: FrameData, size: tuple[int, int] | None = None) -> dict[str, Any] | None:
        """Return what the path tracer shows of a frame, as `viz.path_tracing` describes it, or None if there is nothing to show.

        As in `draw`, everything comes from `frame` and the parameters. `size` is the width and height of the picture in pixels; None: what
        suits the scene.
        """
        return None

    def finish(self, out: Path, pictures: list[Path]) -> list[Path]:
        """Write files that summarise the whole run, whose frames are `pictures`; return the files. Here: an animation."""
        if len(pictures) < 2:
            return []
        from meniscus import viz

        return viz.animations(pictures, out / f"{self.name}.gif", frames_per_second=self.frames_per_second)

    def values(self, *names: str) -> dict[str, Any]:
        """Return parameters by name, for what takes arguments of the same names: `solver.step(dt, **self.values("substeps"))`."""
        return {name: getattr(self, name) for name in names}

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Return the context of one stage of `advance`: `with self.stage("advect"): ...`.

        Its seconds go to the diagnostics, and after it the hook of the run, if there is one, is called. Raises ValueError for a name that
        is not in `stages`.
        """
        times = self._times(name)
        return _UNTIMED if times is None else times.stage(name, self)

    def after_stage(self, name: str, solver: object = None) -> None:
        """Record the time since the step began, or since the last stage, as the stage `name`.

        For solvers that call a hook after each of their stages: `smoke.step(dt, on_stage=self.after_stage)`. Raises ValueError as `stage`.
        """
        times = self._times(name)
        if times is not None:
            times.end(name, self)

    def _arguments(self) -> Arguments:
        return (), {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    def _solver(self) -> Any:
        solver = getattr(self, self.stepped, None)
        if solver is None:
            raise TypeError(f"scene {type(self).__name__} has no {self.stepped} to step")
        return solver

    def _make_parts(self) -> None:
        self.setup()

    def _times(self, name: str) -> StageTimes | None:
        if name not in self.stages:
            raise ValueError(f"scene {type(self).__name__} has no stage {name!r}; its stages are {', '.join(self.stages) or 'none'}")
        times: StageTimes | None = self.__dict__.get("_stage_times")
        return times


registered: dict[tuple[str, str], type[Scene]] = {}
"""All scenes that were defined with a name, by module and name."""

_UNTIMED: AbstractContextManager[None] = contextlib.nullcontext()


class StageTimes:
    """Seconds per stage of the running step of a scene, and the hook between stages."""

    def __init__(self, scene: Scene, hook: Callable[[str, Scene], None] | None = None) -> None:
        self.seconds = dict.fromkeys(scene.stages, 0.0)
        self._hook = hook
        self._mark = clock.perf_counter()

    def reset(self) -> None:
        """Begin a new step."""
        for name in self.seconds:
            self.seconds[name] = 0.0
        self._mark = clock.perf_counter()

    @contextlib.contextmanager
    def attached(self, scene: Scene) -> Iterator[None]:
        """Collect the stages of a scene here."""
        scene.__dict__["_stage_times"] = self
        try:
            yield
        finally:
            del scene.__dict__["_stage_times"]

    @contextlib.contextmanager
    def stage(self, name: str, scene: Scene) -> Iterator[None]:
        """Time one stage; a stage that comes several times in a step adds up. The hook's own time does not count."""
        self._mark = clock.perf_counter()
        yield
        self.end(name, scene)

    def end(self, name: str, scene: Scene) -> None:
        """End a stage that began with the step or when the last one ended."""
        self.seconds[name] += clock.perf_counter() - self._mark
        if self._hook is not None:
            self._hook(name, scene)
        self._mark = clock.perf_counter()


def parameter(default: Any, help: str) -> Any:
    """Return a dataclass field of a scene with its help text (units included). The choices of a `Literal` annotation become those of the
    field."""
    return dataclasses.field(default=default, metadata={"help": help})


def choices_of(scene: type[Scene]) -> dict[str, tuple[Any, ...]]:
    """Return the choices of the parameters of a scene that have any, by name."""
    types = get_type_hints(scene)
    return {f.name: get_args(types[f.name]) for f in dataclasses.fields(scene) if get_origin(types[f.name]) is Literal}
