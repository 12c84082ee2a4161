"""Repulsion of surfaces that are closer than their thickness."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import collision as _collision
from meniscus._options import CoreOption
from meniscus.collision.collision_mesh import CollisionMesh
from meniscus.collision.contact.nodes import ContactNodes, values
from meniscus.mesh.arrays import float_rows

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
ElasticRule = Literal["corrected", "literal", "full-gap"]
EdgeHistory = Literal["sided", "direction"]
PairKind = Literal["vertex-face", "edge-edge"]

ELASTIC_RULE = CoreOption(ElasticRule, _collision.ElasticRule)
EDGE_HISTORY = CoreOption(EdgeHistory, _collision.EdgeHistory)
_FLOAT64 = np.dtype(np.float64)


class RepulsionPairs(NamedTuple):
    """Pairs of one kind in the order in which they are worked on: colour by colour, within a colour by ascending elements.

    Attributes:
        elements: (k, 2) int32, vertex and triangle, or two edges.
        vertices: (k, 4) int32, in an order that holds the side: (x2 - x1) x (x3 - x1) points to the vertex x0; (x1 - x0) x (x3 - x2)
            points from the second edge to the first.
        thickness: (k,) m.
        friction: (k,) coefficients.
        direction: (k, 3) float32, from the second edge to the first, of length 1; (0, 3) for vertices and triangles.
        colour: (k,) int32, ascending. Pairs of one colour have no node in common that can move.
    """

    elements: Ints
    vertices: Ints
    thickness: Floats
    friction: Floats
    direction: npt.NDArray[np.float32]
    colour: Ints


class RepulsionReport(NamedTuple):
    """Counts of one sweep over the pairs.

    Attributes:
        pairs: pairs of the last `find`.
        active: of these, those within their thickness now, or inverted.
        inverted: of these, those on the wrong side.
        impulses: pairs that took an impulse.
        largest_overlap: of the active pairs, thickness minus distance, m; distance is negative on the wrong side. 0 without any.
    """

    pairs: int
    active: int
    inverted: int
    impulses: int
    largest_overlap: float


class NodeSupports(NamedTuple):
    """What nodes stand on: means over their pairs with elements that do not yield.

    Attributes:
        nodes: (k,) int32, ascending.
        normals: (k, 3), away from those elements, of length 1.
        velocities: (k, 3), of those elements, m/s.
        friction: (k,), coefficients.
        gaps: (k,), least distance minus thickness, m.
    """

    nodes: Ints
    normals: Floats
    velocities: Floats
    friction: Floats
    gaps: Floats


@dataclass(frozen=True, kw_only=True)
class PairSearch:
    """Pairs that a `Repulsion` looks after.

    Attributes:
        generous: `Repulsion.find` takes pairs within this multiple of their thickness, and `margin` more.
        margin: m.
        most_motion: `Repulsion.find` allows for motion of at most this multiple of the thickness of a vertex, which bounds the number of
            pairs.
        bare_motion: whether that is the greatest thickness of all: else vertices without thickness count as moving with the mean of the
            others, and what falls on them is not found ahead.
    """

    generous: float = 1.1
    margin: float = 0.0
    most_motion: float = 8.0
    bare_motion: bool = False

    def __post_init__(self) -> None:
        """Check the values. Raises TypeError or ValueError."""
        _checks.options(self)


@dataclass(frozen=True, kw_only=True)
class SideMemory:
    """Memory of a `Repulsion` of the side of each other that surfaces are on.

    Attributes:
        history: False takes the side from the current positions, so that elements that have passed each other are pushed on.
        edge_history: "sided" inverts edges whose direction has turned and whose tetrahedron has changed the sign of its volume, which a
            pair that rotates as one body has not; "direction" asks for the first alone, as printed.
        flip: edges have turned where the scalar product of their directions, now and in `Repulsion.find`, is below this: -1.5 for never,
            0 for soon.
        reach: pairs that are inverted deeper than this multiple of their thickness are left alone.
    """

    history: bool = True
    edge_history: EdgeHistory = "sided"
    flip: float = -0.5
    reach: float = 4.0

    def __post_init__(self) -> None:
        """Check the values. Raises TypeError or ValueError."""
        _checks.flag("history", self.history)
        _checks.choice("edge_history", self.edge_history, EdgeHistory)
        _checks.number("flip", self.flip)
        if self.reach != math.inf:
            _checks.number("reach", self.reach)


class Repulsion:
    """Impulses between elements that are closer than their thickness, in every time step, with a memory of their sides.

    `find` takes positions without collisions and stores all pairs within a generous thickness, with their orientation. Until the next
    `find`, `push` and `rub` change velocities in every step; elements that pass each other are pulled back to the side they came from.
    Each pair takes the newest velocities: first all vertex-face pairs, then all edge-edge pairs, in the order of `pairs`. Results do
    not depend on the number of threads.

    With thickness h, distance d along the normal n, weights a of the four vertices, relative normal velocity v and inverse mass w, the
    impulses of a pair along n are

    - inelastic: -v / w where v < 0;
    - elastic: min(2 dt k (h - d) / sum a^2, (part (h - d) / dt - v) / w) where v < part (h - d) / dt;
    - friction: min(mu J, |u| / w) against the tangential velocity u, with the inelastic impulse J.

    Where every edge of the mesh is in a triangle, edges act only where both are nearest between their ends. At ends, vertices and
    faces act, along the normals of faces; the line between an end and an edge would push flat sheets that lie on each other along them.

    Thickness of an element is the least of its vertices', that of a pair the mean of its elements'. Friction of an element is the mean of
    its vertices', that of a pair the geometric mean of its elements'.

    Args:
        mesh: all surfaces as one.
        rest: (n, 3) numbers, positions at rest, m.
        nodes: how the vertices yield: `ContactNodes`, or (n,) inverse masses of the vertices, 1/kg.
        thickness: a number or (n,) numbers, m. Clamped at each vertex to `clamp` times its shortest edge at rest.
        friction: a number or (n,) numbers, coefficients.
        stiffness: k of the spring between two elements, N/m.
        part: of the overlap, which goes in a step at most.
        elastic: "corrected" as above; "literal" as printed, with one common mass and twice the second term, so that up to twice `part`
            goes, and with momentum that is conserved only for equal masses; "full-gap" without a spring, the whole overlap in a step.
        common_mass: kg, of the literal rule. None for the mean of all nodes that can move.
        search: which pairs `find` takes, default `PairSearch()`.
        sides: memory of the sides that surfaces are on, default `SideMemory()`.
        clamp: thickness is at most this multiple of the shortest edge at rest, and for elements of one connected surface this multiple of
            their distance at rest.

    Raises:
        TypeError, ValueError: wrong types, shapes or lengths, numbers that are negative or not finite where they may not be, unknown
            choices.

    Source: Selle 2008, section 6.4; Bridson, Fedkiw and Anderson, "Robust treatment of collisions, contact and friction for cloth
    animation", 2002, section 7; Brochu 2012, section 3.2.7 ("full-gap").
    """

    def __init__(
        self,
        mesh: CollisionMesh,
        rest: npt.ArrayLike,
        nodes: ContactNodes | npt.ArrayLike,
        *,
        thickness: float | npt.ArrayLike = 0.01,
        friction: float | npt.ArrayLike = 0.4,
        stiffness: float = 30.0,
        part: float = 0.1,
        elastic: ElasticRule = "corrected",
        common_mass: float | None = None,
        search: PairSearch | None = None,
        sides: SideMemory | None = None,
        clamp: float = 0.9,
    ) -> None:
        self._mesh = _checks.one_of_type("mesh", mesh, CollisionMesh)
        self._nodes = nodes if isinstance(nodes, ContactNodes) else ContactNodes(nodes)
        x = float_rows("rest", rest, 3)
        search = PairSearch() if search is None else _checks.one_of_type("search", search, PairSearch)
        sides = SideMemory() if sides is None else _checks.one_of_type("sides", sides, SideMemory)
        options = _collision.RepulsionOptions()
        options.stiffness = _checks.number("stiffness", stiffness)
        options.part = _checks.number("part", part)
        options.elastic = ELASTIC_RULE("elastic", elastic)
        options.common_mass = 0.0 if common_mass is None else _checks.positive("common_mass", common_mass)
        options.generous = search.generous
        options.margin = search.margin
        options.most_motion = search.most_motion
        options.bare_motion = search.bare_motion
        options.history = sides.history
        options.edge_history = EDGE_HISTORY("edge_history", sides.edge_history)
        options.flip = sides.flip
        options.reach = sides.reach
        if not 0 < _checks.number("clamp", clamp) <= 1:
            raise ValueError(f"clamp must be in (0, 1], not {clamp:g}")
        options.clamp = clamp
        if self._nodes.vertices != len(x):
            raise ValueError(f"nodes must have {len(x)} vertices as rest has, not {self._nodes.vertices}")
        each = _each("thickness", thickness, len(x)), _each("friction", friction, len(x))
        self._core: Any = _collision.Repulsion(self._mesh._core, x, *each, options)

    def __repr__(self) -> str:
        """One line with the counts."""
        return f"<Repulsion: {len(self.thickness)} vertices, {self._core.size} pairs, {self.nbytes / 1e6:.3g} MB>"

    @property
    def nodes(self) -> ContactNodes:
        """How the vertices yield. A node that could not move in `find` must not be able to before the next one."""
        return self._nodes

    @property
    def thickness(self) -> Floats:
        """Thickness of the vertices after the clamp (n,), m."""
        return self._core.thickness  # type: ignore[no-any-return]

    @property
    def clamped(self) -> int:
        """Number of vertices whose thickness was too great for their edges."""
        return int(self._core.clamped)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return int(self._core.nbytes)

    @property
    def approaching(self) -> int:
        """Number of pairs of the last `find` that were not near each other yet."""
        return int(self._core.approaching)

    def find(self, positions: Floats, motion: Floats | None = None) -> int:
        """Store the pairs near each other with their sides, and return their number. Pairs of which no vertex yields are left out.

        Args:
            positions: (n, 3) float64, C-contiguous, m: of the vertices, without collisions.
            motion: (n, 3) float64, C-contiguous, m: displacements of the vertices until the next `find`. With it, pairs are stored too
                that face each other and come near each other along it. Motion against the mean of all vertices that yield is cut to
                `most_motion` times the thickness. None: pairs near each other now.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, positions that are not finite (the first is named). No pairs are
                stored then.

        Source: Selle 2008, section 6.4 and Figure 6.4.
        """
        x = _checks.points("positions", positions, _FLOAT64, 3)
        u = None if motion is None else _checks.points("motion", motion, _FLOAT64, 3)
        self._core.find(self._mesh._core, self._nodes._core, x, u)
        return int(self._core.size)

    def forget(self) -> None:
        """Forget the pairs."""
        self._core.forget()

    def pairs(self, kind: PairKind) -> RepulsionPairs:
        """Return a copy of the pairs of one kind."""
        return RepulsionPairs(*self._core.pairs(_checks.choice("kind", kind, PairKind) == "edge-edge"))

    def push(self, positions: Floats, velocities: Floats, dt: float) -> RepulsionReport:
        """Apply inelastic and elastic impulses to the velocities that positions of a step are about to use.

        Args:
            positions: (n, 3) float64, C-contiguous, m: of the vertices at the start of the step.
            velocities: (k, 3) float64, C-contiguous, m/s: of the nodes, changed in place.
            dt: s.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, values that are not finite (the first is named), dt <= 0. The
                velocities are unchanged then.

        Source: Selle 2008, section 6.4, equation 6.1.
        """
        x, v = self._checked(positions, velocities)
        return RepulsionReport(*self._core.push(self._nodes._core, x, v, _checks.positive("dt", dt)))

    def rub(self, positions: Floats, velocities: Floats) -> RepulsionReport:
        """Apply inelastic impulses and friction to the velocities at the end of a step. Kinetic energy never grows.

        Arguments and errors are those of `push`.

        Source: Selle 2008, section 6.4; Bridson et al. 2002, section 7.1.
        """
        return RepulsionReport(*self._core.rub(self._nodes._core, *self._checked(positions, velocities)))

    def supports(self, positions: Floats, velocities: Floats, wider: float = 1.05) -> NodeSupports:
        """Return what nodes stand on: elements that do not yield, within `wider` times the thickness of the pairs.

        Nodes with less than a fifth of a contact are left out, and those between elements that press against each other. Other arguments
        and errors are those of `push`; nothing changes.

        Source: own.
        """
        return NodeSupports(*self._core.supports(self._nodes._core, *self._checked(positions, velocities), _checks.number("wider", wider)))

    def _checked(self, positions: Floats, velocities: Floats) -> tuple[Any, Any]:
        x = _checks.points("positions", positions, _FLOAT64, 3)
        return x, _checks.points("velocities", velocities, _FLOAT64, 3, writable=True)


def _each(name: str, value: float | npt.ArrayLike, n: int) -> Floats:
    """One value per vertex."""
    return np.full(n, _checks.number(name, value)) if np.ndim(value) == 0 else values(name, value)
