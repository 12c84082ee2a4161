"""Options and step report of liquids on Voronoi cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus._options import CoreOption

LiquidSamples = Literal["surface", "regular"]
CellFit = Literal["linear", "averages"]
CellAdvection = Literal["increments", "semi-lagrangian"]
SurfaceCrossings = Literal["exact", "interpolated"]
SampleState = Literal["placed", "crowded", "gap", "outside", "solid", "wrong-side"]
SAMPLE_STATE = CoreOption(SampleState, _fluids.SampleState)


@dataclass(frozen=True, kw_only=True)
class LiquidSampling:
    """Pressure samples of a `VoronoiLiquid`. Lengths are in units of its `cell_size`.

    Attributes:
        samples: 'surface': one pressure sample in the liquid and one in the air beside each vertex of the surface, and a lattice away from
            it; 'regular': the lattice alone, for comparison.
        lattice: edge of a cubic cell of the body-centred lattice, as printed.
        jitter: amplitude by which points of the lattice are moved at random, in edges of the lattice.
        gap: distance below which parts of the surface count as merged, as printed.
        band: width of the air in which there are samples.

    Raises:
        TypeError, ValueError: unknown names, values of another kind or out of range.

    Source: Brochu 2012, section 7.4.1.
    """

    samples: LiquidSamples = "surface"
    lattice: float = 2.0
    jitter: float = 0.0
    gap: float = 0.05
    band: float = 5.0

    def __post_init__(self) -> None:
        """Check the values. Raises TypeError or ValueError."""
        _checks.choice("samples", self.samples, LiquidSamples)
        for name in ("lattice", "band"):
            _checks.positive(name, getattr(self, name))
        for name in ("jitter", "gap"):
            if _checks.number(name, getattr(self, name)) < 0:
                raise ValueError(f"{name} must not be negative, not {getattr(self, name):g}")

    def core(self, cell: float) -> _fluids.LiquidSampleOptions:
        """Return the options of the core, with the size of a cell, m."""
        out = _fluids.LiquidSampleOptions()
        out.cell, out.regular = cell, self.samples == "regular"
        for name in ("lattice", "jitter", "gap", "band"):
            setattr(out, name, getattr(self, name))
        return out


@dataclass(frozen=True, kw_only=True)
class VoronoiLiquidOptions:
    """Schemes and numbers of a `VoronoiLiquid`.

    Attributes:
        sampling: where pressure samples are.
        crossings: where the surface is between two samples: 'exact', or 'interpolated' from the distances of both.
        fit: of the velocity at samples: 'linear', which reproduces linear fields, or 'averages', as printed.
        corrections: how often what the fit loses is fitted again.
        advection: 'increments': samples that stay keep the velocities of their faces, to which differences along paths are added;
            'semi-lagrangian': all are interpolated anew, as printed.
        curvature_limit: of the surface, per cell.
        volume_correction: whether each part of the surface is moved along its normals towards the volume that it should have.
        step_numbers: of `VoronoiLiquid.max_dt`: cells that the fastest liquid passes, and the part of the longest step that surface tension
            allows.
        tolerance: of the pressure, relative to the right-hand side.
        max_iterations: of the pressure.

    Raises:
        TypeError, ValueError: unknown names, values of another kind or out of range.
    """

    sampling: LiquidSampling = LiquidSampling()
    crossings: SurfaceCrossings = "exact"
    fit: CellFit = "linear"
    corrections: int = 1
    advection: CellAdvection = "increments"
    curvature_limit: float = 8.0
    volume_correction: bool = True
    step_numbers: tuple[float, float] = (1.0, 0.5)
    tolerance: float = 1e-8
    max_iterations: int = 200

    def __post_init__(self) -> None:
        """Check the values. Raises TypeError or ValueError."""
        _checks.one_of_type("sampling", self.sampling, LiquidSampling)
        _checks.choice("crossings", self.crossings, SurfaceCrossings)
        _checks.choice("fit", self.fit, CellFit)
        _checks.choice("advection", self.advection, CellAdvection)
        _checks.flag("volume_correction", self.volume_correction)
        _checks.integer("corrections", self.corrections, at_least=0, below=10)
        _checks.positive("curvature_limit", self.curvature_limit)
        for number in _checks.vector("step_numbers", self.step_numbers, 2):
            _checks.positive("step_numbers", number)


@dataclass
class VoronoiLiquidReport:
    """Report of a step of a `VoronoiLiquid`.

    Attributes:
        dt: s.
        operations: on the mesh of the surface.
        triangles: of the surface at the end.
        samples: of pressure.
        unknowns: pressures that were solved for.
        parts: of the liquid, as the pressure sees them.
        iterations: of the pressure.
        divergence: the greatest one that is left in a cell of liquid with a free surface, 1/s.
        speed: the greatest one in the liquid, m/s.
        volume: m^3.
        motions: of the surface: more than one where parts of it came close to each other.
    """

    dt: float = 0.0
    operations: int = 0
    triangles: int = 0
    samples: int = 0
    unknowns: int = 0
    parts: int = 0
    iterations: int = 0
    divergence: float = 0.0
    speed: float = 0.0
    volume: float = 0.0
    motions: int = 1
