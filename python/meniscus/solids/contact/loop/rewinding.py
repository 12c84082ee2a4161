"""Options of the outer loop for comparison: going back where something collides, and repulsion without a memory of sides."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from meniscus.collision import ContactResolver
from meniscus.core.stateful import Stateful
from meniscus.solids.contact.contact_surface import Floats
from meniscus.solids.contact.loop.contact_loop import ContactLoop
from meniscus.solids.contact.loop.coupled_ends import LOOK
from meniscus.solids.contact.loop.loop_lengths import StepsPerLoop
from meniscus.solids.contact.reports import ContactInfo
from meniscus.solids.contact.world_setup import WorldSetup

OuterLoop = Literal["fixed", "rewind"]
"""Loops of a fixed number of steps, or loops that are undone and halved where something collides."""

# State of a loop that stays as it is within one, or that tells how long loops are.
_LASTING = ("x_free", "v_free", "_present_steps", "loop_start")
_MEMORY, _TIME = "memory_of_forces", "time"


class _TouchedError(Exception):
    """Something collides on the way of a loop that can still be halved."""


class RewindingLoop(ContactLoop):
    """Loop that goes back to its start where something collides.

    Repulsion between surfaces acts once per loop, on the mean velocities since its start. Where something collides on the way after that,
    the state goes back to the start of the loop, which is taken again with half as many steps; loops of one step are resolved. A loop in
    which nothing collided is followed by one of twice as many steps, at most `steps_per_loop`.

    Attributes:
        loop_start: what else the state of the world is at the start of the loop, by name, and the memory of all forces.

    Source: Bridson, Fedkiw and Anderson, "Robust treatment of collisions, contact and friction for cloth animation", 2002, section 4, as
    told in Selle 2008, section 6.2, for its figure 6.11.
    """

    rewinds = True

    def __init__(self, setup: WorldSetup, steps: StepsPerLoop, **options: bool) -> None:
        if steps == "auto":
            raise ValueError('loop="rewind" needs a number of steps_per_loop, not "auto"')
        super().__init__(setup, steps, **options)
        self._present_steps = self.declare("_present_steps", steps)
        self._parts: dict[str, tuple[Any, str]] = {}

    def remember(self, *others: Stateful) -> None:
        """Declare what is to be taken back: the state of the loop, and that of others, such as of contacts that last."""
        for owner in (self, self.deactivated, *others):
            for name, part in owner.state.items():
                if isinstance(part, (np.ndarray, int, float)) and name not in _LASTING:
                    self._parts[name] = owner, name
        self._parts[_TIME] = self.setup, _TIME
        start = {name: getattr(*place) for name, place in self._parts.items()}
        self.loop_start: dict[str, Any] = self.declare("loop_start", {**start, _MEMORY: np.zeros(0)}, resizable=True)

    @property
    def loop_steps(self) -> int:
        """How many steps the present loop has, or the next one between loops: fewer than `steps_per_loop` where one was halved."""
        return min(self._present_steps, super().loop_steps)

    def resolve_once(self, end: Floats, info: ContactInfo) -> Floats:
        """Return positions (n, 3) of all nodes at the end of the loop, m, on whose way from `x_free` nothing touches.

        Arguments and errors are those of `LoopState.resolve_once`.
        """
        surface = self.surface
        if not surface.can_touch:
            return end
        aim = self._repelled(end, info)
        # A loop that is ended before it has had all of its steps is not taken again.
        if not 1 < self.inner_steps == self.loop_steps:
            return super().resolve_once(aim, info)
        if self.resolver is None:
            self.resolver = ContactResolver(surface.mesh, surface.contact_nodes)
        ends, found = self.resolver.resolve(self.x_free, aim, deactivated=self.deactivated.pairs, **LOOK)
        info.contacts += found.contacts
        if not found.certified:
            raise _TouchedError
        info.certified = True
        return ends

    def find_pairs(self) -> int:
        """Store which elements are near each other at the positions at which the loop began, and on which side; return their number.

        Source: Selle 2008, section 6.4.
        """
        if self.inner_steps == 0:
            self._remember_start()
        return super().find_pairs()

    def _remember_start(self) -> None:
        for name, place in self._parts.items():
            part = getattr(*place)
            self.loop_start[name] = np.array(part) if isinstance(part, np.ndarray) else part
        self.loop_start[_MEMORY] = np.concatenate([np.zeros(0), *(m.ravel() for body in self.bodies for m in body.force_memory)])

    def end(self, info: ContactInfo) -> None:
        """End the loop, or go back to its start."""
        steps = self.loop_steps
        try:
            super().end(info)
        except _TouchedError:
            self._rewind()
            self._present_steps = steps // 2
            info.rewound = 1
        else:
            self._present_steps = min(2 * steps, super().loop_steps)

    def _rewind(self) -> None:
        first = 0
        for start, body in zip(self.surface.starts, self.bodies, strict=False):
            rows = slice(int(start), int(start) + len(body))
            body.positions[...] = self.x_free[rows]
            body.velocities[...] = self.v_free[rows]
            for memory in body.force_memory:
                memory[...] = self.loop_start[_MEMORY][first : first + memory.size].reshape(memory.shape)
                first += memory.size
        for name, (owner, attribute) in self._parts.items():
            part = self.loop_start[name]
            setattr(owner, attribute, np.array(part) if isinstance(part, np.ndarray) else part)
        self.found = False

    def _repelled(self, end: Floats, info: ContactInfo) -> Floats:
        """Return the positions at the end of the loop after repulsion has changed the mean velocities."""
        if self.repulsion is None:
            return end
        velocities = (end - self.x_free) / self.loop_time
        before = velocities.copy()
        rubbed = super().rub(self.x_free, velocities, info)
        if not super().push(self.x_free, velocities, self.loop_time, info) and not rubbed:
            return end
        changed = np.any(velocities != before, axis=1)
        aim = np.array(end)
        aim[changed] += self.loop_time * (velocities - before)[changed]
        return aim

    def push(self, positions: Floats, velocities: Floats, dt: float, info: ContactInfo) -> bool:
        """Nothing: repulsion acts at the end of the loop."""
        return False

    def rub(self, positions: Floats, velocities: Floats, info: ContactInfo) -> bool:
        """Nothing: repulsion acts at the end of the loop."""
        return False

    def enter(self, dt: float) -> None:
        """Begin a loop of steps of dt seconds, or go on with one.

        Raises:
            ValueError: places of moved nodes at the end of one step, which would be lost where a loop is taken again.
        """
        if any(body._targets for body in self.bodies):
            raise ValueError('with loop="rewind", nodes move along paths (body.move), not to places at the end of a step')
        super().enter(dt)
