"""Contact of nodes with solids: positions that turn along the surface where they meet it, and Coulomb friction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import solids as _solids
from meniscus._options import CoreOption
from meniscus.solids.contact.obstacles import SolidObstacle

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
SolidResponse = Literal["path", "projection"]
"""Contact with solids: friction from the impulse of the solve, or the older method without it."""
SOLID_RESPONSE = CoreOption(SolidResponse, _solids.SolidResponse)


@dataclass(frozen=True)
class SolidContacts:
    """Contacts of a step, ordered by their nodes; a node on several solids has several.

    Attributes:
        nodes: (k,).
        obstacles: (k,), the number of the solid; -1 for meshes.
        normals: (k, 3), out of the solid.
        velocities: (k, 3), of the solid, mean over the step, m/s.
        friction: (k,), coefficients.
        sticking: (k,), whether the solve tries to hold the node on the solid in all directions.
    """

    nodes: Ints
    obstacles: Ints
    normals: Floats
    velocities: Floats
    friction: Floats
    sticking: Bools

    def __len__(self) -> int:
        """Return their number."""
        return len(self.nodes)

    def apply(self, velocities: Floats) -> None:
        """Change velocities of nodes (n, 3), m/s, in place to those after contact (function Gamma of the source)."""
        if len(self):
            _solids.apply_contacts(self.nodes, self.normals, self.velocities, self.friction, velocities)

    def without_motion(self) -> SolidContacts:
        """Return the contacts with solids at rest, which change changes of velocities."""
        return replace(self, velocities=np.zeros_like(self.velocities))


NO_CONTACTS = SolidContacts(
    np.empty(0, np.int32), np.empty(0, np.int32), np.empty((0, 3)), np.empty((0, 3)), np.empty(0), np.empty(0, np.bool_)
)


def contacts_of(rows: _solids.NodeRows) -> SolidContacts:
    """Return rows of the core as arrays, without copies."""
    return SolidContacts(*rows.columns) if len(rows) else NO_CONTACTS


def meet_solids(
    obstacles: Sequence[SolidObstacle],
    start: Floats,
    end: Floats,
    dt: float,
    time: float,
    nodes: Ints,
    response: SolidResponse = "path",
) -> SolidContacts:
    """Keep nodes out of solids in a step: change the ends of their ways in place, and return the contacts.

    A node that ends in a solid goes along its way up to the surface and on from there with the velocity after contact. Each solid is asked
    once per turn, for the nodes in its box.

    Args:
        obstacles: the solids.
        start, end: (n, 3), positions at both ends of the step, m.
        dt: s.
        time: at the end of the step, s; solids count as they are then.
        nodes: those that can move, ascending.
        response: "path", or "projection": nodes go straight out of the solid.

    Source: Selle 2008, section 6.5.
    """
    how = SOLID_RESPONSE("response", response)
    return contacts_of(_solids.meet_solids([o.at(time, -dt) for o in obstacles], start, end, dt, nodes, how))
