"""Obstacles from triangle meshes: read from a file, rotated, scaled and placed; and one that is generated here."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh import read
from meniscus.viz.smoke import UpAxis

Vertices = npt.NDArray[np.float64]
Triangles = npt.NDArray[np.int32]
Mesh = tuple[Vertices, Triangles]

_UPWARD: dict[UpAxis, list[int]] = {"x": [1, 2, 0], "y": [2, 0, 1], "z": [0, 1, 2]}
"""Axes of a file as x, y and z, where the named one turns upward. A cyclic change of axes is a rotation, so insides stay inside."""


def knot(around: int = 240, across: int = 24, thickness: float = 0.5) -> Mesh:
    """Return the closed surface of a tube along a trefoil knot, lying around the z axis, 6 wide.

    Args:
        around: vertices along the knot.
        across: vertices around the tube.
        thickness: radius of the tube.
    """
    t = 2 * np.pi * np.arange(around) / around
    center = np.stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)], axis=1)
    along = np.stack([np.cos(t) + 4 * np.cos(2 * t), -np.sin(t) + 4 * np.sin(2 * t), -3 * np.cos(3 * t)], axis=1)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    # The curve is never vertical, so that the vertical gives every section a frame that comes back to itself.
    side = np.cross(along, (0.0, 0.0, 1.0))
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    above = np.cross(side, along)
    angle = 2 * np.pi * np.arange(across) / across
    ring = np.cos(angle)[None, :, None] * side[:, None] + np.sin(angle)[None, :, None] * above[:, None]
    vertices = (center[:, None] + thickness * ring).reshape(-1, 3)
    i, j = (n.ravel() for n in np.meshgrid(np.arange(around), np.arange(across), indexing="ij"))
    next_i, next_j = (i + 1) % around, (j + 1) % across
    a, b, c, d = i * across + j, next_i * across + j, next_i * across + next_j, i * across + next_j
    triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return np.ascontiguousarray(vertices), np.ascontiguousarray(triangles, np.int32)


def load(path: str, up: UpAxis) -> Mesh:
    """Return the mesh of a file with the named axis turned upward. Raises ValueError for a file without a usable mesh."""
    _checks.choice("mesh_up", up, UpAxis)
    try:
        vertices, triangles = read(path)
    except (OSError, ValueError) as error:
        raise ValueError(f"the obstacle cannot be read: {error}") from error
    return np.ascontiguousarray(vertices[:, _UPWARD[up]]), triangles


def placed(mesh: Mesh, center: tuple[float, float, float], size: float) -> Mesh:
    """Return a mesh moved and scaled so that its bounding box has its middle at `center` and `size` (m) as its longest edge."""
    vertices, triangles = mesh
    used = vertices[np.unique(triangles)]
    low, high = used.min(axis=0), used.max(axis=0)
    longest = float((high - low).max())
    if longest <= 0:
        raise ValueError("the obstacle cannot be used: all of its vertices are at one point")
    return np.ascontiguousarray((vertices - 0.5 * (low + high)) * (_checks.positive("size", size) / longest) + center), triangles
