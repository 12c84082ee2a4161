"""Procedural flows: velocities given by formulas, to add, scale, sample and follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus._options import CoreOption
from meniscus.core import Workspace
from meniscus.grid.fields import MacField
from meniscus.grid.transport.advection import TRACE, Trace, workspace_or_new
from meniscus.numerics import FractalNoise

FaceSampling = Literal["pointwise", "discrete-curl"]
Sampling = Literal["auto", FaceSampling]

FACE_SAMPLING = CoreOption(FaceSampling, _fluids.FaceSampling)
Floats = npt.NDArray[np.float64]


class Flow:
    """A velocity field v(x, t). Flows of one dimension add (`a + b`) and scale (`2.0 * a`).

    Source: Brochu 2012, section 5.4.2: a linear superposition of flow primitives.
    """

    _is_function = False  # sums with a function are functions
    _core: Any

    def __init__(self, core: Any, dimension: int, description: str) -> None:
        if not isinstance(core, (_fluids.Flow2, _fluids.Flow3)):
            raise TypeError(f"flows are made by uniform_flow and its like, or by given_flow from a function, not from {core!r}")
        self._core = core
        self._dimension = dimension
        self._description = description

    @property
    def dimension(self) -> int:
        """2 or 3."""
        return self._dimension

    @property
    def divergence_free(self) -> bool:
        """Whether the flow is the curl of a potential."""
        return bool(self._core.has_potential)

    def __call__(self, points: Floats, time: float = 0.0) -> Floats:
        """Return the velocities (n, dim), m/s, at points (n, dim), m, float64, at a time in seconds."""
        x = _checks.points("points", points, np.dtype(np.float64), self._dimension)
        _checks.require_finite("points", x)
        out = np.empty(x.shape)
        self._core.velocity(x, _checks.number("time", time), out)
        return out

    def sample(
        self,
        velocity: MacField,
        time: float = 0.0,
        *,
        sampling: Sampling = "auto",
        workspace: Workspace | None = None,
    ) -> None:
        """Set a staggered velocity to the flow at `time` (s).

        Args:
            velocity: of the same dimension.
            time: seconds.
            sampling: 'pointwise' at face centres; 'discrete-curl' of the potential around each face, whose discrete divergence is zero to
                rounding; 'auto': the latter where there is a potential.
            workspace: scratch memory to reuse.

        Raises:
            TypeError, ValueError: wrong dimension, unknown option, a discrete curl of a flow that has sources.
        """
        _checks.one_of_type("velocity", velocity, MacField)
        self._require_dimension(velocity.grid.dimension, "velocity")
        _checks.choice("sampling", sampling, Sampling)
        if sampling == "auto":
            sampling = "discrete-curl" if self.divergence_free else "pointwise"
        _fluids.sample_flow(
            self._core,
            velocity._core,
            _checks.number("time", time),
            FACE_SAMPLING("sampling", sampling),
            workspace_or_new(workspace),
        )

    def trace(self, points: Floats, time: float, dt: float, *, method: Trace = "rk3", workspace: Workspace | None = None) -> None:
        """Move points (n, dim), float64, along the flow from `time` for dt seconds of either sign, in place."""
        x = _checks.points("points", points, np.dtype(np.float64), self._dimension, writable=True)
        _checks.require_finite("points", x)
        self._core.advance_points(
            x,
            _checks.number("time", time),
            _checks.number("dt", dt),
            TRACE("method", method),
            workspace_or_new(workspace),
        )

    def __add__(self, other: Flow) -> Flow:
        """Return the sum of two flows."""
        if not isinstance(other, Flow):
            return NotImplemented
        self._require_dimension(other._dimension, "the other flow")
        return (other if other._is_function else self)._sum([self, other], [1.0, 1.0], f"{self._description} + {other._description}")

    def __mul__(self, factor: float) -> Flow:
        """Return the flow scaled by a number."""
        f = _checks.number("factor", factor)
        return self._sum([self], [f], f"{f:g} * ({self._description})")

    __rmul__ = __mul__

    def __neg__(self) -> Flow:
        """Return the reversed flow."""
        return self * -1.0

    def __sub__(self, other: Flow) -> Flow:
        """Return the difference of two flows."""
        return self + other * -1.0

    def __repr__(self) -> str:
        """Return the call that made the flow."""
        return self._description

    def _sum(self, flows: Sequence[Flow], weights: Sequence[float], description: str) -> Flow:
        make = _fluids.weighted_sum2 if self._dimension == 2 else _fluids.weighted_sum3
        return Flow(make([f._core for f in flows], list(weights)), self._dimension, description)

    def _require_dimension(self, dimension: int, what: str) -> None:
        if dimension != self._dimension:
            raise ValueError(f"{what} must be {self._dimension}-D like the flow, not {dimension}-D")


def uniform_flow(velocity: Sequence[float]) -> Flow:
    """Return the same velocity (m/s) everywhere."""
    v = _checks.point("velocity", velocity)
    return Flow((_fluids.uniform2 if len(v) == 2 else _fluids.uniform3)(v), len(v), f"uniform_flow({v})")


def rotation(center: Sequence[float], angular_velocity: float | Sequence[float]) -> Flow:
    """Return a rigid rotation around a point.

    Args:
        center: m; its length decides the dimension.
        angular_velocity: rad/s, counter-clockwise, in 2-D; a vector of rad/s in 3-D.

    Source: the 2-D one with pi/314 is the flow of Zalesak's disc (Selle 2008, section 2.8).
    """
    c = _checks.point("center", center)
    if len(c) == 2:
        rate = _checks.number("angular_velocity", angular_velocity)
        return Flow(_fluids.rotation2(c, rate), 2, f"rotation({c}, {rate})")
    omega = _checks.vector("angular_velocity", angular_velocity, 3)
    return Flow(_fluids.rotation3(c, omega), 3, f"rotation({c}, {omega})")


def vortex_ring(center: Sequence[float], axis: Sequence[float], radius: float, strength: float = 1.0) -> Flow:
    """Return the flow of a vortex ring: v = 2 s (r^2 a + (a.y) y) / (r^2 + |y|^2)^2 with y = x - center; speed 2 s / r^2 at the centre.

    Args:
        center: m, 3-D.
        axis: direction of the jet through the ring; any length but zero.
        radius: m.
        strength: m^3/s.

    Source: Brochu 2012, section 5.4.2.
    """
    c, a = _checks.vector("center", center, 3), _checks.vector("axis", axis, 3)
    r, s = _checks.positive("radius", radius), _checks.number("strength", strength)
    return Flow(_fluids.vortex_ring(c, a, r, s), 3, f"vortex_ring({c}, {a}, {r}, {s})")


def point_source(
    center: Sequence[float],
    radius: float,
    strength: float = 1.0,
    *,
    variation: float = 0.0,
    noise: FractalNoise | None = None,
) -> Flow:
    """Return an outflow from a point: v = s (1 + variation n(x, t)) max(0, radius - d) (x - center) / d. It is not divergence-free.

    Args:
        center: m; its length decides the dimension.
        radius: m; no flow beyond.
        strength: 1/s.
        variation: amplitude of the modulation by noise.
        noise: the function n; default `FractalNoise()`.

    Source: Brochu 2012, section 5.4.2.
    """
    c = _checks.point("center", center)
    noise = FractalNoise() if noise is None else _checks.one_of_type("noise", noise, FractalNoise)
    r, s, v = (
        _checks.positive("radius", radius),
        _checks.number("strength", strength),
        _checks.number("variation", variation),
    )
    make = _fluids.source2 if len(c) == 2 else _fluids.source3
    return Flow(make(c, r, s, v, noise._core()), len(c), f"point_source({c}, {r}, {s}, variation={v}, noise={noise})")


def curl_noise(
    dimension: int,
    noise: FractalNoise,
    *,
    strength: float = 1.0,
    box: tuple[Sequence[float], Sequence[float], float] | None = None,
) -> Flow:
    """Return the curl of a random potential: turbulence without divergence.

    Args:
        dimension: 2 (stream function) or 3 (vector potential of three independent noises).
        noise: shape of the potential.
        strength: amplitude of the potential, m^2/s.
        box: (lower corner, upper corner, width), m: the potential fades to zero at the sides of this box over `width`, so that nothing
            flows through them.

    Source: Brochu 2012, section 5.4.2; Bridson, Houriham and Nordenstam 2007 (ramp).
    """
    _checks.dimension("dimension", dimension)
    _checks.one_of_type("noise", noise, FractalNoise)
    s = _checks.number("strength", strength)
    ramp = None
    if box is not None:
        lower, upper, width = box
        ramp = (
            _checks.vector("lower corner of the box", lower, dimension),
            _checks.vector("upper corner of the box", upper, dimension),
            _checks.positive("width of the ramp", width),
        )
    make = _fluids.curl_noise2 if dimension == 2 else _fluids.curl_noise3
    return Flow(make(s, noise._core(), ramp), dimension, f"curl_noise({dimension}, {noise}, strength={s}, box={ramp})")


def single_vortex(length: float = 1.0, period: float = 0.0) -> Flow:
    """Return the vortex in the box [0, length]^2 that stretches a disc to a spiral; it reverses if `period` (s) is positive.

    u = -sin^2(pi x) sin(2 pi y) cos(pi t / period), v = sin^2(pi y) sin(2 pi x) cos(pi t / period), x and y in units of length.

    Source: LeVeque, "High-resolution conservative algorithms for advection in incompressible flow", 1996.
    """
    a, p = _checks.positive("length", length), _checks.number("period", period)
    return Flow(_fluids.single_vortex(a, p), 2, f"single_vortex({a}, {p})")


def deformation(length: float = 1.0, period: float = 0.0) -> Flow:
    """Return the 3-D deformation flow in [0, length]^3 that stretches a sphere to a sheet; a positive `period` (s) reverses it.

    Source: LeVeque 1996; Enright, Fedkiw, Ferziger and Mitchell 2002.
    """
    a, p = _checks.positive("length", length), _checks.number("period", period)
    return Flow(_fluids.deformation(a, p), 3, f"deformation({a}, {p})")
