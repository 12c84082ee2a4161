"""Points embedded in the elements of a mesh with fixed weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import mesh as _mesh
from meniscus.mesh.arrays import frozen, index_rows
from meniscus.mesh.simplices import FLOAT64, Floats, Ints, check_out

AnyFloats = npt.NDArray[np.floating[Any]]


class Embedding:
    """Points embedded in the elements of a mesh ("hard bindings"): each is a weighted sum of two to four nodes.

    Args:
        parents: (n, 2 | 3 | 4) int32, C-contiguous: the corners of the segment, triangle or tetrahedron of each point. Copied unless it is
            an array of a mesh.
        weights: (n, 2 | 3 | 4) float64 or float32, C-contiguous: barycentric coordinates, of sum 1. Used in place; sums are in double
            precision either way.
        nodes: number of nodes; by default one more than the highest parent.

    The weights may not change afterwards.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, a parent that is no node, weights that are not finite or whose sum
            differs from 1 by more than 1e-9 (1e-5 for float32).

    Source: Lee 2018, section 2.3.1, equation (2.1); Sifakis et al., "Hybrid simulation of deformable solids", 2007; Mueller et al., "Real
    time physics" course notes, 2008, section 3.6.
    """

    def __init__(self, parents: Ints, weights: AnyFloats, nodes: int | None = None) -> None:
        columns = parents.shape[1] if isinstance(parents, np.ndarray) and parents.ndim == 2 else 4
        if columns not in (2, 3, 4):
            raise ValueError(f"parents must have shape (n, 2), (n, 3) or (n, 4), not {parents.shape}")
        p = index_rows("parents", parents, columns)
        if not isinstance(weights, np.ndarray):
            raise TypeError(f"weights must be a NumPy array, not {type(weights).__name__}")
        scalar = _checks.scalar_type(weights.dtype)
        w = _checks.points("weights", weights, scalar, columns)
        if len(w) != len(p):
            raise ValueError(f"weights must have shape {p.shape}, not {w.shape}")
        highest = int(p.max()) + 1 if len(p) else 0
        self._nodes = max(highest, 0) if nodes is None else _checks.integer("nodes", nodes, at_least=0)
        self._parents, self._weights = frozen(p), w
        name = f"EmbeddingIn{columns}{scalar.name.capitalize()}"
        self._core: Any = getattr(_mesh, name)(self._parents, w, self._nodes, 1e-9 if scalar == FLOAT64 else 1e-5)

    @property
    def parents(self) -> Ints:
        """The nodes of each point (n, 2 | 3 | 4); a read-only view."""
        return _view(self._parents)  # type: ignore[no-any-return]

    @property
    def weights(self) -> AnyFloats:
        """The weight of each parent (n, 2 | 3 | 4); a read-only view."""
        return _view(self._weights)  # type: ignore[no-any-return]

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self._nodes

    def __len__(self) -> int:
        """Number of points."""
        return len(self._parents)

    def evaluate(self, node_values: Floats, out: Floats | None = None) -> Floats:
        """Return the weighted sums (n, 3) of values of the nodes (nodes, 3), such as positions or velocities.

        Args:
            node_values: (nodes, 3) float64, C-contiguous.
            out: (n, 3) float64 to write to; a new array by default. It must not overlap `node_values`.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order.
        """
        x = self._of_nodes("node_values", node_values, 2)
        result: Floats = np.empty((len(self), 3)) if out is None else check_out("out", out, (len(self), 3))
        if out is not None and np.may_share_memory(x, out):
            raise ValueError("out must not overlap node_values")
        self._core.evaluate(x, result)
        return result

    def positions(self, node_positions: Floats, out: Floats | None = None) -> Floats:
        """Return the positions (n, 3) of the points, m; see `evaluate`."""
        return self.evaluate(node_positions, out)

    def velocities(self, node_velocities: Floats, out: Floats | None = None) -> Floats:
        """Return the velocities (n, 3) of the points, m/s; see `evaluate`."""
        return self.evaluate(node_velocities, out)

    def spread_forces(self, forces: Floats, out: Floats | None = None) -> Floats:
        """Return the forces (nodes, 3) on the nodes from forces at the points (n, 3): the transpose of `evaluate`.

        The same holds for impulses. The sum is conserved, and so is the moment about any point if the points are at their `positions`.

        Args:
            forces: (n, 3) float64, C-contiguous, N.
            out: (nodes, 3) float64 to add to; zeros by default.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order.
        """
        f = _checks.points("forces", forces, FLOAT64, 3)
        if len(f) != len(self):
            raise ValueError(f"forces must have shape ({len(self)}, 3), not {f.shape}")
        result: Floats = np.zeros((self._nodes, 3)) if out is None else self._of_nodes("out", out, 2, writable=True)
        self._core.spread(f, result)
        return result

    def spread_masses(self, masses: Floats, out: Floats | None = None) -> Floats:
        """Return the masses (nodes,) that masses of the points (n,) add to the nodes, kg; the sum is conserved.

        Args:
            masses: (n,) float64, C-contiguous, kg.
            out: (nodes,) float64 to add to; zeros by default.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, a mass that is negative or not finite.
        """
        m = _checks.incoming("masses", _vector("masses", masses), FLOAT64, (len(self),))
        if not (m >= 0).all():
            bad = int(np.argmin(m >= 0))
            raise ValueError(f"masses must not be negative, but [{bad}] is {m[bad]:g}")
        result: Floats = np.zeros(self._nodes) if out is None else self._of_nodes("out", out, 1, writable=True)
        self._core.spread(m, result)
        return result

    def effective_masses(self, node_masses: Floats, out: Floats | None = None) -> Floats:
        """Return the effective mass (n,) of each point for an impulse, kg: 1 / sum of w^2 / m over its parents.

        Args:
            node_masses: (nodes,) float64, C-contiguous, kg; infinite for nodes that do not move.
            out: (n,) float64 to write to; a new array by default.

        Raises:
            TypeError, ValueError: wrong dtype, shape or memory order, a mass that is negative or NaN.
        """
        m = self._of_nodes("node_masses", node_masses, 1)
        result: Floats = np.empty(len(self)) if out is None else check_out("out", out, (len(self),))
        self._core.effective_masses(m, result)
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        """Embeddings are pickled as their arrays."""
        return type(self), (self._parents, self._weights, self._nodes)

    def __repr__(self) -> str:
        """One line."""
        return (
            f"<Embedding: {len(self)} points with {self._parents.shape[1]} parents each among {self._nodes} nodes, {self._weights.dtype}>"
        )

    def _of_nodes(self, name: str, values: Any, dimensions: int, *, writable: bool = False) -> Any:
        shape = (self._nodes, 3)[:dimensions]
        if writable:
            return check_out(name, values, shape)
        array = _checks.points(name, values, FLOAT64, 3) if dimensions == 2 else _vector(name, values)
        if array.shape != shape:
            raise ValueError(f"{name} must have shape {shape}, not {array.shape}")
        return array


def _vector(name: str, value: Any) -> Any:
    """Check a C-contiguous float64 vector that is used in place."""
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{name} must be a NumPy array, not {type(value).__name__}")
    if value.dtype != FLOAT64:
        raise TypeError(f"{name} must be of dtype float64, not {value.dtype}")
    if not value.flags.c_contiguous:
        raise TypeError(f"{name} must be C-contiguous; pass np.ascontiguousarray({name})")
    return value


def _view(array: Any) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view
