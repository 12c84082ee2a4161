"""A source that emits drops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core import uniform
from meniscus.surface.shapes.sampled import as_shape

Floats = npt.NDArray[np.float64]
_DRAW = 11
_ROUNDS = 64  # of points in the bounding box, before a region is taken for empty


@dataclass(frozen=True, kw_only=True)
class DropSource:
    """A region in which drops begin to fly.

    Attributes:
        region: a `Shape` with a bounding box, a closed surface, or a `LevelSet`.
        rate: m^3/s.
        velocity: of the drops, m/s.
        radius: of a drop, m; the last one of a step may be smaller, so that the rate is exact.
        start: when it is turned on, s.
        end: when it is turned off, s.
        seed: of the positions.

    Raises:
        TypeError, ValueError: other values.
    """

    region: Any
    rate: float
    velocity: Sequence[float]
    radius: float
    start: float = 0.0
    end: float = math.inf
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the values."""
        object.__setattr__(self, "region", as_shape("region", self.region, 3))
        _checks.positive("rate", self.rate)
        _checks.vector("velocity", self.velocity, 3)
        _checks.positive("radius", self.radius)
        _checks.interval(self.start, self.end)
        _checks.integer("seed", self.seed, at_least=0, below=2**61)

    def volume(self, time: float, dt: float) -> float:
        """Return what it emits between two times, s, m^3."""
        return self.rate * max(min(time + dt, self.end) - max(time, self.start), 0.0)

    def drops(self, volume: float, step: int) -> tuple[Floats, Floats, Floats]:
        """Return positions (n, 3), velocities (n, 3) and volumes (n,) of drops of a total volume, m^3.

        Raises:
            ValueError: no point of the region was found.
        """
        one = 4 / 3 * math.pi * self.radius**3
        n = max(math.ceil(volume / one - 1e-9), 1)
        volumes = np.full(n, volume / n)
        low, high = (np.array(side) for side in self.region.bounds)
        found: list[Floats] = []
        have = 0
        for k in range(_ROUNDS):
            keys = np.arange(8 * n, dtype=np.int64) + k * 8 * n
            points = low + np.stack([uniform(self.seed, keys, step, _DRAW + d)[:, 0] for d in range(3)], axis=1) * (high - low)
            points = np.ascontiguousarray(points)
            inside = points[self.region.signed_distance(points) <= 0]
            found.append(inside)
            have += len(inside)
            if have >= n:
                break
        if have < n:
            raise ValueError("the region of a DropSource must have a volume, but no point was found in it")
        x = np.ascontiguousarray(np.concatenate(found)[:n])
        return x, np.tile(np.array(self.velocity, np.float64), (n, 1)), volumes
