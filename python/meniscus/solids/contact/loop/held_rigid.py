"""Rigid bodies that the resolution of contacts between surfaces would press into solids."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from meniscus.solids.contact.contact_surface import Bools, Floats
from meniscus.solids.contact.loop.loop_state import LoopState
from meniscus.solids.contact.rigid_surfaces import RigidSurfaces

# Of the largest thickness: so much deeper in a solid a vertex may be than without contact.
_DEEPER = 0.5


@contextmanager
def rigid_held(loop: LoopState, here: Floats, ends: Floats) -> Iterator[bool]:
    """Let rigid bodies that would go into solids from `here` to `ends` (n, 3), m, stay where they are; tell if there are any.

    Contact of rigid bodies with solids is that of their system, which would push them out again, back into what has pressed them: a jelly
    that fell on a box on the ground had twice its energy from that.
    """
    surface = loop.surface
    found = next(((o, rows) for o, rows in surface.others if isinstance(o, RigidSurfaces)), None)
    pressed = np.zeros(0, np.bool_) if found is None else _pressed(loop, found[0], found[1], here, ends)
    if found is None or not pressed.any():
        yield False
        return
    bodies, rows = found
    masses = surface.contact_nodes.inverse_masses
    held = masses.copy()
    held[rows][np.repeat(pressed, 4)] = 0.0
    bodies.blocked = pressed
    surface.contact_nodes.inverse_masses = held
    surface.turn(loop.loop_time)
    try:
        yield True
    finally:
        # The next step turns the surface anew; to do so here would undo what bodies with few coordinates have come to.
        bodies.blocked = np.zeros(len(bodies.bodies), np.bool_)
        surface.contact_nodes.inverse_masses = masses


def _pressed(loop: LoopState, bodies: RigidSurfaces, rows: slice, here: Floats, ends: Floats) -> Bools:
    """Return which rigid bodies have a vertex that is deeper in a solid at `ends`."""
    surface, time = loop.surface, loop.setup.time
    result = np.zeros(len(bodies.bodies), np.bool_)
    moved = bodies.is_dynamic & (here[rows] != ends[rows]).reshape(-1, 12).any(axis=1)
    if not moved.any() or not loop.setup.solid_obstacles:
        return result
    first = surface.nodes[:, 0]
    owner = np.where((first >= rows.start) & (first < rows.stop), (first - rows.start) // 4, -1)
    vertices = np.flatnonzero((owner >= 0) & moved[owner])
    at = [np.ascontiguousarray(surface.at_vertices(x)[vertices]) for x in (here, ends)]
    allowed = _DEEPER * float(surface.thickness.max(initial=0.0))
    for solid in loop.setup.solid_obstacles:
        before, after = (solid.distance(x, time) for x in at)
        deeper = after < np.minimum(before, 0.0) - allowed
        result[owner[vertices[deeper]]] = True
    return result
