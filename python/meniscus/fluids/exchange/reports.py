"""Reports of exchange with a liquid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

Floats = npt.NDArray[Any]


@dataclass(frozen=True)
class LiquidExchange:
    """Water that has passed from one owner to another.

    Attributes:
        count: number of drops; zero for a region.
        volume: m^3 (in 2-D m^2).
        momentum: per density: the sum of volume * velocity, m^4/s (in 2-D m^3/s).
        impulse: the part of the momentum that has changed the velocity of liquid that was there, m^4/s; the rest came with the volume.
            Empty where it is not measured.
    """

    count: int = 0
    volume: float = 0.0
    momentum: tuple[float, ...] = ()
    impulse: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Drops:
    """Drops that were taken from a liquid.

    Attributes:
        positions: (n, dim), m, of the dtype of the solver.
        velocities: (n, dim), m/s, likewise.
        volumes: (n,), m^3 (in 2-D m^2), float64.
    """

    positions: Floats
    velocities: Floats
    volumes: npt.NDArray[Any]

    def __len__(self) -> int:
        """Return their number."""
        return len(self.volumes)
