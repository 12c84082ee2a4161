"""Penalty forces between tetrahedral bodies that overlap, with consistent penetration depths or along rays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus._options import CoreOption
from meniscus.mesh import TetMesh
from meniscus.solids.force import FLOAT64, Floats, Ints

PenaltyResponse = Literal["consistent", "ray"]
PENALTY_RESPONSE = CoreOption(PenaltyResponse, _solids.PenaltyResponse)


class PenaltyForces(NamedTuple):
    """Penalty forces on bodies, and the nodes that are inside of others.

    Attributes:
        forces: (n_i, 3) per body, N.
        nodes: (k,) of all bodies, one after the other, whose depth is known.
        depths: (k,), m.
        directions: (k, 3), unit, out of the other body.
    """

    forces: list[Floats]
    nodes: Ints
    depths: Floats
    directions: Floats


class TetPenalty:
    """Penalty response of tetrahedral bodies that overlap: f = k d r on a node at depth d, -f on the other body. No sum, no torque.

    Depths are "consistent": nodes next to the surface get theirs from where their edges pass through it, those farther inside from
    their neighbours, so that directions do not jump as they do with closest points; a body that is wholly inside another has no edge
    through its surface, and feels nothing. Or nodes of the surface go back along a "ray" against their own normal to where that leaves the
    other body, q', whose triangle takes -f: they go to where they came in. Friction acts on the tetrahedron around the node.

    Args:
        meshes: the bodies, `mesh.TetMesh` each.
        stiffness: N/m per node.
        damping: N s/m, of the velocity along the direction, and at most of that across it; forces never pull.
        friction: coefficient; the force across is at most that times the one along the direction.
        response: "consistent" or "ray".
        self_collision: whether bodies collide with themselves.

    Raises:
        TypeError, ValueError: other arguments, negative numbers.

    Source: Müller, Stam, James and Thürey 2008, section 3.8; Heidelberger et al., "Consistent penetration depth estimation for
    deformable collision response", 2004.
    """

    def __init__(
        self,
        meshes: Sequence[TetMesh],
        *,
        stiffness: float,
        damping: float = 0.0,
        friction: float = 0.0,
        response: PenaltyResponse = "consistent",
        self_collision: bool = False,
    ) -> None:
        bodies = _checks.items("meshes", meshes, TetMesh)
        if not bodies:
            raise ValueError("meshes must be at least one")
        self.stiffness = _checks.positive("stiffness", stiffness)
        self.damping = _checks.number("damping", damping)
        self.friction = _checks.number("friction", friction)
        if min(self.damping, self.friction) < 0:
            raise ValueError("damping and friction must not be negative")
        self.response, self.self_collision = response, _checks.flag("self_collision", self_collision)
        self._response = PENALTY_RESPONSE("response", response)
        self.meshes = tuple(bodies)
        self.counts = [len(b.vertices) for b in bodies]
        first = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int32)
        self._first = first
        tets = [(b.tets + k).astype(np.int32) for b, k in zip(bodies, first, strict=False)]
        surfaces = [(b.boundary.triangles + k).astype(np.int32) for b, k in zip(bodies, first, strict=False)]
        self._core = _solids.TetPenalty(self.counts, tets, surfaces)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles and copies are made anew from the meshes."""
        options = ("stiffness", "damping", "friction", "response", "self_collision")
        return partial(TetPenalty, self.meshes, **{name: getattr(self, name) for name in options}), ()

    def forces(self, positions: Sequence[Floats], velocities: Sequence[Floats] | None = None) -> PenaltyForces:
        """Return the forces at positions (n_i, 3) per body, m, and velocities, m/s (default at rest).

        Raises:
            TypeError, ValueError: arrays that do not fit the bodies.
        """
        x = self._joined("positions", positions)
        v = np.zeros_like(x) if velocities is None else self._joined("velocities", velocities)
        f = np.empty_like(x)
        options = (self.stiffness, self.damping, self.friction, self._response, self.self_collision)
        nodes, depths, directions = self._core.forces(x, v, *options, f)
        parts = [f[a:b] for a, b in zip(self._first[:-1], self._first[1:], strict=True)]
        return PenaltyForces(parts, nodes, depths, directions)

    def _joined(self, name: str, arrays: Sequence[Floats]) -> Floats:
        if len(arrays) != len(self.counts):
            raise ValueError(f"{name} must be one array per body")
        checked = [_checks.points(name, a, FLOAT64, 3) for a in arrays]
        if [len(a) for a in checked] != self.counts:
            raise ValueError(f"{name} must have a row per node of each body")
        return np.concatenate(checked)
