"""Options and step report of `ParticleLiquidSolver`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from meniscus import _checks
from meniscus.fluids.fluid_solver import StepReport
from meniscus.fluids.pressure.options import PressureOptions
from meniscus.fluids.pressure.projection import ProjectionInfo
from meniscus.grid.boundary import Slip
from meniscus.grid.transport.advection import Trace

Transfer = Literal["flip", "pic", "apic"]


@dataclass(frozen=True, kw_only=True)
class LiquidParticles:
    """Particles of a `ParticleLiquidSolver`: how many there are, where they start, and what moves them.

    Attributes:
        per_cell: particles per cell; default 4 in 2-D and 8 in 3-D.
        jitter: random offset of a new particle from the middle of its part of the cell, from 0 (regular) to 1 (anywhere in it).
        density_correction: whether a second solve moves particles apart where they are too dense and together where they are too sparse, so
            that the liquid keeps its volume.
        correction_rate: how fast that follows the rate of strain of the flow: a density loses the part 1 - exp(-rate |strain| dt) of
            its excess in a step, so that liquid that nothing strains keeps its particles where they are; None: all of it.
        trace: method of moving particles, as in `ms.grid.trace`.
        seed: of the random numbers.
    """

    per_cell: int | None = None
    jitter: float = 0.5
    density_correction: bool = True
    correction_rate: float | None = 5.0
    trace: Trace = "midpoint"
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the values. Raises TypeError or ValueError."""
        _checks.options(self)
        if not 0.0 <= self.jitter <= 1.0:
            raise ValueError(f"jitter must be from 0 to 1, not {self.jitter:g}")
        if self.per_cell is not None:
            _checks.integer("per_cell", self.per_cell, 1)
        if self.correction_rate is not None:
            _checks.positive("correction_rate", self.correction_rate)
        _checks.integer("seed", self.seed, 0, 2**64)


@dataclass(frozen=True, kw_only=True)
class ParticleLiquidOptions:
    """Coefficients and schemes of a ParticleLiquidSolver.

    Attributes:
        transfer: 'flip': particles get the change of the velocity of the grid, blended with the velocity itself; 'pic': the velocity;
            'apic': the velocity and its gradient.
        flip_ratio: part of the change in 'flip'; the rest is the velocity itself.
        density: kg/m^3.
        gravity: acceleration, m/s^2; default 9.81 down the last axis.
        viscosity: kinematic, m^2/s.
        air_pressure: Pa.
        slip: condition at solids, 'free' or 'no-slip'.
        particles: their number, places and motion.
        band: cells of air around the liquid that are given a velocity, at least.
        pressure: of the projection.
        cfl: cells that the fastest particle passes in the step that `max_dt` returns.
    """

    transfer: Transfer = "flip"
    flip_ratio: float = 0.95
    density: float = 1000.0
    gravity: Sequence[float] | None = None
    viscosity: float = 0.0
    air_pressure: float = 0.0
    slip: Slip = "free"
    particles: LiquidParticles = LiquidParticles()
    band: int = 3
    pressure: PressureOptions = field(default_factory=PressureOptions)
    cfl: float = 1.0

    def __post_init__(self) -> None:
        """Check the values. Raises TypeError or ValueError."""
        _checks.options(self)
        for name in ("density", "cfl"):
            _checks.positive(name, getattr(self, name))
        if _checks.number("viscosity", self.viscosity) < 0:
            raise ValueError(f"viscosity must not be negative, not {self.viscosity:g}")
        if not 0.0 <= self.flip_ratio <= 1.0:
            raise ValueError(f"flip_ratio must be from 0 to 1, not {self.flip_ratio:g}")
        _checks.integer("band", self.band, 2)
        _checks.one_of_type("particles", self.particles, LiquidParticles)
        _checks.one_of_type("pressure", self.pressure, PressureOptions)


@dataclass(kw_only=True)
class ParticleLiquidReport(StepReport):
    """Report of one step of a `ParticleLiquidSolver`; the kinetic energy is without the rotation of affine particles.

    Attributes:
        particles: their number.
        volume: volume of the particles, m^dim.
        correction: report of the solve of the density correction, or None.
        left: particles that left through open sides.
        in_solid: particles in the solid that could not be pushed out.
    """

    particles: int = 0
    volume: float = 0.0
    correction: ProjectionInfo | None = None
    left: int = 0
    in_solid: int = 0
