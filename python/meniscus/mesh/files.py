"""Mesh files, through the library trimesh."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt


def read(path: str | os.PathLike[str]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    """Return vertices (n, 3) float64 and triangles (m, 3) int32 of a mesh file (OBJ, PLY, STL, OFF and what else trimesh reads).

    Vertices stay as they are in the file, in its order. They are merged, where their positions are the same to the last bit, only
    if the format knows no shared vertices (STL) or the file holds several parts with vertices of their own.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not a triangle mesh.
        ImportError: trimesh is missing.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {str(file)!r}")
    try:
        import trimesh
    except ImportError:
        raise ImportError("reading mesh files needs trimesh: install it with `pip install meniscus[mesh]`") from None
    try:
        # In this mode trimesh does not split the vertices of an OBJ file that have several texture coordinates.
        scene = trimesh.load_scene(file, process=False, maintain_order=True, skip_materials=True)
        parts = [p for p in scene.dump() if isinstance(p, trimesh.Trimesh) and len(p.faces)]
    except Exception as error:
        raise ValueError(f"{str(file)!r} could not be read as a mesh: {error}") from error
    if not parts:
        raise ValueError(f"{str(file)!r} holds no triangle mesh")
    starts = np.cumsum([0] + [len(p.vertices) for p in parts[:-1]])
    vertices = np.ascontiguousarray(np.concatenate([p.vertices for p in parts]), dtype=np.float64)
    triangles = np.concatenate([p.faces + s for p, s in zip(parts, starts, strict=True)]).astype(np.int32)
    if len(parts) > 1 or file.suffix.lower() == ".stl":
        vertices, triangles = _merged(vertices, triangles)
    return vertices, np.ascontiguousarray(triangles)


def _merged(vertices: npt.NDArray[np.float64], triangles: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    """Make one vertex of all vertices at the same position, in order of the first."""
    _, first, inverse = np.unique(vertices, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(first), np.int32)
    rank[order] = np.arange(len(first), dtype=np.int32)
    return np.ascontiguousarray(vertices[first[order]]), rank[inverse.reshape(-1)][triangles]
