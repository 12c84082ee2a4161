"""Accounts of the volume and the momentum of water on a tetrahedral mesh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.core.state import State

Floats = npt.NDArray[np.float64]

VOLUMES = ("filled", "inflow", "sources", "absorbed", "emitted", "drained", "given")
"""What changes the volume: the first four add, the others take."""
_ADD = 4
_IMPULSES = ("filled", "inflow", "sources", "absorbed", "gravity", "adhesion", "body", "walls", "pressure", "shared")
MOMENTA = (*_IMPULSES, "emitted", "drained", "given")
"""What changes the momentum: the last three take, the others add."""
_ADD_MOMENTUM = len(_IMPULSES)


class Accounts(State):
    """Sums of everything that came into the mesh and left it since it was made; state of a `TetVOF`."""

    def __init__(self) -> None:
        self._volumes = np.zeros(len(VOLUMES))
        self._momenta = np.zeros((len(MOMENTA), 3))

    def book(self, name: str, volume: float = 0.0, momentum: npt.ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Add a volume, m^3, and a momentum, kg m/s, to an account."""
        if name in VOLUMES:
            self._volumes[VOLUMES.index(name)] += volume
        self._momenta[MOMENTA.index(name)] += momentum

    def volume(self, name: str) -> float:
        """Return what an account of volume holds, m^3."""
        return float(self._volumes[VOLUMES.index(name)])

    def momentum(self, name: str) -> Floats:
        """Return what an account of momentum holds, kg m/s."""
        result: Floats = self._momenta[MOMENTA.index(name)].copy()
        return result

    def expected_volume(self) -> float:
        """Return what the mesh should hold, m^3."""
        return float(self._volumes[:_ADD].sum() - self._volumes[_ADD:].sum())

    def expected_momentum(self) -> Floats:
        """Return the momentum that the water should have, kg m/s."""
        total: Floats = self._momenta[:_ADD_MOMENTUM].sum(axis=0) - self._momenta[_ADD_MOMENTUM:].sum(axis=0)
        return total

    def exchanged(self) -> float:
        """Return the sum of all volumes booked, m^3: what the rounding of the accounts is relative to."""
        return float(np.abs(self._volumes).sum())

    def turnover(self) -> float:
        """Return the sum of all sizes of momenta booked, kg m/s: what round-off is relative to."""
        return float(np.abs(self._momenta).sum())

    def snapshot(self) -> dict[str, Any]:
        """Return copies of the sums."""
        return {"volumes": self._volumes.copy(), "momenta": self._momenta.copy()}

    def restore(self, snapshot: Any) -> None:
        """Restore the sums of a snapshot. Raises TypeError or ValueError for another one; then nothing is changed."""
        if not isinstance(snapshot, dict) or set(snapshot) != {"volumes", "momenta"}:
            raise ValueError("a snapshot of accounts must hold volumes and momenta")
        volumes, momenta = np.asarray(snapshot["volumes"], np.float64), np.asarray(snapshot["momenta"], np.float64)
        if volumes.shape != self._volumes.shape or momenta.shape != self._momenta.shape:
            raise ValueError("a snapshot of accounts must have one row per account")
        self._volumes[...], self._momenta[...] = volumes, momenta

    def assign(self, other: Accounts) -> None:
        """Copy other accounts."""
        if type(other) is not type(self):
            raise TypeError(f"only accounts can be assigned, not {other!r}")
        self._volumes[...], self._momenta[...] = other._volumes, other._momenta

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._volumes.nbytes + self._momenta.nbytes

    def _arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (), {}

    def __repr__(self) -> str:
        """One line."""
        return "<Accounts " + ", ".join(f"{n} {v:.4g}" for n, v in zip(VOLUMES, self._volumes, strict=True)) + " m^3>"


@dataclass(frozen=True, kw_only=True)
class TetLedger:
    """Where the water is, where it came from and where it went, since the solver was made.

    Attributes:
        in_tets: in the tetrahedra, summed anew, m^3; within a step with what is on its way.
        waiting: on its way out, but too little for a drop, m^3.
        filled: by `fill` and by writing to the views.
        inflow: from outside of the mesh.
        sources: from sources.
        absorbed: drops taken in.
        emitted: as drops.
        drained: by drains.
        given: to another representation of the water.
        momentum: of the water in the tetrahedra and of what waits, summed anew, kg m/s.
        impulses: what has changed it, kg m/s, by name: those of `filled`, ..., gravity, adhesion, of
            the body, of walls at the boundary of the mesh, of pressure, and what was shared with others.
        volume_error: in_tets + waiting less than what the accounts say, m^3.
        momentum_error: likewise, kg m/s (3,).
        momentum_scale: sum of the sizes of all impulses, kg m/s: what round-off is relative to.

    Source: Lee 2018, section 3.6.
    """

    in_tets: float
    waiting: float
    filled: float
    inflow: float
    sources: float
    absorbed: float
    emitted: float
    drained: float
    given: float
    momentum: Floats
    impulses: dict[str, Floats]
    volume_error: float
    momentum_error: Floats
    momentum_scale: float
