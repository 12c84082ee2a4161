"""Contacts that last: what a step knows of the contacts at the end of the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from meniscus.solids.contact.friction import SolveFriction
from meniscus.solids.contact.obstacles import SolidObstacle
from meniscus.solids.contact.solid_contacts import Floats, Ints, SolidContacts

# Gaps within which a node rests whatever its velocity, relative to the size of the scene: rounding.
_ROUNDING = 1e-10


class Ground(NamedTuple):
    """What nodes stand on.

    Attributes:
        normals: (k, 3), out of it.
        velocities: (k, 3), m/s.
        gaps: (k,), between it and the nodes, m; negative inside, infinite where there is nothing.
        friction: (k,), coefficients.
    """

    normals: Floats
    velocities: Floats
    gaps: Floats
    friction: Floats


class RestingNodes(NamedTuple):
    """Contacts that hold nodes up, ordered by node.

    Attributes:
        keys: (k, 3) int32: node, number of the solid, and whether the node sticks.
        drag: (k,), of nodes that slip against a drag, 1/s.
        way: (k,), how far they have moved in the step, m.
        speed: (k,), with which they slipped, m/s.
    """

    keys: Ints
    drag: Floats
    way: Floats
    speed: Floats


NO_NODES = RestingNodes(np.empty((0, 3), np.int32), np.empty(0), np.empty(0), np.empty(0))


def ground_under(obstacles: Sequence[SolidObstacle], nodes: Ints, numbers: Ints, x: Floats, time: float, dt: float) -> Ground:
    """Return what nodes stand on.

    Args:
        obstacles: the solids.
        nodes: (k,).
        numbers: (k,), of the solids.
        x: (n, 3), positions of all nodes, m.
        time: s.
        dt: of velocities, which are means over it, s; negative for those until `time`.
    """
    k = len(nodes)
    ground = Ground(np.empty((k, 3)), np.zeros((k, 3)), np.empty(k), np.empty(k))
    for number in np.unique(numbers).tolist():
        own, obstacle = numbers == number, obstacles[number]
        at = np.ascontiguousarray(x[nodes[own]])
        ground.normals[own] = obstacle.solid.normals(at, time)
        if obstacle.solid.moves:
            ground.velocities[own] = obstacle.solid.velocity(at, time, dt)
        ground.gaps[own] = obstacle.distance(at, time)
        ground.friction[own] = obstacle.friction
    return ground


def resting_nodes(friction: SolveFriction, h: float, start: Floats, end: Floats) -> RestingNodes:
    """Return the contacts of a solve over h seconds that hold nodes up, with what the next solve should begin with.

    `start` and `end` are positions in the step (n, 3), m.
    """
    c, k = friction.contacts, ~friction.pulled
    sticking, drag = friction.following
    keys = np.stack([c.nodes, c.obstacles, sticking], axis=1).astype(np.int32)[k]
    way = np.linalg.norm(end[c.nodes[k]] - start[c.nodes[k]], axis=1)
    return RestingNodes(np.ascontiguousarray(keys), np.ascontiguousarray(drag[k] / h), way, friction.speed[k])


def friction_at_rest(
    obstacles: Sequence[SolidObstacle], resting: RestingNodes, x: Floats, v: Floats, time: float, dt: float, h: float, fall: float
) -> SolveFriction:
    """Return the contacts of nodes that rest on solids at the start of a step, and their friction in the first solve.

    The velocity of a contact is that with which the node stays on the solid: a node above it comes down within the step. Nodes that are
    farther away than they move in a step do not rest.

    Args:
        obstacles: the solids.
        resting: from the step before.
        x, v: (n, 3), positions and velocities of the nodes, m and m/s.
        time: at the start of the step, s.
        dt: of the step; h: of the solve, s.
        fall: see `SolveFriction`.
    """
    known = resting.keys[:, 1] < len(obstacles)
    keys, drag, moved, speed = (a[known] for a in resting)
    nodes, numbers = np.ascontiguousarray(keys[:, 0]), np.ascontiguousarray(keys[:, 1])
    ground = ground_under(obstacles, nodes, numbers, x, time, dt)
    way = dt * np.linalg.norm(v[nodes] - ground.velocities, axis=1)
    near = ground.gaps <= np.maximum(np.maximum(way, moved), _ROUNDING * np.abs(x).max(initial=0.0))
    down = ground.velocities - (np.maximum(ground.gaps, 0.0) / dt)[:, None] * ground.normals
    contacts = SolidContacts(nodes[near], numbers[near], ground.normals[near], down[near], ground.friction[near], keys[near, 2] == 1)
    return SolveFriction(contacts, fall, h * drag[near], speed[near])


def with_resting(
    met: SolidContacts, known: SolveFriction, obstacles: Sequence[SolidObstacle], x: Floats, time: float, dt: float
) -> SolveFriction:
    """Return the contacts of a step, those that nodes have met and those of the prediction that hold nodes up, and their friction.

    Args:
        met: contacts found on the way of the nodes.
        known: of the prediction.
        obstacles: the solids.
        x: (n, 3), positions at the end of the step, m.
        time: at the end of the step, s.
        dt: s.
    """
    old = known.contacts
    if not len(old):
        return SolveFriction(met, known.fall)
    count = len(obstacles)
    old_keys, keys = (c.nodes.astype(np.int64) * count + c.obstacles for c in (old, met))
    kept = ~known.pulled
    missed = kept & ~np.isin(old_keys, keys)
    nodes, numbers = old.nodes[missed], old.obstacles[missed]
    ground = ground_under(obstacles, nodes, numbers, x, time, -dt)
    keys = np.concatenate([keys, old_keys[missed]])
    order = np.argsort(keys, kind="stable")
    rows = np.searchsorted(keys[order], old_keys[kept])
    # Those that go on do so as the prediction has left them.
    sticking, drag = (np.zeros(len(keys), a.dtype) for a in known.here)
    sticking[: len(met)] = met.sticking
    sticking = sticking[order]
    before = np.full(len(keys), np.nan)
    before[rows] = known.before[kept]
    sticking[rows], drag[rows] = (a[kept] for a in known.here)
    contacts = SolidContacts(
        *(
            np.ascontiguousarray(np.concatenate([first, second])[order])
            for first, second in (
                (met.nodes, nodes),
                (met.obstacles, numbers),
                (met.normals, ground.normals),
                (met.velocities, ground.velocities),
                (met.friction, ground.friction),
            )
        ),
        sticking,
    )
    alone = ~contacts.shared()
    return SolveFriction(replace(contacts, sticking=sticking & alone), known.fall, drag * alone, before)
