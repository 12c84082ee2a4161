"""Writing of mesh objects to files."""

from __future__ import annotations

import os

from meniscus import _checks
from meniscus.mesh.tet_mesh import TetMesh
from meniscus.mesh.triangle_mesh import TriangleMesh


def write(path: str | os.PathLike[str], mesh: TriangleMesh | TetMesh) -> None:
    """Write a `TriangleMesh` or a `TetMesh`; see their method `write`."""
    _checks.one_of_type("mesh", mesh, (TriangleMesh, TetMesh))
    mesh.write(path)
