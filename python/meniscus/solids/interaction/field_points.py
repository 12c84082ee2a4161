"""Points at which fields of force act on bodies of any type but rigid ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from meniscus.solids.body import DeformableBody
from meniscus.solids.interaction.grip import Floats
from meniscus.solids.interaction.node_grips import add_to_nodes
from meniscus.solids.position.position_body import PositionBody
from meniscus.solids.reduced.reduced_body import ReducedBody


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
        yields = np.isfinite(body.masses) if isinstance(body, DeformableBody) else body.nodes[:, 3] > 0
        return add_to_nodes(body, np.where(yields, body.masses, 0.0)[:, None] * change)


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
    ReducedBody: ReducedPoints,
}


def points_of_body(body: Any) -> FieldPoints:
    """Return the points of a body."""
    for kind in type(body).__mro__:
        if kind in _KINDS:
            return _KINDS[kind](body)
    raise TypeError(f"fields act on bodies, not on a {type(body).__name__}")
