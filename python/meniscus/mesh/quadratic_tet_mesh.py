"""Meshes of quadratic tetrahedra, which have a node on each edge too."""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core.state import Arguments, State
from meniscus.mesh.any_mesh import own_mesh
from meniscus.mesh.arrays import float_rows, index_rows, owned, sealed
from meniscus.mesh.files import read_mesh, read_quadratic_tets, write_elements
from meniscus.mesh.placement import Placement
from meniscus.mesh.simplices import FLOAT64, Floats, Ints, PathLike, check_out
from meniscus.mesh.tet_mesh import TetMesh
from meniscus.mesh.triangle_mesh import TriangleMesh


class QuadraticTetMesh(Placement, State):
    """Rest positions and the ten-node tetrahedra between them, whose edges may be curved.

    A mesh does not change; its arrays are read-only. Where linear elements are needed (drawing, collisions, embedding of points and
    surfaces), `pieces` and `boundary` give them over the same nodes, so that they follow the positions of a body without copies.

    Args:
        vertices: (n, 3), m; copied unless they are those of a mesh.
        elements: (m, 10) integers, copied unless they are those of a mesh: four corners in the order of `TetMesh`, then the nodes on
            the edges 01, 12, 20, 03, 13, 23 (the order of VTK and meshio).

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, an index out of range, an element that has a node twice, positions that
            are not finite.

    Source: Zienkiewicz and Taylor, "The finite element method", volume 1, 2000, chapters 8 and 9.
    """

    def __init__(self, vertices: npt.ArrayLike, elements: npt.ArrayLike) -> None:
        x = owned(float_rows("vertices", vertices, 3), vertices)
        e = owned(index_rows("elements", elements, 10), elements)
        _checks.require_finite("vertices", x)
        wrong = (e < 0) | (e >= len(x))
        if wrong.any():
            i, k = np.argwhere(wrong)[0]
            raise ValueError(f"elements must hold indices of the {len(x)} vertices, but [{i}, {k}] is {e[i, k]}")
        twice = (np.diff(np.sort(e, axis=1), axis=1) == 0).any(axis=1)
        if twice.any():
            raise ValueError(f"element {int(np.argmax(twice))} has a node twice")
        self._vertices, self._elements = x, e

    @property
    def vertices(self) -> Floats:
        """Rest positions of the nodes (n, 3), m; read-only."""
        return self._vertices  # type: ignore[no-any-return]

    @property
    def elements(self) -> Ints:
        """Nodes of the elements (m, 10); read-only."""
        return self._elements  # type: ignore[no-any-return]

    @cached_property
    def corners(self) -> TetMesh:
        """The tetrahedra (m) between the corners alone, over the same vertices."""
        return TetMesh(self._vertices, sealed(np.ascontiguousarray(self._elements[:, :4])))

    @cached_property
    def pieces(self) -> TetMesh:
        """Eight linear tetrahedra for each element, over the same vertices: 8 e to 8 e + 7 are those of element e.

        The octahedron inside of an element is cut along its shortest diagonal at rest. The pieces have the volume of elements with straight
        edges; that of curved ones they approach.
        """
        x = self._vertices[self._elements]
        lengths = np.stack([np.linalg.norm(x[:, a] - x[:, b], axis=1) for a, b in _DIAGONALS], axis=1)
        cut = np.array(_PIECES)[np.argmin(lengths, axis=1)] if len(x) else np.empty((0, 8, 4), np.intp)
        tets = np.take_along_axis(self._elements[:, None, :], cut.reshape(len(x), 1, 32), axis=2)
        return TetMesh(self._vertices, sealed(np.ascontiguousarray(tets.reshape(-1, 4))))

    @property
    def boundary(self) -> TriangleMesh:
        """Four triangles for each face with one element, oriented outward, over the same vertices."""
        return self.pieces.boundary

    def measures(self, positions: Floats | None = None) -> Floats:
        """Return the volumes (m,), m^3, by the quadrature rule of the elements: exact for straight edges.

        Args:
            positions: (n, 3) float64, C-contiguous, m; by default those at rest.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order.
        """
        x = self._vertices if positions is None else self.check_positions("positions", positions)
        slopes = np.einsum("qkj,mki->mqij", _SLOPES, x[self._elements] - x[self._elements[:, :1]])
        return np.asarray(np.linalg.det(slopes).sum(axis=1) / 24, np.float64)

    def volume(self) -> float:
        """Return the sum of the volumes at rest, m^3."""
        return float(self.measures().sum())

    def node_masses(self, density: float | Floats, out: Floats | None = None) -> Floats:
        """Return the mass (n,) of each node, kg: 1/36 of that of an element for its corners, 4/27 for the nodes on its edges.

        These shares are in proportion to the diagonal of the consistent mass matrix. The sums of its rows are negative at corners.

        Args:
            density: positive, kg/m^3; or one of each element (m,).
            out: (n,) float64 to write to; a new array by default.

        Raises:
            TypeError, ValueError: wrong dtype or shape, a density that is not positive, an inverted element.

        Source: Hinton, Rock and Zienkiewicz, "A note on mass lumping and related processes in the finite element method", 1976.
        """
        volumes = self.measures()
        if len(volumes) and volumes.min() < 0:
            bad = int(np.argmax(volumes < 0))
            raise ValueError(f"elements with a mass must have a positive volume, but that of element {bad} is {volumes[bad]:g} m^3")
        if isinstance(density, np.ndarray) and density.ndim > 0:
            rho = _checks.incoming("density", density, FLOAT64, (len(volumes),))
            if not (rho > 0).all():
                bad = int(np.argmin(rho > 0))
                raise ValueError(f"density must be positive, but [{bad}] is {rho[bad]:g}")
            masses = volumes * rho
        else:
            masses = volumes * _checks.positive("density", density)
        n = len(self._vertices)
        result: Floats = np.empty(n) if out is None else check_out("out", out, (n,))
        result[...] = np.bincount(self._elements.ravel(), (masses[:, None] * _SHARES).ravel(), n)
        return result

    def moved(self, vertices: Floats) -> QuadraticTetMesh:
        """Return a mesh with other rest positions (n, 3) and the same elements, such as with its edges on a curved surface.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, positions that are not finite.
        """
        return QuadraticTetMesh(self.check_positions("vertices", vertices), self._elements)

    def check_positions(self, name: str, positions: Floats) -> Floats:
        """Return `positions` if they are one row of three float64 per vertex; raise TypeError or ValueError otherwise."""
        _checks.points(name, positions, FLOAT64, 3)
        if len(positions) != len(self._vertices):
            raise ValueError(f"{name} must have shape ({len(self._vertices)}, 3), not {positions.shape}")
        return positions

    @classmethod
    def read(cls, path: PathLike) -> QuadraticTetMesh:
        """Return the ten-node tetrahedra of a VTK, VTU, Gmsh (.msh) or other file that meshio reads.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it holds no such tetrahedra.
            ImportError: meshio is missing.
        """
        return read_mesh(cls, read_quadratic_tets, path)

    def write(self, path: PathLike) -> None:
        """Write a VTK, VTU or Gmsh (.msh) file, which appears only once it is complete.

        Raises:
            ValueError: the name ends otherwise.
            ImportError: meshio is missing.
            OSError: the file cannot be written.
        """
        write_elements(path, self._vertices, self._elements)

    # --- state -----------------------------------------------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """Memory of vertices and elements, bytes."""
        return int(self._vertices.nbytes + self._elements.nbytes)

    def snapshot(self) -> dict[str, Any]:
        """Return copies of vertices and elements."""
        return {"vertices": np.array(self._vertices), "elements": np.array(self._elements)}

    def restore(self, snapshot: Any) -> None:
        """Check that a snapshot is of an equal mesh, since a mesh does not change. Raises ValueError otherwise."""
        mine = self.snapshot()
        if not isinstance(snapshot, dict) or set(snapshot) != set(mine) or not all(np.array_equal(mine[n], snapshot[n]) for n in mine):
            raise ValueError(f"a mesh does not change, and this snapshot is not of {self!r}")

    def assign(self, other: QuadraticTetMesh) -> None:
        """Check that another mesh is equal, since a mesh does not change. Raises ValueError otherwise."""
        if not isinstance(other, QuadraticTetMesh) or self != other:
            raise ValueError(f"a mesh does not change, and {other!r} is not {self!r}")

    def copy(self) -> QuadraticTetMesh:
        """Return this mesh, which is shared since it does not change."""
        return self

    def _arguments(self) -> Arguments:
        return (np.asarray(self._vertices), np.asarray(self._elements)), {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Meshes are pickled as their arrays."""
        return type(self), self._arguments()[0]

    def __eq__(self, other: object) -> bool:
        """Return whether both are meshes of quadratic tetrahedra with equal vertices and elements."""
        if not isinstance(other, QuadraticTetMesh):
            return NotImplemented
        return np.array_equal(self._elements, other._elements) and np.array_equal(self._vertices, other._vertices)

    def __hash__(self) -> int:
        """Equal meshes have equal hashes."""
        return hash((type(self).__name__, len(self._vertices), self._elements.tobytes()))

    def __repr__(self) -> str:
        """One line with the counts and the bounding box."""
        counts = f"{len(self._vertices)} vertices, {len(self._elements)} elements"
        if len(self._vertices) == 0:
            return f"<QuadraticTetMesh: {counts}>"
        sides = " x ".join(f"{x:g}" for x in np.ptp(self._vertices, axis=0))
        return f"<QuadraticTetMesh: {counts}, {sides} m>"


def quadratic_mesh(mesh: TetMesh) -> QuadraticTetMesh:
    """Return a mesh of quadratic tetrahedra with the corners of `mesh` and a node in the middle of each of its edges.

    The vertices of `mesh` come first, followed by the middles in the order of its `edges`. To fit a curved surface, move the nodes on its
    boundary: see `QuadraticTetMesh.moved`.

    Raises:
        TypeError: no `TetMesh`.
        ValueError: more than 2^31 - 1 nodes.
    """
    mesh = _checks.one_of_type("mesh", own_mesh(mesh), TetMesh)
    n = len(mesh.vertices)
    if n + len(mesh.edges) > 2**31 - 1:
        raise ValueError(f"a mesh can have at most {2**31 - 1} vertices, not {n + len(mesh.edges)}")
    ends = mesh.vertices[mesh.edges]
    # Not the mean of sums, which could overflow.
    middles = ends[:, 0] + 0.5 * (ends[:, 1] - ends[:, 0])
    elements = np.concatenate([mesh.tets, mesh.element_edges[:, _FROM_TET_EDGES] + np.int32(n)], axis=1)
    return QuadraticTetMesh(sealed(np.concatenate([mesh.vertices, middles])), sealed(np.ascontiguousarray(elements, np.int32)))


_EDGES = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))
# Those of `TetMesh.element_edges` are 01, 02, 03, 12, 13, 23.
_FROM_TET_EDGES = np.array([0, 3, 1, 2, 4, 5])
_SHARES = np.array([1 / 36] * 4 + [4 / 27] * 6)
_DIAGONALS = ((4, 9), (5, 7), (6, 8))


def _slopes() -> Floats:
    """Return the derivatives (4, 10, 3) of the shape functions in the directions of three reference axes at the four quadrature points."""
    far, near = (5 + 3 * 5**0.5) / 20, (5 - 5**0.5) / 20
    result = np.zeros((4, 10, 4))
    for q in range(4):
        at = np.where(np.arange(4) == q, far, near)
        for i in range(4):
            result[q, i, i] = 4 * at[i] - 1
        for k, (i, j) in enumerate(_EDGES):
            result[q, 4 + k, i], result[q, 4 + k, j] = 4 * at[j], 4 * at[i]
    return np.asarray(result[:, :, 1:] - result[:, :, :1], np.float64)


def _pieces(diagonal: tuple[int, int]) -> list[tuple[int, ...]]:
    """Return the nodes of the eight pieces, of positive volume, of an element that is cut along a diagonal."""
    place: npt.NDArray[Any] = np.concatenate([np.eye(4)[:, 1:], [np.eye(4)[list(e), 1:].mean(axis=0) for e in _EDGES]])
    around = [4, 5, 6, 7, 8, 9]
    pieces = [(0, 4, 6, 7), (4, 1, 5, 8), (6, 5, 2, 9), (7, 8, 9, 3)]
    for a, b in itertools.combinations([n for n in around if n not in diagonal], 2):
        if not any({a, b} == set(d) for d in _DIAGONALS):
            pieces.append((*diagonal, a, b))
    turned = [np.linalg.det(place[list(p[1:])] - place[p[0]]) < 0 for p in pieces]
    return [(p[0], p[1], p[3], p[2]) if t else p for p, t in zip(pieces, turned, strict=True)]


_SLOPES = _slopes()
_PIECES = [_pieces(d) for d in _DIAGONALS]
