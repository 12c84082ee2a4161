"""Pictures of frames, drawn during a run or later from its files."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Literal

from meniscus import _checks
from meniscus.core.atomic_file import write_bytes
from meniscus.io.frames import FrameData
from meniscus.io.names import frame_stem
from meniscus.io.run_frames import frames_of, stem_of
from meniscus.io.vtk import read_frame
from meniscus.scenes.catalogue import find
from meniscus.scenes.record import read_run_file
from meniscus.scenes.scene import Scene
from meniscus.viz.picture import png

MITSUBA_FOLDER = "mitsuba"
"""Folder of path-traced pictures in the folder of a run."""
Renderer = Literal["built-in", "mitsuba"]


def picture_path(folder: Path, number: int, frames: int) -> Path:
    """Return the path of the picture of a frame."""
    return folder / f"{frame_stem(number, frames)}.png"


def save_picture(scene: Scene, frame: FrameData, path: Path) -> Path | None:
    """Draw a frame into a PNG file; None if the scene draws nothing. Raises OSError, or ImportError for a missing library."""
    picture = scene.draw(frame)
    if picture is None:
        return None
    write_bytes(path, png(picture))
    return path


def render(
    folder: str | os.PathLike[str],
    *,
    scene: Scene | None = None,
    frames: Collection[int] | None = None,
    renderer: Renderer = "built-in",
    size: tuple[int, int] | None = None,
    samples: int | None = None,
    on_frame: Callable[[int, int], None] | None = None,
    on_pass: Callable[[int, int], None] | None = None,
) -> list[Path]:
    """Redraw the pictures and the animation of a run from the frames in its folder, without simulating.

    The pictures of the built-in renderer take the place of those that the run drew; those of Mitsuba go to a folder of their own,
    `mitsuba`. Each is written as soon as it is finished.

    Args:
        folder: the `out` of the run.
        scene: draws the frames; default: the scene and the parameters of the run.
        frames: numbers of the frames that are drawn, without an animation; default: all, and the animation.
        renderer: 'built-in' or 'mitsuba' (needs the extra `render`).
        size: width and height of Mitsuba's pictures, pixels; default: what suits the scene.
        samples: paths per pixel of Mitsuba's pictures; default: 64.
        on_frame: called with the number of each frame and the number of the last one.
        on_pass: called, while Mitsuba renders a frame, with the samples per pixel so far and in all.

    Returns:
        The files that were written.

    Raises:
        ValueError: the folder holds no run, no frames, no frame of a number, or a scene that is not found; an option that the renderer
            does not have; a scene that is not three-dimensional with Mitsuba.
        OSError: frames cannot be read or pictures cannot be written.
        ImportError: vtk or a library for pictures is missing.
    """
    out = Path(folder)
    draw = _drawing(renderer, size, samples, on_pass)
    drawer = scene or scene_of(out)
    series = frames_of(out, frames)
    last = max(series, default=0)
    target = out if renderer == "built-in" else out / MITSUBA_FOLDER
    pictures = []
    for number, files in series.items():
        picture = draw(drawer, read_frame(files, number))
        if picture is not None:
            target.mkdir(exist_ok=True)
            pictures.append(target / f"{stem_of(files)}.png")
            write_bytes(pictures[-1], png(picture))
        if on_frame is not None:
            on_frame(number, last)
    return [*pictures, *(drawer.finish(target, pictures) if pictures and frames is None else [])]


def _drawing(
    renderer: Renderer, size: tuple[int, int] | None, samples: int | None, on_pass: Callable[[int, int], None] | None
) -> Callable[[Scene, FrameData], Any]:
    """Return the function that draws the picture of a frame. Raises ValueError, TypeError, ImportError."""
    if _checks.choice("renderer", renderer, Renderer) == "built-in":
        if size is not None or samples is not None:
            raise ValueError("size and samples are options of the renderer 'mitsuba'; the built-in one draws what the scene says")
        return lambda scene, frame: scene.draw(frame)
    from meniscus.viz import path_tracing

    path_tracing.require()
    count = _checks.integer("samples", 64 if samples is None else samples, 1)
    if size is not None:
        size = _checks.integer("width", size[0], 16), _checks.integer("height", size[1], 16)

    def traced(scene: Scene, frame: FrameData) -> Any:
        described = scene.path_tracing_scene(frame, size)
        if described is None:
            raise ValueError(f"the scene {scene.name!r} has no path-traced pictures: it is not three-dimensional, or draws something else")
        return path_tracing.render(described, samples=count, seed=frame.number, on_pass=on_pass)

    return traced


def scene_of(folder: Path) -> Scene:
    """Return the scene of a run with its parameters. Raises ValueError."""
    described = read_run_file(folder)
    kind = find(described["source"] or described["scene"])
    known = {f.name for f in dataclasses.fields(kind)}
    return kind(**{name: value for name, value in described["parameters"].items() if name in known})
