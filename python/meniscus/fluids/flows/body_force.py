"""Body forces: uniform accelerations, such as gravity."""

from __future__ import annotations

from collections.abc import Sequence

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.grid.fields import MacField


def add_acceleration(velocity: MacField, acceleration: Sequence[float], dt: float) -> None:
    """Add dt times an acceleration (m/s^2) to every face of a velocity (m/s), in place.

    Raises:
        TypeError, ValueError: wrong types or dimensions, numbers that are not finite; the velocity is unchanged.
    """
    _checks.one_of_type("velocity", velocity, MacField)
    _fluids.add_acceleration(
        velocity._core, _checks.vector("acceleration", acceleration, velocity.grid.dimension), _checks.number("dt", dt)
    )
