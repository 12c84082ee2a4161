"""Contact of nodes with solids: positions that turn along the surface where they meet it, and Coulomb friction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import solids as _solids
from meniscus.collision import points_of_bodies
from meniscus.solids.contact.obstacles import SolidObstacle

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
SolidResponse = Literal["path", "projection"]
"""Contact with solids: friction from the impulse of the solve, or the older method without it."""

MESHES = -1
"""Stands for the number of the solid in contacts with meshes on given paths."""

# Turns of the nodes in contact: in a wedge each plane turns the path that the other has left.
_TURNS = 3
# Part of the depth that is left after all turns, on surfaces that curve towards the node, and goes in one step.
_LIFT = 0.1


_PARTS = ("nodes", "obstacles", "normals", "velocities", "friction", "sticking")


@dataclass(frozen=True)
class SolidContacts:
    """Contacts of a step, ordered by their nodes; a node on several solids has several.

    Attributes:
        nodes: (k,).
        obstacles: (k,), the number of the solid; -1 for meshes.
        normals: (k, 3), out of the solid.
        velocities: (k, 3), of the solid, mean over the step, m/s.
        friction: (k,), coefficients.
        sticking: (k,), whether the solve tries to hold the node on the solid in all directions.
    """

    nodes: Ints
    obstacles: Ints
    normals: Floats
    velocities: Floats
    friction: Floats
    sticking: Bools

    def __len__(self) -> int:
        """Return their number."""
        return len(self.nodes)

    def apply(self, velocities: Floats, friction: Floats | None = None) -> None:
        """Change velocities of nodes (n, 3), m/s, in place to those after contact (function Gamma of the source).

        `friction` (k,) stands in for that of the contacts.
        """
        if len(self):
            mu = self.friction if friction is None else friction
            _solids.apply_contacts(self.nodes, self.normals, self.velocities, mu, velocities)

    def sliding(self) -> SolidContacts:
        """Return the contacts, none of them sticking."""
        return replace(self, sticking=np.zeros(len(self), np.bool_))

    def sticking_at_rest(self, velocities: Floats) -> SolidContacts:
        """Return the contacts with those sticking too whose nodes do not move along the solid at velocities (n, 3), m/s."""
        relative = velocities[self.nodes] - self.velocities
        relative -= np.einsum("kd,kd->k", relative, self.normals)[:, None] * self.normals
        size = np.linalg.norm(self.velocities, axis=1)
        return replace(self, sticking=(self.sticking | (np.linalg.norm(relative, axis=1) <= 1e-12 * (1e-3 + size))) & ~self.shared())

    def shared(self) -> Bools:
        """Return whether nodes have other contacts; these are left to their normals."""
        shared = np.zeros(len(self), np.bool_)
        shared[1:] = self.nodes[1:] == self.nodes[:-1]
        shared[:-1] |= shared[1:]
        return shared

    def chosen(self, rows: Bools) -> SolidContacts:
        """Return those of the rows (k,)."""
        return self._each(lambda own: np.ascontiguousarray(own[rows]))

    def of_solids(self) -> SolidContacts:
        """Return those with solids, without those with meshes."""
        return self.chosen(self.obstacles != MESHES)

    def joined(self, others: SolidContacts) -> SolidContacts:
        """Return these and others, ordered by node and number of the solid."""
        order = np.lexsort((np.concatenate([self.obstacles, others.obstacles]), np.concatenate([self.nodes, others.nodes])))
        both = (getattr(others, name) for name in _PARTS)
        return self._each(lambda own: np.ascontiguousarray(np.concatenate([own, next(both)])[order]))

    def _each(self, change: Callable[[Any], Any]) -> SolidContacts:
        return SolidContacts(**{name: change(getattr(self, name)) for name in _PARTS})

    def with_sticking(self, sticking: Bools) -> SolidContacts:
        """Return the contacts with these sticking (k,)."""
        return replace(self, sticking=sticking)

    def press_only(self, solved: Floats, loose: Floats) -> None:
        """Take from velocities without contact (n, 3), m/s, in place, what they have along normals more than the solved ones."""
        if len(self):
            _solids.press_only(self.nodes, self.normals, self.velocities, self.friction, solved, loose)


NO_CONTACTS = SolidContacts(
    np.empty(0, np.int32), np.empty(0, np.int32), np.empty((0, 3)), np.empty((0, 3)), np.empty(0), np.empty(0, np.bool_)
)


def meet_solids(
    obstacles: Sequence[SolidObstacle],
    start: Floats,
    end: Floats,
    dt: float,
    time: float,
    nodes: Ints,
    response: SolidResponse = "path",
) -> SolidContacts:
    """Keep nodes out of solids in a step: change the ends of their ways in place, and return the contacts.

    A node that ends in a solid goes along its way up to the surface and on from there with the velocity after contact. Each solid is asked
    once per turn, for the nodes in its box.

    Args:
        obstacles: the solids.
        start, end: (n, 3), positions at both ends of the step, m.
        dt: s.
        time: at the end of the step, s; solids count as they are then.
        nodes: those that can move, ascending.
        response: "path", or "projection": nodes go straight out of the solid.

    Source: Selle 2008, section 6.5.
    """
    found: dict[int, tuple[Ints, Floats, Floats]] = {}
    stuck: dict[int, Ints] = {}
    candidates = nodes
    for turn in range(1 if response == "projection" else _TURNS):
        touched = []
        for k, inside, depth in _inside(obstacles, end, time, candidates):
            way = (end[inside] - start[inside]) / dt
            normals, velocities = _turn(obstacles[k], start, end, dt, time, inside, -depth, response)
            if turn == 0:
                mu = np.full(len(inside), obstacles[k].friction)
                stuck[k] = inside[stopped(way, normals, velocities, mu)]
            found[k] = _joined(found.get(k), inside, normals, velocities)
            touched.append(inside)
        if not touched:
            break
        candidates = np.unique(np.concatenate(touched))
        if turn == _TURNS - 1:
            _lift(obstacles, end, time, candidates, found)
    return _contacts(obstacles, found, stuck)


def stopped(v: Floats, normals: Floats, velocities: Floats, friction: Floats) -> Bools:
    """Return where friction takes all of a velocity along a surface."""
    relative = v - velocities
    into = -np.einsum("kd,kd->k", relative, normals)
    along = relative + into[:, None] * normals
    result: Bools = (into > 0) & (np.linalg.norm(along, axis=1) <= friction * into)
    return result


def _inside(obstacles: Sequence[SolidObstacle], points: Floats, time: float, nodes: Ints) -> list[tuple[int, Ints, Floats]]:
    """Return number, nodes and depths of all solids with nodes in them."""
    if not len(nodes) or not obstacles:
        return []
    x = points[nodes]
    boxes = np.stack([o.box(time) for o in obstacles])
    bounded = np.isfinite(boxes).all(axis=(1, 2))
    lists: dict[int, Ints] = {}
    if bounded.any():
        near = points_of_bodies(np.ascontiguousarray(boxes[bounded]), x)
        for b, k in enumerate(np.flatnonzero(bounded).tolist()):
            lists[k] = near.points[near.starts[b] : near.starts[b + 1]]
    result = []
    for k, obstacle in enumerate(obstacles):
        own = lists.get(k)
        if own is not None and not len(own):
            continue
        where = nodes if own is None else nodes[own]
        phi = obstacle.distance(x if own is None else x[own], time)
        hit = phi < 0
        if hit.any():
            result.append((k, where[hit], -phi[hit]))
    return result


def _turn(
    obstacle: SolidObstacle, start: Floats, end: Floats, dt: float, time: float, nodes: Ints, phi: Floats, response: SolidResponse
) -> tuple[Floats, Floats]:
    """Turn the ways of nodes that end in a solid; return normals and velocities of the solid."""
    solid = obstacle.solid
    x0, x1 = start[nodes], end[nodes]
    still = np.zeros_like(x1)
    velocities = np.ascontiguousarray(solid.velocity(x1, time, -dt)) if solid.moves else still
    if response == "projection":
        normals = solid.normals(x1, time)
        end[nodes] = x1 - phi[:, None] * normals
        return normals, velocities
    before = obstacle.distance(x0, time)
    if solid.moves:
        # The solid, as it is at the end, at the place of the start: its motion is added to first order.
        before = before + dt * np.einsum("nd,nd->n", velocities, solid.normals(x1, time))
    theta = _solids.meeting_times(before, np.ascontiguousarray(phi))
    meeting = x0 + theta[:, None] * (x1 - x0) + ((1.0 - theta) * dt)[:, None] * velocities
    normals = np.ascontiguousarray(solid.normals(meeting, time))
    friction = np.full(len(nodes), obstacle.friction)
    _solids.turn_at_contacts(nodes, normals, velocities, friction, theta, dt, start, end)
    return normals, velocities


def _lift(obstacles: Sequence[SolidObstacle], end: Floats, time: float, nodes: Ints, found: dict[int, tuple[Ints, Floats, Floats]]) -> None:
    """Move nodes that are still inside out by a part of their depth."""
    for k, inside, depth in _inside(obstacles, end, time, nodes):
        where, normals, _ = found.get(k, (inside[:0], np.empty((0, 3)), np.empty((0, 3))))
        known = np.isin(inside, where)
        rows = np.searchsorted(where, inside[known])
        end[inside[known]] += _LIFT * depth[known, None] * normals[rows]


def _joined(known: tuple[Ints, Floats, Floats] | None, nodes: Ints, normals: Floats, velocities: Floats) -> tuple[Ints, Floats, Floats]:
    """Return the contacts with a solid with those of a further turn, which replace earlier ones of the same nodes; nodes ascend."""
    if known is None:
        return nodes, normals, velocities
    kept = ~np.isin(known[0], nodes)
    all_nodes = np.concatenate([known[0][kept], nodes])
    order = np.argsort(all_nodes, kind="stable")
    joined = (np.concatenate([known[i][kept], new])[order] for i, new in ((1, normals), (2, velocities)))
    first, second = joined
    return all_nodes[order], first, second


def _contacts(obstacles: Sequence[SolidObstacle], found: dict[int, tuple[Ints, Floats, Floats]], stuck: dict[int, Ints]) -> SolidContacts:
    if not found:
        return NO_CONTACTS
    numbers = sorted(found)
    nodes = np.concatenate([found[k][0] for k in numbers])
    which = np.concatenate([np.full(len(found[k][0]), k, np.int32) for k in numbers])
    order = np.argsort(nodes, kind="stable")
    normals, velocities = (np.ascontiguousarray(np.concatenate([found[k][i] for k in numbers])[order]) for i in (1, 2))
    friction = np.array([o.friction for o in obstacles])[which[order]]
    sticks = np.concatenate([np.isin(found[k][0], stuck.get(k, nodes[:0])) for k in numbers])[order]
    return SolidContacts(np.ascontiguousarray(nodes[order]), which[order], normals, velocities, friction, sticks)
