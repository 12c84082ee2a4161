"""Where shared water is and where it has come from, from the accounts of its parts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.core.state import State
from meniscus.coupling.water.ledger import WAYS, Transfers, WaterLedger
from meniscus.fluids.liquid.options import VolumeReport
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.tetrahedra.ledger import TetLedger
from meniscus.fluids.tetrahedra.vof import TetVOF

Floats = npt.NDArray[np.float64]
_FLOWS = ("injected", "inflow", "copied", "drained", "left")
_SIGNS = np.array((1.0, 1.0, 1.0, -1.0, -1.0))


class SharedAccounts(State):
    """What has come and gone in steps, and what was put in or taken by hand between them.

    The parts may count anew, as a liquid does that is filled; so their totals are read at the begin and at the end of each step.
    """

    def __init__(self) -> None:
        self._initial, self._there, self._error = 0.0, 0.0, 0.0
        self._flows = np.zeros(len(_FLOWS))
        self._marks: Floats | None = None

    def begin(self, vof: TetVOF, liquid: LiquidSolver, transfers: Transfers) -> None:
        """Begin a step: what has changed since the last one was done by hand."""
        there, own, volume = present_water(vof, liquid, transfers)
        self._initial += there - self._there
        self._there = there
        self._marks = _totals(own, volume, transfers)

    def end(self, vof: TetVOF, liquid: LiquidSolver, transfers: Transfers) -> None:
        """End the step."""
        there, own, volume = present_water(vof, liquid, transfers)
        self._flows = self._now(own, volume, transfers)
        self._error, self._there, self._marks = there - self._initial - float(_SIGNS @ self._flows), there, None

    def ledger(self, vof: TetVOF, liquid: LiquidSolver, transfers: Transfers) -> WaterLedger:
        """Return where the water is and where it has come from."""
        there, own, volume = present_water(vof, liquid, transfers)
        flows, expected = self._now(own, volume, transfers), expected_volume(liquid)
        initial, error = self._initial, self._error
        if self._marks is None:
            initial += there - self._there
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

    def _now(self, own: TetLedger, volume: VolumeReport, transfers: Transfers) -> Floats:
        """Return the flows up to now."""
        if self._marks is None:
            return self._flows
        result: Floats = self._flows + (_totals(own, volume, transfers) - self._marks)
        return result

    def snapshot(self) -> dict[str, Any]:
        """Return copies of the sums."""
        return {"sums": np.array((self._initial, self._there, self._error)), "flows": self._flows.copy()}

    def restore(self, snapshot: Any) -> None:
        """Restore the sums of a snapshot. Raises TypeError or ValueError for another one; then nothing is changed."""
        if not isinstance(snapshot, dict) or set(snapshot) != {"sums", "flows"}:
            raise ValueError("a snapshot of shared accounts must hold sums and flows")
        sums, flows = (np.asarray(snapshot[name], np.float64) for name in ("sums", "flows"))
        if sums.shape != (3,) or flows.shape != self._flows.shape:
            raise ValueError("a snapshot of shared accounts must have three sums and one number per flow")
        self._initial, self._there, self._error = sums.tolist()
        self._flows, self._marks = flows.copy(), None

    def assign(self, other: SharedAccounts) -> None:
        """Copy other accounts."""
        if type(other) is not type(self):
            raise TypeError(f"only accounts can be assigned, not {other!r}")
        self.restore(other.snapshot())

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._flows.nbytes + 24

    def _arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (), {}

    def __repr__(self) -> str:
        """One line."""
        flows = ", ".join(f"{n} {v:.4g}" for n, v in zip(_FLOWS, self._flows, strict=True))
        return f"<SharedAccounts initial {self._initial:.4g}, {flows} m^3>"


def present_water(vof: TetVOF, liquid: LiquidSolver, transfers: Transfers) -> tuple[float, TetLedger, VolumeReport]:
    """Return all water that there should be, m^3, and the accounts of tetrahedra and grid."""
    own, volume = vof.ledger(), liquid.volume_report()
    parts = own.in_tets, own.waiting, volume.spray, expected_volume(liquid), volume.waiting, transfers.rounding
    return math.fsum(parts), own, volume


def expected_volume(liquid: LiquidSolver) -> float:
    """Return the volume that a grid is to hold without drops and what waits for room, m^3."""
    budget = liquid.volume.budget
    return math.fsum(budget["unassigned"]) + math.fsum(budget["expected"][1:])


def _totals(own: TetLedger, volume: VolumeReport, transfers: Transfers) -> Floats:
    """Return the flows by the accounts of the parts, since these have begun to count."""
    return np.array(
        (
            own.sources + volume.emitted + transfers.volume("source to drops"),
            volume.inflow,
            own.filled + own.inflow + transfers.volume("copied to tetrahedra"),
            own.drained + volume.drained + transfers.volume("overwritten in tetrahedra"),
            volume.outflow + transfers.volume("drops left"),
        )
    )
