"""Particle level sets for tests: a ball, its state, and a flow."""

from typing import Any

import numpy as np

import meniscus as ms
from meniscus.fluids import rotation
from meniscus.surface import ParticleLevelSet, ParticleOptions


def ball(dimension: int, dtype: Any = np.float64, cells: int = 24, radius: float = 0.3, location: Any = "cells", **options: Any):
    """A ball in the unit box, seeded."""
    p = ParticleLevelSet(ms.Grid((cells,) * dimension, 1 / cells), location, dtype, options=ParticleOptions(**options))
    p.levelset.array = (np.sqrt(sum((c - 0.5) ** 2 for c in p.levelset.field.coordinates())) - radius).astype(dtype)
    p.seed()
    return p


def state(p: ParticleLevelSet) -> list[np.ndarray]:
    sets = [p.particles, p.spray, p.bubbles]
    return [p.levelset.array.copy(), *(a.copy() for s in sets for a in (s.positions, s.ids, *(s[c] for c in s.columns)))]


def swirl(grid: ms.Grid, dtype: Any) -> ms.MacField:
    velocity = ms.MacField(grid, dtype)
    center = (0.5,) * grid.dimension
    rotation(center, 1.5 if grid.dimension == 2 else (0.5, -1.0, 1.5)).sample(velocity)
    return velocity
