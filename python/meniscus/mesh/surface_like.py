"""Surfaces in the forms in which users have them: our meshes, pairs of arrays, and meshes of trimesh, meshio and PyVista."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

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


def float_rows(name: str, value: Any, columns: int) -> Floats:
    """Return rows of numbers (n, columns) as C-contiguous float64; raise TypeError for what is no number, ValueError for other shapes."""
    array = np.asarray(value)
    if array.size == 0 and array.ndim < 2:
        array = array.reshape(0, columns)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name} must hold numbers, not {array.dtype}")
    if array.ndim != 2 or array.shape[1] != columns:
        raise ValueError(f"{name} must have shape (n, {columns}), not {array.shape}")
    return np.ascontiguousarray(array, dtype=np.float64)


def integers(name: str, value: Any, dimension: int | None = None) -> Ints:
    """Return whole numbers as a C-contiguous int32 array; raise TypeError for what is none, ValueError for other dimensions and for
    numbers that int32 does not hold."""
    array = np.asarray(value)
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers, not {array.dtype}")
    if dimension is not None and array.ndim != dimension:
        raise ValueError(f"{name} must have {dimension} dimension{'s' * (dimension != 1)}, not {array.ndim}")
    limits = np.iinfo(np.int32)
    if array.dtype != np.int32 and array.size and (array.min() < limits.min or array.max() > limits.max):
        wrong = int(np.argmax(((array < limits.min) | (array > limits.max)).ravel()))
        raise ValueError(f"{name} must hold 32-bit integers, but number {wrong} is {array.ravel()[wrong]}")
    return np.ascontiguousarray(array, dtype=np.int32)


def index_rows(name: str, value: Any, columns: int) -> Ints:
    """Return rows of indices (m, columns) as C-contiguous int32; raise TypeError for what is no integer, ValueError for other shapes and
    for indices that int32 does not hold."""
    array = np.asarray(value)
    if array.size == 0 and array.ndim < 2:
        array = np.empty((0, columns), np.int32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers, not {array.dtype}")
    if array.ndim != 2 or array.shape[1] != columns:
        raise ValueError(f"{name} must have shape (m, {columns}), not {array.shape}")
    if array.dtype != np.int32 and array.size and (array.min() < 0 or array.max() > np.iinfo(np.int32).max):
        wrong = np.argwhere((array < 0) | (array > np.iinfo(np.int32).max))[0]
        raise ValueError(f"{name} must hold indices from 0 to 2^31 - 1, but [{wrong[0]}, {wrong[1]}] is {array[tuple(wrong)]}")
    return np.ascontiguousarray(array, dtype=np.int32)


def frozen(array: Any) -> Any:
    """Return the array itself if nobody can write to its memory any more, or a read-only copy."""
    owner = array
    while isinstance(owner, np.ndarray) and not owner.flags.writeable:
        if owner.base is None or type(owner.base).__module__.startswith("meniscus.") or type(owner.base).__name__ == "PyCapsule":
            return array
        owner = owner.base
    return sealed(array.copy())


def sealed(array: Any) -> Any:
    """Return the array itself, made read-only."""
    array.flags.writeable = False
    return array


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
