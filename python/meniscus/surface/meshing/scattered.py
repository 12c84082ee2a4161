"""Tetrahedral meshes of closed surfaces from scattered points."""

from __future__ import annotations

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus.mesh import TetMesh, TriangleMesh
from meniscus.mesh.surface_like import SurfaceLike, is_surface
from meniscus.surface.meshing.sources import source_of
from meniscus.surface.meshing.tetrahedra import Holes, warn_of_losses
from meniscus.surface.shapes.mesh_distance import MeshDistance


def delaunay_mesh(
    surface: MeshDistance | TriangleMesh | SurfaceLike,
    spacing: float,
    *,
    sharp_angle: float = 0.6,
    rounds: int = 4,
    least_ratio: float = 0.1,
    largest_part_only: bool = False,
    holes: Holes = "refuse",
) -> TetMesh:
    """Return the Delaunay tetrahedra of points scattered on and in a closed surface whose centres are inside.

    Corners and sharp edges get points first, then the surface, and the inside the points of a BCC lattice. They depend on the shape, not on
    how it is divided into triangles. No tetrahedron is inverted, no two overlap, and the boundary is a closed manifold. Thin plates have
    tetrahedra, too, down to a fifth of the spacing: between the points on both of their sides. Angles have no bound, other than in
    `bcc_mesh`: `TetMesh.quality` tells.

    Args:
        surface: a `TriangleMesh`, a mesh of trimesh, meshio or PyVista, a tuple of arrays, or a `MeshDistance`.
        spacing: of the points, about, m.
        sharp_angle: rad; edges of watertight surfaces at which normals turn by more than this are sharp.
        rounds: of relaxation, which moves points inside towards the circumcentres around; the best round is taken.
        least_ratio: tetrahedra at the boundary with a smaller radius ratio (1 if regular) are left out if they are slivers: flat, beside
            one of more than three times their volume.
        largest_part_only, holes: as for `bcc_mesh`.

    Raises:
        TypeError, ValueError: other arguments, a surface with holes, a spacing that needs too many points.

    Warns:
        NotWatertightWarning, DeviationWarning: as `bcc_mesh`.

    Source: Müller, Stam, James and Thürey 2008, section 3.6; Chen and Xu, "Optimal Delaunay triangulations", 2004.
    """
    if not (isinstance(surface, MeshDistance) or is_surface(surface)):
        raise TypeError(f"surface must be a surface, such as a TriangleMesh, or a MeshDistance, not {type(surface).__name__}")
    h, angle = _checks.positive("spacing", spacing), _checks.positive("sharp_angle", sharp_angle)
    number = _checks.integer("rounds", rounds, at_least=0, below=2**31)
    least, largest = _checks.number("least_ratio", least_ratio), _checks.flag("largest_part_only", largest_part_only)
    core = source_of(surface, None, refuse_holes=_checks.choice("holes", holes, Holes) == "refuse").core
    mesh = TetMesh(*_surface.mesh_delaunay(core, h, angle, number, least, largest))
    warn_of_losses(None if largest else core, mesh, h, None, True)
    return mesh
