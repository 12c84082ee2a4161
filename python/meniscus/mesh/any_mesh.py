"""Meshes in the forms in which users have them, as ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from meniscus.mesh.conversion import holds_tets
from meniscus.mesh.surface_like import is_surface
from meniscus.mesh.tet_mesh import TetMesh
from meniscus.mesh.triangle_mesh import triangle_mesh


def own_mesh(mesh: Any) -> Any:
    """Return a mesh of trimesh, meshio or PyVista, or vertices and triangles as a tuple, as one of ours; anything else as it is."""
    if isinstance(mesh, (np.ndarray, list)) or type(mesh).__module__.startswith("meniscus."):
        return mesh
    if holds_tets(mesh):
        return TetMesh.from_meshio(mesh)
    return triangle_mesh(mesh) if is_surface(mesh) else mesh
