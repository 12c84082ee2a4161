"""Points at which fields of force act on bodies of any type."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from meniscus.solids.body import DeformableBody
from meniscus.solids.interaction.grip import Floats
from meniscus.solids.interaction.node_grips import inverse_masses_of
from meniscus.solids.position.position_body import PositionBody
from meniscus.solids.reduced.reduced_body import ReducedBody
from meniscus.solids.rigid.rigid_body import RigidBody

# Corners of a tetrahedron whose second moments are those of a unit cube of points.
_CORNERS = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])


class FieldPoints(ABC):
    """Points with masses that stand for a body: accelerations there accelerate it."""

    def __init__(self, body: Any) -> None:
        self.body = body

    @property
    @abstractmethod
    def positions(self) -> Floats:
        """Positions (n, 3), m."""

    @property
    @abstractmethod
    def velocities(self) -> Floats:
        """Velocities (n, 3), m/s."""

    @abstractmethod
    def add(self, change: Floats) -> Floats:
        """Let impulses act that would change the velocities of the points by that (n, 3), m/s; return the sum of the impulses."""


class NodePoints(FieldPoints):
    """The nodes of a deformable or position based body."""

    @property
    def positions(self) -> Floats:
        """Positions (n, 3), m."""
        return np.ascontiguousarray(self.body.positions, np.float64)

    @property
    def velocities(self) -> Floats:
        """Velocities (n, 3), m/s."""
        return np.array(self.body.velocities, np.float64)

    def add(self, change: Floats) -> Floats:
        """Change velocities of nodes that forces move; return the sum of the impulses, kg m/s."""
        body = self.body
        if isinstance(body, DeformableBody):
            held, yields = body.constrained, np.isfinite(body.masses)
            change = np.where(yields[:, None], change, 0.0)
            if len(held):
                nodes = np.asarray(held)
                projections = inverse_masses_of(body, nodes) * np.where(yields[nodes], body.masses[nodes], 0.0)[:, None, None]
                change[nodes] = np.einsum("kij,kj->ki", projections, change[nodes])
        else:
            yields = body.nodes[:, 3] > 0
            change = np.where(yields[:, None], change, 0.0)
        body.velocities[...] += change.astype(body.velocities.dtype)
        result: Floats = np.einsum("n,nd->d", np.where(yields, body.masses, 0.0), change)
        return result


class RigidPoints(FieldPoints):
    """Four points with the mass and inertia of a rigid body: fields that are linear in space act as they do on the whole body."""

    def __init__(self, body: RigidBody) -> None:
        super().__init__(body)
        moments, axes = np.linalg.eigh(body.properties.inertia)
        extents = np.sqrt(np.maximum(0.5 * moments.sum() - moments, 0.0) / body.mass)
        self._arms = ((_CORNERS * extents) @ axes.T) @ body.rotation.T

    @property
    def positions(self) -> Floats:
        """Positions (4, 3), m."""
        result: Floats = self.body.state_row[:3] + self._arms
        return result

    @property
    def velocities(self) -> Floats:
        """Velocities (4, 3), m/s."""
        result: Floats = self.body.velocities(self.positions)
        return result

    def add(self, change: Floats) -> Floats:
        """Let impulses act at the points; return their sum, kg m/s."""
        body = self.body
        if not body._dynamic:
            return np.zeros(3)
        impulses = 0.25 * body.mass * change
        body.apply_impulses(self.positions, impulses)
        result: Floats = impulses.sum(axis=0)
        return result


class ReducedPoints(FieldPoints):
    """The nodes of a reduced body."""

    @property
    def positions(self) -> Floats:
        """Positions (n, 3), m."""
        return np.asarray(self.body.positions)

    @property
    def velocities(self) -> Floats:
        """Velocities (n, 3), m/s."""
        result: Floats = self.body.velocities
        return result

    def add(self, change: Floats) -> Floats:
        """Let impulses act at the nodes; return their sum, kg m/s."""
        impulses = self.body.model.masses[:, None] * change
        self.body.apply_impulses(np.arange(len(impulses), dtype=np.int32), impulses)
        result: Floats = impulses.sum(axis=0)
        return result


_KINDS: dict[type, type[FieldPoints]] = {
    DeformableBody: NodePoints,
    PositionBody: NodePoints,
    RigidBody: RigidPoints,
    ReducedBody: ReducedPoints,
}


def points_of_body(body: Any) -> FieldPoints:
    """Return the points of a body."""
    for kind in type(body).__mro__:
        if kind in _KINDS:
            return _KINDS[kind](body)
    raise TypeError(f"fields act on bodies, not on a {type(body).__name__}")


def whole_body(body: Any) -> bool:
    """Return whether all points of a body answer to a force at one of them, by few generalised velocities."""
    return isinstance(body, (RigidBody, ReducedBody))
