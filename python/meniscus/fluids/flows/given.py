"""Flows given by a function of your own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core import Workspace
from meniscus.fluids.flows.procedural import Flow, Sampling
from meniscus.grid.fields import MacField
from meniscus.grid.transport.advection import TRACE, Trace

Floats = npt.NDArray[np.float64]
FlowFunction = Callable[[Floats, float], npt.ArrayLike]
"""f(positions (n, dim) in metres, time in seconds) -> velocities (n, dim), m/s."""

# Parts of the step at which the stages are, each along the one before, and their weights in the sum.
_RUNGE_KUTTA = {"euler": ((0.0,), (1.0,)), "midpoint": ((0.0, 0.5), (0.0, 1.0)), "rk3": ((0.0, 0.5, 0.75), (2 / 9, 3 / 9, 4 / 9))}


class GivenFlow(Flow):
    """A flow whose velocity a Python function gives; it adds and scales like others. See `given_flow`."""

    _is_function = True

    def __init__(self, dimension: int, function: FlowFunction, description: str) -> None:
        self._function = function
        self._dimension = dimension
        self._description = description

    @property
    def divergence_free(self) -> bool:
        """False: nothing is known of a function."""
        return False

    def __call__(self, points: Floats, time: float = 0.0) -> Floats:
        """Return the velocities (n, dim), m/s, at points (n, dim), m, float64, at a time in seconds."""
        x = _checks.points("points", points, np.dtype(np.float64), self._dimension)
        _checks.require_finite("points", x)
        return self._velocity(x, _checks.number("time", time))

    def sample(self, velocity: MacField, time: float = 0.0, *, sampling: Sampling = "auto", workspace: Workspace | None = None) -> None:
        """Set a staggered velocity to the flow at the centres of its faces. Arguments and errors as for `Flow.sample`."""
        _checks.one_of_type("velocity", velocity, MacField)
        self._require_dimension(velocity.grid.dimension, "velocity")
        if _checks.choice("sampling", sampling, Sampling) == "discrete-curl":
            raise ValueError("a discrete curl needs a flow with a potential, which a function does not give")
        velocity.set_from_function(self._velocity, time)

    def trace(self, points: Floats, time: float, dt: float, *, method: Trace = "rk3", workspace: Workspace | None = None) -> None:
        """Move points (n, dim), float64, along the flow from `time` for dt seconds of either sign, in place."""
        x = _checks.points("points", points, np.dtype(np.float64), self._dimension, writable=True)
        _checks.require_finite("points", x)
        t, step = _checks.number("time", time), _checks.number("dt", dt)
        TRACE("method", method)
        total, v = np.zeros_like(x), np.zeros_like(x)
        for at, weight in zip(*_RUNGE_KUTTA[method], strict=True):
            v = self._velocity(x + at * step * v, t + at * step)
            total += weight * v
        x += step * total

    def _velocity(self, points: npt.NDArray[Any], time: float) -> Floats:
        v = np.ascontiguousarray(self._function(points, time), dtype=np.float64)
        if v.shape != points.shape:
            raise ValueError(f"the function of a flow must return velocities of shape {points.shape}, not {v.shape}")
        _checks.require_finite("the velocities of a flow", v)
        return v

    def _sum(self, flows: Any, weights: Any, description: str) -> Flow:
        return weighted_sum(flows, weights, description)


def given_flow(dimension: int, function: FlowFunction) -> Flow:
    """Return the flow of a function of yours.

    Args:
        dimension: 2 or 3.
        function: f(positions (n, dim) in metres, time in seconds) -> velocities (n, dim), m/s.

    Raises:
        TypeError: `function` cannot be called.
        ValueError: another dimension. The flow raises it where the function returns another shape or values that are not finite.
    """
    _checks.dimension("dimension", dimension)
    _checks.function("function", function)
    return GivenFlow(dimension, function, f"given_flow({dimension}, {getattr(function, '__name__', function)})")


def weighted_sum(flows: list[Flow], weights: list[float], description: str) -> Flow:
    """Return the sum of flows of which some are functions."""
    terms = list(zip(weights, flows, strict=True))
    return GivenFlow(flows[0].dimension, lambda x, t: sum(w * f(x, t) for w, f in terms), description)
