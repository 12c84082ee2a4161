"""Parts of a frame that pictures show: box, solids, water."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.io.frames import FrameData
from meniscus.surface import LevelSet

Mesh = tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]


def box_of(frame: FrameData) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the lowest and the highest corner of the grid of a frame, m."""
    assert frame.grid is not None
    low = np.asarray(frame.grid.origin, np.float64)
    return low, low + np.asarray(frame.grid.extent)


def solid_meshes(frame: FrameData) -> list[Mesh]:
    """Return the solid of a frame, whose signed distance on the nodes is its field `solid`, as meshes: one, or none."""
    distance = frame.nodes.get("solid")
    if distance is None:
        return []
    assert frame.grid is not None
    solid = LevelSet(frame.grid, "nodes")
    solid.array = distance.astype(np.float64)
    return [solid.to_mesh()]


def liquid_of(frame: FrameData) -> LevelSet:
    """Return the level set of the liquid of a frame, its field `liquid`."""
    assert frame.grid is not None
    liquid = LevelSet(frame.grid, "cells")
    liquid.array = frame["liquid"].astype(np.float64)
    return liquid


def meshed(liquid: LevelSet) -> dict[str, Any]:
    """Return the surface of a liquid as arguments of the renderers of water."""
    return dict(zip(("surface", "triangles", "normals"), liquid.to_mesh(normals=True), strict=True))


def surface_of(frame: FrameData, name: str = "surface") -> dict[str, Any]:
    """Return the surface of the water of a frame, a mesh with the column `normal`, as arguments of the renderers; empty without one."""
    made = frame.meshes.get(name)
    if made is None:
        return {"surface": np.empty((0, 3)), "triangles": np.empty((0, 3), np.int32), "normals": np.empty((0, 3))}
    return {"surface": made.vertices, "triangles": made.elements, "normals": np.ascontiguousarray(made.columns["normal"], np.float64)}


def drops_of(frame: FrameData, *names: str) -> dict[str, Any]:
    """Return the drops of a frame in sets of particles with the column `radius`, as arguments of the renderers of water."""
    sets = [frame.particles[name] for name in names if name in frame.particles and len(frame.particles[name]["position"])]
    joined = (np.concatenate([s[column] for s in sets]) if sets else None for column in ("position", "radius"))
    return dict(zip(("spray", "spray_radius"), joined, strict=True))


def towards_eye(azimuth: float, elevation: float, up: int = 2) -> list[float]:
    """Return the direction towards a camera at these angles, degrees, where an axis points up."""
    a, e = math.radians(azimuth), math.radians(elevation)
    upward, side = np.eye(3)[up], np.eye(3)[1 if up == 0 else 0]
    eye = math.cos(e) * (math.sin(a) * side + math.cos(a) * np.cross(side, upward)) + math.sin(e) * upward
    result: list[float] = eye.tolist()
    return result
