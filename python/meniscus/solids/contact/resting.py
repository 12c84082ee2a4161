"""Contacts that last: what a step knows of the contacts at the end of the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus.collision import NodeSupports
from meniscus.solids.contact.friction import NodeGroups, SolveFriction
from meniscus.solids.contact.obstacles import SolidObstacle
from meniscus.solids.contact.solid_contacts import MESHES, Bools, Floats, Ints, SolidContacts

# Gaps within which a node rests whatever its velocity, relative to the size of the scene: rounding.
_ROUNDING = 1e-10


class Grounds(NamedTuple):
    """What nodes may stand on.

    Attributes:
        solids: with a signed distance.
        meshes: surfaces on given paths, as nodes at some positions stand on them; None without any.
    """

    solids: Sequence[SolidObstacle]
    meshes: NodeSupports | None


class _Ground(NamedTuple):
    """What nodes stand on: normals (k, 3), velocities (k, 3), gaps (k,), which are infinite where there is nothing, friction (k,)."""

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
    grounds: Grounds, resting: RestingNodes, x: Floats, v: Floats, time: float, dt: float, h: float, fall: float
) -> SolveFriction:
    """Return the contacts of nodes that rest at the start of a step, and their friction in the first solve.

    The velocity of a contact is that with which the node stays on the solid: a node above it comes down within the step. Nodes that are
    farther away than they move in a step do not rest.

    Args:
        grounds: what nodes may stand on.
        resting: from the step before.
        x, v: (n, 3), positions and velocities of the nodes, m and m/s.
        time: at the start of the step, s.
        dt: of the step; h: of the solve, s.
        fall: see `SolveFriction`.
    """
    nodes, numbers = _columns(resting.keys)
    ground = _ground_under(grounds, nodes, numbers, x, time, dt)
    way = np.maximum(dt * np.linalg.norm(v[nodes] - ground.velocities, axis=1), resting.way)
    near = ground.gaps <= np.maximum(way, _ROUNDING * np.abs(x).max(initial=0.0))
    gaps = np.where(near, np.maximum(ground.gaps, 0.0), 0.0)
    down = ground.velocities - (gaps / dt)[:, None] * ground.normals
    sticking = resting.keys[:, 2] == 1
    contacts = SolidContacts(nodes, numbers, ground.normals, down, ground.friction, sticking).chosen(near)
    return SolveFriction(contacts, fall, h * resting.drag[near], resting.speed[near])


def met_meshes(meshes: NodeSupports | None, v: Floats, fall: float) -> SolidContacts | None:
    """Return contacts of nodes that have come to meshes, and that velocities v (n, 3), m/s, do not take away from them."""
    if meshes is None:
        return None
    away = np.einsum("kd,kd->k", v[meshes.nodes] - meshes.velocities, meshes.normals)
    k = (meshes.gaps <= 0) & (away < fall)
    count = np.count_nonzero(k)
    numbers, slides = np.full(count, MESHES, np.int32), np.zeros(count, np.bool_)
    return SolidContacts(meshes.nodes[k], numbers, meshes.normals[k], meshes.velocities[k], meshes.friction[k], slides)


def with_met(met: SolidContacts, known: SolveFriction, start: Floats, end: Floats, dt: float, groups: NodeGroups) -> SolveFriction | None:
    """Return the contacts with which a prediction is to be taken once more, and their friction; None if it is not.

    To stop a node on its way changes its place, but not that of what stands on it, which stores far more energy in stiff elements than
    the node had. So it is held from the start, along the normal, at the velocity with which it has come just to the solid. Likewise a node
    that the prediction has pulled down is let go. Where little else stands on the nodes, it makes no difference. Cloth in folds does not
    press on its nodes like that, and would lose the friction of its positions.

    Args:
        met: contacts found on the way of the nodes.
        known: of the prediction.
        start, end: (n, 3), positions in the step, those at the end after contact, m.
        dt: s.
        groups: nodes that hang together.

    Source: own.
    """
    if not len(met) and not known.pulled.any():
        return None
    stands = groups.stand_on(np.union1d(met.nodes, known.contacts.nodes)) & groups.solid
    kept = ~known.pulled
    old = known.contacts.chosen(kept)
    count = int(max(met.obstacles.max(initial=0), old.obstacles.max(initial=0))) + 2
    old_keys, met_keys = _keys(old, count), _keys(met, count)
    new = met.chosen(~np.isin(met_keys, old_keys) & stands[groups.numbers[met.nodes]])
    if not len(new) and not (known.pulled & stands[groups.numbers[known.contacts.nodes]]).any():
        return None
    way = (end[new.nodes] - start[new.nodes]) / dt - new.velocities
    across = np.einsum("kd,kd->k", way, new.normals)[:, None] * new.normals
    contacts = old.joined(replace(new, velocities=new.velocities + across, sticking=np.zeros(len(new), np.bool_)))
    rows = np.searchsorted(_keys(contacts, count), old_keys)
    sticking, drag, before = np.zeros(len(contacts), np.bool_), np.zeros(len(contacts)), np.full(len(contacts), np.nan)
    sticking[rows], drag[rows], before[rows] = known.sticking[kept], known.drag[kept], known.before[kept]
    alone = ~contacts.shared()
    return SolveFriction(contacts.with_sticking(sticking & alone), known.fall, np.where(alone, drag, 0.0), before)


def with_resting(met: SolidContacts, known: SolveFriction, grounds: Grounds, x: Floats, time: float, dt: float) -> SolveFriction:
    """Return the contacts of a step, those that nodes have met and those of the prediction that hold nodes up, and their friction.

    Args:
        met: contacts found on the way of the nodes.
        known: of the prediction.
        grounds: what nodes may stand on.
        x: (n, 3), positions at the end of the step, m.
        time: at the end of the step, s.
        dt: s.
    """
    old = known.contacts.chosen(~known.pulled)
    if not len(old):
        return SolveFriction(met, known.fall)
    count = len(grounds.solids) + 1
    old_keys, keys = _keys(old, count), _keys(met, count)
    ground = _ground_under(grounds, old.nodes, old.obstacles, x, time, -dt)
    missed = ~np.isin(old_keys, keys) & np.isfinite(ground.gaps)
    here = SolidContacts(old.nodes, old.obstacles, ground.normals, ground.velocities, ground.friction, old.sticking)
    contacts = met.joined(here.chosen(missed))
    keys = _keys(contacts, count)
    # Those that go on do so as the prediction has left them; those that it has learned of in this step begin.
    alone = ~contacts.shared()
    goes_on = np.isin(old_keys, keys) & ~np.isnan(known.before[~known.pulled])
    rows = np.searchsorted(keys, old_keys[goes_on])
    was_sticking, was_drag = (a[~known.pulled][goes_on] for a in known.here)
    sticking, drag, before = contacts.sticking.copy(), np.zeros(len(keys)), np.full(len(keys), np.nan)
    sticking[rows], drag[rows], before[rows] = was_sticking, was_drag, known.before[~known.pulled][goes_on]
    return SolveFriction(contacts.with_sticking(sticking & alone), known.fall, np.where(alone, drag, 0.0), before)


def _keys(contacts: SolidContacts, count: int) -> npt.NDArray[np.int64]:
    return contacts.nodes.astype(np.int64) * count + contacts.obstacles - MESHES


def _columns(keys: Ints) -> tuple[Ints, Ints]:
    return np.ascontiguousarray(keys[:, 0]), np.ascontiguousarray(keys[:, 1])


def _ground_under(grounds: Grounds, nodes: Ints, numbers: Ints, x: Floats, time: float, dt: float) -> _Ground:
    """Return what nodes (k,) stand on of the solids of these numbers (k,).

    Velocities are means over dt, and negative dt is for those until `time`.
    """
    k = len(nodes)
    ground = _Ground(np.zeros((k, 3)), np.zeros((k, 3)), np.full(k, np.inf), np.zeros(k))
    for number in np.unique(numbers).tolist():
        own: Bools = numbers == number
        if number == MESHES and grounds.meshes is not None:
            known = grounds.meshes
            rows = np.minimum(np.searchsorted(known.nodes, nodes), max(len(known.nodes) - 1, 0))
            own &= known.nodes[rows] == nodes if len(known.nodes) else False
            for to, of in zip(ground, (known.normals, known.velocities, known.gaps, known.friction), strict=True):
                to[own] = of[rows[own]]
        elif 0 <= number < len(grounds.solids):
            obstacle = grounds.solids[number]
            at = np.ascontiguousarray(x[nodes[own]])
            ground.normals[own] = obstacle.solid.normals(at, time)
            if obstacle.solid.moves:
                ground.velocities[own] = obstacle.solid.velocity(at, time, dt)
            ground.gaps[own] = obstacle.distance(at, time)
            ground.friction[own] = obstacle.friction
    return ground
