"""Accounts of the volume and the momentum of water on a tetrahedral mesh."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meniscus.core.stateful import Stateful

Floats = npt.NDArray[np.float64]

VOLUMES = ("filled", "inflow", "sources", "absorbed", "emitted", "drained", "given")
"""What changes the volume: the first four add, the others take."""
_ADD = 4
_IMPULSES = ("filled", "inflow", "sources", "absorbed", "gravity", "adhesion", "body", "walls", "pressure", "shared")
MOMENTA = (*_IMPULSES, "emitted", "drained", "given")
"""What changes the momentum: the last three take, the others add."""
_ADD_MOMENTUM = len(_IMPULSES)


class Accounts(Stateful):
    """Sums of everything that came into the mesh and left it since it was made; state of a `TetVOF`."""

    def __init__(self) -> None:
        self.volumes = self.declare("volumes", np.zeros(len(VOLUMES)))
        self.momenta = self.declare("momenta", np.zeros((len(MOMENTA), 3)))

    def book(self, name: str, volume: float = 0.0, momentum: npt.ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Add a volume, m^3, and a momentum, kg m/s, to an account."""
        if name in VOLUMES:
            self.volumes[VOLUMES.index(name)] += volume
        self.momenta[MOMENTA.index(name)] += momentum

    def volume(self, name: str) -> float:
        """Return what an account of volume holds, m^3."""
        return float(self.volumes[VOLUMES.index(name)])

    def momentum(self, name: str) -> Floats:
        """Return what an account of momentum holds, kg m/s."""
        result: Floats = self.momenta[MOMENTA.index(name)].copy()
        return result

    def expected_volume(self) -> float:
        """Return what the mesh should hold, m^3."""
        return float(self.volumes[:_ADD].sum() - self.volumes[_ADD:].sum())

    def expected_momentum(self) -> Floats:
        """Return the momentum that the water should have, kg m/s."""
        total: Floats = self.momenta[:_ADD_MOMENTUM].sum(axis=0) - self.momenta[_ADD_MOMENTUM:].sum(axis=0)
        return total

    def exchanged(self) -> float:
        """Return the sum of all volumes booked, m^3: what the rounding of the accounts is relative to."""
        return float(np.abs(self.volumes).sum())

    def turnover(self) -> float:
        """Return the sum of all sizes of momenta booked, kg m/s: what round-off is relative to."""
        return float(np.abs(self.momenta).sum())

    def __repr__(self) -> str:
        """One line."""
        return "<Accounts " + ", ".join(f"{n} {v:.4g}" for n, v in zip(VOLUMES, self.volumes, strict=True)) + " m^3>"


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
        incompatible: of `in_tets`, what tetrahedra hold beyond their room, since nothing leads out: walls press on water that is closed in.
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
    incompatible: float
    momentum: Floats
    impulses: dict[str, Floats]
    volume_error: float
    momentum_error: Floats
    momentum_scale: float


def beyond_room(volume: Floats, room: Floats, quantum: float) -> float:
    """Return what tetrahedra hold that they have no room for, but for rounding, m^3."""
    excess = volume - room
    return math.fsum(excess[excess > np.minimum(8 * quantum, 1e-12 * room)])
