"""Meshes of segments, triangles and tetrahedra: their topology, making and reading them, and whether they are watertight."""

from meniscus.mesh.files import read
from meniscus.mesh.segment_mesh import SegmentMesh
from meniscus.mesh.simplices import Rows, SimplexMesh
from meniscus.mesh.structured import cloth_mesh, icosphere, tet_block
from meniscus.mesh.tet_mesh import TetMesh
from meniscus.mesh.triangle_mesh import TriangleMesh
from meniscus.mesh.watertight import WatertightReport, check_watertight

__all__ = [
    "Rows",
    "SegmentMesh",
    "SimplexMesh",
    "TetMesh",
    "TriangleMesh",
    "WatertightReport",
    "check_watertight",
    "cloth_mesh",
    "icosphere",
    "read",
    "tet_block",
]
