"""Animations from sequences of pictures."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from meniscus._extras import require
from meniscus.core.atomic_file import atomic_path

_QUALITY = 75  # of WebP, of 100


def animate(pictures: Sequence[Path], out: Path, *, frames_per_second: float = 8.0) -> Path:
    """Join pictures of equal size into a loop, GIF or WebP by the name of the file, and return its path.

    A WebP is several times smaller, and has all colours.

    Raises:
        ValueError: no pictures, a name that ends in neither.
        ImportError: Pillow is missing.
    """
    if not pictures:
        raise ValueError("an animation needs at least one picture")
    kind = out.suffix.lower()
    if kind not in (".gif", ".webp"):
        raise ValueError(f"the name must end in .gif or .webp, not {out.name!r}")
    image = require("PIL.Image", "animations need")
    images = []
    for p in pictures:
        with image.open(p) as opened:
            images.append(opened.convert("P", palette=image.Palette.ADAPTIVE) if kind == ".gif" else opened.convert("RGB"))
    how = {"quality": _QUALITY, "method": 4} if kind == ".webp" else {}
    milliseconds = int(np.ceil(1000.0 / frames_per_second))
    with atomic_path(out) as part:
        images[0].save(part, format=kind[1:], save_all=True, append_images=images[1:], duration=milliseconds, loop=0, **how)
    return out


def animations(pictures: Sequence[Path], out: Path, *, frames_per_second: float = 8.0) -> list[Path]:
    """Write an animated GIF and, where the module imageio-ffmpeg is installed, the same as an MP4 beside it; returns the files."""
    written = [animate(pictures, out, frames_per_second=frames_per_second)]
    if importlib.util.find_spec("imageio_ffmpeg") is not None:
        written.append(_movie(pictures, out.with_suffix(".mp4"), frames_per_second))
    return written


def _movie(pictures: Sequence[Path], out: Path, frames_per_second: float) -> Path:
    import imageio_ffmpeg

    image = require("PIL.Image", "animations need")

    with image.open(pictures[0]) as first:
        size = first.size
    with atomic_path(out) as part:
        # The codec wants even sizes, to which pictures are padded; the name of the file does not tell its format.
        padding = ["-f", "mp4", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2"]
        writer = imageio_ffmpeg.write_frames(str(part), size, fps=frames_per_second, macro_block_size=1, output_params=padding)
        writer.send(None)
        for path in pictures:
            with image.open(path) as opened:
                writer.send(opened.convert("RGB").tobytes())
        writer.close()
    return out
