"""Accounts of water in tetrahedra, in drops and on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.core.state import State

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


class Transfers(State):
    """What has passed along each of the `WAYS` since the solver was made: volumes, and momenta at both ends."""

    def __init__(self) -> None:
        self._volumes = np.zeros(len(WAYS))
        self._momenta = np.zeros((2, len(WAYS), 3))
        self._rounding = np.zeros(4)

    def book(self, way: str, volume: float, taken: npt.ArrayLike, given: npt.ArrayLike) -> None:
        """Add a volume, m^3, and momenta per density, m^4/s: what one side has lost and the other has gained."""
        k = WAYS.index(way)
        self._volumes[k] += volume
        self._momenta[0, k] += taken
        self._momenta[1, k] += given

    def keep(self, volume: float, momentum: npt.ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Keep what is left of a transfer by rounding, m^3, may be negative; and momentum, m^4/s, that so little volume cannot carry."""
        self._rounding[0] += volume
        self._rounding[1:] += np.asarray(momentum)

    def take_momentum(self) -> Floats:
        """Return the momentum that was kept, m^4/s, which is another's from now on."""
        kept: Floats = self._rounding[1:].copy()
        self._rounding[1:] = 0
        return kept

    def volume(self, way: str) -> float:
        """Return what has passed, m^3."""
        return float(self._volumes[WAYS.index(way)])

    def momentum(self, way: str) -> tuple[Floats, Floats]:
        """Return what one side has lost and the other has gained, m^4/s."""
        k = WAYS.index(way)
        return self._momenta[0, k].copy(), self._momenta[1, k].copy()

    @property
    def rounding(self) -> float:
        """What rounding has left of all transfers, m^3."""
        return float(self._rounding[0])

    @property
    def kept_momentum(self) -> Floats:
        """Momentum that waits for the next transfer, m^4/s (3,)."""
        kept: Floats = self._rounding[1:].copy()
        return kept

    def snapshot(self) -> dict[str, Any]:
        """Return copies of the sums."""
        return {"volumes": self._volumes.copy(), "momenta": self._momenta.copy(), "rounding": self._rounding.copy()}

    def restore(self, snapshot: Any) -> None:
        """Restore the sums of a snapshot. Raises TypeError or ValueError for another one; then nothing is changed."""
        own = {"volumes": self._volumes, "momenta": self._momenta, "rounding": self._rounding}
        if not isinstance(snapshot, dict) or set(snapshot) != set(own):
            raise ValueError("a snapshot of transfers must hold volumes, momenta and rounding")
        given = {name: np.asarray(snapshot[name], np.float64) for name in own}
        if any(given[name].shape != own[name].shape for name in own):
            raise ValueError("a snapshot of transfers must have one row per way")
        for name in own:
            own[name][...] = given[name]

    def assign(self, other: Transfers) -> None:
        """Copy other transfers."""
        if type(other) is not type(self):
            raise TypeError(f"only transfers can be assigned, not {other!r}")
        self.restore(other.snapshot())

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._volumes.nbytes + self._momenta.nbytes + self._rounding.nbytes

    def _arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (), {}

    def __repr__(self) -> str:
        """One line."""
        return "<Transfers " + ", ".join(f"{n} {v:.4g}" for n, v in zip(WAYS, self._volumes, strict=True)) + " m^3>"


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
        initial: at the start, with what was filled by hand.
        injected: by sources of all kinds.
        inflow: through sides of the grid.
        copied: into tetrahedra from a grid that keeps its water (`exchange="literal"`): water that was made.
        drained: by drains, and by the overwriting of tetrahedra that held more.
        left: through sides of the grid, or stuck in solids.
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
    error: float
    measured_error: float
    transfers: dict[str, tuple[float, Floats, Floats]]
    kept_momentum: Floats
