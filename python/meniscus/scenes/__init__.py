"""Named, parameterised experiments, run from the command line (`meniscus run NAME`), a script or a notebook."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from meniscus.scenes.scene import Frame, Scene, frames, parameter
from meniscus.scenes.scene import run as _run_scene
from meniscus.scenes.stepper import TimeStepper
from meniscus.scenes.swirl import Swirl
from meniscus.scenes.wave import Wave
from meniscus.scenes.zalesak import Zalesak

__all__ = ["SCENES", "Frame", "Scene", "Swirl", "TimeStepper", "Wave", "Zalesak", "find", "frames", "parameter", "run"]

SCENES: dict[str, type[Scene]] = {s.name: s for s in (Swirl, Wave, Zalesak)}
"""The scenes of the package, by name."""


def find(name: str) -> type[Scene]:
    """Return the scene of that name, or the one scene that a Python file defines.

    Raises:
        ValueError: no such scene, no such file, or a file that defines no scene or several.
    """
    if name in SCENES:
        return SCENES[name]
    path = Path(name)
    if path.suffix != ".py":
        raise ValueError(f"there is no scene {name!r}; choose from {', '.join(SCENES)}, or name a Python file")
    if not path.is_file():
        raise ValueError(f"there is no file {name}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None  # the suffix is .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = [
        v
        for v in vars(module).values()
        if isinstance(v, type) and issubclass(v, Scene) and v is not Scene and v.__module__ == module.__name__
    ]
    if len(found) != 1:
        raise ValueError(f"{name} must define exactly one subclass of meniscus.scenes.Scene, it defines {len(found)}")
    return found[0]


def run(
    scene: str | Scene,
    out: str | os.PathLike[str] | None = None,
    *,
    pictures: bool = True,
    on_frame: Callable[[Frame, int], None] | None = None,
    **parameters: Any,
) -> Frame:
    """Run a scene to its end and return its last frame.

    Args:
        scene: a name, the path of a Python file that defines one scene, or a scene.
        out: folder for pictures, `run.json` and `diagnostics.csv`; default: nothing is written.
        pictures: whether to draw frames into `out` (needs matplotlib).
        on_frame: called with each frame and the number of frames.
        **parameters: of a scene given by name.

    Raises:
        ValueError, TypeError: unknown scene, unknown or wrong parameter.
        OSError: the folder cannot be written.
    """
    if isinstance(scene, str):
        kind = find(scene)
        known = [f.name for f in dataclasses.fields(kind)]
        for p in parameters:
            if p not in known:
                raise ValueError(f"scene {scene} has no parameter {p!r}; it has {', '.join(known)}")
        scene = kind(**parameters)
    elif parameters:
        raise TypeError("parameters go with a scene's name, not with a scene")
    return _run_scene(scene, out, pictures=pictures, on_frame=on_frame)
