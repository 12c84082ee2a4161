"""Where shared water is and where it has come from, from the accounts of its parts."""

from __future__ import annotations

import math

from meniscus.coupling.water.ledger import WAYS, Transfers, WaterLedger
from meniscus.fluids.liquid.options import VolumeReport
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.tetrahedra.ledger import TetLedger
from meniscus.fluids.tetrahedra.vof import TetVOF


def present_water(vof: TetVOF, liquid: LiquidSolver, transfers: Transfers) -> tuple[float, TetLedger, VolumeReport]:
    """Return all water that there should be, m^3, and the accounts of tetrahedra and grid."""
    own, volume = vof.ledger(), liquid.volume_report()
    parts = own.in_tets, own.waiting, volume.spray, expected_volume(liquid), volume.waiting, transfers.rounding
    return math.fsum(parts), own, volume


def expected_volume(liquid: LiquidSolver) -> float:
    """Return the volume that a grid is to hold without drops and what waits for room, m^3."""
    budget = liquid.volume.budget
    return math.fsum(budget["unassigned"]) + math.fsum(budget["expected"][1:])


def ledger_of(vof: TetVOF, liquid: LiquidSolver, transfers: Transfers, start: float) -> WaterLedger:
    """Return where the water is and where it has come from; `start` (m^3) was there when the accounts began."""
    there, own, volume = present_water(vof, liquid, transfers)
    t, expected = transfers, expected_volume(liquid)
    injected = own.sources + volume.emitted + t.volume("source to drops")
    copied = own.inflow + t.volume("copied to tetrahedra")
    drained = own.drained + volume.drained + t.volume("overwritten in tetrahedra")
    left = volume.outflow + t.volume("drops left")
    initial = start + own.filled
    error = there - (initial + injected + copied + volume.inflow - drained - left)
    return WaterLedger(
        tets=own.in_tets + own.waiting,
        drops=volume.spray,
        grid=volume.liquid,
        expected=expected,
        expansion=volume.waiting,
        rounding=t.rounding,
        initial=initial,
        injected=injected,
        inflow=volume.inflow,
        copied=copied,
        drained=drained,
        left=left,
        error=error,
        measured_error=error + volume.liquid - expected,
        transfers={way: (t.volume(way), *t.momentum(way)) for way in WAYS},
        kept_momentum=t.kept_momentum,
    )
