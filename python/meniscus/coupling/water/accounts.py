"""Accounts of water that tetrahedra, drops and a grid share."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from meniscus.core.stateful import Stateful
from meniscus.coupling.water.ledger import WAYS, Transfers, WaterLedger
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.tetrahedra.ledger import TetLedger
from meniscus.fluids.tetrahedra.vof import TetVOF

Floats = npt.NDArray[np.float64]
_FLOWS = ("injected", "inflow", "copied", "drained", "left", "incompatible")
_SIGNS = np.array((1.0, 1.0, 1.0, -1.0, -1.0, -1.0))


class SharedAccounts(Stateful):
    """What has come and gone in steps, and what was put in or taken by hand between them.

    The parts may count anew, as a liquid does that is filled; so their totals are read at the begin and at the end of each step.
    """

    def __init__(self) -> None:
        self.initial = self.declare("initial", 0.0)
        self.there = self.declare("there", 0.0)
        self.error = self.declare("error", 0.0)
        self.flows: Floats = self.declare("flows", np.zeros(len(_FLOWS)))
        self._marks: Floats | None = None

    def begin(self, vof: TetVOF, liquid: LiquidSolver, transfers: Transfers) -> None:
        """Begin a step: what has changed since the last one was done by hand."""
        there, own = present_water(vof, liquid, transfers)
        self.initial += there - self.there
        self.there = there
        self._marks = _totals(own, liquid, transfers)

    def end(self, vof: TetVOF, liquid: LiquidSolver, transfers: Transfers) -> None:
        """End the step."""
        there, own = present_water(vof, liquid, transfers)
        self.flows[...] = self._now(own, liquid, transfers)
        self.error, self.there, self._marks = there - self.initial - float(_SIGNS @ self.flows), there, None

    def ledger(self, vof: TetVOF, liquid: LiquidSolver, transfers: Transfers) -> WaterLedger:
        """Return where the water is and where it has come from."""
        there, own = present_water(vof, liquid, transfers)
        volume, flows, expected = liquid.volume_report(), self._now(own, liquid, transfers), liquid.volume.expected_total()
        initial, error = self.initial, self.error
        if self._marks is None:
            initial += there - self.there
        else:
            error = there - initial - float(_SIGNS @ flows)
        return WaterLedger(
            tets=own.in_tets + own.waiting,
            drops=volume.spray,
            grid=volume.liquid,
            expected=expected,
            expansion=volume.waiting,
            rounding=transfers.rounding,
            initial=initial,
            **dict(zip(_FLOWS, flows.tolist(), strict=True)),
            error=error,
            measured_error=error + volume.liquid - expected,
            transfers={way: (transfers.volume(way), *transfers.momentum(way)) for way in WAYS},
            kept_momentum=transfers.kept_momentum,
        )

    def _now(self, own: TetLedger, liquid: LiquidSolver, transfers: Transfers) -> Floats:
        """Return the flows up to now."""
        if self._marks is None:
            return self.flows
        result: Floats = self.flows + (_totals(own, liquid, transfers) - self._marks)
        return result

    def __repr__(self) -> str:
        """One line."""
        flows = ", ".join(f"{n} {v:.4g}" for n, v in zip(_FLOWS, self.flows, strict=True))
        return f"<SharedAccounts initial {self.initial:.4g}, {flows} m^3>"

    def _state_replaced(self) -> None:
        self._marks = None


def present_water(vof: TetVOF, liquid: LiquidSolver, transfers: Transfers) -> tuple[float, TetLedger]:
    """Return all water that there should be, m^3, and the accounts of the tetrahedra."""
    own, grid = vof.ledger(), liquid.volume.expected_total()
    owed = 0.0 if liquid.emission is None else liquid.emission.waiting
    parts = own.in_tets, own.waiting, liquid.surface.spray_volume, grid, liquid.expansion.waiting, owed, transfers.rounding
    return math.fsum(parts), own


def _totals(own: TetLedger, liquid: LiquidSolver, transfers: Transfers) -> Floats:
    """Return the flows by the accounts of the parts, since these have begun to count."""
    volume = liquid.volume.totals
    return np.array(
        (
            own.sources + volume["emitted"] + transfers.volume("source to drops"),
            volume["inflow"],
            own.filled + own.inflow + transfers.volume("copied to tetrahedra"),
            own.drained + volume["drained"] + transfers.volume("overwritten in tetrahedra"),
            volume["outflow"] + transfers.volume("drops left"),
            volume["incompatible"],
        )
    )
