"""Ways of particles past thin shells, around closing axes of the domain and up to its walls."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import coupling as _coupling
from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.grid.fields import MacField
from meniscus.grid.particles.domain_ends import have_left, held_at_walls, shifts_around_ends

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_core: Any = _coupling  # overloaded over dimension and scalar
_STOPPED, _LOST = 1, 2
_MOST, _EVERYWHERE = 15, 255  # cells: clearances above the first are not told apart
_BESIDE = 0.1  # cells from a shell at which a point without a distance of its own is put that finds no other way
_PUSHED, _BLOCKED = 1, 2
_SAME = 1e-6  # cells between ends that are the same


@dataclass(frozen=True)
class WayEnds:
    """Ends of n ways past shells.

    Attributes:
        positions: (n, dim), m, in the domain, as numbers of the dtype that was asked for; of what has left, beyond a side.
        velocities: (n, dim), m/s, on their ways.
        met: which ways end elsewhere than they were aimed at.
        lost: which meet a shell, or end in a solid, whatever they do.
        left: which of the others have left the domain.
        pushed: which of those that stay were pushed away from a shell, to their distance.
        blocked: which of them are nearer to a shell than their distance, as their way out is not free.
    """

    positions: Floats
    velocities: Floats
    met: Bools
    lost: Bools
    left: Bools
    pushed: Bools
    blocked: Bools


def ends_of_ways(
    velocity: MacField,
    start: ShellWalls,
    end: ShellWalls,
    x: Floats,
    aims: Floats,
    dt: float,
    dtype: Any,
    distances: Floats | None = None,
) -> WayEnds:
    """Return where straight ways end that shells, which move meanwhile, may stop: on their side of these, exactly.

    A way that ends in a solid that the walls see is pushed out of it first, and one through it, around which no way is free, ends before
    it. A way that is stopped goes along the shell, else with it. A way around a closing axis is tested as one straight way, past the
    images of the shells.

    Args:
        velocity: gives the sides of the domain.
        start: walls at the start of the ways.
        end: the same walls at their end.
        x: (n, dim), m, where the ways begin.
        aims: (n, dim), m, of the ways; may be beyond the domain.
        dt: seconds.
        dtype: of the positions at the end.
        distances: (n,), m, that points keep from the shells, zero for none: those that are nearer are pushed away from them. None: for all
            none.
    """
    grid, walls = velocity.grid, (start._core, end._core)
    beside = np.full(len(x), _BESIDE * grid.spacing)
    if distances is not None:
        beside = np.where(distances > 0, distances, beside)
    targets = end.out_of_solid(x, aims).copy()
    held_at_walls(velocity, targets)
    left = have_left(velocity, targets)
    shift = shifts_around_ends(grid, targets)
    rounded = (targets + shift).astype(dtype).astype(np.float64)
    stops, velocities, ends = _core.stop_at_shells(*walls, x + shift, rounded, dt, beside)
    lost: Bools = ends == _LOST
    changed = np.flatnonzero(ends == _STOPPED)
    if len(changed):
        places = stops[changed]
        held_at_walls(velocity, places)
        left[changed] |= have_left(velocity, places)
        around = shifts_around_ends(grid, places)
        shift[changed] += around
        stops[changed] = (places + around).astype(dtype)
        # Rounding may have brought it across.
        lost[changed] = _core.stop_at_shells(*walls, x[changed] + shift[changed], stops[changed], dt, beside[changed])[2] != 0
    # Between a shell and a solid there may be no place for it.
    lost = lost | (end.in_solid(stops) & (ends == _STOPPED))
    met = ~np.isclose(stops - shift, aims, rtol=0.0, atol=_SAME * grid.spacing).all(axis=1)
    left &= ~lost
    pushes = np.zeros(len(x), np.uint8)
    if distances is not None:
        stay = np.flatnonzero(~(lost | left))
        args = x[stay] + shift[stay], stops[stay], distances[stay], np.dtype(dtype) == np.float32
        places, found = _core.push_from_shells(*walls, *args)
        into = end.in_solid(places)
        places[into], found[into & (found == _PUSHED)] = stops[stay][into], _BLOCKED
        stops[stay], pushes[stay] = places, found
    return WayEnds(stops, velocities, met, lost, left, pushes == _PUSHED, pushes == _BLOCKED)


def reach_of_ways(way: float, spacing: float) -> int:
    """Return how many cells from a wall a way of this length, m, does not meet it, whatever it does, nor samples that it hides."""
    cells = way / spacing + 1
    return math.ceil(cells) if cells < _MOST else _EVERYWHERE
