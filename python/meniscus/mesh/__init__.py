"""Meshes of segments, triangles and tetrahedra.

Topology, quality measures, generators, file formats, refinement, embedding of points, meshes in motion, overlaps of tetrahedra, a
watertightness check, and repair of surfaces.
"""

from meniscus.mesh.clipping import fractions_below, overlap_volumes, plane_offsets
from meniscus.mesh.embedding.embedding import Embedding
from meniscus.mesh.embedding.morph import HarmonicMorph, harmonic_morph
from meniscus.mesh.mesh_files import read, write
from meniscus.mesh.moving_tet_mesh import MovingTetMesh
from meniscus.mesh.quadratic_tet_mesh import QuadraticTetMesh, quadratic_mesh
from meniscus.mesh.quadrature.tet_samples import tet_quadrature, tet_samples
from meniscus.mesh.quality.elements import MeshQuality
from meniscus.mesh.refinement.lattice import bcc_lattice, red_green
from meniscus.mesh.refinement.loop import LoopSubdivision
from meniscus.mesh.refinement.subdivision import SubdivisionHierarchy
from meniscus.mesh.segment_mesh import SegmentMesh
from meniscus.mesh.simplices import Rows, SimplexMesh
from meniscus.mesh.structured import cloth_mesh, icosphere, tet_block
from meniscus.mesh.tet_locations import TetLocations
from meniscus.mesh.tet_mesh import TetMesh
from meniscus.mesh.topology.repair import RepairReport, repair
from meniscus.mesh.topology.watertight import WatertightReport, check_watertight
from meniscus.mesh.triangle_mesh import TriangleMesh
from meniscus.mesh.triangulation.delaunay import delaunay
from meniscus.mesh.triangulation.voronoi import VoronoiMesh
from meniscus.mesh.vertex_motion import VertexMotion

__all__ = [
    "Embedding",
    "HarmonicMorph",
    "LoopSubdivision",
    "MeshQuality",
    "MovingTetMesh",
    "QuadraticTetMesh",
    "RepairReport",
    "Rows",
    "SegmentMesh",
    "SimplexMesh",
    "SubdivisionHierarchy",
    "TetLocations",
    "TetMesh",
    "TriangleMesh",
    "VertexMotion",
    "VoronoiMesh",
    "WatertightReport",
    "bcc_lattice",
    "check_watertight",
    "cloth_mesh",
    "delaunay",
    "fractions_below",
    "harmonic_morph",
    "icosphere",
    "overlap_volumes",
    "plane_offsets",
    "quadratic_mesh",
    "read",
    "red_green",
    "repair",
    "tet_block",
    "tet_quadrature",
    "tet_samples",
    "write",
]
