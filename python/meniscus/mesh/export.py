"""Writing of mesh objects to files."""

from __future__ import annotations

import os

from meniscus import _checks
from meniscus.mesh.quadratic_tet_mesh import QuadraticTetMesh
from meniscus.mesh.tet_mesh import TetMesh
from meniscus.mesh.triangle_mesh import TriangleMesh


def write(path: str | os.PathLike[str], mesh: TriangleMesh | TetMesh | QuadraticTetMesh) -> None:
    """Write a `TriangleMesh`, a `TetMesh` or a `QuadraticTetMesh`; see their method `write`."""
    _checks.one_of_type("mesh", mesh, (TriangleMesh, TetMesh, QuadraticTetMesh))
    mesh.write(path)
