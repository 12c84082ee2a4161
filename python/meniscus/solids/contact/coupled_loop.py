"""Loop of a world with bodies that have steps of their own: nothing touches on the way to where they end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from meniscus.solids.contact.contact_surface import Floats
from meniscus.solids.contact.reports import ContactInfo
from meniscus.solids.contact.rewinding import RewindingLoop

# Resolutions in which such bodies give way, before they are held.
_ATTEMPTS = 8


class CoupledLoop(RewindingLoop):
    """Loop whose contacts are resolved with bodies that have steps of their own.

    Impulses change the ways of the nodes of a rigid body as they would its velocity; after a turn, the ends are those of no rigid body,
    by the square of the angle, and the same goes for the frame of a reduced one. So they are carried to the closest ones, and everything
    is tested again.
    """

    def resolve(self, end: Floats, info: ContactInfo) -> Floats:
        """Return positions (n, 3) of all nodes at the end of the loop, m, on whose way from `x_free` nothing touches.

        Arguments and errors are those of `ContactLoop.resolve`.
        """
        surface = self.surface
        if not surface.others:
            return super().resolve(end, info)
        surface.turn(self.loop_time)
        aim, taken = end, 1.0
        for attempt in range(_ATTEMPTS + 1):
            if attempt < _ATTEMPTS:
                ends = super().resolve(aim, info)
            else:
                with self._held(info):
                    ends = super().resolve(aim, info)
            taken *= info.fraction
            if info.fraction == 1.0 and self._are_where(ends, aim):
                break
            aim = np.array(ends)
            for other, rows in surface.others:
                if info.fraction < 1.0 or not np.array_equal(ends[rows], end[rows]):
                    aim[rows] = other.closest(ends[rows])
        else:
            raise RuntimeError(
                "bodies with steps of their own and what they touch found no places without contact on the way; nothing has changed"
            )
        info.fraction = taken
        info.cuts = int(taken < 1.0)
        return ends

    @contextmanager
    def _held(self, info: ContactInfo) -> Iterator[None]:
        """Let bodies with steps of their own be in nobody's way to move."""
        surface = self.surface
        masses = surface.contact_nodes.inverse_masses
        held = masses.copy()
        for other, rows in surface.others:
            held[rows] = 0.0
            info.held += len(other)
        surface.release()
        surface.contact_nodes.inverse_masses = held
        try:
            yield
        finally:
            surface.contact_nodes.inverse_masses = masses
            surface.join()
