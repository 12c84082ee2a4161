"""Numbers of reports that are those of all ranks together, and bit by bit those of one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.grid import CellField, Grid, NodeField, Particles, ScalarField


def total(values: npt.ArrayLike, like: ScalarField) -> float:
    """Return the sum of values at the samples of a field, each counted once; collective. It is exact but for its last rounding."""
    kind = NodeField if any(like.on_side) else CellField
    scratch = kind(like.grid, np.float64)
    scratch.array[...] = values
    return float(scratch.sum())


def mean(values: npt.ArrayLike, like: ScalarField) -> float:
    """Return the mean of values at the samples of a field, each counted once; collective."""
    return total(values, like) / total(1.0, like)


def count(particles: Particles, grid: Grid) -> int:
    """Return the number of particles on all ranks; collective."""
    return sum(grid.comm.gather(len(particles)))
