"""Parts of a particle level set: empty sets of markers, and checks of the velocity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.grid import MacField, Particles
from meniscus.surface.levelset import LevelSet


def no_markers(positions: npt.NDArray[Any]) -> Particles:
    """Return markers of the dimension and dtype of an empty array of positions."""
    return Particles(positions, sign=np.empty(0, np.int8), radius=np.empty(0, positions.dtype))


def require_velocity(velocity: MacField, levelset: LevelSet) -> None:
    """Raise TypeError or ValueError unless the velocity has the grid and dtype of the level set."""
    _checks.one_of_type("velocity", velocity, MacField)
    if velocity.grid != levelset.grid:
        raise ValueError(f"velocity must have the grid of the level set, {levelset.grid}, not {velocity.grid}")
    if velocity.dtype != levelset.dtype:
        raise TypeError(f"velocity must be of dtype {levelset.dtype} like the level set, not {velocity.dtype}")


def window_of(window: tuple[Sequence[int], Sequence[int]], dimension: int) -> tuple[list[int], list[int]]:
    """Return the first cell of a window and the shape of the lattice, both with three numbers."""
    low, shape = ([_checks.integer(name, n, 0) for n in values] for name, values in zip(("window", "its lattice"), window, strict=True))
    if len(low) != dimension or len(shape) != dimension:
        raise ValueError(f"window must hold twice {dimension} numbers, not {len(low)} and {len(shape)}")
    return low + [0] * (3 - dimension), shape + [0] * (3 - dimension)
