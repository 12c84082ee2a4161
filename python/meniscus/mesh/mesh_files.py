"""Mesh objects from files and to them."""

from __future__ import annotations

import os

from meniscus import _checks
from meniscus.mesh.quadratic_tet_mesh import QuadraticTetMesh
from meniscus.mesh.tet_mesh import TetMesh
from meniscus.mesh.triangle_mesh import TriangleMesh


def read(path: str | os.PathLike[str]) -> TriangleMesh:
    """Return the triangle mesh of a file (OBJ, PLY, STL, OFF, VTK, VTU, Gmsh, Medit and other formats of trimesh).

    Vertices have the positions and the order of the file; polygons are cut into triangles. Vertices with equal positions (to the last bit)
    are merged only if the format has no shared vertices (STL) or the file contains several parts with their own vertices. For tetrahedra
    there is `TetMesh.read`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it holds no triangle mesh, or one whose indices are out of range.
        ImportError: trimesh or meshio is missing.
    """
    return TriangleMesh.read(path)


def write(path: str | os.PathLike[str], mesh: TriangleMesh | TetMesh | QuadraticTetMesh) -> None:
    """Write a `TriangleMesh`, a `TetMesh` or a `QuadraticTetMesh`; see their method `write`."""
    _checks.one_of_type("mesh", mesh, (TriangleMesh, TetMesh, QuadraticTetMesh))
    mesh.write(path)
