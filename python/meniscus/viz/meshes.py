"""Shaded pictures of triangle meshes through matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh.surface_like import SurfaceLike
from meniscus.surface import LevelSet
from meniscus.viz import facets
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
    color: Sequence[float] | npt.NDArray[Any] = (0.35, 0.55, 0.8),
    back: Sequence[float] | npt.NDArray[Any] = (0.85, 0.55, 0.3),
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
        color, back: of the two sides, red, green and blue from 0 to 1; an array (m, 3): of each triangle.
        edges: whether to draw the edges.
        title: above the picture.
        size: width and height of the figure, inches.
    """
    vertices, triangles = mesh_of(surface, triangles)
    _checks.flag("edges", edges)
    front, rear = _colors("color", color, len(triangles)), _colors("back", back, len(triangles))
    sight = facets.Sight(eye, up)
    corners = vertices[triangles]
    colors = np.where((sight.normals(corners) @ sight.toward)[:, None] >= 0, front, rear)
    lines = np.full(len(corners), 0.75 if edges else 1.0)
    shown = vertices if box is None else facets.corners_of(box)
    return facets.draw(sight, corners, colors, lines, shown, ambient=0.35, title=title, size=size)


def _colors(name: str, value: Any, count: int) -> npt.NDArray[np.float64]:
    """Return colours (1, 3) or, one for each triangle, (count, 3)."""
    if isinstance(value, np.ndarray) and value.ndim == 2:
        return np.asarray(_checks.incoming(name, value, np.dtype(np.float64), (count, 3)))
    return np.array([_checks.vector(name, value, 3)])
