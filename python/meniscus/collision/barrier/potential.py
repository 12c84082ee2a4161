"""Barrier energy of a mesh, and of separate pairs of elements."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import collision as _collision
from meniscus._options import CoreOption
from meniscus.collision.collision_mesh import CollisionMesh
from meniscus.collision.contact.nodes import ContactNodes, values
from meniscus.mesh.arrays import float_rows, integers

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
Curvature = Literal["exact", "definite"]
PairKind = Literal["vertex-face", "edge-edge"]

CURVATURE = CoreOption(Curvature, _collision.Curvature)
_FLOAT64 = np.dtype(np.float64)


class BarrierPairs(NamedTuple):
    """Pairs of elements within their activation distance: vertices and triangles first, both kinds ascending.

    Attributes:
        elements: (k, 2) int32, vertex and triangle, or two edges.
        vertices: (k, 4) int32, those of the first element, then those of the second.
        edges: (k,) bool, whether the elements are edges.
        distance: (k,) activation distances, m.
    """

    elements: Ints
    vertices: Ints
    edges: Bools
    distance: Floats


class PairBarriers(NamedTuple):
    """Barrier energies of separate pairs.

    Attributes:
        value: (n,).
        gradient: (n, 12), by the coordinates of the four points, point after point.
        hessian: (n, 12, 12).
    """

    value: Floats
    gradient: Floats
    hessian: Floats


class BarrierHessian(NamedTuple):
    """Second derivative of a barrier energy as a sum of 3 x 3 blocks; several may have the same place.

    Attributes:
        rows, columns: (b,) int32, vertices.
        blocks: (b, 3, 3).
    """

    rows: Ints
    columns: Ints
    blocks: Floats

    def dense(self, vertices: int) -> Floats:
        """Return the matrix (3 n, 3 n) of n vertices, for small meshes."""
        rows, columns, values = self.triplets()
        full = np.zeros((3 * vertices, 3 * vertices))
        np.add.at(full, (rows, columns), values)
        return full

    def triplets(self) -> tuple[Ints, Ints, Floats]:
        """Return rows, columns and values (9 b,) of the coordinates, as sparse matrices of SciPy take them."""
        three = np.arange(3, dtype=np.int32)
        rows = np.broadcast_to(3 * self.rows[:, None, None] + three[:, None], self.blocks.shape)
        columns = np.broadcast_to(3 * self.columns[:, None, None] + three, self.blocks.shape)
        return rows.ravel(), columns.ravel(), self.blocks.ravel()


class Barrier:
    """Smooth logarithmic barrier of a mesh: an energy that keeps all elements without a common vertex apart.

    With the squared distance d of a pair of a vertex and a triangle, or of two edges, and its squared activation distance h, the energy is
    the sum over all pairs with d < h of b(d) = -(d - h)^2 ln(d / h), times m for edges. m = (2 - c / e) c / e where the squared cross
    product c of the edges is below e = 1e-3 times the product of their squared lengths at rest, and 1 elsewhere: without it the gradient
    would have jumps at parallel edges. Distances are those of the nearest features, whose derivatives are in closed form. Times a
    stiffness (J/m^4) this is the energy of the source. Results have the same bits on any number of threads.

    Args:
        mesh: all surfaces as one; or a surface that a `CollisionMesh` is made from.
        rest: (n, 3) numbers, positions at rest, m.
        distance: a number or (n,) numbers: activation distance, m. That of an element is the least of its vertices', that of a pair the
            mean of its elements'.
        nodes: how the vertices yield: `ContactNodes`, or (n,) inverse masses, 1/kg. Pairs of which no vertex yields are left out. None:
            all yield.
        normalized: divide the energy of each pair by h^2, which leaves it without a unit: the stiffness is then in J.
        rest_part: activation distances of elements of one group are at most this part of their distance at rest, so that what is near by
            its shape has no energy there; 0: no limit.
        groups: (n,) integers, the group of each vertex; None: all are one.

    Raises:
        TypeError, ValueError: wrong types, shapes or lengths; distances that are not positive, positions that are not finite.

    Source: Li, Ferguson, Schneider, Langlois, Zorin, Panozzo, Jiang and Kaufman, "Incremental Potential Contact", 2020, sections 4 and 5.
    """

    def __init__(
        self,
        mesh: CollisionMesh | Any,
        rest: npt.ArrayLike,
        distance: float | npt.ArrayLike,
        *,
        nodes: ContactNodes | npt.ArrayLike | None = None,
        normalized: bool = False,
        rest_part: float = 0.0,
        groups: npt.ArrayLike | None = None,
    ) -> None:
        self.mesh = mesh if isinstance(mesh, CollisionMesh) else CollisionMesh(mesh)
        x = float_rows("rest", rest, 3)
        each = np.full(len(x), _checks.number("distance", distance)) if np.ndim(distance) == 0 else values("distance", distance)
        given = np.ones(len(x)) if nodes is None else nodes
        self.nodes = given if isinstance(given, ContactNodes) else ContactNodes(given)
        group = None if groups is None else integers("groups", groups, 1).astype(np.int32)
        flags = _checks.flag("normalized", normalized), _checks.number("rest_part", rest_part)
        self._core: Any = _collision.Barrier(self.mesh._core, x, each, group, *flags)

    def __repr__(self) -> str:
        """One line with the counts."""
        return f"<Barrier: {self.nodes.vertices} vertices, {self._core.size} pairs, {self.nbytes / 1e6:.3g} MB>"

    def __len__(self) -> int:
        """Return the number of pairs of the last positions."""
        return int(self._core.size)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return int(self._core.nbytes)

    @property
    def core(self) -> Any:
        """The compiled barrier."""
        return self._core

    def find(self, positions: Floats) -> int:
        """Store the pairs within their activation distance, and return their number.

        Args:
            positions: (n, 3) float64, C-contiguous, m: of the vertices.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, positions that are not finite; elements that touch (the first is
                named). No pairs are stored then.
        """
        self._core.find(self.mesh._core, self.nodes._core, _positions(positions))
        return int(self._core.size)

    def pairs(self) -> BarrierPairs:
        """Return the pairs of the last positions."""
        return BarrierPairs(*self._core.pairs())

    @property
    def min_distance(self) -> float:
        """The least distance of the pairs of the last positions, m; infinity without pairs."""
        return float(self._core.least_distance)

    @property
    def min_part(self) -> float:
        """The least distance of a pair relative to its activation distance; infinity without pairs."""
        return float(self._core.least_part)

    def value(self, positions: Floats) -> float:
        """Return the energy, m^4 (without a unit if normalized). Arguments and errors are those of `gradient`."""
        x = self._separate(positions)
        return float(self._core.energy(x))

    def gradient(self, positions: Floats) -> Floats:
        """Return the derivative of the energy (n, 3), per metre: minus the forces between the elements.

        Args:
            positions: (n, 3) float64, C-contiguous, m: of the vertices, without intersections.

        Raises:
            TypeError, ValueError: as for `find`; edges and triangles that intersect, by the exact test, with their number.
        """
        x = self._separate(positions)
        out = np.zeros_like(x)
        self._core.add_gradient(x, 1.0, out)
        return out

    def hessian(self, positions: Floats, curvature: Curvature = "exact") -> BarrierHessian:
        """Return the second derivative of the energy.

        Args:
            positions: as for `gradient`.
            curvature: "exact"; "definite": each pair without its negative eigenvalues, for Newton's method.

        Raises:
            TypeError, ValueError: as for `gradient`; unknown curvature.
        """
        kind = CURVATURE("curvature", curvature)
        x = self._separate(positions)
        self._core.linearise(x, kind)
        vertices = self.pairs().vertices
        blocks = self._core.matrices().reshape(-1, 4, 3, 4, 3).transpose(0, 1, 3, 2, 4)
        rows, columns = (np.broadcast_to(v, blocks.shape[:3]).ravel() for v in (vertices[:, :, None], vertices[:, None, :]))
        return BarrierHessian(rows, columns, np.ascontiguousarray(blocks).reshape(-1, 3, 3))

    def _separate(self, positions: Floats) -> Floats:
        x = _positions(positions)
        self.find(x)
        crossing = self.mesh.self_intersections(x)
        if len(crossing):
            raise ValueError(f"surfaces must not intersect, but {len(crossing)} pairs of an edge and a triangle do")
        return x


def barrier_of_pairs(
    points: Floats, kind: PairKind, distance: float, *, rest: Floats | None = None, curvature: Curvature = "exact"
) -> PairBarriers:
    """Return the barrier energies of separate pairs of elements, with first and second derivatives; see `Barrier`.

    Args:
        points: (n, 4, 3) float64, C-contiguous, m: a vertex and the corners of a triangle, or the ends of two edges.
        kind: "vertex-face" or "edge-edge".
        distance: activation distance, m.
        rest: (n, 4, 3) float64, points at rest, whose edges the mollifier compares; None: `points`.
        curvature: as in `Barrier.hessian`.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, points that are not finite, unknown choices, a distance that is not
            positive.

    Source: Li et al., "Incremental Potential Contact", 2020, sections 4 and 5.
    """
    h = _checks.positive("distance", distance)
    for name, value in (("points", points), ("rest", rest)):
        if value is not None:
            _checks.require_finite(name, _checks.one_of_type(name, value, np.ndarray))
    edges = _checks.choice("kind", kind, PairKind) == "edge-edge"
    return PairBarriers(*_collision.barrier_of_pairs(points, rest, edges, h, CURVATURE("curvature", curvature)))


def _positions(value: Floats) -> Floats:
    return np.asarray(_checks.points("positions", value, _FLOAT64, 3), np.float64)
