"""Lengths of the loops of a world, from what the loops before had to resolve."""

from __future__ import annotations

import math
from typing import Literal

from meniscus.solids.contact.reports import ContactInfo

StepsPerLoop = int | Literal["auto"]
"""Steps from one certified state to the next; "auto": see `next_length`."""

SHORTEST, LONGEST = 4, 16
_CALM = 2  # loops in a row with little to resolve, before longer ones are tried


def next_length(steps: int, calm: int, info: ContactInfo, nodes: int) -> tuple[int, int]:
    """Return the number of steps of the next loop, and the number of calm loops in a row, from those before and the report of a loop.

    A loop costs its steps, the search for pairs at its start, and what is resolved at its end. The first is the same however steps are
    grouped, and the second is saved by long loops. The third grows much faster than the length of loops where surfaces press on each other:
    what repulsion has not found goes deeper, and contacts join to zones. So loops are halved, down to 4 steps, after one that was cut, had
    rigid zones, had more than a hundredth of the nodes in zones, or took more than one impulse per 20 nodes. They are doubled, up to 16,
    after two in a row without zones that took less than one impulse per 200 nodes. Only counts decide, never the time that anything took,
    so that the same start gives the same bits.

    Source: Selle 2008, sections 6.2 and 6.6 (16 steps; 8 or 4 where there are many collisions, chosen by hand).
    """
    if info.cuts or info.rigid_vertices or 100 * info.zone_vertices > nodes or 20 * info.impulses > nodes:
        return max(SHORTEST, steps // 2), 0
    calm = calm + 1 if info.zone_vertices == 0 and 200 * info.impulses < nodes else 0
    if calm >= _CALM:
        return min(LONGEST, 2 * steps), 0
    return steps, calm


def whole_loops(left: float, longest: float, steps: int) -> tuple[float, int]:
    """Return the length of equal steps (s) of at most `longest` that fill a time, and how many the first loop has: at most `steps`."""
    count = max(1, math.ceil(left / longest - 1e-9)) if longest < math.inf else steps
    loops = -(-count // steps)
    return left / count, -(-count // loops)
