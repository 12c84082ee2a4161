"""Closed regions of liquid without room for a flux: what compatibility takes from them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

from meniscus.core.memory import MemoryOwner
from meniscus.core.solver import SolverWarning
from meniscus.fluids.pressure.projection import Region

_ROUNDING = 1e-12  # of the liquid in a step: below this a flux is zero
_LARGE = 1e-3  # of the liquid


class ClosedRegions(MemoryOwner):
    """Volume that closed regions of one liquid lose. Walls that press on liquid without a way out, or a source in it, demand a flux that no
    incompressible flow has; the projection gives the region an even divergence instead. `account`: where users find the volume; `kept`:
    what there is no room for stays, closer together, and does not vanish."""

    def __init__(self, account: str = "volume_report()", *, kept: bool = False) -> None:
        self._account, self._kept = account, kept
        self._warned = False

    @staticmethod
    def losses(regions: Sequence[Region], dt: float, liquid: Callable[[], float]) -> list[tuple[Region, float]]:
        """Return the regions that lose a volume, m^dim, in a step of dt seconds, negative where they gain one.

        `liquid` returns how much there is in all; it is called only if a closed region has a flux.
        """
        closed = [(r, -r.flux * dt) for r in regions if r.closed and r.flux]
        if not closed:
            return []
        least = _ROUNDING * liquid()
        return [(r, lost) for r, lost in closed if abs(lost) > least]

    def warn(self, lost: float, liquid: float) -> None:
        """Warn, once, if the volume lost, m^dim, is more than a thousandth of the liquid."""
        if self._warned or abs(lost) <= _LARGE * liquid:
            return
        self._warned = True
        cause, effect = "walls press on, or sources feed,", "is where there is no room for it" if self._kept else "has vanished"
        if lost < 0:
            cause, effect = "walls withdraw from, or sinks empty,", "has come from nothing"
        warnings.warn(
            f"{cause} liquid that is closed in: {100 * abs(lost) / liquid:.2g} % of all liquid {effect}, which is `incompatible` in "
            f"the {self._account}; leave it air, or open a side",
            SolverWarning,
            stacklevel=2,
        )
