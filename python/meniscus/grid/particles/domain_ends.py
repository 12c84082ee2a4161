"""Points that have passed the ends of a domain."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.grid.boundary import Wall
from meniscus.grid.fields import MacField
from meniscus.grid.uniform import Grid

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def have_left(velocity: MacField, positions: Floats) -> Bools:
    """Return which points (n, dim), m, are beyond sides of the domain that are neither walls nor ends of closing axes."""
    grid = velocity.grid
    left = np.zeros(len(positions), bool)
    for d, name in enumerate("xyz"[: grid.dimension]):
        low, x = grid.origin[d], positions[:, d]
        high = low + grid.spacing * grid.shape[d]
        for beyond, side in ((x < low, f"{name}-"), (x > high, f"{name}+")):
            if not grid.periodic[d] and not isinstance(velocity.boundary[side], Wall):
                left |= beyond
    return left


def held_at_walls(velocity: MacField, positions: Floats) -> None:
    """Put points that are beyond walls of the domain onto these, in place; others stay where they are."""
    grid = velocity.grid
    for d, name in enumerate("xyz"[: grid.dimension]):
        low = grid.origin[d]
        for side, place, bound in ((f"{name}-", low, np.maximum), (f"{name}+", low + grid.spacing * grid.shape[d], np.minimum)):
            if not grid.periodic[d] and isinstance(velocity.boundary[side], Wall):
                positions[:, d] = bound(positions[:, d], place)


def shifts_around_ends(grid: Grid, positions: Floats) -> Floats:
    """Return what brings points (n, dim), m, into the domain along its closing axes, m: whole lengths of the domain, or zero."""
    size = grid.spacing * np.array(grid.shape)
    turns = np.floor((positions - np.array(grid.origin)) / size)
    shifts: Floats = np.where(np.array(grid.periodic), -turns * size, 0.0)
    return shifts
