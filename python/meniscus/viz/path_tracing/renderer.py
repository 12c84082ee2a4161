"""Renderer of scene dictionaries by Mitsuba 3."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks, _extras
from meniscus.viz.optics import developed
from meniscus.viz.path_tracing.denoising import Renderings
from meniscus.viz.path_tracing.stage import Description
from meniscus.viz.picture import Picture

VARIANT = "scalar_rgb"
"""The variant of Mitsuba that runs wherever its package installs: the others need a graphics card or LLVM's library."""
SAMPLES_PER_PASS = 8
"""Between passes, Ctrl-C is heard and progress is told."""
BRIGHTEST = 6.0
"""Limit of the light of a pixel in one pass."""


def available() -> bool:
    """Return whether Mitsuba is installed."""
    return _extras.available("mitsuba")


def require() -> None:
    """Raise ImportError, with what to install, where Mitsuba is missing."""
    if not available():
        raise _extras.missing("mitsuba", "path-traced pictures need")


def render(
    scene: Description,
    *,
    samples: int = 64,
    seed: int = 0,
    denoise: bool = True,
    on_pass: Callable[[int, int], None] | None = None,
) -> Picture:
    """Return the picture of a scene: the same bits for the same scene and options, on any number of threads.

    Args:
        scene: as `smoke_scene`, `water_scene` or `surface_scene` return it.
        samples: paths per pixel, rounded up to a multiple of 8.
        seed: of the random numbers; use another one for each frame of an animation, or the noise seems to stand still.
        denoise: whether to remove the remaining noise, which needs at least 32 samples.
        on_pass: called with the number of samples per pixel so far and in all.

    Returns:
        (height, width, 3) uint8, an array that notebooks show as a picture.

    Raises:
        ImportError: Mitsuba is missing.
        ValueError: Mitsuba does not accept the scene.
    """
    passes = -(-_checks.integer("samples", samples, 1) // SAMPLES_PER_PASS)
    start = _checks.integer("seed", seed, 0)
    renderings = Renderings()
    require()
    mitsuba: Any = importlib.import_module("mitsuba")

    with _variant(mitsuba):
        try:
            world = mitsuba.load_dict(_loaded(mitsuba, scene))
        except RuntimeError as error:
            raise ValueError(f"Mitsuba does not take the scene: {' '.join(str(error).split())}") from error
        for i in range(passes):
            light = np.asarray(mitsuba.render(world, spp=SAMPLES_PER_PASS, seed=(start * 65536 + i) % 2**32), np.float64)
            # Rare paths that carry very much light would outweigh all others; what is brighter than this is white in any case.
            renderings.add(np.clip(np.nan_to_num(light, nan=0.0, posinf=BRIGHTEST), 0.0, BRIGHTEST))
            if on_pass is not None:
                on_pass((i + 1) * SAMPLES_PER_PASS, passes * SAMPLES_PER_PASS)
    return developed(renderings.denoised() if denoise else renderings.mean())


@contextlib.contextmanager
def _variant(mitsuba: Any) -> Iterator[None]:
    """Choose the variant for a while, and print errors only."""
    before = mitsuba.variant()
    mitsuba.set_variant(VARIANT)
    level = mitsuba.log_level() if hasattr(mitsuba, "log_level") else None
    mitsuba.set_log_level(mitsuba.LogLevel.Error)
    try:
        yield
    finally:
        if level is not None:
            mitsuba.set_log_level(level)
        if before is not None:
            mitsuba.set_variant(before)


def _loaded(mitsuba: Any, node: Description) -> dict[str, Any]:
    """Return a scene dictionary with Mitsuba's own objects in place of arrays and meshes."""
    result: dict[str, Any] = {}
    for key, value in node.items():
        if isinstance(value, dict):
            result[key] = _mesh(mitsuba, key, value) if value.get("type") == "mesh" else _loaded(mitsuba, value)
        elif key in ("to_world", "to_uv"):
            result[key] = mitsuba.ScalarTransform4f(value)
        elif key == "bitmap":
            result[key] = mitsuba.Bitmap(value)
        elif key == "grid":
            result[key] = mitsuba.VolumeGrid(value)
        else:
            result[key] = value
    return result


def _mesh(mitsuba: Any, name: str, shape: Description) -> Any:
    """Return a mesh from arrays; Mitsuba's dictionaries support only meshes in files."""
    properties = mitsuba.Properties()
    for key in ("bsdf", "interior"):
        if key in shape:
            properties[key] = mitsuba.load_dict(_loaded(mitsuba, shape[key]))
    vertices, triangles, normals = shape["vertices"], shape["triangles"], shape["normals"]
    result = mitsuba.Mesh(name, len(vertices), len(triangles), has_vertex_normals=True, props=properties)
    arrays = mitsuba.traverse(result)
    arrays["vertex_positions"], arrays["vertex_normals"], arrays["faces"] = _flat(vertices), _flat(normals), _flat(triangles)
    arrays.update()
    if "face_color" in shape:
        result.add_attribute("face_color", 3, _flat(shape["face_color"]))
    return result


def _flat(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.ascontiguousarray(array).ravel()
