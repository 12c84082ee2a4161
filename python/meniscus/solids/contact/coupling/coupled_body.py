"""Bodies with nodes and steps of their own in a world: what their kinds have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from meniscus import _checks
from meniscus.core.stateful import Stateful
from meniscus.solids.contact.body_surface import BodySurface
from meniscus.solids.contact.obstacles import SolidObstacle
from meniscus.solids.contact.self_stepping import Floats, SelfStepping


class CoupledBody(Stateful, SelfStepping):
    """Base of a body of a world that takes its own steps, with its surface.

    Attributes:
        body: whose steps are taken.
        surface: as contact sees it.
        solids: those of the world, which nodes stay out of.
        number: of the body among those of the world with steps of their own, for errors.
    """

    settings = ("surface",)
    exact = True

    body: Any
    surface: BodySurface

    def _make(self, body: Any) -> None:
        self.body = self.declare("body", body)
        self.solids: Sequence[SolidObstacle] = ()
        self.number = 0
        self._pressed = np.zeros(3)

    @property
    def surfaces(self) -> Sequence[BodySurface]:
        """The surface of the body."""
        return [self.surface]

    def start_at(self, time: float) -> None:
        """Set the time (s) of the body."""
        self.body.time = time

    def pressed(self) -> Floats:
        """Return the impulse (3,) that solids have given to the body in the last step, N s."""
        return self._pressed

    def begin(self) -> None:
        """Begin a step; ValueError with the name of the body if its state is not finite."""
        for name, values in self._numbers().items():
            if not np.isfinite(values).all():
                raise ValueError(
                    f"{name} of a {type(self.body).__name__} must be finite, but those of number {self.number} of `others` are not"
                )

    @abstractmethod
    def _numbers(self) -> dict[str, Floats]:
        """Return the parts of the state of the body that must be finite, by name."""

    @abstractmethod
    def energy(self) -> dict[str, float]:
        """Return energies of the body by name, J."""

    @property
    def momentum(self) -> Floats:
        """Momentum (3,) of the body, kg m/s."""
        result: Floats = self.body.momentum
        return result


def margins(thickness: float | None, friction: Any) -> tuple[float | None, float]:
    """Return thickness and friction as numbers; TypeError or ValueError for others."""
    mu = _checks.number("friction", friction)
    h = None if thickness is None else _checks.number("thickness", thickness)
    if mu < 0 or (h is not None and h < 0):
        raise ValueError(f"thickness and friction must not be negative, but are {h} and {mu:g}")
    return h, mu
