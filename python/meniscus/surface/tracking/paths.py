"""Ways of points in a velocity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.grid import MacField
from meniscus.grid import sample as sample_field

Floats = npt.NDArray[np.float64]
Velocity = Callable[[Floats, float], Floats] | MacField | npt.NDArray[np.float64]
StepMethod = Literal["euler", "midpoint", "rk4"]


def ends_of(points: Floats, time: float, velocity: Velocity, dt: float, method: StepMethod) -> Floats:
    """Return where a velocity takes points (n, 3), m, from `time` on in dt seconds.

    Args:
        velocity: a function of points and time, a field, or velocities of the points, m/s.
        method: "euler", "midpoint", or "rk4", the classical Runge-Kutta method of fourth order.

    Raises:
        TypeError, ValueError: other velocities or methods, wrong shapes, velocities that are not finite.
    """
    _checks.choice("method", method, StepMethod)
    x, t = points, time
    if isinstance(velocity, np.ndarray):
        given: Floats = _checks.incoming("velocity", velocity, np.dtype(np.float64), x.shape)
        return x + dt * given
    if isinstance(velocity, MacField):
        field = velocity

        def u(places: Floats, now: float) -> Floats:
            return np.asarray(sample_field(field, np.ascontiguousarray(places, field.dtype), time=now), np.float64)
    else:
        function = _checks.function("velocity", velocity)

        def u(places: Floats, now: float) -> Floats:
            found = np.asarray(function(places, now), np.float64)
            if found.shape != places.shape:
                raise ValueError(f"velocity must return an array of shape {places.shape}, not {found.shape}")
            return found

    first = u(x, t)
    if method == "euler":
        return x + dt * first
    second = u(x + 0.5 * dt * first, t + 0.5 * dt)
    if method == "midpoint":
        return x + dt * second
    third = u(x + 0.5 * dt * second, t + 0.5 * dt)
    fourth = u(x + dt * third, t + dt)
    return x + dt / 6.0 * (first + 2.0 * second + 2.0 * third + fourth)
