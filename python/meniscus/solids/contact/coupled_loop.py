"""Loop of a world with bodies that have steps of their own: nothing touches on the way to where they end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from meniscus.solids.contact.contact_surface import Floats
from meniscus.solids.contact.reports import ContactInfo
from meniscus.solids.contact.rewinding import LOOK, RewindingLoop

# Resolutions in which such bodies give way, before they are held.
_ATTEMPTS = 8
# How often a loop is halved where these find no way either.
_HALVINGS = 30


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
            return self._cut_short(end, info)
        # What is held is not tested against what is held too.
        if attempt == _ATTEMPTS and not self._is_free(ends):
            return self._cut_short(end, info)
        info.fraction = taken
        info.cuts = int(taken < 1.0)
        return ends

    def _is_free(self, ends: Floats) -> bool:
        """Return whether nothing touches on the way to positions (n, 3), m."""
        if self._resolver is None:
            return True
        return bool(self._resolver.resolve(self.x_free, ends, deactivated=self._deactivated, **LOOK)[1].certified)

    def _cut_short(self, end: Floats, info: ContactInfo) -> Floats:
        """Return the positions (n, 3) after a part of the loop, m, on whose way nothing touches though nobody gives way."""
        part = 1.0
        for _ in range(_HALVINGS):
            part *= 0.5
            aim = self.x_free + part * (end - self.x_free)
            for other, rows in self.surface.others:
                aim[rows] = other.closest(aim[rows])
            if self._is_free(aim):
                info.fraction, info.cuts, info.certified = part, 1, True
                self.cut_vertices = np.zeros(0, np.int32)
                return aim
        raise RuntimeError("bodies with steps of their own and what they touch found no way without contact; nothing has changed")

    @contextmanager
    def _held(self, info: ContactInfo) -> Iterator[None]:
        """Let bodies of which not every place of the nodes is one stay where they are."""
        surface = self.surface
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
