"""Shaded pictures of triangle meshes through matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh.surface_like import SurfaceLike
from meniscus.surface import LevelSet
from meniscus.viz.picture import figure as figure_of_size
from meniscus.viz.samples import mesh_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def surface(
    surface: LevelSet | SurfaceLike,
    triangles: npt.ArrayLike | None = None,
    *,
    eye: Sequence[float] = (1.0, 0.7, 2.0),
    up: Sequence[float] = (0.0, 1.0, 0.0),
    box: tuple[Sequence[float], Sequence[float]] | None = None,
    color: Sequence[float] = (0.35, 0.55, 0.8),
    back: Sequence[float] = (0.85, 0.55, 0.3),
    edges: bool = True,
    title: str = "",
    size: tuple[float, float] = (6.0, 5.2),
) -> Figure:
    """Return a figure of a triangle mesh seen from far away, the nearest triangles over the others.

    Args:
        surface: a `TriangleMesh` or what it is made from (a mesh of trimesh, meshio or PyVista, a tuple of arrays), or a 3-D
            `LevelSet`; with `triangles`, the vertices (n, 3) alone, m.
        triangles: (m, 3), counter-clockwise as seen from outside.
        eye: direction from the mesh towards the eye.
        up: direction that points up in the picture.
        box: lowest and highest corner of what is shown, m; default: all vertices.
        color, back: of the two sides, red, green and blue from 0 to 1.
        edges: whether to draw the edges.
        title: above the picture.
        size: width and height of the figure, inches.
    """
    vertices, triangles = mesh_of(surface, triangles)
    _checks.flag("edges", edges)
    towards, upward = np.array(_checks.vector("eye", eye, 3)), np.array(_checks.vector("up", up, 3))
    front, rear = _checks.vector("color", color, 3), _checks.vector("back", back, 3)
    right = np.cross(upward, towards)
    if not np.linalg.norm(right) > 0:
        raise ValueError(f"eye and up must be two directions, not {eye!r} and {up!r}")
    toward = towards / np.linalg.norm(towards)
    right /= np.linalg.norm(right)
    above = np.cross(toward, right)
    flat = vertices @ np.stack([right, above], axis=1)
    corners = vertices[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.divide(normals, lengths, out=np.zeros_like(normals), where=lengths > 0)
    facing = normals @ toward
    light = toward + 0.6 * above - 0.4 * right
    shade = 0.35 + 0.65 * np.abs(normals @ (light / np.linalg.norm(light)))
    colors = np.where(facing[:, None] >= 0, front, rear) * shade[:, None]
    order = np.argsort(corners.mean(axis=1) @ toward, kind="stable")

    from matplotlib.collections import PolyCollection

    figure = figure_of_size(*_checks.vector("size", size, 2))
    axes = figure.add_subplot()
    fill = np.clip(colors[order], 0.0, 1.0)
    axes.add_collection(PolyCollection(flat[triangles[order]], facecolors=fill, edgecolors=0.75 * fill if edges else fill, linewidths=0.3))
    shown = vertices if box is None else _corners_of(box)
    frame = shown @ np.stack([right, above], axis=1)
    low, high = frame.min(axis=0), frame.max(axis=0)
    margin = 0.04 * max(float((high - low).max()), 1e-9)
    axes.set_xlim(low[0] - margin, high[0] + margin)
    axes.set_ylim(low[1] - margin, high[1] + margin)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_title(title)
    return figure


def _corners_of(box: object) -> npt.NDArray[np.float64]:
    """Return the eight corners of a box given as its lowest and highest corner."""
    if not isinstance(box, (Sequence, np.ndarray)) or np.shape(box) != (2, 3):
        raise TypeError(f"box must be the lowest and the highest corner of a box, not {box!r}")
    ends = [_checks.vector("box", corner, 3) for corner in box]
    corners: npt.NDArray[np.float64] = np.array(np.meshgrid(*zip(*ends, strict=True))).reshape(3, -1).T
    return corners
