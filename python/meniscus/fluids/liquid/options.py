"""Options and step report of `LiquidSolver`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from meniscus import _checks
from meniscus.fluids.fluid_solver import StepReport
from meniscus.fluids.schemes import TransportOptions
from meniscus.fluids.vorticity.vortex_particles import VortexInfo, VortexKernel
from meniscus.grid.boundary import Slip

Tracking = Literal["particle-level-set", "level-set"]
SurfaceOrder = Literal["second", "first"]
Air = Literal["open", "pockets", "fluid"]


@dataclass(frozen=True, kw_only=True)
class LiquidOptions:
    """Coefficients and schemes of a LiquidSolver.

    Attributes:
        density: kg/m^3.
        gravity: acceleration, m/s^2; default 9.81 down the last axis.
        viscosity: kinematic, m^2/s; the surface is free of traction, see `diffuse_liquid`.
        surface_tension: coefficient, N/m.
        air_pressure: Pa.
        air: 'open': all air has the given pressure, so that pockets collapse; 'pockets': air that the liquid encloses keeps its volume, and
            its pressure is solved for; 'fluid': all air is a second incompressible fluid with a velocity and a density of its own,
            so that it may as well be another liquid. Then no markers become drops. Let the heavier fluid be the liquid.
        air_density: of air that is solved for, kg/m^3; of a fluid at most ten times that of the liquid.
        air_viscosity: of air that is a fluid, kinematic, m^2/s.
        slip: condition at solids, 'free' or 'no-slip'.
        tracking: of the surface, by a level set with particles on both sides, or without.
        per_cell: particles per cell at the surface; default 16 in 2-D and 64 in 3-D.
        reseed_every: steps after which particles are seeded anew; zero: never.
        spray: whether particles that have escaped from the liquid become drops in free flight, with mass and momentum.
        restitution: part of its normal speed that a drop keeps when it hits a solid or a wall.
        drag: rate at which the air slows drops, 1/s.
        expansion: whether the liquid makes room for drops that join it, by a divergence where they do, which takes their volume and all of
            their momentum; otherwise they become markers, and the drift correction adds their volume all over the surface.
        expansion_limit: largest such divergence times the length of the step, at most 1; the rest waits for the next steps.
        gather: whether drops that fill a cell where no liquid is become liquid there.
        transport: schemes that carry the velocity.
        surface_order: 'second' applies the correction of the transport up to the surface; 'first' omits it as far from it as the liquid
            moves in the step.
        band: cells of air around the liquid that are given a velocity.
        balanced_extension: whether the velocity extended into the air is made divergence-free there. Otherwise volume is gained or lost
            where the liquid stretches, in proportion to the spacing.
        drift_correction: whether the level set is moved so that each component of the liquid keeps its expected volume. Deviations below
            a ten-thousandth of it are left alone.
        vortex_strength: epsilon of the vortex particles, m^(dim + 1)/s.
        vortex_kernel: 'gaussian' or 'tent'.
        tolerance: of the projection, relative to the divergence before it.
        max_iterations: of the projection.
        cfl: cells that the fastest liquid passes in the step that `max_dt` returns.
        seed: of the random numbers.
    """

    density: float = 1000.0
    gravity: Sequence[float] | None = None
    viscosity: float = 0.0
    surface_tension: float = 0.0
    air_pressure: float = 0.0
    air: Air = "open"
    air_density: float = 1.2
    air_viscosity: float = 0.0
    slip: Slip = "free"
    tracking: Tracking = "particle-level-set"
    per_cell: int | None = None
    reseed_every: int = 10
    spray: bool = True
    restitution: float = 0.0
    drag: float = 0.0
    expansion: bool = False
    expansion_limit: float = 0.1
    gather: bool = False
    transport: TransportOptions = field(default_factory=TransportOptions)
    surface_order: SurfaceOrder = "second"
    band: int = 5
    balanced_extension: bool = True
    drift_correction: bool = True
    vortex_strength: float = 0.0
    vortex_kernel: VortexKernel = "gaussian"
    tolerance: float = 1e-8
    max_iterations: int = 200
    cfl: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the values. Raises TypeError or ValueError."""
        _checks.options(self)
        _checks.one_of_type("transport", self.transport, TransportOptions)
        if self.transport.method == "flow-map":
            raise ValueError("method='flow-map' is for smoke: a surface breaks the paths of a map")
        for name in ("density", "air_density", "tolerance", "cfl"):
            _checks.positive(name, getattr(self, name))
        if _checks.positive("expansion_limit", self.expansion_limit) > 1:
            raise ValueError(f"expansion_limit must be at most 1, not {self.expansion_limit:g}")
        for name in ("viscosity", "air_viscosity", "surface_tension", "drag", "restitution"):
            if _checks.number(name, getattr(self, name)) < 0:
                raise ValueError(f"{name} must not be negative, not {getattr(self, name):g}")
        if self.restitution > 1:
            raise ValueError(f"restitution must be at most 1, not {self.restitution:g}")
        if self.air == "fluid" and self.air_density > 10 * self.density:
            raise ValueError(
                f"the air must be at most ten times as heavy as the liquid, not {self.air_density / self.density:g} times: "
                "let the heavier fluid be the liquid"
            )
        _checks.integer("band", self.band, 2)
        _checks.integer("reseed_every", self.reseed_every, 0)
        if self.per_cell is not None:
            _checks.integer("per_cell", self.per_cell, 1)
        _checks.integer("max_iterations", self.max_iterations, 1)
        _checks.integer("seed", self.seed, 0, 2**64)


@dataclass(frozen=True)
class ComponentVolume:
    """A connected component of the liquid.

    Attributes:
        volume: m^3 (m^2 in 2-D), outside of solids.
        expected: volume that it should have: the sum of the volumes that have merged into it.
        cells: their number.
        first_cell: index of its first cell in storage order.
    """

    volume: float
    expected: float
    cells: int
    first_cell: tuple[int, ...]

    @property
    def error(self) -> float:
        """Volume gained, relative to the expected volume; infinite if none is expected."""
        return self.volume / self.expected - 1.0 if self.expected > 0 else float("inf")


@dataclass(frozen=True, kw_only=True)
class VolumeReport:
    """Volumes of the liquid, and inflow and outflow since the surface was set; all in m^3 (m^2 in 2-D).

    Attributes:
        liquid: enclosed by the level set, outside of solids.
        spray: in flying drops.
        initial: when the surface was set.
        emitted: by sources.
        drained: by drains.
        inflow: through the sides of the domain.
        outflow: through the sides of the domain, drops included.
        waiting: taken up by the liquid, which has yet to make room for it (`LiquidSolver.expansion`), and due from sources with a rate,
            which have yet to emit it.
        received: from other owners of water: drops, regions, volumes to make room for.
        given: to other owners of water, likewise.
        incompatible: taken from closed regions without air, on which walls press, or that a source feeds, and that no incompressible
            flow could keep; negative where walls withdraw.
        components: the connected components of the liquid, by their first cell.
    """

    liquid: float
    spray: float
    initial: float
    emitted: float
    drained: float
    inflow: float
    outflow: float
    waiting: float = 0.0
    received: float = 0.0
    given: float = 0.0
    incompatible: float = 0.0
    components: tuple[ComponentVolume, ...] = ()

    @property
    def expected(self) -> float:
        """Expected volume of liquid, spray and what waits together."""
        gained = self.emitted - self.drained + self.inflow - self.outflow + self.received - self.given
        return self.initial + gained - self.incompatible

    @property
    def error(self) -> float:
        """Volume gained since the surface was set."""
        return self.liquid + self.spray + self.waiting - self.expected

    @property
    def relative_error(self) -> float:
        """The error relative to all liquid that there has ever been; zero without any."""
        total = self.initial + self.emitted + self.inflow + self.received
        return self.error / total if total > 0 else 0.0


@dataclass(kw_only=True)
class LiquidReport(StepReport):
    """Report of one step of a `LiquidSolver`.

    Attributes:
        volume: enclosed by the level set, outside of solids, m^dim.
        vortices: report of the vortex particles.
        drops: number of flying drops.
        correction: largest distance by which the drift correction has moved the surface, m.
    """

    volume: float = 0.0
    vortices: VortexInfo | None = None
    drops: int = 0
    correction: float = 0.0
