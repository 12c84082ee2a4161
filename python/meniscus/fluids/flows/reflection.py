"""Reflection of a velocity in the middle of a step: splitting of second order into transport and pressure."""

from __future__ import annotations

from typing import Literal

from meniscus._meniscus import grid as _grid
from meniscus.core.memory import MemoryOwner
from meniscus.grid.fields import MacField

Splitting = Literal["projection", "reflection"]
"""How a step is split: transport for all of it and one projection, or two halves of it around a reflection."""


class Reflection(MemoryOwner):
    """Takes a velocity from before to after what acts in the middle of a step: pressure and viscosity.

    A step of dt carries the velocity for dt / 2, from u to u*. Viscosity and pressure act for dt / 2, which gives v, the velocity of the
    middle. From there the step goes on with 2 v - u*: they have acted for all of dt, as in the implicit midpoint rule. The second half
    is carried by 2 v - u, the velocity extrapolated to the end; by that of the middle, as first published, unsteady flows would be of
    first order.

    Args:
        velocity: gives grid, dtype and boundary.

    Attributes:
        end: m/s, after `begin` the velocity u at the start, after `reflect` that at the end, by which the second half is carried.

    Source: Zehnder, Narain and Thomaszewski 2018, An advection-reflection solver for detail-preserving fluid simulation; Narain, Zehnder
    and Thomaszewski 2019, A second-order advection-reflection solver.
    """

    def __init__(self, velocity: MacField) -> None:
        self.end = velocity.copy()
        self._carried = velocity.copy()

    def begin(self, velocity: MacField) -> None:
        """See the velocity at the start of a step."""
        self.end.assign(velocity)

    def see(self, velocity: MacField) -> None:
        """See the velocity on which viscosity and pressure act next."""
        self._carried.assign(velocity)

    def reflect(self, velocity: MacField) -> None:
        """Let what has acted since `see` act once more, in place; `end` becomes the velocity extrapolated to the end of the step."""
        _grid.combine(self.end._core, 2.0, velocity._core, -1.0, self.end._core)
        _grid.combine(velocity._core, 2.0, velocity._core, -1.0, self._carried._core)
