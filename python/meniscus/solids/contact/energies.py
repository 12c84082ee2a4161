"""Energies of the nodes of a world, to judge what contact does with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from meniscus.solids.body import DeformableBody, _force_core
from meniscus.solids.contact.contact_surface import ContactSurface, Floats
from meniscus.solids.force import unchanged

# Of the kinetic and of the elastic energy: what contact may store beyond what it takes from motion. What rests stirs that much.
_OF_MOTION, _OF_ELASTICITY = 1e-2, 5e-2


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


def kinetic_energy(surface: ContactSurface, bodies: Sequence[DeformableBody]) -> float:
    """Return the kinetic energy of all nodes that contact moves about their mean velocity, J."""
    v = np.zeros((surface.size, 3))
    for first, body in zip(surface.starts, bodies, strict=False):
        v[int(first) : int(first) + len(body)] = body.velocities
    for other, rows in surface.others:
        other.velocities(v[rows])
    m = masses_of(surface)
    relative = v - (m[:, None] * v).sum(axis=0) / max(float(m.sum()), 1e-300)
    return 0.5 * float((m * (relative * relative).sum(axis=1)).sum())


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
    least = taken + _OF_ELASTICITY * before + 0.5 * over**2 * falls
    return stored if stored - before > least and stored - before > least + _OF_MOTION * kinetic_energy(surface, bodies) else None
