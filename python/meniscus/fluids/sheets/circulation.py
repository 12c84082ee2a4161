"""Circulations of the edges of a vortex sheet through changes of its mesh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus._options import CoreOption
from meniscus.surface.tracking.carried import SurfaceRule, SurfaceShape
from meniscus.surface.tracking.events import SurfaceEvents

Floats = npt.NDArray[np.float64]
CirculationRule = Literal["exact", "printed"]

CIRCULATION_RULE = CoreOption(CirculationRule, _fluids.CirculationRule)


@dataclass(frozen=True)
class CirculationTransfer(SurfaceRule):
    """Rule of the circulations of edges.

    Attributes:
        rule: "exact": new edges have the value, at their middles, of the potential that is linear in each old triangle; "printed": halves
            of a split edge inherit its circulation, other new edges have none, and those of a tube get the two of the edges that go.

    Source: Brochu 2012, section 6.3.1 (printed rules); the exact ones are ours.
    """

    rule: CirculationRule = "exact"

    def after(self, values: Floats, events: SurfaceEvents, before: SurfaceShape, now: SurfaceShape) -> Floats:
        """Return the circulations after events."""
        found: Floats = _fluids.transfer_circulation(
            events._core, CIRCULATION_RULE("rule", self.rule), *before, np.ascontiguousarray(values), *now
        )
        return found

    def smoothed(self, values: Floats, before: SurfaceShape, now: SurfaceShape) -> Floats:
        """Return the circulations after smoothing; printed rules do not know it."""
        if self.rule == "printed":
            return values
        found: Floats = _fluids.smoothed_circulation(before.vertices, *now, np.array(values))
        return found
