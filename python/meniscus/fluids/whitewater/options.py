"""Options and step report of `Whitewater`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids

_PARTS_OF_CELL = (0.03, 0.08)  # of the spacing: radii without others


@dataclass(frozen=True, kw_only=True)
class WhitewaterSources:
    """Where whitewater comes from. Pairs are limits: below the first there is nothing, above the second all of it.

    Attributes:
        air_rate: particles a second that a cell at the surface sends out where liquid strikes liquid.
        crest_rate: the same at crests: where the surface is bent outward and moves along its normal.
        air_speeds: m/s, of the mean speed at which the liquid around comes towards a cell or passes it.
        crest_bends: of the curvature of the surface times the spacing.
        speeds: m/s, of the liquid, as its energy; slower liquid takes in no air. Water that falls into water does from 0.8 to 1 m/s on
            (Chanson 1996, "Air bubble entrainment in free-surface turbulent shear flows").
        spread: speed in a random direction that particles get, in parts of that of `air_speeds`.
    """

    air_rate: float = 300.0
    crest_rate: float = 300.0
    air_speeds: Sequence[float] = (0.3, 3.0)
    crest_bends: Sequence[float] = (0.2, 1.0)
    speeds: Sequence[float] = (1.0, 5.0)
    spread: float = 0.5

    def __post_init__(self) -> None:
        """Check the values. Raises TypeError or ValueError."""
        _require_not_negative(self, "air_rate", "crest_rate", "spread")
        for name in ("air_speeds", "crest_bends", "speeds"):
            low, high = _checks.vector(name, getattr(self, name), 2)
            if not 0 <= low < high:
                raise ValueError(f"{name} must be two numbers that rise, from 0 on, not {low:g} and {high:g}")


@dataclass(frozen=True, kw_only=True)
class WhitewaterOptions:
    """Numbers of `Whitewater`.

    Attributes:
        sources: where it comes from.
        radius: m, between which the radii lie; default: 0.03 and 0.08 cells.
        lifetime: s that foam lasts, between these. Spray and bubbles last until they are foam.
        air_drag: of spray, 1/s; 0: it flies freely.
        rise: m/s, at which bubbles rise through the liquid: 0.2 to 0.3 for air in water from 1 to 10 mm (Clift, Grace and Weber 1978,
            "Bubbles, drops, and particles", figure 7.3).
        response: s in which bubbles and foam take the velocity of the liquid.
        layer: m, half the thickness of the foam: above it is spray, below it are bubbles; default: half a cell.
        seed: of the random numbers.
        most: particles that there may be, on each rank; sources send out fewer when they would pass it.
    """

    sources: WhitewaterSources = field(default_factory=WhitewaterSources)
    radius: Sequence[float] | None = None
    lifetime: Sequence[float] = (0.5, 3.0)
    air_drag: float = 0.0
    rise: float = 0.25
    response: float = 0.05
    layer: float | None = None
    seed: int = 0
    most: int = 1_000_000

    def __post_init__(self) -> None:
        """Check the values. Raises TypeError or ValueError."""
        _checks.one_of_type("sources", self.sources, WhitewaterSources)
        _require_not_negative(self, "air_drag", "rise")
        _checks.positive("response", self.response)
        for name in ("radius", "lifetime"):
            if getattr(self, name) is not None:
                low, high = _checks.vector(name, getattr(self, name), 2)
                if not 0 < low <= high:
                    raise ValueError(f"{name} must be two positive numbers, the smaller one first, not {low:g} and {high:g}")
        if self.layer is not None:
            _checks.positive("layer", self.layer)
        _checks.integer("seed", self.seed, 0)
        _checks.integer("most", self.most, 0)

    def layer_of(self, spacing: float) -> float:
        """Return half the thickness of the foam, m."""
        return 0.5 * spacing if self.layer is None else float(self.layer)

    def core_sources(self, spacing: float) -> _fluids.WhitewaterSources:
        """Return the sources for the core."""
        radius = self.radius or tuple(part * spacing for part in _PARTS_OF_CELL)
        s = self.sources
        limits = s.air_speeds, s.crest_bends, [0.5 * v * v for v in s.speeds]
        return _fluids.WhitewaterSources(s.air_rate, s.crest_rate, *limits, s.spread, radius, self.lifetime, self.seed, self.most)

    def core_motion(self, spacing: float) -> _fluids.WhitewaterMotion:
        """Return the motion for the core."""
        return _fluids.WhitewaterMotion(self.air_drag, self.rise, self.response, self.layer_of(spacing))


def _require_not_negative(options: object, *names: str) -> None:
    for name in names:
        if _checks.number(name, getattr(options, name)) < 0:
            raise ValueError(f"{name} must not be negative, not {getattr(options, name):g}")


@dataclass(kw_only=True)
class WhitewaterReport:
    """Report of a step of whitewater; counts are of the rank.

    Attributes:
        dt: s.
        emitted: particles that came.
        wanted: particles that the sources had for the step, as a number with a fraction, before `most`.
        expired: foam that was too old.
        left: particles that left through open sides.
        in_solid: particles that stay in a solid, for they found no way out.
    """

    dt: float = 0.0
    emitted: int = 0
    wanted: float = 0.0
    expired: int = 0
    left: int = 0
    in_solid: int = 0
