"""Attachments: points of two bodies of any type that are held together, or to places."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.solids.interaction.grip import Floats, Grip
from meniscus.solids.interaction.pull import End, Pull, PullPart, limited, spring_terms


class Attachment(Pull):
    """Points of a body that are held on those of another one, or at places: made by `World.attach`.

    Attributes:
        target: (k, 3), the places, m, of an attachment to the world; assignable.
        compliance: m/N, of each point.
        impulse: (3,), all that it has given to the first body, kg m/s; the second one, or the world, has got the opposite.
    """

    kind = "attachment"
    _numbers = ("compliance", "damping", "max_force", "max_speed")
    _arrays: ClassVar[Mapping[str, Floats]] = {"impulses": np.zeros((0, 3)), "_target": np.zeros((0, 3))}
    _roles: ClassVar[Mapping[str, str]] = {"first": "first_name", "second": "second_name"}

    compliance: float
    damping: float
    max_force: float
    max_speed: float
    first_name: str
    second_name: str
    _target: Floats

    @classmethod
    def made(
        cls,
        owner: Any,
        first: tuple[str, Grip],
        second: tuple[str, Grip] | None,
        *,
        compliance: float,
        damping: float,
        max_force: float,
        max_speed: float,
    ) -> Attachment:
        """Return an attachment of points that stay where they are now, from each other."""
        self = cls()
        self.owner = owner
        self.compliance, self.damping, self.max_force, self.max_speed = compliance, damping, max_force, max_speed
        self.first_name, self.grip = first
        self.second_name, self.other = ("", None) if second is None else second
        here = self.grip.positions
        # Of two bodies, how far their points are from each other.
        self._target = here if self.other is None else here - self.other.positions
        self.impulse, self.impulses = np.zeros(3), np.zeros((len(here), 3))
        return self

    other: Grip | None

    @property
    def bodies(self) -> tuple[Any, Any]:
        """The two bodies; the second one is None for the world."""
        return self.grip.body, None if self.other is None else self.other.body

    @property
    def target(self) -> Floats:
        """The places (k, 3) of an attachment to the world, m; assignable, as (k, 3) or (3,), which moves all of them alike."""
        if self.other is not None:
            raise ValueError("an attachment of two bodies has no target")
        return np.array(self._target)

    @target.setter
    def target(self, value: npt.ArrayLike) -> None:
        if self.other is not None:
            raise ValueError("an attachment of two bodies has no target")
        places = _checks.numbers("target", value)
        if places.shape == (3,):
            places = self._target + (places - self._target.mean(axis=0))
        if places.shape != self._target.shape:
            raise ValueError(f"target must have shape (3,) or {self._target.shape}, not {places.shape}")
        _checks.require_finite("target", places)
        self.owner.record("move", number=self.number, target=places.tolist())
        self._target = np.array(places)

    @property
    def gaps(self) -> Floats:
        """How far points are from where they are held (k,), m."""
        result: Floats = np.sqrt(np.einsum("kd,kd->k", self._stretch(), self._stretch()))
        return result

    def release(self) -> None:
        """Let go. A second call does nothing."""
        if self.active:
            self.owner.record("release", number=self.number)
            self.owner.remove(self)

    def _stretch(self) -> Floats:
        there = self._target if self.other is None else self.other.positions + self._target
        return there - self.grip.positions

    def parts(self, dt: float) -> list[PullPart]:
        """Return the rows of a step of dt seconds."""
        softness, rate = spring_terms(1.0 / self.compliance if self.compliance > 0 else math.inf, self.damping, dt)
        ends = [End(self.first_name, self.grip, 1.0)]
        if self.other is not None:
            ends.append(End(self.second_name, self.other, -1.0))
        bias = -limited(rate * self._stretch(), self.max_speed)
        return [PullPart(tuple(ends), bias, softness, self.max_force * dt, self.begin_impulses(dt), self.other is None)]

    @property
    def grips(self) -> Mapping[str, tuple[str, Grip]]:
        """The grips with the names of their bodies."""
        own = {"first": (self.first_name, self.grip)}
        return own if self.other is None else own | {"second": (self.second_name, self.other)}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore the state of a snapshot."""
        super().restore(snapshot)
        self.grip = self._grip("first", self.owner.body(self.first_name), snapshot)
        self.other = self._grip("second", self.owner.body(self.second_name), snapshot) if self.second_name else None

    def __repr__(self) -> str:
        """One line: number of points and the largest gap."""
        if not self.active:
            return "<Attachment, released>"
        return f"<Attachment of {len(self.grip)} points, at most {float(self.gaps.max(initial=0.0)):.3g} m apart>"
