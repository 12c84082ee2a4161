"""Pictures of the representations of water side by side."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.io.frames import FrameData
from meniscus.mesh import TetMesh
from meniscus.scenes.frame_meshes import drops_of, liquid_of, meshed, surface_of, towards_eye

_SHOWN_WET = 0.05  # fill from which on a tetrahedron is drawn


def layers(frame: FrameData, shown: dict[str, Any], width: int, *, title: str = "") -> npt.NDArray[np.uint8]:
    """Return a row of pictures of one frame: the water of the grid, the wet tetrahedra by their fill, the drops, and all.

    Args:
        frame: with the level set `liquid`; also with tetrahedra `wet`, which have a column `fill`, and with drops `spray`.
        shown: arguments of `viz.water` for all of the water.
        width: of each picture, pixels.
        title: of the picture of the tetrahedra.

    Source: Lee 2018, figure 3.8.
    """
    from meniscus import viz

    size = _size(shown["box"], "xyz".index(shown["up"]), width)
    grid = {**meshed(liquid_of(frame)), **drops_of(frame)}
    pictures = [viz.water(**{**shown, **part}, size=size) for part in (grid, surface_of(frame, ""), {})]
    row = [pictures[0], _tetrahedra(frame, shown, size, title), pictures[1], pictures[2]]
    return np.concatenate([np.asarray(p) for p in row], axis=1)


def _size(box: tuple[Any, Any], up: int, width: int) -> tuple[int, int]:
    """Return width and height in pixels of a picture of a box."""
    extent = np.asarray(box[1]) - np.asarray(box[0])
    across = math.hypot(*np.delete(extent, up))
    return width, int(np.clip(width * (extent[up] + 0.3 * across) / across, 0.6 * width, 1.6 * width))


def _tetrahedra(frame: FrameData, shown: dict[str, Any], size: tuple[int, int], title: str) -> npt.NDArray[np.uint8]:
    """Return the picture of the wet tetrahedra and the body."""
    from meniscus import viz

    camera, up = shown["camera"], "xyz".index(shown["up"])
    wet = frame.meshes.get("wet")
    vertices, tets, fill = np.empty((0, 3)), np.empty((0, 4), np.int32), np.empty(0)
    if wet is not None:
        seen = wet.element_columns["fill"] > _SHOWN_WET
        vertices, tets, fill = wet.vertices, np.ascontiguousarray(wet.elements[seen]), wet.element_columns["fill"][seen]
    low, high = (np.asarray(corner, np.float64) for corner in shown["box"])
    middle, half = 0.5 * (low + high), 0.4 * (high - low) / camera.zoom  # what is seen from far away is larger
    drawn = viz.wet_tets(
        TetMesh(vertices, tets),
        np.minimum(fill, 1.0),
        surfaces=shown["solids"],
        limits=(0.0, 1.0),
        eye=towards_eye(camera.azimuth, camera.elevation, up),
        up=np.eye(3)[up].tolist(),
        box=((middle - half).tolist(), (middle + half).tolist()),
        title=title,
        size=(size[0] / 110, size[1] / 110),
    )
    canvas: Any = drawn.canvas  # one that draws into memory
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[..., :3]
    result: npt.NDArray[np.uint8] = np.full((size[1], size[0], 3), 255, np.uint8)
    height, width = min(size[1], pixels.shape[0]), min(size[0], pixels.shape[1])
    result[:height, :width] = pixels[:height, :width]
    return result
