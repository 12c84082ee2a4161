"""Pictures of tetrahedral meshes cut open, with surfaces inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class TetColors:
    """Colours of tetrahedra by a value of each.

    Attributes:
        values: (m,), one per tetrahedron.
        limits: values of the first and the last colour; default: the least and the greatest.
        colormap: a name that matplotlib knows.
    """

    values: npt.ArrayLike
    limits: tuple[float, float] | None = None
    colormap: str = "RdYlBu"

    def of(self, count: int, chosen: npt.NDArray[np.int64]) -> Floats:
        """Return red, green and blue (n, 3) of the chosen ones among `count` tetrahedra. Raises ValueError for another number of values."""
        from matplotlib import colormaps

        v = np.asarray(self.values, np.float64)
        if v.shape != (count,):
            raise ValueError(f"values must have shape ({count},), not {v.shape}")
        low, high = _range(v) if self.limits is None else self.limits
        shares = (v[chosen] - low) / max(high - low, 1e-300)
        return np.asarray(colormaps[self.colormap](np.clip(shares, 0.0, 1.0)))[:, :3]


def cutaway(
    mesh: TetMesh,
    positions: npt.ArrayLike | None = None,
    *,
    surface: SurfaceLike | None = None,
    colors: TetColors | None = None,
    point: Sequence[float] | None = None,
    normal: Sequence[float] = (0.0, 0.0, 1.0),
    points: npt.ArrayLike | None = None,
    eye: Sequence[float] = (0.5, 0.5, 2.0),
    up: Sequence[float] = (0.0, 1.0, 0.0),
    box: tuple[Sequence[float], Sequence[float]] | None = None,
    title: str = "",
    size: tuple[float, float] = (6.0, 5.2),
) -> Figure:
    """Return a figure of the tetrahedra behind a plane, whole as they are, and of a surface among them.

    Args:
        mesh: a `mesh.TetMesh`.
        positions: (n, 3), m, of its vertices; default: at rest.
        surface: a `TriangleMesh` or what it is made from, drawn whole.
        colors: of the tetrahedra; default: one colour.
        point: of the plane, m; default: the middle of the box of the mesh.
        normal: of the plane; tetrahedra with their centre on the side that it points to are left out.
        points: (k, 3), m, of which those behind the plane are drawn as dots.
        eye: direction from the mesh towards the eye.
        up: direction that points up in the picture.
        box: lowest and highest corner of what is shown, m; default: all vertices.
        title: above the picture.
        size: width and height of the figure, inches.

    Raises:
        TypeError, ValueError: wrong types or shapes.
    """
    _checks.one_of_type("mesh", mesh, TetMesh)
    x = mesh.vertices if positions is None else _points("positions", positions)
    if len(x) != len(mesh.vertices):
        raise ValueError(f"positions must have shape ({len(mesh.vertices)}, 3), not {x.shape}")
    cut = np.asarray(_checks.vector("normal", normal, 3))
    if not cut.any():
        raise ValueError("normal must not be zero")
    middle = 0.5 * (x.min(axis=0) + x.max(axis=0)) if point is None else np.asarray(_checks.vector("point", point, 3))
    kept = np.flatnonzero((x[mesh.tets].mean(axis=1) - middle) @ cut <= 0)
    rest = mesh.submesh(kept)
    faces, owners = rest.boundary.triangles, rest.face_tets[rest.boundary_faces].max(axis=1)
    painted = np.tile([0.72, 0.80, 0.90], (len(faces), 1)) if colors is None else colors.of(len(mesh.tets), kept[owners])
    parts, seen = [facets.Facets(x, faces, painted, painted, 0.55, smooth=False)], [x]
    if surface is not None:
        skin = triangle_mesh(surface)
        parts.append(facets.Facets(skin.vertices, skin.triangles, facets.SKIN, facets.SKIN))
        seen.append(skin.vertices)
    dots = None
    if points is not None:
        dots = _points("points", points)
        dots = dots[(dots - middle) @ cut <= 0]
    shown = np.concatenate(seen) if box is None else facets.corners_of(box)
    return facets.draw(facets.Sight(eye, up), parts, shown, ambient=0.6, title=title, size=size, dots=dots)


def _points(name: str, value: npt.ArrayLike) -> Floats:
    return np.asarray(_checks.points(name, np.asarray(value, np.float64), np.dtype(np.float64), 3), np.float64)


def _range(values: Floats) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    return (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
