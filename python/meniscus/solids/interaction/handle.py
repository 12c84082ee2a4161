"""Handles: what a person drags a point of a body with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from meniscus import _checks
from meniscus.solids.interaction.grip import Floats, Grip
from meniscus.solids.interaction.pull import End, Pull, PullPart, limited, spring_terms

HandleKind = Literal["spring", "attachment"]
"""How a handle pulls."""

# s: time constant of the critically damped spring that moves the whole body, where no stiffness is given.
_TIME = 0.1
# m/s^2: the largest acceleration of the whole body, where no force is given.
_ACCELERATION = 100.0
MAX_SPEED = 20.0
"""m/s: pulls close gaps at most that fast."""


class Handle(Pull):
    """A point of a body that is pulled to `target`: made by `World.pick`.

    In each step the impulse is that of a spring and a damper at its end, p = dt (k (target - x - dt v) - c v), shortened to dt `max_force`.
    So no stiffness is too large.

    Attributes:
        target: (3,), m; assignable.
        impulse: (3,), all that the handle has given to the body, kg m/s; the hand has got the opposite.
        stiffness, damping, max_force: N/m, N s/m and N; infinite stiffness for kind "attachment".
    """

    kind = "handle"
    _numbers = ("stiffness", "damping", "max_force", "max_speed")
    _arrays: ClassVar[Mapping[str, Floats]] = {"impulses": np.zeros((1, 3)), "_target": np.zeros(3)}
    _roles: ClassVar[Mapping[str, str]] = {"body": "name"}

    stiffness: float
    damping: float
    max_force: float
    max_speed: float
    name: str
    _target: Floats

    @classmethod
    def made(
        cls,
        owner: Any,
        name: str,
        grip: Grip,
        *,
        stiffness: float | None,
        damping: float | None,
        max_force: float | None,
        max_speed: float | None,
        kind: HandleKind,
    ) -> Handle:
        """Return a handle of one point."""
        self = cls()
        mass = grip.mass if grip.mass > 0 else 1.0
        chosen = _checks.choice("kind", kind, HandleKind)
        if chosen == "attachment" and (stiffness is not None or damping is not None):
            raise ValueError('an attachment has no stiffness and damping: these are for kind="spring"')
        k = mass / _TIME**2 if stiffness is None else not_negative("stiffness", stiffness)
        self.stiffness = math.inf if chosen == "attachment" else k
        self.damping = 2 * math.sqrt(k * mass) if damping is None else not_negative("damping", damping)
        self.max_force = _ACCELERATION * mass if max_force is None else not_negative("max_force", max_force)
        self.max_speed = MAX_SPEED if max_speed is None else not_negative("max_speed", max_speed)
        self.owner, self.name, self.grip = owner, name, grip
        self._target = grip.positions[0].copy()
        self.impulse, self.impulses = np.zeros(3), np.zeros((1, 3))
        return self

    @property
    def body(self) -> Any:
        """The body that is held."""
        return self.grip.body

    @property
    def position(self) -> Floats:
        """Where the point is, (3,), m."""
        result: Floats = self.grip.positions[0]
        return result

    @property
    def target(self) -> Floats:
        """Where the point is pulled to, (3,), m; assignable."""
        return np.array(self._target)

    @target.setter
    def target(self, value: Sequence[float] | Floats) -> None:
        place = np.array(_checks.vector("target", value, 3))
        self.owner.record("move", number=self.number, target=place.tolist())
        self._target = place

    def release(self) -> None:
        """Let go. A second call does nothing."""
        if self.active:
            self.owner.record("release", number=self.number)
            self.owner.remove(self)

    def parts(self, dt: float) -> Sequence[PullPart]:
        """Return the row of a step of dt seconds."""
        softness, rate = spring_terms(self.stiffness, self.damping, dt)
        bias = -limited(rate * (self._target[None] - self.grip.positions), self.max_speed)
        if rate == 0.0 and softness == 0.0:
            return ()
        return (PullPart((End(self.name, self.grip, 1.0),), bias, softness, self.max_force * dt, self.begin_impulses(dt), True),)

    @property
    def grips(self) -> Mapping[str, tuple[str, Grip]]:
        """The grip with the name of its body."""
        return {"body": (self.name, self.grip)}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore the state of a snapshot."""
        super().restore(snapshot)
        self.grip = self._grip("body", self.owner.body(self.name), snapshot)

    def __repr__(self) -> str:
        """One line: target and force."""
        if not self.active:
            return "<Handle, released>"
        place = ", ".join(f"{x:.3g}" for x in self._target)
        return f"<Handle to ({place}) m with {float(np.linalg.norm(self.force)):.3g} N>"


def not_negative(name: str, value: float) -> float:
    """Return a number from 0 to infinity."""
    x = math.inf if value == math.inf else _checks.number(name, value)
    if x < 0:
        raise ValueError(f"{name} must not be negative, but is {x:g}")
    return x
