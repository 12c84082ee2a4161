"""Accounts of water in tetrahedra, in drops and on a grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meniscus.core.stateful import Stateful

Floats = npt.NDArray[np.float64]

WAYS = (
    "grid to tetrahedra",
    "tetrahedra to drops",
    "drops to tetrahedra",
    "drops to grid",
    "source to drops",
    "drops left",
    "copied to tetrahedra",
    "overwritten in tetrahedra",
    "momentum of tetrahedra to grid",
)
"""Ways that water and momentum go between the three."""


class Transfers(Stateful):
    """What has passed along each of the `WAYS` since the solver was made: volumes, and momenta at both ends."""

    def __init__(self) -> None:
        self.volumes = self.declare("volumes", np.zeros(len(WAYS)))
        self.momenta = self.declare("momenta", np.zeros((2, len(WAYS), 3)))
        self.rounded = self.declare("rounded", np.zeros(4))

    def book(self, way: str, volume: float, taken: npt.ArrayLike, given: npt.ArrayLike) -> None:
        """Add a volume, m^3, and momenta per density, m^4/s: what one side has lost and the other has gained."""
        k = WAYS.index(way)
        self.volumes[k] += volume
        self.momenta[0, k] += taken
        self.momenta[1, k] += given

    def keep(self, volume: float, momentum: npt.ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Keep what is left of a transfer by rounding, m^3, may be negative; and momentum, m^4/s, that so little volume cannot carry."""
        self.rounded[0] += volume
        self.rounded[1:] += np.asarray(momentum)

    def take_volume(self) -> float:
        """Return the volume that was kept, m^3, which is another's from now on."""
        kept, self.rounded[0] = float(self.rounded[0]), 0.0
        return kept

    def take_momentum(self) -> Floats:
        """Return the momentum that was kept, m^4/s, which is another's from now on."""
        kept: Floats = self.rounded[1:].copy()
        self.rounded[1:] = 0
        return kept

    def volume(self, way: str) -> float:
        """Return what has passed, m^3."""
        return float(self.volumes[WAYS.index(way)])

    def momentum(self, way: str) -> tuple[Floats, Floats]:
        """Return what one side has lost and the other has gained, m^4/s."""
        k = WAYS.index(way)
        return self.momenta[0, k].copy(), self.momenta[1, k].copy()

    @property
    def rounding(self) -> float:
        """What rounding has left of all transfers, m^3."""
        return float(self.rounded[0])

    @property
    def kept_momentum(self) -> Floats:
        """Momentum that waits for the next transfer, m^4/s (3,)."""
        kept: Floats = self.rounded[1:].copy()
        return kept

    def __repr__(self) -> str:
        """One line."""
        return "<Transfers " + ", ".join(f"{n} {v:.4g}" for n, v in zip(WAYS, self.volumes, strict=True)) + " m^3>"


@dataclass(frozen=True, kw_only=True)
class WaterLedger:
    """Where the water is and where it has come from, since the solver was made. All volumes in m^3.

    Attributes:
        tets: in the tetrahedra, with what waits there to become drops.
        drops: flying.
        grid: what the level set measures now.
        expected: what the grid is to hold: what was given to it less what has left it.
        expansion: taken up by the grid, which has not made room for it yet.
        rounding: what the quanta of the tetrahedra and the radii of drops have left of transfers.
        initial: at the start, with what was put in by hand between steps, less what was taken.
        injected: by sources of all kinds.
        inflow: through sides of the grid.
        copied: into tetrahedra from a grid that keeps its water (`exchange="literal"`), or filled into them within a step: made.
        drained: by drains, and by the overwriting of tetrahedra that held more.
        left: through sides of the grid, or stuck in solids.
        incompatible: taken by the grid from closed regions on which walls press; what tetrahedra have no room for is in `vof.ledger()`.
        error: what is there but for the measure of the grid, less what should be: round-off.
        measured_error: with the measure of the grid instead.
        transfers: by way: volume, and the momenta, m^4/s (3,), that one side has lost and the other has gained.
        kept_momentum: of the grid, m^4/s (3,), that waits for the next transfer to tetrahedra, because the volume was too little for it.

    Source: Lee 2018, section 3.6.
    """

    tets: float
    drops: float
    grid: float
    expected: float
    expansion: float
    rounding: float
    initial: float
    injected: float
    inflow: float
    copied: float
    drained: float
    left: float
    incompatible: float
    error: float
    measured_error: float
    transfers: dict[str, tuple[float, Floats, Floats]]
    kept_momentum: Floats
