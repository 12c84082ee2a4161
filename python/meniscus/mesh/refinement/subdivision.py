"""Uniform refinement of meshes whose vertices move."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from meniscus import _checks
from meniscus._meniscus import mesh as _mesh
from meniscus.core import Workspace
from meniscus.mesh.any_mesh import own_mesh
from meniscus.mesh.arrays import sealed
from meniscus.mesh.embedding.embedding import Embedding
from meniscus.mesh.segment_mesh import SegmentMesh
from meniscus.mesh.simplices import Floats, Ints, SimplexMesh, check_out
from meniscus.mesh.tet_mesh import TetMesh
from meniscus.mesh.triangle_mesh import TriangleMesh

_M = TypeVar("_M", bound=SimplexMesh)


class SubdivisionHierarchy(Generic[_M]):
    """A mesh and finer ones, each with the elements of the one before cut in 8 (tetrahedra), 4 (triangles) or 2 (segments).

    The topology is computed once, from the mesh at rest. Fine positions and velocities are then fixed linear combinations of coarse ones,
    so they follow any motion of the coarse mesh.

    The vertices of a level come first on the next one, followed by the middles of its edges in the order of `edges`. With k children of
    each element, child c of element e is element k e + c of the next level. The octahedron inside of a tetrahedron is cut along its
    shortest diagonal at rest, which keeps the shapes of a BCC lattice. Children have the orientation of their parent.

    Args:
        mesh: level 0.
        levels: number of refinements.

    Raises:
        TypeError, ValueError: no mesh, a triangle that has a corner twice, more than 2^31 - 1 vertices or corners of elements.

    Source: Lee 2018, section 3.3.1; Molino et al., "A crystalline, red green strategy for meshing highly deformable objects with
    tetrahedra", 2003.
    """

    def __init__(self, mesh: _M, levels: int) -> None:
        mesh = own_mesh(mesh)
        kind = type(_checks.one_of_type("mesh", mesh, (TetMesh, TriangleMesh, SegmentMesh)))
        classes = {TetMesh: _mesh.TetSubdivision, TriangleMesh: _mesh.TriangleSubdivision, SegmentMesh: _mesh.SegmentSubdivision}
        self._mesh: _M = mesh
        self._levels = _checks.integer("levels", levels, at_least=0)
        _require_room(mesh, self._levels)
        self._core: Any = classes[kind](mesh.vertices, mesh.elements, self._levels)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the coarse mesh; the levels are made anew, with the same bits."""
        return type(self), (self._mesh, self._levels)

    @property
    def levels(self) -> int:
        """The finest level; the coarse mesh is level 0."""
        return self._levels

    def mesh(self, level: int) -> _M:
        """Return the mesh of a level; its rest positions follow from those of level 0."""
        i = self._checked(level)
        if i == 0:
            return self._mesh
        vertices = np.empty((self._core.vertices(i), 3))
        self._core.interpolate(self._mesh.vertices, i, vertices)
        return type(self._mesh)(sealed(vertices), self._core.elements(i))

    def vertex_count(self, level: int) -> int:
        """Return the number of vertices of a level."""
        return self._counts[self._checked(level)]

    @cached_property
    def _counts(self) -> list[int]:
        return [int(self._core.vertices(i)) for i in range(self._levels + 1)]

    def elements(self, level: int) -> Ints:
        """Return the elements of a level, a read-only view."""
        return self._core.elements(self._checked(level))  # type: ignore[no-any-return]

    def parents(self, level: int) -> Ints:
        """Return the two vertices (k, 2) of level - 1 in whose middle each new vertex of a level > 0 lies, a read-only view."""
        i = self._checked(level)
        if i == 0:
            raise ValueError("the vertices of level 0 have no parents")
        return self._core.parents(i)  # type: ignore[no-any-return]

    def positions(self, coarse: Floats, level: int, out: Floats | None = None) -> Floats:
        """Return the positions of all vertices of a level.

        Args:
            coarse: (n, 3) float64, C-contiguous, the positions of level 0, m.
            level: which.
            out: (vertex_count(level), 3) float64 to write to, which may begin with the memory of `coarse`; a new array by default.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, no such level, arrays that overlap otherwise.
        """
        i = self._checked(level)
        x = self._mesh.check_positions("coarse", coarse)
        shape = (self._counts[i], 3)
        result: Floats = np.empty(shape) if out is None else check_out("out", out, shape)
        if out is not None and x.size and x.ctypes.data != out.ctypes.data and np.may_share_memory(x, out):
            raise ValueError("out must begin with the memory of coarse or have none of it")
        self._core.interpolate(x, i, result)
        return result

    def velocities(self, coarse: Floats, level: int, out: Floats | None = None) -> Floats:
        """Return the velocities of all vertices of a level from those of level 0, m/s: the same combinations as of positions."""
        return self.positions(coarse, level, out)

    def displacements(
        self, start: Floats, end: Floats, level: int, out: Floats | None = None, *, dt: float = 1.0, workspace: Workspace | None = None
    ) -> Floats:
        """Return the displacements of all vertices of a level between two positions of level 0, times 1 / dt.

        With dt = 1 they are the differences of both `positions` of the level, bit by bit, so that path and velocity agree to the last
        rounding; those that `velocities` combines agree to the round-off of positions.

        Args:
            start: (n, 3) float64, C-contiguous, the positions of level 0 before, m.
            end: those after.
            level: which.
            out: (vertex_count(level), 3) float64 to write to, apart from `start` and `end`; a new array by default.
            dt: the time between both, for velocities, s.
            workspace: scratch memory for positions of level - 1; by default new.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, no such level, arrays that overlap, a dt that is not positive.
        """
        i = self._checked(level)
        a, b = self._mesh.check_positions("start", start), self._mesh.check_positions("end", end)
        shape = (int(self._core.vertices(i)), 3)
        result: Floats = np.empty(shape) if out is None else check_out("out", out, shape)
        if out is not None and (np.may_share_memory(a, out) or np.may_share_memory(b, out)):
            raise ValueError("out must not overlap start or end")
        scratch = Workspace() if workspace is None else _checks.one_of_type("workspace", workspace, Workspace)
        self._core.displace(a, b, i, _checks.positive("dt", dt), result, scratch)
        return result

    def embedding(self, level: int) -> Embedding:
        """Return the vertices of a level as points that hang on the vertices of level 0; the weights are exact.

        All parents of a vertex are corners of one coarse element.
        """
        nodes, weights = self._core.combinations(self._checked(level))
        return Embedding(nodes, weights, len(self._mesh.vertices))

    @property
    def nbytes(self) -> int:
        """Memory of the elements and parents of all levels, bytes."""
        return int(self._core.nbytes)

    def _checked(self, level: int) -> int:
        return _checks.integer("level", level, at_least=0, below=self._levels + 1)

    def __repr__(self) -> str:
        """One line with the elements of each level."""
        counts = ", ".join(str(len(self._core.elements(i))) for i in range(self._levels + 1))
        return f"<SubdivisionHierarchy: {counts} {self._mesh._elements_name}>"


def _require_room(mesh: SimplexMesh, levels: int) -> None:
    """Refuse levels whose elements cannot be numbered, before the first of them is made. Raises ValueError."""
    corners = mesh.elements.shape[1]
    children, count = {2: 2, 3: 4, 4: 8}[corners], len(mesh.elements)
    for level in range(1, levels + 1 if count else 1):
        count *= children
        if count * corners > 2**31 - 1:
            raise ValueError(f"levels must be below {level}, not {levels}: level {level} would have {count} elements, which are too many")
