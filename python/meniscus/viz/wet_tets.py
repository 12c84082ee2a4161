"""Pictures of tetrahedra with water, coloured by a value of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh.surface_like import SurfaceLike
from meniscus.mesh.tet_mesh import TetMesh
from meniscus.mesh.triangle_mesh import triangle_mesh
from meniscus.viz import facets

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def wet_tets(
    mesh: TetMesh,
    values: npt.ArrayLike,
    *,
    name: str = "",
    surfaces: Sequence[SurfaceLike] = (),
    limits: tuple[float, float] | None = None,
    colormap: str = "viridis",
    eye: Sequence[float] = (0.6, -1.6, 0.8),
    up: Sequence[float] = (0.0, 0.0, 1.0),
    box: tuple[Sequence[float], Sequence[float]] | None = None,
    title: str = "",
    size: tuple[float, float] = (6.0, 5.2),
) -> Figure:
    """Return a figure of the outer faces of tetrahedra, coloured by values, with surfaces among them.

    Args:
        mesh: those tetrahedra that are to be seen, such as the wet ones.
        values: (m,), one per tetrahedron.
        name: of the values.
        surfaces: `TriangleMesh`es or what these are made from, such as the solid.
        limits: values of the first and the last colour; default: 0 to 1 for numbers that are not larger, else the least and the greatest.
        colormap: a name that matplotlib knows.
        eye: direction towards the eye.
        up: direction that points up in the picture.
        box: lowest and highest corner of what is shown, m; default: all.
        title: above the picture.
        size: width and height of the figure, inches.

    Raises:
        TypeError, ValueError: wrong types or shapes.
    """
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    _checks.one_of_type("mesh", mesh, TetMesh)
    v = _checks.numbers("values", values)
    if v.shape != (len(mesh.tets),):
        raise ValueError(f"values must have shape ({len(mesh.tets)},), not {v.shape}")
    parts: list[facets.Facets] = []
    low, high = limits or ((0.0, 1.0) if not len(v) or v.max() <= 1 else (float(v.min()), float(v.max())))
    if len(v):
        owners = mesh.face_tets[mesh.boundary_faces].max(axis=1)
        colors = np.asarray(colormaps[colormap](np.clip((v[owners] - low) / max(high - low, 1e-300), 0.0, 1.0)))[:, :3]
        parts.append(facets.Facets(mesh.vertices, mesh.boundary.triangles, colors, colors, 0.8, smooth=False))
    for surface in surfaces:
        skin = triangle_mesh(surface)
        parts.append(facets.Facets(skin.vertices, skin.triangles, facets.SKIN, facets.SKIN))
    if box is None and not parts:
        raise ValueError("a picture of nothing needs a box")
    shown = np.concatenate([p.vertices for p in parts]) if box is None else facets.corners_of(box)
    figure = facets.draw(facets.Sight(eye, up), parts, shown, ambient=0.45, title=title, size=size)
    if name:
        figure.colorbar(ScalarMappable(Normalize(low, high), colormap), ax=figure.axes[0], label=name, shrink=0.7)
    return figure
