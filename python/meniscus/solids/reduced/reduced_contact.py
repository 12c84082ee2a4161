"""Contact of reduced bodies with obstacles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from meniscus.core.memory import MemoryOwner
from meniscus.mesh import TetMesh
from meniscus.solids.force import Floats, Ints
from meniscus.solids.reduced.reduced_model import ReducedModel
from meniscus.surface import Solid

_MARGIN = 0.25
"""Nodes that would come so near an obstacle, in parts of the mean edge of the surface, are contacts: some of them are pressed in by what
others push."""
_PUSH_OUT = 0.2
"""The part of a penetration that a step takes back: all of it would throw nodes out of obstacles that have moved into them."""
_RECOVERY_TIME = 1.0
"""s: nodes come out of obstacles at most so fast that they would need this for the mean edge of the surface, whatever the step."""


@dataclass
class Touching:
    """Contacts of a step, one per row.

    Attributes:
        nodes: (k,).
        normals: (k, 3), away from the obstacles.
        velocities: (k, 3) of the obstacles, m/s.
        least_speeds: (k,), m/s: along the normal, relative to the obstacle.
        solids: (k,), numbers of the obstacles.
    """

    nodes: Ints
    normals: Floats
    velocities: Floats
    least_speeds: Floats
    solids: Ints

    def solve(self, contacts: Any, core: Any, friction: float | Floats, iterations: int) -> Floats:
        """Apply the impulses of the obstacles to the body; return them (k, 3), kg m/s."""
        impulses = np.zeros_like(self.normals)
        nodes = np.ascontiguousarray(self.nodes[:, None])
        weights = np.ones(nodes.shape)
        mu = np.broadcast_to(np.asarray(friction, np.float64), len(nodes)).copy()
        contacts.solve(core, nodes, weights, self.normals, self.velocities, self.least_speeds, mu, iterations, impulses)
        return impulses


class TouchingNodes(MemoryOwner):
    """Nodes on the surface of a model, and which of them a step would take into obstacles."""

    borrowed = ("model",)

    def __init__(self, model: ReducedModel) -> None:
        surface = TetMesh(model.rest_positions, model.tets).boundary
        free = np.ones(len(model.rest_positions), bool)
        free[model.fixed] = False
        nodes = np.unique(surface.triangles)
        self.nodes: Ints = nodes[free[nodes]].astype(np.int32)
        p = surface.vertices[surface.triangles]
        edge = float(np.linalg.norm(p - p[:, [1, 2, 0]], axis=2).mean())
        self.margin, self.recovery = _MARGIN * edge, edge / _RECOVERY_TIME
        self._ends = np.empty((len(self.nodes), 3))

    def find(
        self, core: Any, positions: Floats, solids: Sequence[Solid], time: float, dt: float, thickness: Sequence[float] | None = None
    ) -> Touching | None:
        """Return the contacts of a predicted step from `positions` (m) at `time` (s), with solids that nodes keep `thickness` (m) from."""
        core.next_positions(self.nodes, self._ends)
        starts = positions[self.nodes]
        parts = []
        for number, solid in enumerate(solids):
            kept = 0.0 if thickness is None else thickness[number]
            near = np.flatnonzero(solid.signed_distance(self._ends, time + dt) - kept < self.margin)
            if near.size == 0:
                continue
            ends = self._ends[near]
            gap = solid.signed_distance(starts[near], time) - kept
            speed = np.where(gap > 0, -gap / dt, np.minimum(-_PUSH_OUT * gap / dt, self.recovery))
            which = np.full(len(near), number)
            parts.append((self.nodes[near], solid.normals(ends, time + dt), solid.velocity(ends, time + dt, dt), speed, which))
        if not parts:
            return None
        nodes, normals, velocities, speeds, which = (np.ascontiguousarray(np.concatenate(columns)) for columns in zip(*parts, strict=True))
        return Touching(nodes, normals, velocities, speeds, which)
