"""Ends of loops with bodies that have steps of their own: nothing touches on the way to where they end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from meniscus.solids.contact.contact_surface import ContactSurface, Floats
from meniscus.solids.contact.loop.loop_state import LoopState
from meniscus.solids.contact.reports import ContactInfo

# A detection of contacts that resolves none.
LOOK: dict[str, Any] = {"impulse_passes": 0, "inelastic_solves": 0, "rigid_zones": False, "cut": False}

# Resolutions in which such bodies give way, before they are held.
_ATTEMPTS = 8
# How often a loop is halved where these find no way either.
_HALVINGS = 30


def resolved(loop: LoopState, end: Floats, info: ContactInfo) -> Floats:
    """Return positions (n, 3) of all nodes at the end of a loop, m, on whose way from its start nothing touches.

    Impulses change the ways of the nodes of a rigid body as they would its velocity; after a turn, the ends are those of no rigid body,
    by the square of the angle, and the same goes for the frame of a reduced one. So they are carried to the closest ones, and everything
    is tested again. Arguments and errors are those of `LoopState.resolve_once`.
    """
    surface = loop.surface
    if not surface.others:
        return loop.resolve_once(end, info)
    surface.turn(loop.loop_time)
    aim, taken = end, 1.0
    for attempt in range(_ATTEMPTS + 1):
        if attempt < _ATTEMPTS:
            ends = loop.resolve_once(aim, info)
        else:
            with _held(surface, info):
                ends = loop.resolve_once(aim, info)
        taken *= info.fraction
        if info.fraction == 1.0 and loop.are_where(ends, aim):
            break
        aim = np.array(ends)
        for other, rows in surface.others:
            if info.fraction < 1.0 or not np.array_equal(ends[rows], end[rows]):
                aim[rows] = other.closest(ends[rows])
    else:
        return _cut(loop, end, info)
    # What is held is not tested against what is held too.
    if attempt == _ATTEMPTS and not _is_free(loop, ends):
        return _cut(loop, end, info)
    info.fraction = taken
    info.cuts = int(taken < 1.0)
    return ends


def _cut(loop: LoopState, end: Floats, info: ContactInfo) -> Floats:
    """Return what `cut_short` finds. Raises RuntimeError where there is no way."""
    found = cut_short(loop, end, info)
    if found is None:
        raise RuntimeError("bodies with steps of their own and what they touch found no way without contact; nothing has changed")
    return found


def cut_short(loop: LoopState, end: Floats, info: ContactInfo) -> Floats | None:
    """Return the positions (n, 3) after a part of the loop, m, on whose way nothing touches though nobody gives way; None without any."""
    part = 1.0
    for _ in range(_HALVINGS):
        part *= 0.5
        aim = loop.x_free + part * (end - loop.x_free)
        for other, rows in loop.surface.others:
            aim[rows] = other.closest(aim[rows])
        if _is_free(loop, aim):
            info.fraction, info.cuts, info.certified = part, 1, True
            loop.cut_vertices = np.zeros(0, np.int32)
            return aim
    return None


def _is_free(loop: LoopState, ends: Floats) -> bool:
    """Return whether nothing touches on the way to positions (n, 3), m."""
    if loop.resolver is None:
        return True
    return bool(loop.resolver.resolve(loop.x_free, ends, deactivated=loop.deactivated.pairs, **LOOK)[1].certified)


@contextmanager
def _held(surface: ContactSurface, info: ContactInfo) -> Iterator[None]:
    """Let bodies of which not every place of the nodes is one stay where they are."""
    masses = surface.contact_nodes.inverse_masses
    held = masses.copy()
    for other, rows in surface.others:
        if not other.unrestricted:
            held[rows] = 0.0
            info.blocked += len(other)
    surface.release()
    surface.contact_nodes.inverse_masses = held
    try:
        yield
    finally:
        surface.contact_nodes.inverse_masses = masses
        surface.join()
