"""Options of `WaterSurface`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from meniscus import _checks

Overlap = Literal["sum", "union"]
Extent = Literal["water", "grid"]


@dataclass(frozen=True, kw_only=True)
class WaterSurfaceOptions:
    """Numbers of a `WaterSurface`. Lengths are in fine cells, so that the options do not depend on the grid.

    Attributes:
        gain: share of the difference between what the water says and the surface that the flow has carried along which an update
            makes up; 1: the surface is rebuilt each time.
        slack: difference from which on the surface is what the water says, m / fine cell; smaller ones have a gain between.
        smoothing: standard deviation of the kernel through which water in tetrahedra is seen, in edges of these; at least a cell.
        least_fill: tetrahedra fuller than this lie inside of the surface, however thin the water is there; a smaller number shows thinner
            films. 1: no such rule.
        smallest_drop: radius from which on drops are balls of the surface. Smaller ones count where they are dense, and are `spray`
            elsewhere.
        overlap: 'sum': water of the grid and in tetrahedra at one place adds up, as where each litre belongs to one of them; 'union': the
            greater counts, as where the grid's water is copied into tetrahedra.
        markers: marker particles in a cell near the surface.
        band: half width of what has markers.
        extent: 'water': memory and work are those of a box around the water; 'grid': of the whole grid, with the same bits.
        seed: of the random places of markers.
    """

    gain: float = 0.25
    slack: float = 3.0
    smoothing: float = 0.5
    least_fill: float = 0.5
    smallest_drop: float = 1.0
    overlap: Overlap = "sum"
    markers: int = 16
    band: float = 2.0
    extent: Extent = "water"
    seed: int = 0

    def __post_init__(self) -> None:
        """Check everything. Raises TypeError or ValueError."""
        _checks.options(self)
        for name in ("gain", "least_fill"):
            if not 0 < _checks.number(name, getattr(self, name)) <= 1:
                raise ValueError(f"{name} must be above 0 and at most 1, not {getattr(self, name):g}")
        for name in ("slack", "smoothing", "smallest_drop"):
            _checks.positive(name, getattr(self, name))
        if not 1 <= _checks.number("band", self.band) <= 4:
            raise ValueError(f"band must be from 1 to 4 fine cells, not {self.band:g}")
        _checks.integer("markers", self.markers, 1, 4097)
        _checks.integer("seed", self.seed, 0, 2**64)
