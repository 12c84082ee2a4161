"""Options and step report of `SmokeSolver`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from meniscus import _checks
from meniscus.fluids.flows.trapezoid import GasSplitting
from meniscus.fluids.fluid_solver import StepReport
from meniscus.fluids.schemes import TransportOptions
from meniscus.fluids.vorticity.vortex_particles import VortexInfo, VortexKernel
from meniscus.grid.boundary import Slip


@dataclass(frozen=True, kw_only=True)
class VorticityOptions:
    """Forces that put vorticity back where the grid has lost it.

    Attributes:
        confinement: epsilon of vorticity confinement, without unit.
        vortex_strength: epsilon of the vortex particles, m^(dim + 1)/s.
        vortex_kernel: 'gaussian' or 'tent'.
    """

    confinement: float = 0.0
    vortex_strength: float = 0.0
    vortex_kernel: VortexKernel = "gaussian"

    def __post_init__(self) -> None:
        """Check the values. Raises TypeError or ValueError."""
        _checks.options(self)


@dataclass(frozen=True, kw_only=True)
class SmokeOptions:
    """Coefficients and schemes of a SmokeSolver.

    Attributes:
        density_weight: weight of smoke: downward acceleration per unit of density, m/s^2.
        temperature_weight: lift of heat: upward acceleration per unit above ambient, m/s^2.
        ambient: temperature of the air without buoyancy.
        up: direction against gravity; default along the last axis.
        acceleration: uniform acceleration, m/s^2; default none.
        vorticity: what puts lost vorticity back.
        viscosity: kinematic, m^2/s.
        air_density: kg/m^3; only the pressure depends on it.
        slip: condition at solids, 'free' or 'no-slip'.
        transport: schemes that carry velocity, smoke and heat.
        splitting: 'projection': transport, forces, viscosity and pressure act one after the other, each for a whole step, first order in
            time. 'trapezoid': half of pressure, viscosity and forces is carried along: second order, and vortices keep their energy.
        tolerance: of the projection, relative to the divergence before it.
        max_iterations: of the projection.
        cfl: cells that the fastest air passes in the step that `max_dt` returns.
    """

    density_weight: float = 0.0
    temperature_weight: float = 0.0
    ambient: float = 0.0
    up: Sequence[float] | None = None
    acceleration: Sequence[float] | None = None
    vorticity: VorticityOptions = VorticityOptions()
    viscosity: float = 0.0
    air_density: float = 1.2
    slip: Slip = "free"
    transport: TransportOptions = field(default_factory=TransportOptions)
    splitting: GasSplitting = "projection"
    tolerance: float = 1e-5
    max_iterations: int = 200
    cfl: float = 2.0

    def __post_init__(self) -> None:
        """Check the values. Raises TypeError or ValueError."""
        _checks.options(self)
        _checks.one_of_type("transport", self.transport, TransportOptions)
        _checks.one_of_type("vorticity", self.vorticity, VorticityOptions)
        _checks.positive("air_density", self.air_density)
        _checks.positive("tolerance", self.tolerance)
        _checks.positive("cfl", self.cfl)
        _checks.integer("max_iterations", self.max_iterations, 1)
        if self.splitting == "trapezoid" and self.transport.velocity_samples == "nodes":
            raise ValueError("splitting='trapezoid' carries a velocity by another one, which velocity_samples='nodes' cannot do")
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
