"""Shaded pictures of triangle meshes."""

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
    smooth: bool = True,
    floor: float | None = None,
    title: str = "",
    size: tuple[float, float] = (6.0, 5.2),
) -> Figure:
    """Return a figure of a triangle mesh seen from far away, in the sun.

    Args:
        surface: a `TriangleMesh` or what it is made from (a mesh of trimesh, meshio or PyVista, a tuple of arrays), or a 3-D
            `LevelSet`; with `triangles`, the vertices (n, 3) alone, m.
        triangles: (m, 3), counter-clockwise as seen from outside.
        eye: direction from the mesh towards the eye.
        up: direction that points up in the picture.
        box: lowest and highest corner of what is shown, m; default: all vertices.
        color, back: of the two sides, red, green and blue from 0 to 1; an array (m, 3): of each triangle.
        edges: whether to draw the edges of triangles that are larger than some pixels.
        smooth: whether triangles that meet at less than 37 degrees look like one smooth surface; else each is flat.
        floor: height of a floor along `up`, m, on which the mesh throws its shadow; default: none.
        title: above the picture.
        size: width and height of the figure, inches.
    """
    vertices, triangles = mesh_of(surface, triangles)
    _checks.flag("edges", edges)
    front, rear = _colors("color", color, len(triangles)), _colors("back", back, len(triangles))
    part = facets.Facets(vertices, triangles, front, rear, 0.75 if edges else 1.0, _checks.flag("smooth", smooth))
    height = None if floor is None else _checks.number("floor", floor)
    shown = vertices if box is None else facets.corners_of(box)
    return facets.draw(facets.Sight(eye, up), [part], shown, ambient=0.5, title=title, size=size, floor=height)


def _colors(name: str, value: Any, count: int) -> npt.NDArray[np.float64]:
    """Return colours (1, 3) or, one for each triangle, (count, 3)."""
    if isinstance(value, np.ndarray) and value.ndim == 2:
        return np.asarray(_checks.incoming(name, value, np.dtype(np.float64), (count, 3)))
    return np.array([_checks.vector(name, value, 3)])
