"""Options and step report of `ShallowWater`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from meniscus import _checks

ShallowScheme = Literal["flux", "staggered", "printed"]

_CFL = {"flux": 0.45, "staggered": 0.7, "printed": 0.7}


@dataclass(frozen=True, kw_only=True)
class ShallowOptions:
    """Constants of a `ShallowWater`.

    Attributes:
        gravity: acceleration of gravity, m/s^2.
        density: of the water, kg/m^3; pressures and forces depend on it.
        dry_depth: depth up to which water rests and counts as none, m; None: 1e-7 of the spacing (1e-5 with float32).
        cfl: part of a cell that water and waves pass in a substep; None: 0.45 for 'flux', of |u| + c + |v| + c; 0.7 for the others, of
            the speed and sqrt(2) c ("Real time physics class notes", kit of one step).
    """

    gravity: float = 9.81
    density: float = 1000.0
    dry_depth: float | None = None
    cfl: float | None = None

    def __post_init__(self) -> None:
        """Check the values. Raises TypeError or ValueError."""
        _checks.options(self)
        _checks.positive("gravity", self.gravity)
        _checks.positive("density", self.density)
        for name in ("dry_depth", "cfl"):
            if getattr(self, name) is not None:
                _checks.positive(name, getattr(self, name))

    def cfl_of(self, scheme: str) -> float:
        """Return the Courant number of a scheme. Raises ValueError for one beyond which the scheme is not stable."""
        limit = 0.5 if scheme == "flux" else 1.0
        cfl = _CFL[scheme] if self.cfl is None else self.cfl
        if cfl > limit:
            raise ValueError(f"cfl of scheme {scheme!r} must be at most {limit}, not {cfl:g}")
        return cfl


@dataclass(kw_only=True)
class ShallowReport:
    """Report of one step of a `ShallowWater`.

    Attributes:
        dt: s.
        substeps: of which it was made.
        volume: of the water after the step, m^3.
        left: what has left through each side that is no wall, m^3; negative: come in.
        damped: what sponges have taken, m^3; negative: given.
        imbalance: volume after the step, less that before and what came in, m^3: rounding; of the scheme 'printed', its error.
        kinetic_energy: of the water, J.
        max_speed: largest velocity component, m/s.
    """

    dt: float = 0.0
    substeps: int = 0
    volume: float = math.nan
    left: dict[str, float] = field(default_factory=dict)
    damped: float = 0.0
    imbalance: float = 0.0
    kinetic_energy: float = 0.0
    max_speed: float = 0.0
