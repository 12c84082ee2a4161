"""Two pictures of the same thing side by side, or on both sides of one line, and animations of two runs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.viz.animation import animate
from meniscus.viz.picture import Picture, pillow

Arrangement = Literal["beside", "split"]
PictureLike = npt.NDArray[np.uint8] | str | os.PathLike[str]

_GAP = 4  # pixels between pictures


def compare(*pictures: PictureLike, how: Arrangement = "beside", labels: Sequence[str] = ()) -> Picture:
    """Return pictures in one.

    Args:
        pictures: two or more, of equal size: arrays (height, width, 3) uint8 or files.
        how: 'beside' each other; or 'split': one picture, of which each given one has an equal upright strip.
        labels: what is written on each; default nothing.

    Raises:
        ValueError: fewer than two pictures, sizes that differ, another number of labels.
        OSError: a file cannot be read.
        ImportError: Pillow is missing.
    """
    _checks.choice("how", how, Arrangement)
    if len(pictures) < 2:
        raise ValueError(f"a comparison needs two pictures or more, not {len(pictures)}")
    pixels = [_pixels(p) for p in pictures]
    sizes = sorted({f"{p.shape[1]}x{p.shape[0]}" for p in pixels})
    if len(sizes) > 1:
        raise ValueError(f"the pictures must have one size, not {' and '.join(sizes)}")
    if labels and len(labels) != len(pixels):
        raise ValueError(f"there must be a label for each of the {len(pixels)} pictures, not {len(labels)}")
    height, width = pixels[0].shape[:2]
    if how == "beside":
        gap = np.full((height, _GAP, 3), 255, np.uint8)
        joined = np.concatenate([part for p in pixels for part in (p, gap)][:-1], axis=1)
        starts = [k * (width + _GAP) for k in range(len(pixels))]
    else:
        starts = [round(k * width / len(pixels)) for k in range(len(pixels))]
        joined = np.concatenate([p[:, a:b] for p, a, b in zip(pixels, starts, [*starts[1:], width], strict=True)], axis=1)
        for x in starts[1:]:
            joined[:, x] = 255
    return Picture(_written(joined, starts, labels) if labels else joined)


def compare_runs(
    folders: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    how: Arrangement = "beside",
    labels: Sequence[str] = (),
    frames_per_second: float = 8.0,
) -> Path:
    """Write an animation, GIF or WebP by the name of the file, of the pictures of runs that are in folders; return its path.

    It has the frames of which all runs have pictures. Arguments and errors are those of `compare`; ValueError too where there are none.
    """
    names = [{p.name for p in Path(f).glob("frame-*.png")} for f in folders]
    common = sorted(set.intersection(*names)) if names else []
    if not common:
        raise ValueError(f"the folders {' and '.join(map(str, folders))} have no pictures of the same frames")
    with tempfile.TemporaryDirectory() as scratch:
        made = [compare(*(Path(f) / n for f in folders), how=how, labels=labels).save(Path(scratch) / n) for n in common]
        return animate(made, Path(out), frames_per_second=frames_per_second)


def _pixels(picture: PictureLike) -> npt.NDArray[np.uint8]:
    if isinstance(picture, np.ndarray):
        if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8:
            raise ValueError(f"a picture is an array (height, width, 3) of uint8, not {picture.shape} of {picture.dtype}")
        return picture
    with pillow().open(picture) as opened:
        return np.asarray(opened.convert("RGB"))


def _written(pixels: npt.NDArray[np.uint8], starts: Sequence[int], labels: Sequence[str]) -> npt.NDArray[Any]:
    from PIL import ImageDraw

    made = pillow().fromarray(pixels)
    draw = ImageDraw.Draw(made)
    for x, label in zip(starts, labels, strict=True):
        draw.text((x + 8, 8), str(label), fill=(255, 255, 255), stroke_width=2, stroke_fill=(0, 0, 0))
    return np.asarray(made)
