"""Meshes of other libraries from ours: trimesh, meshio and PyVista. The other way is `surface_like`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._extras import require
from meniscus.mesh.arrays import float_rows, index_rows

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

_TETRA = 10  # type of a tetrahedral cell in VTK


def to_trimesh(vertices: Floats, triangles: Ints) -> Any:
    """Return a `trimesh.Trimesh` with copies of the arrays. Raises ImportError if trimesh is missing."""
    return require("trimesh", "this needs").Trimesh(np.array(vertices), np.array(triangles), process=False)


def to_meshio(vertices: Floats, elements: Ints) -> Any:
    """Return a `meshio.Mesh` of triangles or tetrahedra with copies of the arrays. Raises ImportError if meshio is missing."""
    kind = "triangle" if elements.shape[1] == 3 else "tetra"
    return require("meshio", "this needs").Mesh(np.array(vertices), [(kind, np.array(elements))])


def to_pyvista(vertices: Floats, elements: Ints) -> Any:
    """Return a `pyvista.PolyData` of triangles or a `pyvista.UnstructuredGrid` of tetrahedra. Raises ImportError if PyVista is missing."""
    pyvista = require("pyvista", "this needs")
    if elements.shape[1] == 3:
        return pyvista.PolyData.from_regular_faces(np.array(vertices), np.array(elements))
    return pyvista.UnstructuredGrid({_TETRA: np.array(elements)}, np.array(vertices))


def holds_tets(mesh: object) -> bool:
    """Return whether this is a mesh of meshio or PyVista with tetrahedra."""
    cells = getattr(mesh, "cells_dict", {})
    return hasattr(mesh, "points") and ("tetra" in cells or _TETRA in cells)


def tet_arrays(mesh: Any) -> tuple[Floats, Ints]:
    """Return vertices (n, 3) float64 and tetrahedra (m, 4) int32 of a mesh of meshio or PyVista.

    Raises:
        TypeError: something else.
        ValueError: it holds no tetrahedra.
    """
    if not (hasattr(mesh, "points") and hasattr(mesh, "cells_dict")):
        raise TypeError(f"mesh must be a mesh of meshio or an unstructured grid of PyVista, not a {type(mesh).__name__}")
    cells = mesh.cells_dict.get("tetra", mesh.cells_dict.get(_TETRA))
    if cells is None or not len(cells):
        raise ValueError("mesh holds no tetrahedra")
    return float_rows("mesh.points", mesh.points, 3), index_rows("the tetrahedra of mesh", cells, 4)
