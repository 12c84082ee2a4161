"""Energies of the nodes of a world, to judge what contact does with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from meniscus.solids.body import DeformableBody, _force_core
from meniscus.solids.contact.contact_surface import ContactSurface, Floats, Ints
from meniscus.solids.force import unchanged

# Of the kinetic and of the elastic energy of deformable bodies: what contact may store beyond what it takes from motion. What rests stirs
# that much.
_OF_MOTION, _OF_ELASTICITY = 1e-2, 5e-2

# Of the sum of momenta: what rounding leaves of those that cancel.
_ROUNDING = 1e-9


def masses_of(surface: ContactSurface, count: int | None = None) -> Floats:
    """Return the masses (n,) of the first `count` nodes (all), kg, 0 for those that contact does not move."""
    w = surface.inverse_masses[:count]
    result: Floats = np.where(w > 0, 1.0 / np.where(w > 0, w, 1.0), 0.0)
    return result


def elastic_energy(surface: ContactSurface, bodies: Sequence[DeformableBody], positions: Floats) -> float:
    """Return the elastic energy of deformable bodies at positions of their nodes and of others (n, 3), m, in J."""
    total = 0.0
    for first, body in zip(surface.starts, bodies, strict=False):
        own = np.ascontiguousarray(positions[int(first) : int(first) + len(body)])
        with unchanged(body.force_memory):
            total += sum(float(core.energy(own)) for core in (_force_core(force) for force in body.forces))
    return total


def parts_without_speed(velocities: Floats, change: Floats, groups: Ints) -> Floats:
    """Return for each group the largest part, from 0 to 1, of changes with which none of its nodes is faster than its fastest was.

    Contact without rebound takes nodes along with what is faster; what it throws faster than that are light nodes between others.

    Args:
        velocities, change: (n, 3), m/s.
        groups: (n,), numbers less than n.
    """
    a, b = (change * change).sum(axis=1), (velocities * change).sum(axis=1)
    squares, most = (velocities * velocities).sum(axis=1), np.zeros(len(change))
    np.maximum.at(most, groups, squares)
    left = most[groups] - squares
    over = a + 2.0 * b > left
    result = np.ones(len(change))
    np.minimum.at(result, groups[over], (np.sqrt(b[over] ** 2 + a[over] * left[over]) - b[over]) / a[over])
    return result


def inelastic_times(
    surface: ContactSurface,
    start: Floats,
    free: Floats,
    touched: Floats,
    velocities: Floats,
    groups: Ints,
    over: float,
    held: bool = False,
) -> Floats:
    """Return the times (n,), s, over which the ways that contact has added make the velocities that it gives; infinite: it gives none.

    Contact ends the approach of the ways over a loop. Velocities at its end are others: what repulsion has stopped by then does not
    approach any more, and would be thrown back by as much again. So each group of nodes gets the part of the velocities, from 0 to 1, that
    comes nearest to those of its ways, and where nothing on a given path is in the group, no part that gives energy, or a node more speed
    than the fastest of the group had. As all nodes of a group get the same part, momentum is kept.

    Args:
        surface: all surfaces, with their nodes.
        start, free, touched: (n, 3), positions of all nodes at the start of the loop, and at its end without and with contact, m.
        velocities: (n, 3), at its end, without contact, m/s.
        groups: (n,), as of `ContactResolver.take_groups`.
        over: length of the loop, s.
        held: whether bodies were held that solids keep where they are: these give no energy either.
    """
    change = (touched - free) / over
    times = np.full(surface.size, over)
    if not change.any():
        return times
    mass = masses_of(surface)
    for nodes in surface.blocks():
        if change[nodes].any():
            known = np.unique(groups[nodes])
            groups[np.isin(groups, known)] = known[0]
    for rows, total in surface.masses_of_coupled():
        mass[rows] = total / (rows.stop - rows.start)

    def sums(values: Floats) -> Floats:
        return np.bincount(groups, weights=mass * values, minlength=surface.size).astype(np.float64)

    size = sums((change * change).sum(axis=1))
    now = sums((change * velocities).sum(axis=1))
    wanted = sums((change * (touched - start)).sum(axis=1)) / over - now
    free_of_paths = sum(np.abs(sums(change[:, k])) for k in range(3)) <= _ROUNDING * sums(np.abs(change).sum(axis=1))
    part = np.clip(np.where(free_of_paths | held, np.minimum(wanted, -2.0 * now), wanted) / np.where(size > 0, size, 1.0), 0.0, 1.0)
    part = np.where(free_of_paths | held, np.minimum(part, parts_without_speed(velocities, change, groups)), part)
    with np.errstate(divide="ignore"):
        times = np.where(size > 0, over / part, over)[groups]
    return times


def stores_too_much(
    surface: ContactSurface, bodies: Sequence[Any], start: Floats, free: Floats, touched: Floats, over: float
) -> float | None:
    """Return the elastic energy (J) of bodies where contact has moved nodes, if it stores more than it takes from motion; else None.

    An impulse that changes the way in a time by d takes at least m d^2 / (2 time^2) from kinetic energy, seen from what it touches. What
    was stored at the start, such as under a weight that rests, may stay so.

    Args:
        surface: all surfaces, with their nodes.
        bodies: deformable ones.
        start, free, touched: (n, 3), positions of their nodes at the start, and at the end without and with contact, m.
        over: the time in which contact has moved them, s.
    """
    count = surface.body_nodes
    way = touched[:count] - free[:count]
    if not way.any():
        return None
    taken = 0.5 * float((masses_of(surface, count) * (way * way).sum(axis=1)).sum()) / over**2
    # Where ways are long for their time, as what was left over is resolved in a short loop, there is less to take than that.
    v = surface.velocities_of(bodies)
    taken = min(taken, 0.5 * float((masses_of(surface) * (v * v).sum(axis=1)).sum()))
    stored = elastic_energy(surface, bodies, touched)
    before = elastic_energy(surface, bodies, free)
    if stored - before <= taken:
        return None
    before = max(before, elastic_energy(surface, bodies, start))
    # What rests falls in each prediction, and contact lifts it again.
    m = masses_of(surface, count)
    falls = 0.0
    for first, body in zip(surface.starts, bodies, strict=False):
        falls += float(body.gravity @ body.gravity) * float(m[int(first) : int(first) + len(body)].sum())
    v, mean = v[:count], (m @ v[:count]) / max(float(m.sum()), 1e-300)
    motion = 0.5 * float(m @ ((v - mean) ** 2).sum(axis=1))
    return stored if stored - before > taken + _OF_ELASTICITY * before + 0.5 * over**2 * falls + _OF_MOTION * motion else None
