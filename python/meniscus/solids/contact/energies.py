"""Energies of the nodes of a world, to judge what contact does with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from meniscus.solids.body import DeformableBody, _force_core
from meniscus.solids.contact.contact_surface import Bools, ContactSurface, Floats, Ints
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


def shared_masses_of(surface: ContactSurface) -> Floats:
    """Return the masses (n,) of all nodes, kg, those of bodies with few coordinates as equal parts of these."""
    mass = masses_of(surface)
    for rows, total in surface.masses_of_coupled():
        mass[rows] = total / (rows.stop - rows.start)
    return mass


def elastic_energy(surface: ContactSurface, bodies: Sequence[DeformableBody], positions: Floats) -> float:
    """Return the elastic energy of deformable bodies at positions of their nodes and of others (n, 3), m, in J."""
    total = 0.0
    for first, body in zip(surface.starts, bodies, strict=False):
        own = np.ascontiguousarray(positions[int(first) : int(first) + len(body)])
        with unchanged(body.force_memory):
            total += sum(float(core.energy(own)) for core in (_force_core(force) for force in body.forces))
    return total


def without_speed(velocities: Floats, change: Floats, masses: Floats, groups: Ints, single: Bools, capped: Bools) -> tuple[Floats, Floats]:
    """Return parts (n,) of changes of velocities with which no node is faster than the fastest of its group was, and what then is missing.

    Contact without rebound takes nodes along with what is faster; what it throws faster than that are light nodes between others. What
    these do not take of the momentum, all nodes of the group get as one more change (n, 3), m/s.

    Args:
        velocities, change: (n, 3), m/s.
        masses: (n,), kg.
        groups: (n,), numbers less than n.
        single: (n,), which nodes are no part of a body that moves as one; the others get all of their change.
        capped: (n,), by groups, whether this is asked for.
    """
    a, b = (change * change).sum(axis=1), (velocities * change).sum(axis=1)
    squares, most = (velocities * velocities).sum(axis=1), np.zeros(len(change))
    np.maximum.at(most, groups, squares)
    left = most[groups] - squares
    over = single & capped[groups] & (a + 2.0 * b > left)
    parts = np.ones(len(change))
    parts[over] = (np.sqrt(b[over] ** 2 + a[over] * left[over]) - b[over]) / a[over]
    missing = np.zeros_like(change)
    if over.any():
        total = np.bincount(groups, weights=masses, minlength=len(change))
        lost = (masses * (1.0 - parts))[:, None] * change
        for k in range(3):
            sums = np.bincount(groups, weights=lost[:, k], minlength=len(change))
            missing[:, k] = np.where(masses > 0, (sums / np.where(total > 0, total, 1.0))[groups], 0.0)
    return parts, missing


def inelastic_times(
    surface: ContactSurface,
    start: Floats,
    free: Floats,
    touched: Floats,
    velocities: Floats,
    groups: Ints,
    over: float,
    held: bool = False,
    whole: bool = True,
) -> tuple[Floats, Floats]:
    """Return the times (n,), s, over which the ways that contact has added make the velocities that it gives (infinite: it gives none), and
    what it gives besides (n, 3), m/s.

    Contact ends the approach of the ways over a loop. Velocities at its end are others: what repulsion has stopped by then does not
    approach any more, and would be thrown back by as much again. So each group of nodes gets the part of the velocities, from 0 to 1, that
    comes nearest to those of its ways, and where nothing on a given path is in the group, no part that gives energy. As all nodes of a
    group get the same part, momentum is kept; nodes that were then faster than the fastest of the group was get less, see `without_speed`.

    Args:
        surface: all surfaces, with their nodes.
        start, free, touched: (n, 3), positions of all nodes at the start of the loop, and at its end without and with contact, m.
        velocities: (n, 3), at its end, without contact, m/s.
        groups: (n,), as of `ContactResolver.take_groups`.
        over: length of the loop, s.
        held: whether bodies were held that solids keep where they are: these give no energy either.
        whole: whether the loop is not cut: else all nodes of a group get the same part.
    """
    change = (touched - free) / over
    times = np.full(surface.size, over)
    if not change.any():
        return times, np.zeros_like(change)
    mass = shared_masses_of(surface)
    for nodes in surface.blocks():
        if change[nodes].any():
            known = np.unique(groups[nodes])
            groups[np.isin(groups, known)] = known[0]

    def sums(values: Floats) -> Floats:
        return np.bincount(groups, weights=mass * values, minlength=surface.size).astype(np.float64)

    size = sums((change * change).sum(axis=1))
    now = sums((change * velocities).sum(axis=1))
    wanted = sums((change * (touched - start)).sum(axis=1)) / over - now
    free_of_paths = sum(np.abs(sums(change[:, k])) for k in range(3)) <= _ROUNDING * sums(np.abs(change).sum(axis=1))
    part = np.clip(np.where(free_of_paths | held, np.minimum(wanted, -2.0 * now), wanted) / np.where(size > 0, size, 1.0), 0.0, 1.0)
    single = np.ones(surface.size, np.bool_)
    for nodes in surface.blocks():
        single[nodes] = False
    given = part[groups][:, None] * change
    parts, missing = without_speed(velocities, given, mass, groups, single, (free_of_paths | held) & whole)
    with np.errstate(divide="ignore"):
        times = np.where((size > 0)[groups], over / (part[groups] * parts), over)
    return times, missing


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
