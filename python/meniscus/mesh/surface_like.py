"""Surfaces in the forms in which users have them: our meshes, pairs of arrays, and meshes of trimesh, meshio and PyVista."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.mesh.arrays import float_rows, index_rows

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
# A TriangleMesh, a TetMesh (its boundary), vertices and triangles as a tuple, or a mesh of trimesh, meshio or PyVista: none of these
# libraries need be installed, so their types cannot be named here.
SurfaceLike = Any

_KINDS = "a TriangleMesh, (vertices, triangles), or a mesh of trimesh, meshio or PyVista"


def is_surface(value: object) -> bool:
    """Return whether `surface_arrays` takes a value alone."""
    if isinstance(value, (tuple, list)):
        return len(value) == 2 and all(np.ndim(a) == 2 for a in value)
    return _has(value, "vertices", "triangles") or _has(value, "boundary", "tets") or _foreign(value)


def surface_arrays(surface: SurfaceLike, triangles: Any = None, *, name: str = "surface") -> tuple[Floats, Ints]:
    """Return vertices (n, 3) float64 and triangles (m, 3) int32 of a surface, both C-contiguous; without a copy where they are so already.

    Polygons are cut into triangles from their first corner.

    Args:
        surface: a TriangleMesh, a TetMesh (its boundary), a mesh of trimesh, meshio or PyVista, or vertices and triangles as a tuple; with
            `triangles`, the vertices alone.
        triangles: see above.
        name: of the argument, for messages.

    Raises:
        TypeError: something else; coordinates that are no numbers, indices that are no integers.
        ValueError: wrong shapes, indices beyond int32.
    """
    if triangles is None:
        if isinstance(surface, (tuple, list)):
            if len(surface) != 2:
                raise ValueError(f"{name} must be {_KINDS}, not a sequence of {len(surface)}")
            surface, triangles = surface
        elif _has(surface, "boundary", "tets"):
            return surface_arrays(surface.boundary)
        elif _has(surface, "vertices", "faces"):  # trimesh, whose `triangles` are positions
            surface, triangles = surface.vertices, surface.faces
        elif _has(surface, "vertices", "triangles"):
            surface, triangles = surface.vertices, surface.triangles
        elif _has(surface, "points", "cells_dict"):
            surface, triangles = surface.points, _meshio_triangles(surface, name)
        elif _has(surface, "points", "faces"):
            surface, triangles = surface.points, _padded_triangles(np.asarray(surface.faces))
        else:
            raise TypeError(f"{name} must be {_KINDS}, not {_kind(surface)}")
    return float_rows("vertices", surface, 3), index_rows("triangles", triangles, 3)


def _has(value: object, *names: str) -> bool:
    return not isinstance(value, np.ndarray) and all(hasattr(value, n) for n in names)


def _foreign(value: object) -> bool:
    return _has(value, "vertices", "faces") or _has(value, "points", "cells_dict") or _has(value, "points", "faces")


def _kind(value: object) -> str:
    return "an array alone" if isinstance(value, np.ndarray) else f"a {type(value).__name__}" if value is not None else "None"


def _meshio_triangles(mesh: Any, name: str) -> npt.NDArray[Any]:
    parts = [_fans(np.asarray(c.data)) for c in mesh.cells if c.type in ("triangle", "quad", "polygon")]
    if not parts:
        raise ValueError(f"{name} holds no triangles, only {', '.join(sorted(mesh.cells_dict)) or 'no cells'}")
    return np.concatenate(parts)


def _fans(polygons: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Cut polygons with as many corners each into triangles from their first corner."""
    corners = polygons.shape[1]
    fan = [[0, k, k + 1] for k in range(1, corners - 1)]
    return polygons[:, fan].reshape(-1, 3)


def _padded_triangles(faces: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Cut the polygons of VTK's layout, each led by the number of its corners, into triangles in their order."""
    if faces.ndim == 2:
        return faces
    if len(faces) % 4 == 0 and (faces[::4] == 3).all():
        return faces.reshape(-1, 4)[:, 1:]
    triangles: list[npt.NDArray[Any]] = []
    start = 0
    while start < len(faces):
        corners = int(faces[start])
        triangles.append(_fans(faces[None, start + 1 : start + 1 + corners]))
        start += 1 + corners
    return np.concatenate(triangles) if triangles else np.empty((0, 3), np.int32)
