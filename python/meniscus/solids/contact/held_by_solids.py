"""Nodes that the resolution of contacts between surfaces would press into solids."""

from __future__ import annotations

from collections.abc import Sequence

from meniscus._meniscus import solids as _solids
from meniscus.solids.contact.contact_surface import Floats, Ints
from meniscus.solids.contact.obstacles import SolidObstacle


def pressed_into_solids(solids: Sequence[SolidObstacle], here: Floats, ends: Floats, time: float, nodes: Ints) -> Ints:
    """Return those of nodes that are deeper in a solid at `ends` (n, 3), m, than they were at `here`."""
    return _solids.pressed_into([o.at(time, None) for o in solids], here, ends, nodes)


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
    held: tuple[Ints, Floats] | None = _solids.hold_out_of([o.at(time, None) for o in solids], here, ends, movable, *projectors)
    return held
