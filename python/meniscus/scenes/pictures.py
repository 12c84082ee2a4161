"""Pictures of frames, drawn during a run or later from its files."""

from __future__ import annotations

import dataclasses
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from meniscus.core.atomic_file import write_bytes
from meniscus.io.frames import FrameData
from meniscus.io.vtk import frame_stem, read_frame, read_series
from meniscus.scenes.catalogue import find
from meniscus.scenes.record import read_run_file
from meniscus.scenes.scene import Scene

SERIES_FILE = "frames.pvd"


def picture_path(folder: Path, number: int, frames: int) -> Path:
    """Return the path of the picture of a frame."""
    return folder / f"{frame_stem(number, frames)}.png"


def save_picture(scene: Scene, frame: FrameData, path: Path) -> Path | None:
    """Draw a frame into a PNG file; None if the scene draws nothing. Raises OSError, or ImportError for a missing library."""
    picture = scene.draw(frame)
    if picture is None:
        return None
    write_bytes(path, _png(picture))
    return path


def render(
    folder: str | os.PathLike[str],
    *,
    scene: Scene | None = None,
    on_frame: Callable[[int, int], None] | None = None,
) -> list[Path]:
    """Redraw the pictures and the animation of a run from the frames in its folder, without simulating.

    Args:
        folder: the `out` of the run.
        scene: draws the frames; default: the scene and the parameters of the run.
        on_frame: called with the number of each frame and the number of the last one.

    Returns:
        The files that were written.

    Raises:
        ValueError: the folder contains no run or no frames, or the scene is not found.
        OSError: frames cannot be read or pictures cannot be written.
        ImportError: vtk or a library for pictures is missing.
    """
    out = Path(folder)
    drawer = scene or _scene_of(out)
    if not (out / SERIES_FILE).exists():
        raise ValueError(f"{out} holds no frames: it has no {SERIES_FILE}, which needs vtk during the run and a scene with frame_data()")
    series = read_series(out / SERIES_FILE)
    pictures = []
    for _, files in series:
        stem = "-".join(files[0].stem.split("-")[:2])
        number = int(stem.removeprefix("frame-"))
        picture = save_picture(drawer, read_frame(files, number), out / f"{stem}.png")
        if picture is not None:
            pictures.append(picture)
        if on_frame is not None:
            on_frame(number, len(series) - 1)
    return [*pictures, *drawer.finish(out, pictures)] if pictures else []


def _scene_of(folder: Path) -> Scene:
    described = read_run_file(folder)
    kind = find(described["source"] or described["scene"])
    known = {f.name for f in dataclasses.fields(kind)}
    return kind(**{name: value for name, value in described["parameters"].items() if name in known})


def _png(picture: Any) -> bytes:
    memory = io.BytesIO()
    if isinstance(picture, np.ndarray):
        try:
            from PIL import Image
        except ImportError as error:
            raise ImportError("pictures need Pillow; install it with: pip install 'meniscus[viz]'") from error
        Image.fromarray(picture).save(memory, format="png")
    else:
        picture.savefig(memory, format="png")
    return memory.getvalue()
