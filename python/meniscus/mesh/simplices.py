"""Base of meshes of segments, triangles and tetrahedra."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import mesh as _mesh
from meniscus.core.state import Arguments, State
from meniscus.mesh.arrays import float_rows, frozen, index_rows, owned, sealed
from meniscus.mesh.placement import Placement

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
FLOAT64 = np.dtype(np.float64)
INT32 = np.dtype(np.int32)

_M = TypeVar("_M", bound="SimplexMesh")
Order = Literal["morton", "rcm"]


class Rows(NamedTuple):
    """Rows of different lengths: row i is `values[starts[i]:starts[i + 1]]`.

    Attributes:
        starts: (n + 1,) int64.
        values: (k,) int32.
    """

    starts: npt.NDArray[np.int64]
    values: Ints

    def row(self, i: int) -> Ints:
        """Return row i, a view."""
        return self.values[self.starts[i] : self.starts[i + 1]]


class SimplexMesh(Placement, State):
    """Rest positions and the elements between them: what `SegmentMesh`, `TriangleMesh` and `TetMesh` have in common.

    A mesh does not change. Its arrays are read-only; whoever deforms it has positions of its own. What is derived (edges, neighbours,
    volumes and so on) is computed when it is first asked for and kept. Two meshes are equal if their arrays are. Meshes can be pickled
    and be keys of dictionaries.
    """

    _corners: ClassVar[int]
    _elements_name: ClassVar[str]
    _vertices: Floats
    _elements: Ints

    def __init__(self, vertices: npt.ArrayLike, elements: npt.ArrayLike) -> None:
        x = owned(float_rows("vertices", vertices, 3), vertices)
        e = owned(index_rows(self._elements_name, elements, self._corners), elements)
        # Checked are the copies, which nobody changes meanwhile.
        _checks.require_finite("vertices", x)
        _mesh.require_valid_elements(e, len(x))
        self._vertices, self._elements = x, e

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        """Vertices and elements, so that `vertices, triangles = mesh` works."""
        return iter((self._vertices, self._elements))

    @property
    def vertices(self) -> Floats:
        """Rest positions (n, 3), m; read-only."""
        return self._vertices

    @property
    def elements(self) -> Ints:
        """Corners of the elements (m, 2 | 3 | 4); read-only."""
        return self._elements

    @property
    def edges(self) -> Ints:
        """The edges (k, 2) in ascending order, the lower vertex first; read-only."""
        return self._graph.edges  # type: ignore[no-any-return]

    @property
    def element_edges(self) -> Ints:
        """The edges of each element, as rows of `edges`.

        (m, 1) of segments; (m, 3) of triangles: edge k is opposite of corner k; (m, 6) of tetrahedra: those between corners 01, 02,
        03, 12, 13, 23. -1 for a triangle that has a corner twice.
        """
        edges: Ints = self._graph.element_edges
        return edges.reshape(len(self._elements), _edges_of[self._corners])

    @cached_property
    def one_rings(self) -> Rows:
        """The neighbours of each vertex over edges, ascending; read-only."""
        return Rows(self._graph.starts, self._graph.rings)

    @cached_property
    def used_vertices(self) -> Ints:
        """The vertices that are corners of an element, ascending; read-only."""
        used = np.zeros(len(self._vertices), bool)
        used[self._elements] = True
        return sealed(np.flatnonzero(used).astype(np.int32))  # type: ignore[no-any-return]

    @property
    def components(self) -> int:
        """Number of parts: tetrahedra are connected over faces, triangles over edges, segments over vertices."""
        return self._components[0]

    @property
    def component(self) -> Ints:
        """Of each element the number (m,) of its part, counted in order of the first element; read-only."""
        return self._components[1]

    def measures(self, positions: Floats | None = None, out: Floats | None = None) -> Floats:
        """Return lengths (m), areas (m^2) or signed volumes (m^3) of the elements, an array (m,).

        Args:
            positions: (n, 3) float64, C-contiguous, m; by default those at rest.
            out: (m,) float64 to write to; a new array by default.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order.
        """
        x = self._given_or_rest(positions)
        m = len(self._elements)
        result = np.empty(m) if out is None else check_out("out", out, (m,))
        _mesh.measure_elements(x, self._elements, result)
        return result

    def node_masses(self, density: float | Floats, out: Floats | None = None) -> Floats:
        """Return the mass (n,) of each vertex, kg: that of every element at rest, shared by its corners equally.

        Args:
            density: positive, kg/m^3 for tetrahedra, kg/m^2 for triangles, kg/m for segments; or one of each element (m,).
            out: (n,) float64 to write to; a new array by default.

        Raises:
            TypeError, ValueError: wrong dtype or shape, a density that is not positive, an inverted tetrahedron.

        Source: Selle 2008, section 5.2; Mueller et al., "Real time physics" course notes, 2008, section 3.6.
        """
        measures: Floats = self._rest_measures
        if self._corners == 4 and len(measures) and measures.min() < 0:
            bad = int(np.argmax(measures < 0))
            raise ValueError(f"tetrahedra with a mass must have a positive volume, but that of tet {bad} is {measures[bad]:g} m^3")
        masses: Floats
        if isinstance(density, np.ndarray) and density.ndim > 0:
            rho = _checks.incoming("density", density, FLOAT64, (len(measures),))
            if not (rho > 0).all():
                bad = int(np.argmin(rho > 0))
                raise ValueError(f"density must be positive, but [{bad}] is {rho[bad]:g}")
            masses = np.multiply(measures, rho, dtype=np.float64)
        else:
            masses = measures * _checks.positive("density", density)
        n = len(self._vertices)
        result = np.empty(n) if out is None else check_out("out", out, (n,))
        _mesh.lump_masses(self._elements, masses, result)
        return result

    def moved(self: _M, vertices: Floats) -> _M:
        """Return a mesh with other rest positions (n, 3) and the same elements; what is known of its topology is shared.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, positions that are not finite.
        """
        x = frozen(self.check_positions("vertices", vertices))
        _checks.require_finite("vertices", x)
        mesh: _M = object.__new__(type(self))
        mesh._vertices = x
        mesh._elements = self._elements
        for name in self._topology_names:
            if name in self.__dict__:
                mesh.__dict__[name] = self.__dict__[name]
        return mesh

    def submesh(self: _M, elements: npt.NDArray[Any]) -> _M:
        """Return the mesh of some elements, given as their indices or as a mask (m,), over the same vertices."""
        chosen = np.asarray(elements)
        if chosen.dtype == np.bool_:
            chosen = np.flatnonzero(_checks.mask("elements", chosen, (len(self._elements),)))
        if chosen.ndim != 1 or not np.issubdtype(chosen.dtype, np.integer):
            raise TypeError("elements must be a vector of indices or a mask")
        m = len(self._elements)
        if len(chosen) and not ((chosen >= 0) & (chosen < m)).all():
            bad = int(np.argmax((chosen < 0) | (chosen >= m)))
            raise ValueError(f"elements must hold indices of the {m} {self._elements_name}, but [{bad}] is {chosen[bad]}")
        return type(self)(self._vertices, np.ascontiguousarray(self._elements[chosen]))

    def compacted(self: _M) -> tuple[_M, Ints]:
        """Return the mesh without the vertices that no element has, and the former indices of those that remain."""
        kept = self.used_vertices
        if len(kept) == len(self._vertices):
            return self, kept
        number = np.empty(len(self._vertices), np.int32)
        number[kept] = np.arange(len(kept), dtype=np.int32)
        return type(self)(self._vertices[kept], number[self._elements]), kept

    def order(self, method: Order = "morton") -> tuple[Ints, Ints]:
        """Return the vertices (n,) and elements (m,) in an order in which what is near in the mesh is near in memory.

        Entry i is the present index of what comes i-th. Elements follow the lowest new number of their corners.

        Args:
            method: "morton": vertices along a Morton curve through the bounding box at rest; "rcm": the reverse Cuthill-McKee order, in
                which the numbers of neighbours differ little.

        Raises:
            ValueError: an unknown method.

        Source: Morton, "A computer oriented geodetic data base", 1966; Cuthill and McKee, "Reducing the bandwidth of sparse symmetric
        matrices", 1969.
        """
        if _checks.choice("method", method, Order) == "morton":
            vertices = _mesh.morton_order(self._vertices)
        else:
            vertices = _mesh.reverse_cuthill_mckee(self._elements, len(self._vertices))
        return vertices, _mesh.element_order(self._elements, _inverse(vertices))

    def reordered(self: _M, method: Order = "morton") -> tuple[_M, Ints]:
        """Return the mesh in another order, and the present index (n,) of each of its vertices: new rows are `old[permutation]`.

        Args:
            method: see `order`, which also says where the elements went.

        Raises:
            ValueError: an unknown method.
        """
        vertices, elements = self.order(method)
        number = _inverse(vertices)
        return type(self)(sealed(self._vertices[vertices]), sealed(number[self._elements[elements]])), vertices

    @property
    def nbytes(self) -> int:
        """Memory of vertices and elements, bytes."""
        return self._vertices.nbytes + self._elements.nbytes

    def snapshot(self) -> dict[str, Any]:
        """Return copies of vertices and elements."""
        return {"vertices": np.array(self._vertices), "elements": np.array(self._elements)}

    def restore(self, snapshot: Any) -> None:
        """Check that a snapshot is of an equal mesh, since a mesh does not change. Raises ValueError otherwise."""
        mine = self.snapshot()
        if not isinstance(snapshot, dict) or set(snapshot) != set(mine) or not all(np.array_equal(mine[n], snapshot[n]) for n in mine):
            raise ValueError(f"a mesh does not change, and this snapshot is not of {self!r}")

    def assign(self: _M, other: _M) -> None:
        """Check that another mesh is equal, since a mesh does not change. Raises ValueError otherwise."""
        if not isinstance(other, SimplexMesh) or self != other:
            raise ValueError(f"a mesh does not change, and {other!r} is not {self!r}")

    def copy(self: _M) -> _M:
        """Return this mesh, which is shared since it does not change."""
        return self

    def check_positions(self, name: str, positions: Floats, *, writable: bool = False) -> Floats:
        """Return `positions` if they are one row of three float64 per vertex; raise TypeError or ValueError otherwise."""
        _checks.points(name, positions, FLOAT64, 3, writable=_checks.flag("writable", writable))
        if len(positions) != len(self._vertices):
            raise ValueError(f"{name} must have shape ({len(self._vertices)}, 3), not {positions.shape}")
        return positions

    # --- what the classes share inside ----------------------------------------------------------------------------------------------

    _topology_names: ClassVar[tuple[str, ...]] = ("_graph", "one_rings", "used_vertices", "_components", "_topology")

    def _given_or_rest(self, positions: Floats | None) -> Floats:
        return self._vertices if positions is None else self.check_positions("positions", positions)

    def _arguments(self) -> Arguments:
        return (np.asarray(self._vertices), np.asarray(self._elements)), {}

    @cached_property
    def _graph(self) -> Any:
        return _mesh.EdgeGraph(self._elements, len(self._vertices))

    @property
    @abstractmethod
    def _components(self) -> tuple[int, Ints]:
        """Number of parts, and of each element the number of its part."""

    @cached_property
    def _rest_measures(self) -> Floats:
        measures = self.measures()
        measures.flags.writeable = False
        return measures

    def __eq__(self, other: object) -> bool:
        """Return whether both meshes are of the same kind with equal vertices and elements."""
        if not isinstance(other, SimplexMesh) or type(self) is not type(other):
            return NotImplemented
        return np.array_equal(self._elements, other._elements) and np.array_equal(self._vertices, other._vertices)

    def __hash__(self) -> int:
        """Equal meshes have equal hashes."""
        return hash((type(self).__name__, len(self._vertices), self._elements.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        """Meshes are pickled as their arrays."""
        return type(self), self._arguments()[0]

    def __repr__(self) -> str:
        """One line with the counts and the bounding box."""
        counts = f"{len(self._vertices)} vertices, {len(self._elements)} {self._elements_name}"
        if len(self._vertices) == 0:
            return f"<{type(self).__name__}: {counts}>"
        sides = " x ".join(f"{x:g}" for x in np.ptp(self._vertices, axis=0))
        return f"<{type(self).__name__}: {counts}, {sides} m>"


_edges_of = {2: 1, 3: 3, 4: 6}


def check_out(name: str, out: object, shape: tuple[int, ...], dtype: np.dtype[Any] = FLOAT64) -> Any:
    """Check an array that is written to."""
    if not isinstance(out, np.ndarray) or out.dtype != dtype:
        raise TypeError(f"{name} must be a NumPy array of dtype {dtype}")
    if out.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, not {out.shape}")
    if not out.flags.c_contiguous:
        raise TypeError(f"{name} must be C-contiguous")
    if not out.flags.writeable:
        raise ValueError(f"{name} must be writable")
    return out


def _inverse(permutation: Ints) -> Ints:
    number = np.empty(len(permutation), np.int32)
    number[permutation] = np.arange(len(permutation), dtype=np.int32)
    return number


PathLike = str | os.PathLike[str]
