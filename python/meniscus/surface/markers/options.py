"""Options and reports of `ParticleLevelSet`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus._options import CoreOption
from meniscus.grid.transport.advection import INTERPOLATION, TRACE, Interpolation, Method, Trace

EscapedOutside = Literal["keep", "delete", "bubbles"]
RemovedRadiiFrom = Literal["share", "marker"]
RadiiFrom = Literal["flow", "levelset"]
Deposit = Literal["momentum", "mean", "liquid"]
DEPOSIT = CoreOption(Deposit, _surface.Deposit)


@dataclass(frozen=True, kw_only=True)
class MarkerTransport:
    """Schemes that move a level set and its markers.

    Attributes:
        method: advection scheme of the level set. 'semi-lagrangian' passes over the band only; the others over the whole grid
            (`grid.advect`).
        interpolation: of the level set, 'cubic' (monotone) or 'linear', as in the literature.
        trace: of characteristics of the level set, 'euler', 'midpoint' or 'rk3'.
        marker_trace: of the markers; 'midpoint' (RK2) as in the literature, or 'rk3'.
    """

    method: Method = "semi-lagrangian"
    interpolation: Interpolation = "cubic"
    trace: Trace = "midpoint"
    marker_trace: Trace = "midpoint"

    def __post_init__(self) -> None:
        """Check the values. Raises TypeError or ValueError."""
        _checks.options(self)


@dataclass(frozen=True, kw_only=True)
class EscapedMarkers:
    """Treatment of markers far on the wrong side of the surface.

    Attributes:
        spray: remove markers of the inside that have escaped by more than `removal_distance` radii, as droplets.
        escaped_outside: treatment of markers of the outside that have escaped by more than `removal_distance` radii: 'keep' them, 'delete'
            them, or remove them as 'bubbles'.
        max_outside_depth: cells; with escaped_outside='delete', markers of the outside are removed when they are deeper than this inside,
            whatever their radius. None: no such bound. It is meant for liquids below air that is not simulated: a marker of the air at that
            depth belongs to a closed pocket, and would remove liquid for good.
        removal_distance: in radii; markers farther than this on the wrong side are removed.
        removed_radii_from: source of the radii of removed particles. 'share': that of a ball with the volume of one particle's share of a
            cell, so that the removed volume is right on average; 'marker': that of the marker, as in the literature, where many balls
            overlap.
    """

    spray: bool = False
    escaped_outside: EscapedOutside = "keep"
    max_outside_depth: float | None = None
    removal_distance: float = 1.5
    removed_radii_from: RemovedRadiiFrom = "share"

    def __post_init__(self) -> None:
        """Check the values. Raises TypeError or ValueError."""
        _checks.options(self)
        if self.max_outside_depth is not None:
            _checks.positive("max_outside_depth", self.max_outside_depth)
        _checks.positive("removal_distance", self.removal_distance)


@dataclass(frozen=True, kw_only=True)
class ParticleOptions:
    """Numbers and schemes of a ParticleLevelSet.

    Lengths are in cells, so that the options do not depend on the grid.

    Attributes:
        per_cell: marker particles of both signs together in a cell of the band; None: 16 in 2-D, 64 in 3-D.
        band: half width of the band with particles.
        radii: smallest and largest radius of a marker; none is seeded closer to the surface than the smallest.
        radii_from: source of the radii in the next step. 'flow': the distance to the surface when the marker was seeded, or came closer
            than the largest radius, stretched with the flow since then. The ball of the marker then touches the surface as the flow has
            moved it, and shows every deviation of the level set. 'levelset': s phi of the corrected level set, as in the literature, which
            loses deviations smaller than a radius.
        escape_distance: in radii; a marker of sign s and radius r corrects the level set where -s phi > escape_distance * r. -1: as soon as
            its ball reaches across the surface; 0: as soon as its centre does; 1: once it is entirely on the wrong side, as in the
            literature. None: -0.9 for radii from the flow, 0 for those from the level set (smaller values make no sense for these).
        reseed_every: steps between reseedings; None: never, which is best for given flows that stretch the surface below the spacing, where
            only particles still represent it.
        reset_radii_on_reseed: at a reseeding, set radii that follow the flow from the level set again, for markers on their own side. The
            strain is measured in one cell, and its errors, or those of an extended velocity, should not add up.
        avoid_escaped: seed nothing where an escaped marker is near: the level set is wrong there.
        transport: schemes that move the level set and the markers.
        escaped: treatment of markers far on the wrong side.
        seed: of the random numbers.
    """

    per_cell: int | None = None
    band: float = 3.0
    radii: tuple[float, float] = (0.1, 0.5)
    radii_from: RadiiFrom = "flow"
    escape_distance: float | None = None
    reseed_every: int | None = 10
    reset_radii_on_reseed: bool = True
    avoid_escaped: bool = True
    transport: MarkerTransport = MarkerTransport()
    escaped: EscapedMarkers = EscapedMarkers()
    seed: int = 0

    def __post_init__(self) -> None:
        """Check everything. Raises TypeError or ValueError."""
        _checks.options(self)
        if self.per_cell is not None:
            _checks.integer("per_cell", self.per_cell, 1, 4097)
        least, most = _checks.vector("radii", self.radii, 2)
        if not 0 < least <= most:
            raise ValueError(f"radii must be positive and ascending, not {least:g} and {most:g}")
        if _checks.positive("band", self.band) <= most:
            raise ValueError(f"band must be wider than the largest radius, {most:g}, not {self.band:g}")
        lowest = -1 if self.radii_from == "flow" else 0
        if self.escape_distance is not None and _checks.number("escape_distance", self.escape_distance) < lowest:
            raise ValueError(
                f"escape_distance must be at least {lowest} for radii from the {self.radii_from}, not {self.escape_distance:g}"
            )
        if self.reseed_every is not None:
            _checks.integer("reseed_every", self.reseed_every, 1)
        _checks.one_of_type("transport", self.transport, MarkerTransport)
        _checks.one_of_type("escaped", self.escaped, EscapedMarkers)
        _checks.integer("seed", self.seed, 0, 2**64)

    @property
    def correction_threshold(self) -> float:
        """The number that `escape_distance` means."""
        if self.escape_distance is None:
            return -0.9 if self.radii_from == "flow" else 0.0
        return self.escape_distance

    @property
    def radius_bounds(self) -> tuple[float, float]:
        """Bounds of the radii, in cells: those that follow the flow may shrink to a hundredth."""
        return (min(0.01, self.radii[0]), self.radii[1]) if self.radii_from == "flow" else self.radii

    def removed_radius(self, dimension: int) -> float:
        """Radius of removed particles in cells, within the bounds; 0: that of the marker."""
        if self.escaped.removed_radii_from == "marker":
            return 0.0
        share = 1.0 / self.particles_per_cell(dimension)
        radius = math.sqrt(share / math.pi) if dimension == 2 else (0.75 * share / math.pi) ** (1 / 3)
        return min(max(radius, self.radii[0]), self.radii[1])

    def particles_per_cell(self, dimension: int) -> int:
        """Markers in a cell of the band."""
        return 4**dimension if self.per_cell is None else self.per_cell

    def seeding(self, dimension: int, seedings: int, window: tuple[Sequence[int], Sequence[int]]) -> _surface.SeedingOptions:
        """Options of a seeding as the core takes them; `seedings` have been before, `window` is that of the grid in a larger one."""
        spared = max(self.correction_threshold, 0.0)
        per_cell = self.particles_per_cell(dimension)
        return _surface.SeedingOptions(per_cell, self.band, self.radii, spared, self.avoid_escaped, self.seed, seedings, *window)

    def moving(self, spacing: float) -> _surface.LevelSetTransport:
        """Schemes that move the level set and the markers, on a grid of this spacing (m), as the core takes them."""
        t = self.transport
        return _surface.LevelSetTransport(
            t.method,
            TRACE("trace", t.trace),
            INTERPOLATION("interpolation", t.interpolation),
            TRACE("marker_trace", t.marker_trace),
            self.band * spacing,
            self.radius_bounds if self.radii_from == "flow" else None,
        )


@dataclass(frozen=True)
class MarkerMotion:
    """Report of the motion of markers: how many left the domain or were removed in the solid, and how many were pushed out of it."""

    left: int
    in_solid: int
    pushed: int


@dataclass(frozen=True)
class Correction:
    """Numbers of escaped markers of the outside and of the inside that corrected the level set."""

    outside: int
    inside: int


@dataclass(frozen=True)
class Seeding:
    """Numbers of markers that were added, removed as surplus or out of the band, and given up because there was no place for them."""

    added: int
    surplus: int
    out_of_band: int
    failed: int


@dataclass(frozen=True)
class Transfer:
    """Number of particles that changed from one set to another, and the volume of their balls, m^3 (in 2-D the area of discs, m^2)."""

    count: int = 0
    volume: float = 0.0


@dataclass(frozen=True)
class Removal:
    """Markers that were removed: of the inside, as spray; of the outside, as bubbles or altogether."""

    spray: Transfer = Transfer()
    outside: Transfer = Transfer()


@dataclass(frozen=True)
class Reincorporation:
    """Removed particles that became markers again.

    Attributes:
        spray: droplets back in the inside.
        bubbles: bubbles back in the outside.
        momentum: momentum that the droplets have added to the velocity, per density: sum of volume * velocity * scale, m^4/s (in 2-D
            m^3/s).
    """

    spray: Transfer = Transfer()
    bubbles: Transfer = Transfer()
    momentum: tuple[float, ...] = ()


@dataclass(frozen=True)
class SprayFlight:
    """Report of the flight of droplets.

    Attributes:
        left: those that left the domain through open sides; removed.
        in_solid: those so deep in the solid that they could not be pushed out; removed.
        hits: number that touched the solid or a side.
    """

    left: Transfer = Transfer()
    in_solid: Transfer = Transfer()
    hits: int = 0


@dataclass(frozen=True)
class ParticleReport:
    """Report of one `ParticleLevelSet.advance`.

    Attributes:
        advected: number of samples of the level set that were advected.
        markers: report of the motion of the markers.
        corrections: before and after redistancing.
        removal: markers that were removed as spray or bubbles.
        seeding: None where this step did not reseed.
    """

    advected: int
    markers: MarkerMotion
    corrections: tuple[Correction, Correction]
    removal: Removal
    seeding: Seeding | None = field(default=None)
