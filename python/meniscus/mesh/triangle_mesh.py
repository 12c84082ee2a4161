"""Triangle meshes."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy.typing as npt

from meniscus._meniscus import mesh as _mesh
from meniscus.mesh.conversion import to_meshio, to_pyvista, to_trimesh
from meniscus.mesh.files import read_mesh, read_triangles, write_elements
from meniscus.mesh.quality.elements import MeshQuality, quality_of
from meniscus.mesh.segment_mesh import SegmentMesh
from meniscus.mesh.simplices import Floats, Ints, PathLike, SimplexMesh
from meniscus.mesh.surface_like import SurfaceLike, surface_arrays
from meniscus.mesh.topology.watertight import WatertightReport, check_watertight


class TriangleMesh(SimplexMesh):
    """Rest positions and the triangles between them.

    Wherever the package takes a surface, it takes one of these, or what this constructor takes. `vertices, triangles = mesh` gives the
    arrays.

    Args:
        vertices: (n, 3) numbers, m; or in place of both arguments a mesh of trimesh, meshio or PyVista, a `TetMesh` (its boundary), or
            both arrays as a tuple. Copied unless they are those of a mesh.
        triangles: (m, 3) integers, indices of vertices, counter-clockwise as seen from outside; copied unless they are those of a mesh. A
            triangle may have a corner twice; it is then ignored in edges and all that follows from them.

    Raises:
        TypeError, ValueError: what is no such array, a wrong shape, an index out of range, positions that are not finite.
    """

    _corners = 3
    _elements_name = "triangles"
    _topology_names = (*SimplexMesh._topology_names, "hinges", "neighbours", "nonmanifold_edges", "pinched_vertices", "_boundary")

    def __init__(self, vertices: SurfaceLike, triangles: npt.ArrayLike | None = None) -> None:
        if triangles is None:
            vertices, triangles = surface_arrays(vertices)
        super().__init__(vertices, triangles)

    @property
    def triangles(self) -> Ints:
        """The corners of each triangle (m, 3); read-only."""
        return self._elements

    @property
    def faces(self) -> Ints:
        """The same as `triangles`, by the name that trimesh has for it."""
        return self._elements

    @property
    def areas(self) -> Floats:
        """Areas at rest (m,), m^2; read-only."""
        return self._rest_measures

    def area(self) -> float:
        """Return the sum of the areas at rest, m^2."""
        return float(_mesh.sum_of(self._rest_measures))

    def volume(self, positions: Floats | None = None) -> float:
        """Return the volume that a closed mesh encloses, negative if it is inside out, m^3.

        Args:
            positions: (n, 3) float64, C-contiguous, m; by default those at rest.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, a mesh with a boundary.
        """
        x = self._given_or_rest(positions)
        if len(self._boundary):
            raise ValueError(f"a mesh with {len(self._boundary)} boundary edges encloses no volume")
        return float(_mesh.enclosed_volume(x, self._elements))

    @cached_property
    def boundary(self) -> SegmentMesh:
        """The edges with one triangle, in the direction in which it passes them, over the same vertices."""
        return SegmentMesh(self._vertices, self._boundary)

    @cached_property
    def neighbours(self) -> Ints:
        """The triangle (m, 3) beyond the edge opposite of each corner; read-only.

        -1 on the boundary and where more than two triangles have the edge.
        """
        return self._topology.neighbours(self._elements)  # type: ignore[no-any-return]

    @cached_property
    def hinges(self) -> Ints:
        """The edges with two triangles, and the other corners of these: (b, 4) as i, j, k, l; read-only.

        Edges i < j are in ascending order. The triangle of k passes the edge from i to j, that of l from j to i. Edges with more than two
        triangles are ignored.
        """
        return self._topology.hinges(self._elements)  # type: ignore[no-any-return]

    @cached_property
    def nonmanifold_edges(self) -> Ints:
        """The edges (k, 2) with more than two triangles; read-only."""
        return self._topology.crowded_edges()  # type: ignore[no-any-return]

    @cached_property
    def pinched_vertices(self) -> Ints:
        """The vertices whose triangles are not a single fan, ascending; read-only."""
        return self._topology.pinched_vertices(self._elements, len(self._vertices))  # type: ignore[no-any-return]

    @property
    def is_manifold(self) -> bool:
        """Whether every edge has at most two triangles and every vertex a single fan of them."""
        return len(self.nonmanifold_edges) == 0 and len(self.pinched_vertices) == 0

    @property
    def euler_characteristic(self) -> int:
        """Vertices - edges + triangles, of the vertices that triangles have: 2 for a sphere, 1 for a disk."""
        return len(self.used_vertices) - len(self.edges) + len(self._elements)

    def quality(self, positions: Floats | None = None) -> MeshQuality:
        """Return the quality measures of the triangles.

        Args:
            positions: (n, 3) float64, C-contiguous, m; by default those at rest.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, positions that are not finite.
        """
        return quality_of(self, positions)

    def check_watertight(self) -> WatertightReport:
        """Return whether the mesh is watertight, and its defects; see `mesh.check_watertight`."""
        return check_watertight(self)

    def to_trimesh(self, positions: Floats | None = None) -> Any:
        """Return a `trimesh.Trimesh`, with other positions (n, 3) than those at rest if given.

        Raises:
            TypeError, ValueError: positions of a wrong dtype, shape or memory order.
            ImportError: trimesh is missing.
        """
        return to_trimesh(self._given_or_rest(positions), self._elements)

    def to_meshio(self, positions: Floats | None = None) -> Any:
        """Return a `meshio.Mesh`; see `to_trimesh`."""
        return to_meshio(self._given_or_rest(positions), self._elements)

    def to_pyvista(self, positions: Floats | None = None) -> Any:
        """Return a `pyvista.PolyData`; see `to_trimesh`."""
        return to_pyvista(self._given_or_rest(positions), self._elements)

    @classmethod
    def from_trimesh(cls, mesh: Any) -> TriangleMesh:
        """Return a mesh with the arrays of a `trimesh.Trimesh`. Raises TypeError for something else."""
        return cls(*surface_arrays(mesh, name="mesh"))

    @classmethod
    def from_meshio(cls, mesh: Any) -> TriangleMesh:
        """Return the triangles, quads and polygons of a `meshio.Mesh`, cut into triangles. Raises TypeError or ValueError."""
        return cls(*surface_arrays(mesh, name="mesh"))

    @classmethod
    def from_pyvista(cls, mesh: Any) -> TriangleMesh:
        """Return the polygons of a `pyvista.PolyData`, cut into triangles. Raises TypeError for something else."""
        return cls(*surface_arrays(mesh, name="mesh"))

    @cached_property
    def _topology(self) -> Any:
        return _mesh.TriangleTopology(self._elements)

    @cached_property
    def _boundary(self) -> Ints:
        return self._topology.boundary(self._elements)  # type: ignore[no-any-return]

    @cached_property
    def _components(self) -> tuple[int, Ints]:
        count, component = self._topology.components(len(self._elements))
        return int(count), component

    @classmethod
    def read(cls, path: PathLike) -> TriangleMesh:
        """Return the triangle mesh of a file: a format of `mesh.read`, or the triangles of a VTK, VTU, Gmsh or Medit file.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it holds no triangle mesh, or one whose indices are out of range.
            ImportError: trimesh or meshio is missing.
        """
        return read_mesh(cls, read_triangles, path)

    def write(self, path: PathLike) -> None:
        """Write an OBJ, PLY, STL, OFF, glTF (.glb), VTK, VTU, Gmsh (.msh) or Medit (.mesh) file, which appears only once it is complete.

        Coordinates are written as they are; programs take y as upwards in glTF files.

        Raises:
            ValueError: the name ends otherwise.
            ImportError: meshio, or trimesh for glTF, is missing.
            OSError: the file cannot be written.

        Warns:
            UserWarning: STL and glTF files have single precision, and it moves vertices by a part of the shortest edge.
        """
        write_elements(path, self._vertices, self._elements)


def triangle_mesh(surface: SurfaceLike, triangles: npt.ArrayLike | None = None) -> TriangleMesh:
    """Return a TriangleMesh as it is, and anything else that its constructor takes as one. Raises as that does."""
    if triangles is None and isinstance(surface, TriangleMesh):
        return surface
    return TriangleMesh(surface, triangles)
