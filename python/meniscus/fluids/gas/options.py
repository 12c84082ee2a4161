"""Options and step report of `SmokeSolver`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from meniscus import _checks
from meniscus.fluids.fluid_solver import StepReport
from meniscus.fluids.schemes import VelocitySamples, require_node_method
from meniscus.fluids.vorticity.vortex_particles import VortexInfo, VortexKernel
from meniscus.grid.boundary import Slip
from meniscus.grid.transport.advection import FirstOrderNear, Interpolation, Limiter, Method, Trace


@dataclass(frozen=True, kw_only=True)
class SmokeOptions:
    """Coefficients and schemes of a SmokeSolver.

    Attributes:
        density_weight: weight of smoke: downward acceleration per unit of density, m/s^2.
        temperature_weight: lift of heat: upward acceleration per unit above ambient, m/s^2.
        ambient: temperature of the air without buoyancy.
        up: direction against gravity; default along the last axis.
        acceleration: uniform acceleration, m/s^2; default none.
        confinement: epsilon of vorticity confinement, without unit.
        vortex_strength: epsilon of the vortex particles, m^(dim + 1)/s.
        vortex_kernel: 'gaussian' or 'tent'.
        viscosity: kinematic, m^2/s.
        air_density: kg/m^3; only the pressure depends on it.
        slip: condition at solids, 'free' or 'no-slip'.
        method, trace, interpolation, limiter, first_order_near: of the transport, as in `advect`.
        velocity_samples: where the velocity is carried along itself: on its 'faces', each component by itself, or at 'nodes', all along one
            path, whose increments the faces then take ('semi-lagrangian' and 'maccormack' only; see `advect_at_nodes`).
        tolerance: of the projection, relative to the divergence before it.
        cfl: cells that the fastest air passes in the step that `max_dt` returns.
    """

    density_weight: float = 0.0
    temperature_weight: float = 0.0
    ambient: float = 0.0
    up: Sequence[float] | None = None
    acceleration: Sequence[float] | None = None
    confinement: float = 0.0
    vortex_strength: float = 0.0
    vortex_kernel: VortexKernel = "gaussian"
    viscosity: float = 0.0
    air_density: float = 1.2
    slip: Slip = "free"
    method: Method = "maccormack"
    trace: Trace = "midpoint"
    interpolation: Interpolation = "linear"
    limiter: Limiter = "reversion"
    first_order_near: FirstOrderNear = "objects"
    velocity_samples: VelocitySamples = "faces"
    tolerance: float = 1e-5
    cfl: float = 2.0

    def __post_init__(self) -> None:
        """Check the values. Raises TypeError or ValueError."""
        _checks.options(self)
        require_node_method(self)
        _checks.positive("air_density", self.air_density)
        _checks.positive("tolerance", self.tolerance)
        _checks.positive("cfl", self.cfl)
        if self.viscosity < 0:
            raise ValueError(f"viscosity must not be negative, not {self.viscosity:g}")


@dataclass(kw_only=True)
class SmokeReport(StepReport):
    """Report of one step of a `SmokeSolver`; the kinetic energy is per density, m^(dim + 2)/s^2.

    Attributes:
        smoke: integral of the density outside of the solid after the step, density times m^dim.
        emitted: part of it that emitters have added.
        transport_change: change of it by transport: through open sides, else the error of the scheme.
        uncovered: change of it by the motion of the solid: smoke next to uncovered cells is extended into them, smoke in covered ones is
            lost.
        vortices: report of the vortex particles.
    """

    smoke: float = math.nan
    emitted: float = 0.0
    transport_change: float = 0.0
    uncovered: float = 0.0
    vortices: VortexInfo | None = None
