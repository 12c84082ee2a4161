"""Frames in the folder of a run or of a `FrameWriter`, and what other formats make of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from meniscus import _checks
from meniscus.io import alembic, openvdb, ply, usd
from meniscus.io.frames import FrameData
from meniscus.io.names import SERIES_FILE
from meniscus.io.vtk import read_frame, read_series

FilmFormat: TypeAlias = Literal["usd", "vdb", "abc", "ply"]
"""Formats that frames are converted to, by the ends of their files."""
ALEMBIC_FILE = "frames.abc"

_WRITERS = {"usd": usd, "vdb": openvdb, "ply": ply, "abc": alembic}


def frames_of(folder: Path, numbers: Collection[int] | None = None) -> dict[int, list[Path]]:
    """Return the files of frames by number, in order; of all of them, or of some.

    Raises:
        ValueError: the folder has no frames, or no frame of such a number.
        OSError: what lists them cannot be read.
    """
    if not (folder / SERIES_FILE).exists():
        raise ValueError(f"{folder} holds no frames: it has no {SERIES_FILE}, which needs vtk during the run and a scene with frame_data()")
    series = {_number(files): files for _, files in read_series(folder / SERIES_FILE)}
    if numbers is None:
        return series
    if missing := sorted(set(numbers) - set(series)):
        raise ValueError(f"{folder} holds frames 0 to {max(series, default=0)}, not {missing[0]}")
    return {number: files for number, files in series.items() if number in numbers}


def stem_of(files: Sequence[Path]) -> str:
    """`frame-NNNN`, which the names of all files of a frame begin with."""
    return "-".join(files[0].stem.split("-")[:2])


def convert(
    folder: str | os.PathLike[str],
    to: FilmFormat,
    out: str | os.PathLike[str] | None = None,
    *,
    frames: Collection[int] | None = None,
    on_frame: Callable[[int, int], None] | None = None,
) -> list[Path]:
    """Write the frames of a finished run in a format that programs for films open, without simulating.

    Args:
        folder: the `out` of the run, or the folder of a `FrameWriter` with the format "vtk".
        to: "usd" (a file per frame with meshes, level sets as surfaces, particles, fields as volumes, and `frames.usda` that plays them),
            "vdb" (fields and level sets, a file per frame), "abc" (surfaces and particles of all frames in `frames.abc`), "ply" (a file
            per frame and surface).
        out: folder for the files; default: a folder in that of the run, named as the format.
        frames: their numbers; default: all.
        on_frame: called with the number of each frame and the number of the last one.

    Returns:
        The files, those that play all frames last.

    Raises:
        TypeError, ValueError: an unknown format, a folder without frames, no frame of a number, nothing that the format holds.
        OSError: frames cannot be read or files cannot be written; files of frames that are whole stay.
        ImportError: a library is missing.
    """
    kind = _checks.choice("to", to, FilmFormat)
    place = _checks.path("folder", folder)
    series = frames_of(place, frames)
    if not series:
        raise ValueError(f"{place} holds no frames")
    last, times = max(series), {_number(files): time for time, files in read_series(place / SERIES_FILE)}
    target = place / kind if out is None else _checks.path("out", out)
    _WRITERS[kind].require()
    target.mkdir(parents=True, exist_ok=True)

    def read() -> Iterator[FrameData]:
        for number, files in series.items():
            yield read_frame(files, number)
            if on_frame is not None:
                on_frame(number, last)

    if kind == "abc":
        return [alembic.write_alembic(target / ALEMBIC_FILE, read(), [times[number] for number in series])]
    written = [file for frame in read() for file in _WRITERS[kind].write_frame(target, frame, frames=last)]
    if not written:
        raise ValueError(f"the frames in {place} have nothing that {kind!r} files hold")
    # Frames of an earlier run in this folder are not played.
    return [*written, usd.write_series(target, series)] if kind == "usd" else written


def _number(files: Sequence[Path]) -> int:
    return int(stem_of(files).removeprefix("frame-"))
