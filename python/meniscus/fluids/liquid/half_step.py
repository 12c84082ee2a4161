"""Velocity of a liquid in the middle of a step, by which its surface moves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus._meniscus import grid as _grid
from meniscus.core.stateful import Stateful
from meniscus.grid.boundary import at_rest
from meniscus.grid.fields import MacField
from meniscus.surface import SolidBoundary

_UNKNOWN, _AHEAD, _FORCED, _KNOWN = range(4)
_ALIKE = 0.1  # of gravity: by how much it may have changed since the last step
_LONGER = 2.0  # times the last step: longest one that goes on with its acceleration


class HalfStep(Stateful):
    """Takes the velocity of a liquid from the end of a step to the middle of the next one, and back.

    Between steps, surface and velocity belong to the same time. A step takes the velocity half a step ahead by the acceleration that forces
    and pressure gave the liquid last, moves surface and velocity along the result, lets forces and pressure act for the whole step, and
    goes back by half of what they have done. So a liquid falls as far as it should, and waves neither gain nor lose energy, however the
    length of the steps changes; with the velocity of the end, they gain energy as the length follows their own speed: three times what
    they had in 16 s of a box of 1 m with 32 cells. The next step begins with what this one has ended with, so that nothing is solved twice.

    Args:
        velocity: of the liquid; gives grid, dtype and boundary.

    Attributes:
        acceleration: of the liquid by forces and pressure in the last step, m/s^2, each component at most that of gravity: a liquid that
            hits something does not go on to be stopped in half of the next step. Within a step, the velocity before the forces.
        phase: what is known.
        causes: (dim + 1,), gravity in the last step, m/s^2, and the number of controls that were on.
        last_dt: length of the last step, s.

    Source: Hairer, Lubich and Wanner 2003, "Geometric numerical integration illustrated by the Störmer-Verlet method", section 1.
    """

    def __init__(self, velocity: MacField) -> None:
        boundary = {name: at_rest(side) for name, side in velocity.boundary.items()}
        self.acceleration = self.declare("acceleration", MacField(velocity.grid, velocity.dtype, boundary))
        self.phase = self.declare("phase", _UNKNOWN)
        self.causes = self.declare("causes", np.zeros(velocity.grid.dimension + 1))
        self.last_dt = self.declare("last_dt", 0.0)

    def is_known(self, gravity: npt.NDArray[np.float64], controls: int, dt: float) -> bool:
        """Return whether the acceleration is that of the liquid now, for a step of dt seconds under a gravity (m/s^2) and with as many
        controls that are on.

        Where these are not those of the last step, the liquid would go on to be held, or to fall, for half a step. And what pressure
        has taken from the divergence of a velocity is no acceleration: divided by a short step and times a long one, it moves water at
        rest at 0.4 m/s within 300 steps of which every other one is ten times as long.
        """
        if dt > _LONGER * self.last_dt:
            return False
        change = float(np.linalg.norm(gravity - self.causes[:-1]))
        return self.phase == _KNOWN and controls == self.causes[-1] and change <= _ALIKE * float(np.linalg.norm(gravity))

    def forget(self) -> None:
        """Let the acceleration be unknown: the surface is another one."""
        self.phase = _UNKNOWN

    def begin(self, gravity: Sequence[float]) -> MacField:
        """Set the acceleration to gravity, and return it, for a pressure to act on."""
        for d, g in enumerate(gravity):
            self.acceleration.component(d)[...] = g
        return self.acceleration

    def settle(self, least: float) -> None:
        """Set accelerations below the error of the pressure, m/s^2, to zero: what is at rest does not begin to move."""
        for d in range(self.acceleration.grid.dimension):
            a = self.acceleration.component(d)
            a[np.abs(a) < least] = 0.0

    def go_ahead(self, velocity: MacField, dt: float) -> None:
        """Take a velocity from the beginning of a step of dt seconds to its middle."""
        _grid.combine(velocity._core, 1.0, velocity._core, 0.5 * dt, self.acceleration._core)
        self.phase = _AHEAD

    def see_forces_begin(self, velocity: MacField, gravity: npt.NDArray[np.float64], controls: int) -> None:
        """Remember the velocity on which forces and pressure act from now on; outside of a step that has gone ahead, forget."""
        self.causes[:-1], self.causes[-1] = gravity, controls
        if self.phase == _AHEAD:
            self.acceleration.assign(velocity)
            self.phase = _FORCED
        else:
            self.phase = _UNKNOWN

    def go_back(
        self, velocity: MacField, dt: float, known: Sequence[npt.NDArray[np.bool_]], solid: SolidBoundary | None, largest: float
    ) -> None:
        """Take a velocity back to the end of a step of dt seconds, on the known faces outside of a solid; `largest` bounds the
        acceleration, m/s^2."""
        if self.phase == _FORCED:
            closed = None if solid is None else solid.inside_faces
            _fluids.take_half_back(velocity._core, self.acceleration._core, known, closed, dt, largest)
            self.phase, self.last_dt = _KNOWN, dt
