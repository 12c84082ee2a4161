"""Options and step report of `LatticeBoltzmann`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus._options import CoreOption

LatticeSet = Literal["D2Q9", "D3Q15", "D3Q19", "D3Q27"]
LatticeCollision = Literal["bgk", "trt", "cumulant"]
LatticeStorage = Literal["float64", "float32", "int16"]
LatticeStreaming = Literal["in-place", "two-lattices"]
EddyForm = Literal["consistent", "printed"]
LatticeWalls = Literal["interpolated", "half-way"]

LATTICE_SET = CoreOption(LatticeSet, _fluids.LatticeSet)
LATTICE_COLLISION = CoreOption(LatticeCollision, _fluids.LatticeCollision)
LATTICE_STORAGE = CoreOption(LatticeStorage, _fluids.LatticeStorage)
LATTICE_STREAMING = CoreOption(LatticeStreaming, _fluids.LatticeStreaming)
EDDY_FORM = CoreOption(EddyForm, _fluids.EddyForm)

SPEED_LIMIT = 1.0 / 3.0
"""Cells per step that no flow may pass (Müller et al. 2008, section 10.2)."""

WALL_MAGIC = 3.0 / 16.0
"""Product of the two relaxation times, less 1/2 each, at which half-way walls along the axes are exact (Ginzburg et al. 2008)."""
SLOWEST_ODD = 3.75
"""Steps, less 1/2, of the longest relaxation time of odd populations that is chosen by default: past a cylinder of 12 cells at Reynolds
number 100, 8 is unstable at the inflow, and 3.75 is not."""


@dataclass(frozen=True, kw_only=True)
class LatticeOptions:
    """Numbers and schemes of a `LatticeBoltzmann`.

    Attributes:
        density: of the fluid, kg/m^3; only pressures and forces depend on it.
        acceleration: uniform, m/s^2, such as gravity or the push of a channel; default none.
        lattice_speed: cells that fluid of the greatest speed passes in a step. The error that compressibility makes grows with its square.
        streaming: 'in-place', or 'two-lattices', which needs twice the memory and gives the same bits.
        magic: (tau_even - 1/2) (tau_odd - 1/2) of collision 'trt'. None: 3/16, which puts half-way walls along the axes where they belong;
            but at most 3.75 (tau_even - 1/2), because inflows are unstable where odd populations relax very slowly.
        smagorinsky: constant of the eddy viscosity; 0 for none. 'consistent' takes 0.1 to 0.17, 'printed' 0.03.
        eddy_viscosity: 'consistent' adds (C dx)^2 |S|; 'printed' is (10.9) of the notes, which adds ten to a hundred times that.
        walls: of solids: 'interpolated', where the surface is; or 'half-way' between cells, which keeps the mass to rounding.
        outflow_relaxation: share of its pressure that a side with `ZeroGradient` forgets in the time that sound needs through the domain.
    """

    density: float = 1.0
    acceleration: Sequence[float] | None = None
    lattice_speed: float = 0.1
    streaming: LatticeStreaming = "in-place"
    magic: float | None = None
    smagorinsky: float = 0.0
    eddy_viscosity: EddyForm = "consistent"
    walls: LatticeWalls = "interpolated"
    outflow_relaxation: float = 0.5

    def __post_init__(self) -> None:
        """Check the values. Raises TypeError or ValueError."""
        _checks.options(self)
        _checks.positive("density", self.density)
        if self.magic is not None:
            _checks.positive("magic", self.magic)
        if not 0 < self.lattice_speed < SPEED_LIMIT:
            raise ValueError(f"lattice_speed must be above 0 and below 1/3 of a cell per step, not {self.lattice_speed:g}")
        if self.smagorinsky < 0:
            raise ValueError(f"smagorinsky must not be negative, not {self.smagorinsky:g}")
        if not 0 <= self.outflow_relaxation <= 1:
            raise ValueError(f"outflow_relaxation must be from 0 to 1, not {self.outflow_relaxation:g}")


@dataclass(kw_only=True)
class LatticeReport:
    """Report of a step of `LatticeBoltzmann`.

    Attributes:
        dt: s.
        max_speed: largest speed before the step, m/s.
        covered: mass of the fluid in cells that solids have covered, kg (kg/m in 2-D).
        uncovered: mass that was put into cells which solids have left, likewise.
    """

    dt: float = 0.0
    max_speed: float = 0.0
    covered: float = 0.0
    uncovered: float = 0.0
