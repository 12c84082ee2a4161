"""Springs between nodes: along edges, and between points embedded in elements."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.mesh.any_mesh import own_mesh
from meniscus.mesh.arrays import integers
from meniscus.solids.force import FLOAT64, Floats, Force, Ints, hinges_of, of_mesh, per_element
from meniscus.solids.force import rest_positions as _rest
from meniscus.solids.springs.options import SpringOptions, core_options

ZeroLength = Literal["none", "last"]


class EdgeSprings(Force):
    """Linear springs between pairs of nodes, with damping along the springs.

    A spring of length l along the unit vector d pulls its ends together with k (l - l0) and damps the rate of l with b. With `stiffness` E,
    k = E / l0: a chain of springs then behaves alike at any resolution.

    Args:
        mesh: a mesh, whose edges become springs, or an (m, 2) int32 array of nodes.
        options: stiffness and damping.
        rest_positions: (n, 3) float64, m; the mesh's own vertices if left out.
        rest_lengths: (m,), m, instead of the distances of the rest positions.
        shortest: rest lengths below it are raised to it, m.
        zero_length: force of a spring whose ends coincide (to 1e-12 of its rest length), so that it has no direction: "none": no force;
            "last": along the direction of the last linearisation, and at first that of the rest positions. Springs without rest length need
            no direction.

    Raises:
        TypeError, ValueError: wrong dtype or shape, nodes without a position, negative values; `stiffness` or `pieces` with springs that
            have no rest length.

    Source: Selle 2008, sections 5.3.1, 5.3.2 and 5.5; Mueller et al., "Real time physics class notes", 2008, section 3; Choi and Ko,
    "Stable but responsive cloth", 2002, for the definite tangent.
    """

    _core: _solids.EdgeSprings

    def __init__(
        self,
        mesh: Any,
        options: SpringOptions,
        rest_positions: Floats | None = None,
        *,
        rest_lengths: npt.ArrayLike | None = None,
        shortest: float = 0.0,
        zero_length: ZeroLength = "none",
    ) -> None:
        mesh = own_mesh(mesh)
        edges = self._ends(mesh)
        n = len(edges)
        last = _checks.choice("zero_length", zero_length, ZeroLength) == "last"
        along = np.zeros((0, 3))
        if rest_lengths is None or last:
            x = _rest(mesh, rest_positions, edges)
            along = x[edges[:, 1]] - x[edges[:, 0]]
        lengths = np.linalg.norm(along, axis=1) if rest_lengths is None else per_element("rest_lengths", rest_lengths, n)
        lengths = np.maximum(lengths, _checks.number("shortest", shortest))
        core = core_options(options, n, int(edges.max(initial=-1)) + 1)
        self._make(_solids.EdgeSprings, edges, lengths, core, last, along)

    def _ends(self, mesh: Any) -> Ints:
        """Return the nodes (m, 2) that springs join."""
        return of_mesh("mesh", mesh, "edges", 2)

    def _changes(self) -> Any:
        return self.rest_lengths, self.spring_constants, self.damping

    def _restore(self, changes: Any) -> None:
        self._core.set(*changes)

    @property
    def edges(self) -> Ints:
        """The ends (m, 2) of the springs."""
        return self._made_of[0]  # type: ignore[no-any-return]

    def change(
        self,
        *,
        rest_lengths: npt.ArrayLike | None = None,
        spring_constant: npt.ArrayLike | None = None,
        damping: npt.ArrayLike | None = None,
    ) -> None:
        """Change parameters between steps; omitted ones do not change.

        Args:
            rest_lengths: m; a number or one per spring.
            spring_constant: k, N/m; a number or one per spring.
            damping: b, N s/m; a number or one per spring.

        Raises:
            TypeError, ValueError: wrong type or shape, negative values, springs without rest length where there are `pieces`.
        """
        n = len(self.edges)
        self._core.set(
            self.rest_lengths if rest_lengths is None else per_element("rest_lengths", rest_lengths, n),
            self.spring_constants if spring_constant is None else per_element("spring_constant", spring_constant, n),
            self.damping if damping is None else per_element("damping", damping, n),
        )

    @property
    def rest_lengths(self) -> Floats:
        """Rest lengths (m,), m."""
        return np.asarray(self._core.rest_length)

    @property
    def spring_constants(self) -> Floats:
        """Force per elongation k (m,), N/m."""
        return np.asarray(self._core.stiffness)

    @property
    def damping(self) -> Floats:
        """Damping coefficients b (m,), N s/m."""
        return np.asarray(self._core.damping)


class BendingSprings(EdgeSprings):
    """Linear springs across the edges of a triangle mesh, between the two vertices that the triangles do not share.

    This is the simplest resistance to bending. It also stiffens the surface in its plane, and a completely flattened surface stays flat,
    because the forces then lie in its plane; see `DihedralBending` and `ShellAltitudeSprings`.

    Args:
        mesh: a triangle mesh with `hinges`, or these: an (m, 4) int32 array of edge nodes i, j and opposite vertices k, l; or an
            (m, 2) array of k, l.
        options: as in `EdgeSprings`, and so are all others.

    Raises:
        TypeError, ValueError: as for `EdgeSprings`.

    Source: Selle 2008, section 5.3.3.
    """

    def _ends(self, mesh: Any) -> Ints:
        """Return the two opposite vertices (m, 2) of every edge."""
        if not hasattr(mesh, "hinges") and np.ndim(mesh) == 2 and np.shape(mesh)[1] == 2:
            return of_mesh("mesh", mesh, "hinges", 2)
        return np.ascontiguousarray(hinges_of(mesh)[:, 2:])


class SoftBindings(Force):
    """Springs of length zero between embedded points, each of which is a node or a weighted mean of up to a few nodes.

    The force on the first end is -k (x_a - x_b) - b (v_a - v_b), damped in all directions, because there is none along the spring; it is
    distributed to the parents of an end by their weights. It is linear, so that every tangent is exact.

    Args:
        first: the first ends: (m,) int32 nodes, (m, k) int32 parents, or a `mesh.Embedding`. Parents below 0 are not used.
        options: spring constant and damping; bindings have no length, so that `stiffness` and `pieces` do not apply.
        second: the same for the other ends; None for ends at prescribed `targets`.
        first_weights: (m, k) float64, with sum 1 for each point; needed for an array of parents only.
        second_weights: the same for the other ends.
        targets: (m, 3) float64, m, where the second ends are; see `set_targets`.

    Raises:
        TypeError, ValueError: wrong dtype or shape, weights whose sum is not 1, no parent, both or neither of `second` and `targets`,
            options that do not apply; negative values.

    Source: Lee 2018, sections 2.3.1, 2.3.2 and 2.4; Sifakis, Shinar, Irving and Fedkiw, "Hybrid simulation of deformable solids", 2007.
    """

    _core: _solids.SoftBindings

    def __init__(
        self,
        first: Any,
        options: SpringOptions,
        second: Any = None,
        *,
        first_weights: Floats | None = None,
        second_weights: Floats | None = None,
        targets: Floats | None = None,
    ) -> None:
        a, wa = _embedded("first", first, first_weights)
        n = len(a)
        if (second is None) == (targets is None):
            raise ValueError("give second or targets, one of the two")
        if second is None:
            b, wb = np.zeros((n, 0), np.int32), np.zeros((n, 0))
            t = _checks.points("targets", targets if targets is not None else np.zeros((0, 3)), FLOAT64, 3)
            _checks.require_finite("targets", t)
        else:
            b, wb = _embedded("second", second, second_weights)
            t = np.zeros((0, 3))
            if len(b) != n:
                raise ValueError(f"first and second must have equally many ends, not {n} and {len(b)}")
        nodes = int(max(a.max(initial=-1), b.max(initial=-1))) + 1
        core = core_options(options, n, nodes, refused=("stiffness", "pieces"))
        self._make(_solids.SoftBindings, a, wa, b, wb, core, t)

    def _changes(self) -> Any:
        return self._core.targets, self._core.target_velocities

    def _restore(self, changes: Any) -> None:
        if len(changes[0]):
            self._core.set_targets(*changes)

    def set_targets(self, positions: Floats, velocities: Floats | None = None) -> None:
        """Move the prescribed ends to `positions` (m, 3) in m; `velocities` (m, 3) in m/s are 0 if left out."""
        x = _checks.points("positions", positions, FLOAT64, 3)
        v = np.zeros_like(x) if velocities is None else _checks.points("velocities", velocities, FLOAT64, 3)
        _checks.require_finite("positions", x)
        _checks.require_finite("velocities", v)
        self._core.set_targets(x, v)

    def gaps(self, x: Floats) -> Floats:
        """Return the vectors (m, 3) from the second to the first ends at positions `x` of the nodes, m."""
        return np.asarray(self._core.gaps(_checks.points("x", x, FLOAT64, 3)))

    @property
    def damping(self) -> Floats:
        """Damping coefficients b (m,), N s/m."""
        return np.asarray(self._core.damping)


def _embedded(name: str, nodes: Any, weights: Floats | None) -> tuple[Ints, Floats]:
    """Return parents (m, k) and their weights; nodes are their own only parents."""
    if hasattr(nodes, "parents") and hasattr(nodes, "weights"):
        if weights is not None:
            raise ValueError(f"{name} has weights of its own, so that {name}_weights must be left out")
        nodes, weights = nodes.parents, np.asarray(nodes.weights, np.float64)
    nodes = integers(name, nodes)
    if nodes.ndim == 1:
        if weights is not None:
            raise ValueError(f"{name}_weights are for parents of shape (m, k), not for nodes")
        if nodes.size and nodes.min() < 0:
            raise ValueError(f"nodes must not be negative, but {name}[{int(np.argmax(nodes < 0))}] is {nodes.min()}")
        return np.ascontiguousarray(nodes[:, None]), np.ones((len(nodes), 1))
    if nodes.ndim != 2 or nodes.shape[1] == 0:
        raise ValueError(f"{name} must have shape (m,) or (m, k), not {nodes.shape}")
    if not isinstance(weights, np.ndarray) or weights.dtype != np.float64:
        raise TypeError(f"{name}_weights must be a float64 array")
    if weights.shape != nodes.shape:
        raise ValueError(f"{name}_weights must have shape {nodes.shape}, not {weights.shape}")
    sums = np.where(nodes >= 0, weights, 0.0).sum(axis=1)
    wrong = ~(np.abs(sums - 1.0) <= 1e-6)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(f"the weights of a point must have the sum 1, but those of {name}[{i}] have {sums[i]:g}")
    return np.ascontiguousarray(nodes), np.ascontiguousarray(weights)
