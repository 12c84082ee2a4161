"""Sources and drains of liquid."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.fluids.flows.region import set_region
from meniscus.surface import Pose


@dataclass(frozen=True, kw_only=True)
class _Region:
    region: Any = field(kw_only=False)
    motion: Callable[[float], Pose] | None = None
    start: float = 0.0
    end: float = math.inf

    def __post_init__(self) -> None:
        """Check the values."""
        set_region(self)
        _checks.interval(self.start, self.end)

    def is_on(self, time: float) -> bool:
        """Return whether it works at a time, s."""
        return self.start <= time < self.end


@dataclass(frozen=True, kw_only=True)
class LiquidSource(_Region):
    """A region that is filled with liquid, or in which liquid is emitted at a rate, while the source is on.

    Without a rate, what the region lacks is filled, and counts as emitted. Where thin shells pass through the region, it is the
    largest of the parts, of each of its pieces. Liquid that a source sends away from a closed side of the box leaves no gap
    there to fill: it enters through the side, and counts as inflow. A plain inlet in a side is a `Prescribed` velocity.

    Attributes:
        region: the shape that is filled, m; or a closed surface (a `TriangleMesh` or what it is made from), a `LevelSet`, or a function
            phi(points (n, dim)) -> (n,), negative inside.
        motion: where the region is, as a function of time (s); default at rest.
        velocity: of the liquid at the faces of the region's cells, m/s; None leaves it.
        rate: volume that is emitted, m^3/s (in 2-D m^2/s), under water too, where the liquid spreads from the region; None: what the region
            lacks. Air in it is filled first, from the middle, and no faster; what finds neither air nor liquid waits. Cells that a solid or
            a thin shell cuts emit nothing. A negative one takes liquid away under water, as long as there is any in the region.
        start: when it is turned on, s.
        end: when it is turned off, s.
    """

    kind: ClassVar[str] = "a source"
    velocity: Sequence[float] | None = None
    rate: float | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        if self.rate is not None and _checks.number("rate", self.rate) == 0:
            raise ValueError("rate must not be zero: a source that emits nothing is one that is off")
        if self.velocity is not None:
            _checks.vector("velocity of a LiquidSource", self.velocity, getattr(self.region, "dimension", None) or np.size(self.velocity))


@dataclass(frozen=True, kw_only=True)
class Drain(_Region):
    """A region in which liquid, and drops that enter it, vanish while the drain is on; as that of a `LiquidSource` beside thin shells.

    Attributes:
        region: the shape that is emptied, m; given as that of a `LiquidSource`.
        motion: where the region is, as a function of time (s); default at rest.
        start: when it is turned on, s.
        end: when it is turned off, s.
    """

    kind: ClassVar[str] = "a drain"
