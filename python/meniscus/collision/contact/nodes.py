"""Nodes behind the vertices of surfaces in contact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import collision as _collision
from meniscus.mesh.arrays import integers

Floats = npt.NDArray[np.float64]


def values(name: str, value: npt.ArrayLike) -> Floats:
    """Return a C-contiguous float64 array (n,); raise TypeError for what holds no numbers, ValueError for other shapes."""
    array = np.ascontiguousarray(_checks.numbers(name, value))
    if array.ndim != 1:
        raise ValueError(f"{name} must have shape (n,), not {array.shape}")
    return array


class ContactNodes:
    """How the vertices of surfaces yield to impulses: each is a sum of up to four nodes with fixed weights.

    An impulse p changes the velocity of a node of inverse mass W by W p. Free vertices are nodes themselves; those of an embedded surface
    hang in the nodes of a tetrahedron; vertices on given paths are nodes of inverse mass 0.

    Args:
        inverse_masses: (n,) numbers, 1/kg, of the nodes.
        first: (v + 1,) integers: the shares of vertex i are [first[i], first[i + 1]). None: every vertex is the node of its number.
        node: (s,) integers, the node of each share.
        weight: (s,) numbers; those of a vertex have the sum 1.
        guided: (k,) integers, nodes that do not move freely.
        free: (k, 3, 3) numbers, projections onto the directions in which they move.

    Raises:
        TypeError, ValueError: arrays that are none of these or of different lengths, inverse masses that are negative or not finite
            (the first is named), nodes that do not exist, vertices without a share or with more than four, other sums of weights.

    Source: Bridson, Fedkiw and Anderson, "Robust treatment of collisions, contact and friction for cloth animation", 2002, section 7.
    """

    def __init__(
        self,
        inverse_masses: npt.ArrayLike,
        *,
        first: npt.ArrayLike | None = None,
        node: npt.ArrayLike | None = None,
        weight: npt.ArrayLike | None = None,
        guided: npt.ArrayLike | None = None,
        free: npt.ArrayLike | None = None,
    ) -> None:
        if (first is None) != (node is None) or (first is None) != (weight is None):
            raise ValueError("first, node and weight must be given together")
        if (guided is None) != (free is None):
            raise ValueError("guided and free must be given together")
        w = values("inverse_masses", inverse_masses)
        if first is None or node is None or weight is None:
            self._core: Any = _collision.ContactNodes(w, None, None, None)
        else:
            shares = integers("first", first, 1), integers("node", node, 1), values("weight", weight)
            self._core = _collision.ContactNodes(w, *shares)
        if guided is not None and free is not None:
            self.guide(guided, free)

    def guide(self, guided: npt.ArrayLike, free: npt.ArrayLike) -> None:
        """Replace the nodes (k,) that do not move freely, ascending, and the projections (k, 3, 3) onto their free directions.

        Raises:
            TypeError, ValueError: wrong shapes or nodes, projections that are not finite.
        """
        projections = np.ascontiguousarray(_checks.numbers("free", free))
        _checks.require_finite("free", projections)
        self._core.guide(integers("guided", guided, 1), projections)

    def set_rigid(
        self,
        node: npt.ArrayLike,
        arm: npt.ArrayLike,
        inverse_mass: npt.ArrayLike,
        inverse_inertia: npt.ArrayLike,
        held: npt.ArrayLike = (),
    ) -> None:
        """Say which nodes move as rigid bodies; replaces those before.

        Vertices of a rigid body hang in four nodes, which an impulse moves as one: it changes velocity and angular velocity of all by the
        mass and inertia of the body. Contact of such vertices with each other, and with vertices on given paths, is left out.

        Args:
            node: (k, 4) integers, the nodes of each body. Each of its vertices has shares of all four and of no other; weights may be 0.
            arm: (k, 4, 3), from the centre of mass to the nodes, m.
            inverse_mass: (k,) 1/kg.
            inverse_inertia: (k, 3, 3), in axes of the world, 1/(kg m^2).
            held: (h,) integers, nodes on given paths that rigid bodies meet all the same, such as pinned nodes of cloth.

        Raises:
            TypeError, ValueError: other shapes, values that are not finite, nodes that do not yield or are in two bodies, vertices that
                hang in other nodes too.

        Source: Müller, Stam, James and Thürey 2008, section 6.3 (the inverse mass w_A along a normal).
        """
        w = values("inverse_mass", inverse_mass)
        arms = np.ascontiguousarray(_checks.numbers("arm", arm))
        inertia = np.ascontiguousarray(_checks.numbers("inverse_inertia", inverse_inertia))
        nodes = np.ascontiguousarray(integers("node", node, 2))
        for name, array, shape in (("node", nodes, (4,)), ("arm", arms, (4, 3)), ("inverse_inertia", inertia, (3, 3))):
            if array.shape != (len(w), *shape):
                raise ValueError(f"{name} must have shape {(len(w), *shape)}, not {array.shape}")
        _checks.require_finite("arm", arms)
        _checks.require_finite("inverse_inertia", inertia)
        self._core.set_rigid(nodes.astype(np.int32), arms, w, inertia, integers("held", np.asarray(held), 1))

    def release_rigid(self) -> None:
        """Let no nodes move as rigid bodies from now on."""
        none = np.zeros(0)
        self._core.set_rigid(np.zeros((0, 4), np.int32), none, none, none, np.zeros(0, np.int32))

    def set_coupled(self, bodies: Sequence[tuple[int, int, npt.NDArray[np.float64]]]) -> None:
        """Say which nodes belong to bodies with few coordinates; replaces those before.

        An impulse p at node i of such a body changes its coordinates by h = G_i^T p, and the velocities of all of its nodes j by G_j h.

        Args:
            bodies: of each, ascending: its first node; its lead, one of its nodes that yields and of which all of its vertices have a
                share, if only of weight 0; and G (n, 3, d) of its n nodes, kg^-1/2.

        Raises:
            TypeError, ValueError: nodes that do not exist or are in two bodies, a lead that does not yield, more than 160 coordinates,
                vertices without a share of the lead or with shares of other nodes, values that are not finite.

        Source: Müller, Stam, James and Thürey 2008, section 6.3 (impulses by the inverse mass along a direction).
        """
        rows = []
        for first, lead, response in bodies:
            g = np.ascontiguousarray(_checks.numbers("response", response))
            _checks.require_finite("response", g)
            numbers = _checks.integer("first", first, -(2**31), 2**31), _checks.integer("lead", lead, -(2**31), 2**31)
            rows.append((*numbers, g))
        self._core.set_coupled(rows)

    @classmethod
    def embedded(cls, inverse_masses: npt.ArrayLike, nodes: npt.ArrayLike, weights: npt.ArrayLike) -> ContactNodes:
        """Return the nodes of vertices that are given as rows.

        Args:
            inverse_masses: (n,) 1/kg, of the nodes.
            nodes: (v, k) integers, k <= 4, the nodes of each vertex.
            weights: (v, k), of sum 1 in each row; entries of weight 0 do not count.

        Raises:
            TypeError, ValueError: as the class.
        """
        node = np.ascontiguousarray(nodes)
        weight = np.ascontiguousarray(_checks.numbers("weights", weights))
        if node.ndim != 2 or node.shape != weight.shape:
            raise ValueError(f"nodes and weights must have the same shape (vertices, k), not {node.shape} and {weight.shape}")
        used = weight != 0
        first = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
        return cls(inverse_masses, first=first, node=node[used], weight=weight[used])

    def at_vertices(self, of_nodes: Floats) -> Floats:
        """Return positions, or any other vectors of nodes (n, 3), at the vertices (v, 3)."""
        return self._core.at_vertices(_checks.incoming("of_nodes", of_nodes, np.dtype(np.float64), (self.nodes, 3)))  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        """One line with the counts."""
        return f"<ContactNodes: {self.vertices} vertices, {self.nodes} nodes>"

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return int(self._core.nodes)

    @property
    def vertices(self) -> int:
        """Number of vertices."""
        return int(self._core.vertices)

    @property
    def inverse_masses(self) -> Floats:
        """A copy of the inverse masses (n,), 1/kg. Assigning sets them."""
        return self._core.inverse_masses  # type: ignore[no-any-return]

    @inverse_masses.setter
    def inverse_masses(self, value: npt.ArrayLike) -> None:
        self._core.set_inverse_masses(values("inverse_masses", value))
