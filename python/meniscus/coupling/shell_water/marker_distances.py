"""Distances that markers of water keep from thin shells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core import uniform

Floats = npt.NDArray[np.float64]

_DRAWS = 2**32 - 1
"""The number of a time step that is none: these random numbers are for life."""


@dataclass(frozen=True)
class MarkerDistances:
    """A distance for each marker of water, which it keeps for life: its id tells it, and nothing is stored.

    Attributes:
        least, most: bounds of the distances, cells.
        seed: of the random numbers.
    """

    least: float
    most: float
    seed: int

    @classmethod
    def of_option(cls, bounds: object, seed: int) -> MarkerDistances | None:
        """Return the distances between two bounds, cells; None for None. Raises TypeError or ValueError for wrong bounds."""
        if bounds is None:
            return None
        least, most = _checks.vector("marker_distances", bounds, 2)
        if not 0 < least <= most <= 1:
            raise ValueError(f"marker_distances must be positive, ascending and at most 1, not {least:g} and {most:g}")
        return cls(float(least), float(most), seed)

    def of(self, ids: npt.NDArray[np.int64], signs: npt.NDArray[np.int8], spacing: float) -> Floats:
        """Return the distances (n,) of markers, m; zero for those of the air, which have none."""
        parts = uniform(self.seed, np.ascontiguousarray(ids), _DRAWS)[:, 0]
        distances: Floats = np.where(signs < 0, (self.least + (self.most - self.least) * parts) * spacing, 0.0)
        return distances
