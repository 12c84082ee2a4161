"""Pictures of tetrahedral meshes cut open, with surfaces inside, through matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh.surface_like import SurfaceLike
from meniscus.mesh.tet_mesh import TetMesh
from meniscus.mesh.triangle_mesh import triangle_mesh
from meniscus.viz.picture import figure as figure_of_size

Floats = npt.NDArray[np.float64]
_CORNERS = ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1))


def cutaway(
    mesh: TetMesh,
    positions: npt.ArrayLike | None = None,
    *,
    surface: SurfaceLike | None = None,
    values: npt.ArrayLike | None = None,
    limits: tuple[float, float] | None = None,
    point: Sequence[float] | None = None,
    normal: Sequence[float] = (0.0, 0.0, 1.0),
    points: npt.ArrayLike | None = None,
    eye: Sequence[float] = (0.5, 0.5, 2.0),
    up: Sequence[float] = (0.0, 1.0, 0.0),
    box: tuple[Sequence[float], Sequence[float]] | None = None,
    colormap: str = "RdYlBu",
    title: str = "",
    size: tuple[float, float] = (6.0, 5.2),
) -> Any:
    """Return a figure of the tetrahedra behind a plane, whole as they are, and of a surface among them.

    Args:
        mesh: a `mesh.TetMesh`.
        positions: (n, 3), m, of its vertices; default: at rest.
        surface: a `TriangleMesh` or what it is made from, drawn whole.
        values: (m,), one per tetrahedron, shown as colours; default: one colour.
        limits: values of the first and the last colour; default: the least and the greatest.
        point: of the plane, m; default: the middle of the box of the mesh.
        normal: of the plane; tetrahedra with their centre on the side that it points to are left out.
        points: (k, 3), m, of which those behind the plane are drawn as dots.
        eye: direction from the mesh towards the eye.
        up: direction that points up in the picture.
        box: lowest and highest corner of what is shown, m; default: all vertices.
        colormap: a name that matplotlib knows.
        title: above the picture.
        size: width and height of the figure, inches.

    Raises:
        TypeError, ValueError: wrong types or shapes.
    """
    from matplotlib import colormaps
    from matplotlib.collections import PolyCollection

    _checks.one_of_type("mesh", mesh, TetMesh)
    x = mesh.vertices if positions is None else _checks.points("positions", np.asarray(positions, np.float64), np.dtype(np.float64), 3)
    if len(x) != len(mesh.vertices):
        raise ValueError(f"positions must have shape ({len(mesh.vertices)}, 3), not {x.shape}")
    cut = np.asarray(_checks.vector("normal", normal, 3))
    if not cut.any():
        raise ValueError("normal must not be zero")
    middle = 0.5 * (x.min(axis=0) + x.max(axis=0)) if point is None else np.asarray(_checks.vector("point", point, 3))
    kept = np.flatnonzero((x[mesh.tets].mean(axis=1) - middle) @ cut <= 0)
    faces, owners = _outer_faces(mesh.tets[kept])
    if values is None:
        colors = np.tile([0.72, 0.80, 0.90], (len(faces), 1))
    else:
        v = np.asarray(values, np.float64)
        if v.shape != (len(mesh.tets),):
            raise ValueError(f"values must have shape ({len(mesh.tets)},), not {v.shape}")
        low, high = _range(v) if limits is None else limits
        shares = (v[kept[owners]] - low) / max(high - low, 1e-300)
        colors = np.asarray(colormaps[colormap](np.clip(shares, 0.0, 1.0)))[:, :3]
    corners, shown = x[faces], [x]
    edge = np.full(len(faces), 0.35)
    if surface is not None:
        skin = triangle_mesh(surface)
        corners = np.concatenate([corners, skin.vertices[skin.triangles]])
        colors = np.concatenate([colors, np.tile([0.93, 0.55, 0.36], (len(skin.triangles), 1))])
        edge = np.concatenate([edge, np.zeros(len(skin.triangles))])
        shown.append(skin.vertices)

    towards = np.array(_checks.vector("eye", eye, 3))
    right = np.cross(_checks.vector("up", up, 3), towards)
    if not np.linalg.norm(right) > 0:
        raise ValueError(f"eye and up must be two directions, not {eye!r} and {up!r}")
    toward = towards / np.linalg.norm(towards)
    right /= np.linalg.norm(right)
    above = np.cross(toward, right)
    screen = np.stack([right, above], axis=1)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    light = toward + 0.6 * above - 0.4 * right
    shade = 0.45 + 0.55 * np.abs(normals @ (light / np.linalg.norm(light)))
    fill = np.clip(colors * shade[:, None], 0.0, 1.0)
    order = np.argsort(corners.mean(axis=1) @ toward, kind="stable")
    figure = figure_of_size(*size)
    axes = figure.add_subplot()
    lines = np.where(edge[order, None] > 0, 0.55 * fill[order], fill[order])
    axes.add_collection(PolyCollection((corners @ screen)[order], facecolors=fill[order], edgecolors=lines, linewidths=0.3))
    if points is not None:
        dots = np.asarray(points, np.float64)
        at = dots[(dots - middle) @ cut <= 0] @ screen
        axes.scatter(at[:, 0], at[:, 1], s=1.5, c="k", linewidths=0, zorder=2)
    everything = np.concatenate(shown) if box is None else np.array(np.meshgrid(*zip(*box, strict=True))).reshape(3, -1).T
    flat = everything @ screen
    low_corner, high_corner = flat.min(axis=0), flat.max(axis=0)
    margin = 0.04 * max(float((high_corner - low_corner).max()), 1e-9)
    axes.set_xlim(low_corner[0] - margin, high_corner[0] + margin)
    axes.set_ylim(low_corner[1] - margin, high_corner[1] + margin)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_title(title)
    return figure


def _range(values: Floats) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    return (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)


def _outer_faces(tets: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Return the faces that only one tetrahedron has, and which."""
    faces = np.concatenate([tets[:, list(f)] for f in _CORNERS])
    owners = np.tile(np.arange(len(tets)), 4)
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    alone = first[count == 1]
    return faces[alone], owners[alone]
