"""Drops made of water that has left a tetrahedral mesh."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from meniscus.core import uniform
from meniscus.core.stateful import Stateful

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
_JITTER_DRAW = 7
_MOST_OF_ONE = 1 << 20  # drops that a tetrahedron becomes at most; the keys of the jitter count that far
_MOST_AT_ONCE = 10_000_000  # about 1 GB


class WaitingWater(Stateful):
    """Water that has left tetrahedra in amounts too small for a drop, by tetrahedron; it waits until there is more of it.

    Attributes:
        tets: (k,) int32, ascending.
        volume: (k,) m^3.
        momentum: (k, 3) over density, m^4/s.
        position: (k, 3) where it left, m.
    """

    def __init__(self) -> None:
        self.tets: Ints = self.declare("tets", np.empty(0, np.int32), resizable=True)
        self.volume: Floats = self.declare("volume", np.empty(0), resizable=True, rows_of="tets")
        self.momentum: Floats = self.declare("momentum", np.empty((0, 3)), resizable=True, rows_of="tets")
        self.position: Floats = self.declare("position", np.empty((0, 3)), resizable=True, rows_of="tets")

    def set(self, tets: Ints, volume: Floats, momentum: Floats, position: Floats) -> None:
        """Replace everything that waits."""
        self.tets, self.volume, self.momentum, self.position = tets, volume, momentum, position

    def __len__(self) -> int:
        """Return the number of tetrahedra with such water."""
        return len(self.tets)

    def total(self) -> tuple[float, Floats]:
        """Return volume, m^3, and momentum over density, m^4/s."""
        return math.fsum(self.volume), self.momentum.sum(axis=0)

    def take(self, which: npt.NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
        """Return positions (n, 3), velocities (n, 3) and volumes (n,) of what waits at these tetrahedra (m,), which waits no longer."""
        gone = which[self.tets]
        position, volume = self.position[gone], self.volume[gone]
        velocity = self.momentum[gone] / volume[:, None]
        stay = ~gone
        self.set(self.tets[stay], self.volume[stay], self.momentum[stay], self.position[stay])
        return position, velocity, volume

    def __repr__(self) -> str:
        """One line."""
        return f"<WaitingWater at {len(self)} tetrahedra, {math.fsum(self.volume):.4g} m^3>"


def drop_volumes(radius: tuple[float, float] | None, mean: float) -> tuple[float, float]:
    """Return the smallest and the largest volume of drops, m^3, for radii, m, in a mesh whose tetrahedra have a mean volume, m^3.

    Raises:
        ValueError: radii so small that a tetrahedron would become more drops than can be told apart.
    """
    if radius is None:
        return mean / 64, mean
    smallest, largest = (4 / 3 * math.pi * r**3 for r in radius)
    if largest * _MOST_OF_ONE < mean:
        least = (mean / _MOST_OF_ONE * 3 / (4 * math.pi)) ** (1 / 3)
        raise ValueError(
            f"the largest of drop_radius must be at least {least:.3g} m here, so that a tetrahedron becomes no more than {_MOST_OF_ONE} "
            f"drops, not {radius[1]:g} m"
        )
    return smallest, largest


def make_drops(
    left: tuple[Floats, Floats, Floats, Ints], waiting: WaitingWater, smallest: float, largest: float, quantum: float
) -> tuple[Floats, Floats, Floats, Ints]:
    """Turn water that has left into drops of volumes between `smallest` and `largest`, m^3; what is too little waits.

    More than `largest` becomes several of nearly the same volume, all multiples of the quantum, whose sum is exact. Amounts below
    `smallest` of one tetrahedron, with what waits there, are put together.

    Args:
        left: positions (k, 3), velocities (k, 3), volumes (k,), tetrahedra (k,).
        waiting: from earlier steps, is changed.
        smallest: m^3.
        largest: m^3, at least 8 times that.
        quantum: m^3.

    Returns:
        Positions, velocities, volumes and tetrahedra of the drops, in the order of their tetrahedra.

    Raises:
        ValueError: the drops would be too many for the memory.
    """
    position, velocity, volume, tet = left
    few = volume < smallest
    if few.any() or len(waiting):
        tets = np.concatenate([waiting.tets, tet[few]])
        v = np.concatenate([waiting.volume, volume[few]])
        p = np.concatenate([waiting.momentum, volume[few, None] * velocity[few]])
        x = np.concatenate([waiting.position, position[few]])
        owner, index = np.unique(tets, return_inverse=True)
        sums = np.zeros(len(owner))
        momenta, moments = np.zeros((len(owner), 3)), np.zeros((len(owner), 3))
        np.add.at(sums, index, v)
        np.add.at(momenta, index, p)
        np.add.at(moments, index, v[:, None] * x)
        mean = moments / sums[:, None]
        ready = sums >= smallest
        keep = ~ready
        waiting.set(owner[keep].astype(np.int32), sums[keep], momenta[keep], mean[keep])
        position = np.concatenate([position[~few], mean[ready]])
        velocity = np.concatenate([velocity[~few], momenta[ready] / sums[ready, None]])
        volume = np.concatenate([volume[~few], sums[ready]])
        tet = np.concatenate([tet[~few], owner[ready].astype(np.int32)])
        order = np.argsort(tet, kind="stable")
        position, velocity, volume, tet = position[order], velocity[order], volume[order], tet[order]
    wanted = np.maximum(np.ceil(volume / largest), 1.0)
    if wanted.sum() > _MOST_AT_ONCE:
        raise ValueError(
            f"the {math.fsum(volume):.3g} m^3 of water that leave in this step would be {wanted.sum():.3g} drops, which is more than "
            f"{_MOST_AT_ONCE}: choose a larger drop_radius"
        )
    parts = wanted.astype(np.int64)
    if (parts > 1).any():
        count = np.rint(volume / quantum)
        each = np.floor(count / parts)
        rest = (count - each * parts).astype(np.int64)
        rows = np.repeat(np.arange(len(volume)), parts)
        place = np.arange(len(rows)) - np.repeat(np.cumsum(parts) - parts, parts)
        volume = (each[rows] + (place < rest[rows])) * quantum
        position, velocity, tet = position[rows], velocity[rows], tet[rows]
    return np.ascontiguousarray(position), np.ascontiguousarray(velocity), volume, tet


def jittered(
    position: Floats, tet: Ints, reach: Floats, seed: int, step: int, allowed: Callable[[Floats], npt.NDArray[np.bool_]]
) -> Floats:
    """Return positions moved in random directions by up to `reach` (k,), m; those that are not allowed there stay.

    Water from the faces of a mesh would else show its lattice. Keyed by tetrahedron, place among its drops, and step.

    Source: Lee 2018, section 3.4.1.
    """
    if not len(position):
        return position
    first = np.flatnonzero(np.r_[True, tet[1:] != tet[:-1]])
    place = np.arange(len(tet)) - np.repeat(first, np.diff(np.r_[first, len(tet)]))
    keys = tet.astype(np.int64) * (1 << 20) + place
    a, b = uniform(seed, keys, step, _JITTER_DRAW), uniform(seed, keys, step, _JITTER_DRAW + 1)
    z, angle = 2 * a[:, 0] - 1, 2 * np.pi * a[:, 1]
    r = np.sqrt(np.maximum(1 - z * z, 0))
    direction = np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=1)
    moved = np.ascontiguousarray(position + (np.cbrt(b[:, 0]) * reach)[:, None] * direction)
    return np.where(allowed(moved)[:, None], moved, position)


def cleared(position: Floats, radius: Floats, distance: Callable[[Floats], Floats]) -> Floats:
    """Return positions moved out of a solid, along its distance, until drops of these radii are clear of it."""
    x = position
    for _ in range(8):
        near = distance(x)
        inside = np.flatnonzero(near < radius)
        if not len(inside):
            break
        x = x.copy()
        step = 1e-3 * radius[inside]
        points = x[inside]
        slope = np.empty_like(points)
        for d in range(3):
            shift = np.zeros_like(points)
            shift[:, d] = step
            slope[:, d] = (distance(points + shift) - distance(points - shift)) / (2 * step)
        length = np.linalg.norm(slope, axis=1)
        slope[length == 0, 2], length[length == 0] = 1.0, 1.0
        x[inside] = points + slope / length[:, None] * (1.01 * radius[inside] - near[inside])[:, None]
    return x
