"""Barriers and lagged friction between nodes and solids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import collision as _collision
from meniscus.solids.contact.obstacles import SolidObstacle

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

# Places on the way of a node at which solids are looked for.
_PLACES = 64


@dataclass(frozen=True)
class NearNodes:
    """Nodes within the activation distance of a solid.

    Attributes:
        obstacle: number of the solid.
        nodes: (k,).
        distance: (k,), m.
        normals: (k, 3), out of the solid.
    """

    obstacle: int
    nodes: Ints
    distance: Floats
    normals: Floats


@dataclass(frozen=True)
class Rubbing:
    """Friction of nodes on a solid, lagged.

    Attributes:
        nodes: (k,).
        normals: (k, 3).
        carried: (k, 3), how far the solid moves there in the step, m.
        force: (k,), that friction can exert, N.
    """

    nodes: Ints
    normals: Floats
    carried: Floats
    force: Floats


class BarrierSolids:
    """Energies of nodes near solids: stiffness times b of the squared distance relative to the squared activation distance.

    Source: Li et al., "Incremental Potential Contact", 2020, sections 4 and 5; distances of nodes to solids in place of those of pairs.
    """

    def __init__(self, obstacles: Sequence[SolidObstacle], nodes: Ints, distance: float) -> None:
        self.obstacles = obstacles
        self.nodes = nodes
        self.activation = distance

    def distances(self, k: int, x: Floats, time: float) -> tuple[Ints, Floats]:
        """Return the nodes in the box of a solid, grown by the activation distance, and how far they are outside."""
        obstacle, h = self.obstacles[k], self.activation
        low, high = obstacle.box(time)
        at = x[self.nodes]
        inside = ((at > low - h) & (at < high + h)).all(axis=1)
        nodes = self.nodes[inside]
        if not len(nodes):
            return nodes, np.empty(0)
        return nodes, obstacle.distance(np.ascontiguousarray(at[inside]), time)

    def least(self, x: Floats, time: float) -> float:
        """Return the least distance of a node to a solid, m, as far as it is within the activation distance."""
        found = [float(d.min()) for k in range(len(self.obstacles)) if len(d := self.distances(k, x, time)[1])]
        return min(found, default=np.inf)

    def near(self, x: Floats, time: float) -> list[NearNodes] | None:
        """Return the nodes within the activation distance of each solid at positions (n, 3), m; None if a node is not outside."""
        found = []
        for k, obstacle in enumerate(self.obstacles):
            nodes, d = self.distances(k, x, time)
            if len(d) and not d.min() > 0:
                return None
            close = d < self.activation
            if close.any():
                normals = obstacle.solid.normals(np.ascontiguousarray(x[nodes[close]]), time)
                found.append(NearNodes(k, nodes[close], d[close], normals))
        return found

    def outside_until(self, x: Floats, moves: Floats, now: float, then: float) -> float:
        """Return the part of straight moves (n, 3) of all nodes, m, between two times at which a node is within a solid; 1 if none is.

        Nodes are tested at `_PLACES` places at most: thinner parts of solids than what nodes go between these may be missed. No node goes
        farther than its distance before it is in a solid, so that few are tested anywhere.
        """
        at, way, span = x[self.nodes], moves[self.nodes], then - now
        lower, upper = np.minimum(at, at + way), np.maximum(at, at + way)
        first = 1.0
        for obstacle in self.obstacles:
            boxes = obstacle.box(now), obstacle.box(then)
            low, high = np.minimum(boxes[0][0], boxes[1][0]), np.maximum(boxes[0][1], boxes[1][1])
            rows = np.flatnonzero(((upper > low) & (lower < high)).all(axis=1))
            if not len(rows):
                continue
            start, move = np.ascontiguousarray(at[rows]), np.ascontiguousarray(way[rows])
            # How far a node goes at most in relation to a solid, which may be a belt that stays where it is.
            reach = np.linalg.norm(move, axis=1)
            if obstacle.solid.moves and span != 0.0:
                for place in (start, start + move):
                    carried = span * obstacle.solid.velocity(place, then, -span)
                    reach = np.maximum(reach, np.linalg.norm(move - carried, axis=1))
            with np.errstate(divide="ignore"):
                until = obstacle.distance(start, now) / reach
            for k in range(1, _PLACES):
                part = k / _PLACES
                if part >= first:
                    break
                near = np.flatnonzero(until < part)
                if not len(near):
                    continue
                d = obstacle.distance(start[near] + part * move[near], now + part * span)
                if d.min() <= 0:
                    first = part
                    break
                until[near] = part + d / reach[near]
        return first

    def energy(self, near: Sequence[NearNodes]) -> float:
        """Return the energy of nodes near solids for a stiffness of 1 J."""
        return float(sum(self._barrier(n.distance)[:, 0].sum() for n in near))

    def add_gradient(self, near: Sequence[NearNodes], stiffness: float, out: Floats) -> None:
        """Add its derivative by the positions of all nodes (n, 3)."""
        for n in near:
            out[n.nodes] += (stiffness * self._slope(n.distance))[:, None] * n.normals

    def curvature(self, near: Sequence[NearNodes], stiffness: float, out: Floats) -> None:
        """Add the second derivative (n, 3, 3) across the solids; their own curvature, which a barrier makes negative, is left out."""
        for n in near:
            b = self._barrier(n.distance)
            s = self.activation**-2
            second = np.maximum(2.0 * s * b[:, 1] + 4.0 * (s * n.distance) ** 2 * b[:, 2], 0.0)
            out[n.nodes] += (stiffness * second)[:, None, None] * (n.normals[:, :, None] * n.normals[:, None, :])

    def carried(self, near: Sequence[NearNodes], x: Floats, time: float, dt: float) -> list[Floats]:
        """Return how far solids move at nodes near them (k, 3), m, in the dt seconds before a time."""
        found = []
        for n in near:
            solid = self.obstacles[n.obstacle].solid
            moves = dt * solid.velocity(np.ascontiguousarray(x[n.nodes]), time, -dt) if solid.moves else np.zeros_like(n.normals)
            found.append(moves)
        return found

    def lag(self, near: Sequence[NearNodes], stiffness: float, x: Floats, time: float, dt: float) -> list[Rubbing]:
        """Return the friction of nodes near solids, with the forces of the barrier there."""
        found = []
        for n, carried in zip(near, self.carried(near, x, time, dt), strict=True):
            mu = self.obstacles[n.obstacle].friction
            if mu > 0:
                found.append(Rubbing(n.nodes, n.normals, carried, -mu * stiffness * self._slope(n.distance)))
        return found

    def _barrier(self, distance: Floats) -> Floats:
        values: Floats = _collision.barrier_function((distance / self.activation) ** 2, 1.0)
        return values

    def _slope(self, distance: Floats) -> Floats:
        slope: Floats = 2.0 * distance * self.activation**-2 * self._barrier(distance)[:, 1]
        return slope


def rubbing_energy(rubbing: Sequence[Rubbing], moved: Floats, slip: float, gradient: Floats) -> float:
    """Return the potential of friction for displacements of all nodes (n, 3), m, and add its derivative to `gradient`."""
    energy = 0.0
    for r in rubbing:
        u, y = _along(r, moved)
        s = np.minimum(y / slip, 1.0)
        energy += float((r.force * np.where(y < slip, y * s * (1.0 - s / 3.0) + slip / 3.0, y)).sum())
        gradient[r.nodes] += (r.force * _rate(y, slip))[:, None] * u
    return energy


def rubbing_curvature(rubbing: Sequence[Rubbing], moved: Floats, slip: float, out: Floats) -> None:
    """Add its second derivative (n, 3, 3), without negative eigenvalues."""
    for r in rubbing:
        u, y = _along(r, moved)
        rate = _rate(y, slip)
        steep = np.where(y < slip, 2.0 * (1.0 - y / slip) / slip, 0.0)
        unit = u / np.maximum(y, 1e-300)[:, None]
        across = np.eye(3) - r.normals[:, :, None] * r.normals[:, None, :]
        along = unit[:, :, None] * unit[:, None, :]
        out[r.nodes] += r.force[:, None, None] * (rate[:, None, None] * across + (steep - rate)[:, None, None] * along)


def _along(r: Rubbing, moved: Floats) -> tuple[Floats, Floats]:
    u = moved[r.nodes] - r.carried
    u -= np.einsum("kd,kd->k", u, r.normals)[:, None] * r.normals
    return u, np.linalg.norm(u, axis=1)


def _rate(y: Floats, slip: float) -> Floats:
    """Return f1(y) / y."""
    return np.where(y < slip, (2.0 - y / slip) / slip, 1.0 / np.maximum(y, slip))
