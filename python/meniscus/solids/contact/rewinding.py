"""Options of the outer loop for comparison: going back where something collides, and repulsion without a memory of sides."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from meniscus.collision import ContactResolver
from meniscus.solids.contact.contact_surface import Floats
from meniscus.solids.contact.loop import ContactLoop
from meniscus.solids.contact.reports import ContactInfo

OuterLoop = Literal["fixed", "rewind"]
"""Loops of a fixed number of steps, or loops that are undone and halved where something collides."""

# A detection of contacts that resolves none.
LOOK: dict[str, Any] = {"impulse_passes": 0, "inelastic_solves": 0, "rigid_zones": False, "cut": False}

# State that stays as it is within a loop, or that tells how long loops are.
_LASTING = ("x_free", "v_free", "friction_of_solids", "_present_steps")
_MEMORY = "memory_of_forces"


class _TouchedError(Exception):
    """Something collides on the way of a loop that can still be halved."""


class RewindingLoop(ContactLoop):
    """Loop of a world with the choice to rewind.

    With "rewind", repulsion between surfaces acts once per loop, on the mean velocities since its start. Where something collides on the
    way after that, the state goes back to the start of the loop, which is taken again with half as many steps; loops of one step are
    resolved. A loop in which nothing collided is followed by one of twice as many steps, at most `steps_per_loop`.

    Attributes:
        loop_start: what else the state of the world is at the start of the loop, by name, and the memory of all forces; kept with "rewind"
            alone.

    Source: Bridson, Fedkiw and Anderson, "Robust treatment of collisions, contact and friction for cloth animation", 2002, section 4, as
    told in Selle 2008, section 6.2, for its figure 6.11.
    """

    def _make_rewinding(self, rewinds: bool) -> None:
        """Declare the state that rewinding needs; all other state has been declared."""
        self._rewinds = rewinds
        if rewinds and self.steps_per_loop == "auto":
            raise ValueError('loop="rewind" needs a number of steps_per_loop, not "auto"')
        changing = {name: part for name, part in self.state.items() if isinstance(part, (np.ndarray, int, float)) and name not in _LASTING}
        self.loop_start: dict[str, Any] = self.declare("loop_start", {**changing, _MEMORY: np.zeros(0)} if rewinds else {}, resizable=True)
        self._present_steps = self.declare("_present_steps", super().loop_steps)

    @property
    def loop_steps(self) -> int:
        """How many steps the present loop has, or the next one between loops: fewer than `steps_per_loop` where "rewind" has halved it."""
        return min(self._present_steps, super().loop_steps) if self._rewinds else super().loop_steps

    def resolve(self, end: Floats, info: ContactInfo) -> Floats:
        """Return positions (n, 3) of all nodes at the end of the loop, m, on whose way from `x_free` nothing touches.

        Arguments and errors are those of `ContactLoop.resolve`.
        """
        surface = self.surface
        if not self._rewinds or not surface.can_touch:
            return super().resolve(end, info)
        aim = self._repelled(end, info)
        # `finish_loop` ends loops that have not had all of their steps; these are not taken again.
        if not 1 < self.inner_steps == self.loop_steps:
            return super().resolve(aim, info)
        if self._resolver is None:
            self._resolver = ContactResolver(surface.mesh, surface.contact_nodes)
        ends, found = self._resolver.resolve(self.x_free, aim, deactivated=self._deactivated, **LOOK)
        info.contacts += found.contacts
        if not found.certified:
            raise _TouchedError
        info.certified = True
        return ends

    def find_pairs(self) -> int:
        """Store which elements are near each other at the positions at which the loop began, and on which side; return their number.

        Source: Selle 2008, section 6.4.
        """
        if self._rewinds and self.inner_steps == 0:
            self._remember_start()
        return super().find_pairs()

    def _remember_start(self) -> None:
        start = {
            name: np.array(part) if isinstance(part, np.ndarray) else part for name, part in self.state.items() if name in self.loop_start
        }
        start[_MEMORY] = np.concatenate([np.zeros(0), *(m.ravel() for body in self.bodies for m in body.force_memory)])
        self.loop_start.update(start)

    def _end_loop(self, info: ContactInfo) -> None:
        if not self._rewinds:
            super()._end_loop(info)
            return
        steps = self.loop_steps
        try:
            super()._end_loop(info)
        except _TouchedError:
            self._rewind()
            self._present_steps = steps // 2
            info.rewound = 1
        else:
            self._present_steps = min(2 * steps, super().loop_steps)

    def _rewind(self) -> None:
        """Go back to the start of the loop."""
        first = 0
        for start, body in zip(self.surface.starts, self.bodies, strict=False):
            rows = slice(int(start), int(start) + len(body))
            body.positions[...] = self.x_free[rows]
            body.velocities[...] = self.v_free[rows]
            for memory in body.force_memory:
                memory[...] = self.loop_start[_MEMORY][first : first + memory.size].reshape(memory.shape)
                first += memory.size
        for name, part in self.loop_start.items():
            if name != _MEMORY:
                setattr(self, name, np.array(part) if isinstance(part, np.ndarray) else part)
        self.time = self._time
        self._found = False

    def _repelled(self, end: Floats, info: ContactInfo) -> Floats:
        """Return the positions at the end of the loop after repulsion has changed the mean velocities."""
        if self._repulsion is None:
            return end
        velocities = (end - self.x_free) / self.loop_time
        before = velocities.copy()
        rubbed = super()._rub(self.x_free, velocities, info)
        if not super()._push(self.x_free, velocities, self.loop_time, info) and not rubbed:
            return end
        changed = np.any(velocities != before, axis=1)
        aim = np.array(end)
        aim[changed] += self.loop_time * (velocities - before)[changed]
        return aim

    def _push(self, positions: Floats, velocities: Floats, dt: float, info: ContactInfo) -> bool:
        return not self._rewinds and super()._push(positions, velocities, dt, info)

    def _rub(self, positions: Floats, velocities: Floats, info: ContactInfo) -> bool:
        return not self._rewinds and super()._rub(positions, velocities, info)

    def _refuse_targets(self) -> None:
        """Refuse places of moved nodes at the end of one step, which would be lost where a loop is taken again."""
        if self._rewinds and any(body._targets for body in self.bodies):
            raise ValueError('with loop="rewind", nodes move along paths (body.move), not to places at the end of a step')
