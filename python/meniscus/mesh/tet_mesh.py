"""Meshes of tetrahedra."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._checks import Bools
from meniscus._meniscus import mesh as _mesh
from meniscus.mesh.arrays import sealed
from meniscus.mesh.conversion import tet_arrays, to_meshio, to_pyvista
from meniscus.mesh.files import read_mesh, read_tets, write_elements
from meniscus.mesh.quality.elements import MeshQuality, quality_of
from meniscus.mesh.simplices import Floats, Ints, PathLike, SimplexMesh, check_out
from meniscus.mesh.triangle_mesh import TriangleMesh


class TetMesh(SimplexMesh):
    """Rest positions and the tetrahedra between them.

    Args:
        vertices: (n, 3) numbers, m; copied unless they are those of a mesh. Without `tets`, a mesh of meshio or PyVista.
        tets: (m, 4) integers, indices of vertices; copied unless they are those of a mesh. Seen from the first corner, the others go round
            counter-clockwise, so that det [x1 - x0, x2 - x0, x3 - x0] > 0. Other tetrahedra count as inverted, see `oriented`.

    Raises:
        TypeError, ValueError: what is no such array, a wrong shape, an index out of range, a tetrahedron with a corner twice, positions
            that are not finite.
    """

    _corners = 4
    _elements_name = "tets"
    _topology_names = (*SimplexMesh._topology_names, "face_tets", "flipped_faces", "_boundary")

    def __init__(self, vertices: Any, tets: npt.ArrayLike | None = None) -> None:
        if tets is None:
            vertices, tets = vertices if isinstance(vertices, TetMesh) else tet_arrays(vertices)
        super().__init__(vertices, tets)

    @property
    def tets(self) -> Ints:
        """The corners of each tetrahedron (m, 4); read-only."""
        return self._elements

    @property
    def volumes(self) -> Floats:
        """Signed volumes at rest (m,), negative for inverted tetrahedra, m^3; read-only."""
        return self._rest_measures

    def volume(self) -> float:
        """Return the sum of the signed volumes at rest, m^3."""
        return float(_mesh.sum_of(self._rest_measures))

    @property
    def faces(self) -> Ints:
        """The faces (f, 3), counter-clockwise as seen from outside of their first tetrahedron; read-only.

        Like all that depends on faces, this raises ValueError if more than two tetrahedra have a face.
        """
        return self._topology.faces  # type: ignore[no-any-return]

    @property
    def face_tets(self) -> Ints:
        """The two tetrahedra at each face (f, 2), the lower one first, -1 outside; read-only."""
        return self._topology.face_tets  # type: ignore[no-any-return]

    @property
    def tet_faces(self) -> Ints:
        """The faces of each tetrahedron (m, 4), as rows of `faces`: face k is opposite of corner k; read-only."""
        return self._topology.faces_of  # type: ignore[no-any-return]

    @property
    def neighbours(self) -> Ints:
        """The tetrahedron (m, 4) beyond the face opposite of each corner, -1 outside; read-only."""
        return self._topology.neighbours  # type: ignore[no-any-return]

    @property
    def boundary_faces(self) -> Ints:
        """The faces with one tetrahedron, as ascending rows of `faces`; read-only."""
        return self._topology.boundary  # type: ignore[no-any-return]

    @cached_property
    def boundary(self) -> TriangleMesh:
        """The faces with one tetrahedron, oriented outward, over the same vertices; `boundary.compacted()` drops those inside."""
        return TriangleMesh(self._vertices, self._boundary)

    @cached_property
    def flipped_faces(self) -> Ints:
        """The faces whose two tetrahedra lie on the same side by the order of their corners; read-only.

        One of the two is inverted, or they overlap.
        """
        return self._topology.flipped_faces(self._elements)  # type: ignore[no-any-return]

    @property
    def euler_characteristic(self) -> int:
        """Vertices - edges + faces - tetrahedra, of the vertices that tetrahedra have: 1 for a ball, 2 for a thick hollow sphere."""
        return len(self.used_vertices) - len(self.edges) + len(self.faces) - len(self._elements)

    def quality(self, positions: Floats | None = None) -> MeshQuality:
        """Return the quality measures of the tetrahedra.

        Args:
            positions: (n, 3) float64, C-contiguous, m; by default those at rest.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, positions that are not finite.
        """
        return quality_of(self, positions)

    def degenerate(self, positions: Floats, *, min_volume: float = 1e-3, min_aspect: float = 1e-3, out: Bools | None = None) -> Bools:
        """Return which tetrahedra (m,) of a deformed mesh are inverted or collapsed.

        A tetrahedron counts if its signed volume is at most `min_volume` times that at rest, its smallest altitude is below
        `min_aspect` times its longest edge, or a position is not finite.

        Args:
            positions: (n, 3) float64, C-contiguous, m.
            min_volume: a ratio; 0 allows all volumes above zero.
            min_aspect: a ratio; that of a regular tetrahedron is 0.816.
            out: (m,) bool to write to; a new array by default.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, a ratio that is not finite.

        Source: Lee 2018, section 3.6.
        """
        x = self.check_positions("positions", positions)
        m = len(self._elements)
        result = np.empty(m, bool) if out is None else check_out("out", out, (m,), np.dtype(bool))
        volume, aspect = _checks.number("min_volume", min_volume), _checks.number("min_aspect", min_aspect)
        _mesh.find_degenerate(x, self._elements, self._rest_measures, volume, aspect, result)
        return result

    def is_embedded(self, positions: Floats | None = None) -> bool:
        """Return whether two tetrahedra have no point in common but those of the corner, edge or face that they share.

        The answer is exact for all finite positions. False for inverted and flat tetrahedra, for more than two tetrahedra at a face, for
        parts that overlap, that lie within each other or that only touch, and for a mesh that winds around one of its edges by more than
        360 degrees. Vertices that no tetrahedron has do not count; a mesh without tetrahedra is embedded.

        Args:
            positions: (n, 3) float64, C-contiguous, m; by default those at rest.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, positions that are not finite.

        Source: Lipman, "Bijective mappings of meshes with boundary and the degree in mesh processing", 2014; orientation predicates as in
        Brochu 2012, section 4.4.1. The proof is in `mesh/intersection/embedded_mesh.hpp`.
        """
        x = self._vertices if positions is None else self.check_positions("positions", positions)
        if positions is not None:
            _checks.require_finite("positions", x)
        try:
            topology = self._topology
        except ValueError:  # of three tetrahedra at a face, two lie on the same side of it
            return False
        return bool(topology.is_embedded(x, self._elements))

    def oriented(self) -> TetMesh:
        """Return the mesh with the last two corners of all inverted tetrahedra swapped."""
        inverted = self._rest_measures < 0
        if not inverted.any():
            return self
        tets = self._elements.copy()
        tets[inverted] = tets[inverted][:, [0, 1, 3, 2]]
        return TetMesh(self._vertices, tets)

    @cached_property
    def _topology(self) -> Any:
        return _mesh.TetTopology(self._elements, len(self._vertices))

    @cached_property
    def _boundary(self) -> Ints:
        return sealed(np.ascontiguousarray(self.faces[self.boundary_faces]))  # type: ignore[no-any-return]

    @cached_property
    def _components(self) -> tuple[int, Ints]:
        count, component = self._topology.components()
        return int(count), component

    @classmethod
    def read(cls, path: PathLike) -> TetMesh:
        """Return the tetrahedra of a VTK, VTU, Gmsh (.msh), Medit (.mesh) or other file that meshio reads.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it holds no tetrahedra, or some whose indices are out of range.
            ImportError: meshio is missing.
        """
        return read_mesh(cls, read_tets, path)

    def to_meshio(self, positions: Floats | None = None) -> Any:
        """Return a `meshio.Mesh`, with other positions (n, 3) than those at rest if given.

        Raises:
            TypeError, ValueError: positions of a wrong dtype, shape or memory order.
            ImportError: meshio is missing.
        """
        return to_meshio(self._given_or_rest(positions), self._elements)

    def to_pyvista(self, positions: Floats | None = None) -> Any:
        """Return a `pyvista.UnstructuredGrid`; see `to_meshio`."""
        return to_pyvista(self._given_or_rest(positions), self._elements)

    @classmethod
    def from_meshio(cls, mesh: Any) -> TetMesh:
        """Return the tetrahedra of a `meshio.Mesh`. Raises TypeError or ValueError for something else."""
        return cls(*tet_arrays(mesh))

    @classmethod
    def from_pyvista(cls, mesh: Any) -> TetMesh:
        """Return the tetrahedra of a `pyvista.UnstructuredGrid`. Raises TypeError or ValueError for something else."""
        return cls(*tet_arrays(mesh))

    def write(self, path: PathLike) -> None:
        """Write a VTK, VTU, Gmsh (.msh) or Medit (.mesh) file, which appears only once it is complete.

        Raises:
            ValueError: the name ends otherwise.
            ImportError: meshio is missing.
            OSError: the file cannot be written.
        """
        write_elements(path, self._vertices, self._elements)
