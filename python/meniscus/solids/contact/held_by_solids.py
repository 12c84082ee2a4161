"""Nodes that the resolution of contacts between surfaces would press into solids."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meniscus.solids.contact.contact_surface import Floats, Ints
from meniscus.solids.contact.obstacles import SolidObstacle

# Of the greatest change by the resolution: what is no deeper than this does not count.
_SLACK = 1e-6


def pressed_into_solids(solids: Sequence[SolidObstacle], here: Floats, ends: Floats, time: float, nodes: Ints) -> Ints:
    """Return those of nodes that are deeper in a solid at `ends` (n, 3), m, than they were at `here`."""
    changes = np.abs(ends[nodes] - here[nodes]).max(axis=1)
    deeper = np.zeros(len(nodes), np.bool_)
    for solid in solids:
        before, after = (solid.distance(np.ascontiguousarray(x[nodes]), time) for x in (here, ends))
        deeper |= after < np.minimum(before, 0.0) - _SLACK * changes.max(initial=0.0)
    return nodes[deeper]


def hold_out_of_solids(
    solids: Sequence[SolidObstacle], here: Floats, ends: Floats, time: float, movable: Ints, projectors: tuple[Ints, Floats]
) -> tuple[Ints, Floats] | None:
    """Return projectors with which nodes that went deeper into a solid move only along it; None if there is none.

    Args:
        solids: the obstacles.
        here, ends: (n, 3), positions before and after the resolution, m.
        time: of both, s.
        movable: nodes that contact can move.
        projectors: nodes that do not move freely, ascending, and projections (k, 3, 3) onto their free directions.

    Source: own.
    """
    changes = np.abs(ends[movable] - here[movable]).max(axis=1)
    nodes = movable[changes > 0]
    if not len(nodes):
        return None
    free = {int(n): p for n, p in zip(*projectors, strict=True)}
    found = False
    for solid in solids:
        before, after = (solid.distance(np.ascontiguousarray(x[nodes]), time) for x in (here, ends))
        deeper = after < np.minimum(before, 0.0) - _SLACK * changes.max()
        if not deeper.any():
            continue
        normals = solid.solid.normals(np.ascontiguousarray(here[nodes[deeper]]), time)
        for n, normal in zip(nodes[deeper].tolist(), normals, strict=True):
            p = free.get(n, np.eye(3))
            across = p @ normal
            size = np.linalg.norm(across)
            # Along a surface that curves, a node that is held already may still get deeper.
            if size > 1e-6:
                free[n] = p - np.outer(across, across) / size**2
                found = True
    if not found:
        return None
    order = sorted(free)
    return np.array(order, np.int32), np.ascontiguousarray([free[n] for n in order])
