"""Collision queries of a mesh whose vertices move."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import collision as _collision
from meniscus._options import CoreOption
from meniscus.collision.continuous.detection import CONTACT_MODE, ContactMode
from meniscus.collision.proximity.intersection import DEGENERATE_CONTACT, DegenerateContact
from meniscus.core.known_names import KnownNames
from meniscus.mesh.arrays import index_rows
from meniscus.mesh.simplices import SimplexMesh
from meniscus.mesh.surface_like import SurfaceLike
from meniscus.mesh.triangle_mesh import triangle_mesh

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
BroadPhase = Literal["tree", "grid", "brute-force"]

BROAD_PHASE = CoreOption(BroadPhase, _collision.BroadPhase)
_FLOAT64 = np.dtype(np.float64)


class CollisionPairs(NamedTuple):
    """Pairs of elements of one mesh, in lexicographic order.

    Attributes:
        vertex_face: (k, 2) int32, a vertex and a triangle.
        edge_edge: (k, 2) int32, two edges, the lower number first.
    """

    vertex_face: Ints
    edge_edge: Ints


class MutualPairs(NamedTuple):
    """Pairs of elements of two meshes, in lexicographic order; the element of the first mesh comes first.

    Attributes:
        vertex_face: (k, 2) int32, a vertex of the first mesh and a triangle of the second.
        face_vertex: (k, 2) int32, a triangle of the first mesh and a vertex of the second.
        edge_edge: (k, 2) int32, an edge of each.
    """

    vertex_face: Ints
    face_vertex: Ints
    edge_edge: Ints


class MutualIntersections(NamedTuple):
    """Intersections of two meshes, in lexicographic order.

    Attributes:
        edge_face: (k, 2) int32, an edge of the first mesh and a triangle of the second.
        face_edge: (k, 2) int32, a triangle of the first mesh and an edge of the second.
    """

    edge_face: Ints
    face_edge: Ints


Positions = Floats | SimplexMesh


class CollisionMesh(KnownNames):
    """Collision queries of a mesh whose vertices move: which elements may collide within a step, which do, and when first.

    The vertices are the rows of the positions of each call, also those without an edge or a triangle; edges and triangles do not change.
    Positions are arrays (n, 3), or meshes, whose vertices count. The mesh stores trees of boxes, which are refitted to the positions of
    each call. Results depend on the arguments of a call alone.

    Args:
        edges: (e, 2) integers; None for those of the triangles, in ascending order with the lower vertex first. In place of both
            arguments, a `TriangleMesh` or another surface that it is made from.
        triangles: (m, 3) integers; degenerate and repeated ones are welcome, as are edges.

    Raises:
        TypeError, ValueError: what is no such array or surface, wrong shapes, negative indices.

    Source: Selle 2008, section 6.4, and Guendelman et al., "Coupling water and smoke to thin deformable and rigid shells", 2005, section 3
    (hierarchies of boxes around paths); Brochu, "Dynamic explicit surface meshes and applications", 2012, sections 3.3.5 and 4.5.4.
    """

    def __init__(self, edges: npt.ArrayLike | SurfaceLike | None, triangles: npt.ArrayLike | None = None) -> None:
        if triangles is None:
            edges, triangles = None, triangle_mesh(edges).triangles
        t = index_rows("triangles", triangles, 3)
        self._core: Any = _collision.CollisionMesh(None if edges is None else index_rows("edges", edges, 2), t)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy edges and triangles; the trees are built anew."""
        return type(self), (self.edges, self.triangles)

    def __repr__(self) -> str:
        """One line with the counts."""
        return f"<CollisionMesh: {len(self.edges)} edges, {len(self.triangles)} triangles, {self.nbytes / 1e6:.3g} MB>"

    @property
    def edges(self) -> Ints:
        """A copy of the edges (e, 2), in the order that pairs refer to."""
        return self._core.edges  # type: ignore[no-any-return]

    @property
    def triangles(self) -> Ints:
        """A copy of the triangles (m, 3)."""
        return self._core.triangles  # type: ignore[no-any-return]

    @property
    def nbytes(self) -> int:
        """Bytes that the mesh keeps between calls."""
        return int(self._core.nbytes)

    def candidates(self, start: Positions, end: Positions, inflation: float = 0.0, method: BroadPhase = "tree") -> CollisionPairs:
        """Return all pairs of elements whose boxes overlap.

        The box of an element is closed and encloses the positions of its vertices at the start and the end of the step. Boxes are compared
        exactly, and pairs with a common vertex are left out.

        Args:
            start: (n, 3) float64, C-contiguous, m.
            end: (n, 3) float64, C-contiguous, m.
            inflation: each box grows by this on every side, m; where it is not 0, sides are then moved outward to the next double.
            method: "tree", the fastest; "grid", regular grids of boxes; "brute-force", all pairs, for comparison. The pairs are the same.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, too few positions for the indices of the elements, positions that
                are not finite (the first is named), negative inflation, unknown method.

        Source: Kamel and Faloutsos, "On packing R-trees", 1993 (tree); Brochu 2012, section 3.3.5 (grid).
        """
        chosen = BROAD_PHASE("method", method)
        grown = _checks.number("inflation", inflation)
        return CollisionPairs(*self._core.candidates(_positions("start", start), _positions("end", end), grown, chosen))

    def candidates_with(
        self,
        other: CollisionMesh,
        start: Positions,
        end: Positions,
        other_start: Positions,
        other_end: Positions,
        inflation: float = 0.0,
    ) -> MutualPairs:
        """Return all pairs of an element of this mesh and one of another whose boxes overlap, as `candidates` does within one mesh.

        Args:
            other: another mesh, which may be this one under another name only if it is a different object.
            start: (n, 3) float64, C-contiguous, m: positions of this mesh.
            end: (n, 3) float64, C-contiguous, m.
            other_start: (k, 3) float64, C-contiguous, m: positions of the other mesh.
            other_end: (k, 3) float64, C-contiguous, m.
            inflation: as for `candidates`; the boxes of both meshes grow.

        Raises:
            TypeError, ValueError: as for `candidates`, or if `other` is this mesh.
        """
        motion = self._mutual(other, start, end, other_start, other_end)
        return MutualPairs(*self._core.candidates_with(*motion, _checks.number("inflation", inflation)))

    def collides(
        self,
        start: Positions,
        end: Positions,
        mode: ContactMode = "any",
        *,
        changed: Bools | None = None,
        moving_frame: bool = False,
    ) -> bool:
        """Tell whether any pair of elements without a common vertex collides within the step. No pair is stored.

        Args:
            start: (n, 3) float64, C-contiguous, m.
            end: (n, 3) float64, C-contiguous, m.
            mode: definition of a collision, as for `vertex_face`.
            changed: (n,) bool: test only pairs with one of these vertices, where all others are known not to collide. None tests all.
            moving_frame: test the boxes of each pair once more in a frame that moves with it, before the exact test. The results are the
                same; it pays if the whole mesh moves far in one direction.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, too few positions for the indices of the elements, positions that
                are not finite (the first is named), unknown mode.

        Source: Brochu 2012, chapter 4; Selle 2008, section 6.4 (moving frame, changed vertices).
        """
        frame = _checks.flag("moving_frame", moving_frame)
        return bool(self._core.collides(*self._detection(start, end), CONTACT_MODE("mode", mode), _flags(changed), frame))

    def collisions(
        self,
        start: Positions,
        end: Positions,
        mode: ContactMode = "any",
        *,
        changed: Bools | None = None,
        moving_frame: bool = False,
    ) -> CollisionPairs:
        """Return the pairs of elements without a common vertex that collide within the step. No other pair is stored.

        Arguments and errors are those of `collides`.

        Source: Brochu 2012, chapter 4; Selle 2008, section 6.4 (moving frame, changed vertices).
        """
        frame = _checks.flag("moving_frame", moving_frame)
        pairs = self._core.collisions(*self._detection(start, end), CONTACT_MODE("mode", mode), _flags(changed), frame)
        return CollisionPairs(*pairs)

    def time_of_impact(
        self,
        start: Positions,
        end: Positions,
        tolerance: float = 1e-6,
        *,
        changed: Bools | None = None,
        moving_frame: bool = False,
    ) -> float:
        """Return a time up to which certainly no pair of elements without a common vertex touches.

        Args:
            start: (n, 3) float64, C-contiguous, m.
            end: (n, 3) float64, C-contiguous, m.
            tolerance: largest difference by which the time may be earlier than the first contact (in t, which runs from 0 to 1).
            changed: as for `collides`.
            moving_frame: as for `collides`.

        Returns:
            0 for contact at the start, infinity for none. It is the least of the times of impact of all pairs.

        Raises:
            TypeError, ValueError: as for `collides`; `tolerance` <= 0.

        Source: Brochu 2012, section 4.5.1; Selle 2008, section 6.4 (moving frame, changed vertices).
        """
        checked = _checks.positive("tolerance", tolerance)
        frame = _checks.flag("moving_frame", moving_frame)
        return float(self._core.time_of_impact(*self._detection(start, end), checked, _flags(changed), frame))

    def collides_with(
        self,
        other: CollisionMesh,
        start: Positions,
        end: Positions,
        other_start: Positions,
        other_end: Positions,
        mode: ContactMode = "any",
        *,
        changed: Bools | None = None,
        other_changed: Bools | None = None,
        moving_frame: bool = False,
    ) -> bool:
        """Tell whether any element of this mesh collides with one of another within the step. No pair is stored.

        Args:
            other: another mesh; collisions within one mesh are those of `collides`.
            start: (n, 3) float64, C-contiguous, m: positions of this mesh.
            end: (n, 3) float64, C-contiguous, m.
            other_start: (k, 3) float64, C-contiguous, m: positions of the other mesh.
            other_end: (k, 3) float64, C-contiguous, m.
            mode: definition of a collision, as for `vertex_face`.
            changed: (n,) bool, and
            other_changed: (k,) bool: test only pairs with one of these vertices, where all others are known not to collide. A mesh without
                flags beside one with flags has not changed; without both, all pairs are tested.
            moving_frame: as for `collides`.

        Raises:
            TypeError, ValueError: as for `collides`, or if `other` is this mesh.

        Source: Brochu 2012, chapter 4; Selle 2008, section 6.4 (moving frame, changed vertices).
        """
        motion = self._mutual(other, start, end, other_start, other_end)
        flags = _flags(changed), _flags(other_changed, "other_changed")
        frame = _checks.flag("moving_frame", moving_frame)
        return bool(self._core.collides_with(*motion, CONTACT_MODE("mode", mode), *flags, frame))

    def collisions_with(
        self,
        other: CollisionMesh,
        start: Positions,
        end: Positions,
        other_start: Positions,
        other_end: Positions,
        mode: ContactMode = "any",
        *,
        changed: Bools | None = None,
        other_changed: Bools | None = None,
        moving_frame: bool = False,
    ) -> MutualPairs:
        """Return the pairs of an element of this mesh and one of another that collide within the step. No other pair is stored.

        Arguments and errors are those of `collides_with`.

        Source: Brochu 2012, chapter 4; Selle 2008, section 6.4 (moving frame, changed vertices).
        """
        motion = self._mutual(other, start, end, other_start, other_end)
        flags = _flags(changed), _flags(other_changed, "other_changed")
        frame = _checks.flag("moving_frame", moving_frame)
        return MutualPairs(*self._core.collisions_with(*motion, CONTACT_MODE("mode", mode), *flags, frame))

    def time_of_impact_with(
        self,
        other: CollisionMesh,
        start: Positions,
        end: Positions,
        other_start: Positions,
        other_end: Positions,
        tolerance: float = 1e-6,
        *,
        changed: Bools | None = None,
        other_changed: Bools | None = None,
        moving_frame: bool = False,
    ) -> float:
        """Return a time up to which certainly no element of this mesh touches one of another.

        Arguments are those of `collides_with`, and `tolerance` and the result those of `time_of_impact`.

        Raises:
            TypeError, ValueError: as for `collides_with`; `tolerance` <= 0.

        Source: Brochu 2012, section 4.5.1; Selle 2008, section 6.4 (moving frame, changed vertices).
        """
        checked = _checks.positive("tolerance", tolerance)
        motion = self._mutual(other, start, end, other_start, other_end)
        flags = _flags(changed), _flags(other_changed, "other_changed")
        frame = _checks.flag("moving_frame", moving_frame)
        return float(self._core.time_of_impact_with(*motion, checked, *flags, frame))

    def intersections_with(
        self, other: CollisionMesh, positions: Positions, other_positions: Floats, degenerate: DegenerateContact = "counts"
    ) -> MutualIntersections:
        """Return the edges of each of two meshes that intersect triangles of the other.

        Args:
            other: another mesh; intersections within one mesh are those of `self_intersections`.
            positions: (n, 3) float64, C-contiguous, m: of this mesh.
            other_positions: (k, 3) float64, C-contiguous, m: of the other.
            degenerate: as for `edge_triangle`: whether elements that only touch, or lie in one plane, intersect.

        Raises:
            TypeError, ValueError: as for `self_intersections`, or if `other` is this mesh.

        Source: Brochu 2012, section 3.2.3.
        """
        mesh = _checks.one_of_type("other", other, CollisionMesh)
        x, y = _positions("positions", positions), _positions("other_positions", other_positions)
        return MutualIntersections(*self._core.intersections_with(mesh._core, x, y, DEGENERATE_CONTACT("degenerate", degenerate)))

    def self_intersections(self, positions: Positions, degenerate: DegenerateContact = "counts") -> Ints:
        """Return the pairs (k, 2) of an edge and a triangle without a common vertex that intersect, in lexicographic order.

        Args:
            positions: (n, 3) float64, C-contiguous, m.
            degenerate: as for `edge_triangle`: whether elements that only touch, or lie in one plane, intersect.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, too few positions for the indices of the elements, positions that
                are not finite (the first is named), unknown option.

        Source: Brochu 2012, section 3.2.3.
        """
        pairs = self._core.self_intersections(_positions("positions", positions), DEGENERATE_CONTACT("degenerate", degenerate))
        return pairs  # type: ignore[no-any-return]

    @staticmethod
    def _mutual(other: CollisionMesh, start: Positions, end: Positions, other_start: Positions, other_end: Positions) -> tuple[Any, ...]:
        mesh = _checks.one_of_type("other", other, CollisionMesh)
        mine = _positions("start", start), _positions("end", end)
        return mesh._core, *mine, _positions("other_start", other_start), _positions("other_end", other_end)

    @staticmethod
    def _detection(start: Positions, end: Positions) -> tuple[Floats, Floats]:
        return _positions("start", start), _positions("end", end)


def _positions(name: str, value: Positions) -> Floats:
    x = value.vertices if isinstance(value, SimplexMesh) else value
    checked: Floats = _checks.points(name, x, _FLOAT64, 3)  # type: ignore[assignment]
    return checked


def _flags(value: Bools | None, name: str = "changed") -> Bools | None:
    """Check the flags of vertices; how many there must be is checked with the positions."""
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype != np.bool_:
        raise TypeError(f"{name} must be of dtype bool, not {array.dtype}")
    if array.ndim != 1:
        raise ValueError(f"{name} must have shape (n,), not {array.shape}")
    return np.ascontiguousarray(array)
