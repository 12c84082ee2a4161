"""Scenes: named experiments with parameters, run from the command line (`meniscus run NAME`), a script or a notebook."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from meniscus import _checks
from meniscus.parallel.communicator import resolve
from meniscus.scenes.bodies.base import Bodies
from meniscus.scenes.catalogue import SCENES, find
from meniscus.scenes.creatures import Creature, Motion, creature, motion
from meniscus.scenes.pictures import Renderer, render
from meniscus.scenes.progress import NotebookBar, ProgressBar, in_notebook
from meniscus.scenes.running import CHECKPOINT_FOLDER, Frame, RunOptions, Step, frames
from meniscus.scenes.running import run as _run_scene
from meniscus.scenes.scene import Scene, parameter
from meniscus.scenes.stepper import TimeStepper
from meniscus.scenes.surfacing import SurfaceMethod, surface_frames
from meniscus.scenes.water import Water

__all__ = [
    "CHECKPOINT_FOLDER",
    "SCENES",
    "Bodies",
    "Creature",
    "Frame",
    "Motion",
    "Renderer",
    "RunOptions",
    "Scene",
    "Step",
    "SurfaceMethod",
    "TimeStepper",
    "Water",
    "creature",
    "find",
    "frames",
    "motion",
    "parameter",
    "render",
    "run",
    "surface_frames",
]

# All scenes of the library.
__all__ += [kind.__name__ for kind in SCENES.values()]
globals().update({kind.__name__: kind for kind in SCENES.values()})

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return a scene of the library by the name of its class."""


_OPTIONS = tuple(f.name for f in dataclasses.fields(RunOptions))


def run(
    scene: str | Scene,
    out: str | os.PathLike[str] | None = None,
    *,
    on_frame: Callable[[Frame, int], None] | None = None,
    progress: bool | None = None,
    **options_and_parameters: Any,
) -> Frame:
    """Run a scene to its end and return its last frame: `run("swirl", resolution=64, frames=48, out="out/")`.

    Args:
        scene: a name, the path of a Python file that defines one scene, or a scene.
        out: folder for frames, pictures, checkpoints, `run.json` and `diagnostics.csv`; default: nothing is written.
        on_frame: called with each frame and the number of frames.
        progress: whether a notebook, or a terminal, shows a bar, of several ranks that of the first; default: notebooks do.
        **options_and_parameters: the attributes of `RunOptions` (`resume`, `checkpoint_every`, ...) and, with a name, the parameters of the
            scene.

    Raises:
        ValueError, TypeError: unknown scene, unknown or wrong parameter, nothing to resume.
        OSError: the folder cannot be written.
        ImportError: a required library is missing.
    """
    options = {name: value for name, value in options_and_parameters.items() if name in _OPTIONS}
    parameters = {name: value for name, value in options_and_parameters.items() if name not in _OPTIONS}
    if isinstance(scene, str):
        kind = find(scene)
        known = [f.name for f in dataclasses.fields(kind)]
        for p in parameters:
            if p not in known:
                raise ValueError(f"scene {scene} has no parameter {p!r}; it has {', '.join(known)}")
        scene = kind(**parameters)
    elif parameters:
        raise TypeError(f"parameters go with a scene's name, not with a scene; options of a run are {', '.join(_OPTIONS)}")
    wanted = in_notebook() if progress is None else _checks.one_of_type("progress", progress, bool)
    if not wanted or resolve(None).rank > 0:
        return _run_scene(scene, out, on_frame=on_frame, **options)
    given = options.pop("on_step", None)
    with (NotebookBar if in_notebook() else ProgressBar)(scene.name) as bar:

        def show(step: Step) -> None:
            bar.step(step)
            if given is not None:
                given(step)

        return _run_scene(scene, out, on_frame=on_frame, on_step=show, **options)
