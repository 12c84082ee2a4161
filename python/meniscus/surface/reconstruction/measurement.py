"""What the water of an update says about its surface: a level set on a box of fine cells, made anew. Lengths are in fine cells."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import surface as _surface
from meniscus.core import Workspace
from meniscus.surface.reconstruction.inputs import WaterInDrops, WaterInTets
from meniscus.surface.reconstruction.lattice import Box, linear_at

Floats = npt.NDArray[np.float64]
MOST_PASSES = 64
_LITTLE = 1e-3  # share of a cell
_HOLDS = 8  # times that the surface is moved out to tetrahedra that it leaves out
_DEPTH = 0.01  # cells by which it aims beyond them, since each time it makes up for about a half


@dataclass(frozen=True)
class Seen:
    """Water in tetrahedra and small drops, seen through the kernel.

    Attributes:
        phi: level set of all water; within the kernel's reach of the surface about the distance.
        near: 1 around this water, 0 far from it.
        weight: share of the cells that this water takes.
        momentum: (3, ...) weight times velocity.
        shares: share of the cells that is water of the grid and of large drops.
    """

    phi: Floats
    near: Floats
    weight: Floats
    momentum: Floats
    shares: Floats


def passes_for(positions: Floats, tets: npt.NDArray[np.int32], smoothing: float) -> int:
    """Return how often neighbours are averaged, for a kernel of so many longest edges of the tetrahedra, and of a cell at least."""
    corners = positions[tets]
    squares = [((corners[:, i] - corners[:, j]) ** 2).sum(axis=1) for i in range(4) for j in range(i)]
    edge = float(np.sqrt(np.max(squares, axis=0)).mean()) if len(tets) else 0.0
    return min(max(2, math.ceil(2 * (smoothing * edge) ** 2)), MOST_PASSES)


def reach_of(passes: int) -> int:
    """Return from how far away, in cells, water counts in the level set seen through the kernel."""
    return math.ceil(3 * math.sqrt(0.5 * passes)) + 2


def see(
    box: Box,
    tets: WaterInTets,
    drops: WaterInDrops,
    grid: Floats,
    passes: int,
    union: bool,
    workspace: Workspace,
) -> Seen:
    """Return what the water says.

    Shares of cells that are water are smoothed, and so is the room for it; their ratio is 1/2 at the surface. As a kernel pulls curved
    surfaces in, the level set found so is then corrected by what its own shares, seen through the same kernel, lack: sums agree.

    Args:
        box: cells to fill.
        tets: positions and volumes in fine cells.
        drops: the small ones.
        grid: level set of other water on the box.
        passes: see `passes_for`.
        union: see `WaterSurfaceOptions.overlap`.
        workspace: scratch memory.
    """
    taken = np.maximum(_volumes(tets) - tets.capacity, 0.0)
    used = (tets.volume > 0) | (taken > 0)
    volume = tets.volume[used]
    amounts = np.stack([volume, taken[used], *(volume * tets.velocity[used].T)], axis=1)
    elements = np.ascontiguousarray(tets.tets[used])
    sums = np.empty((5, *box.shape))
    _surface.deposit_tets(tets.positions, elements, amounts, 5, box.low, box.shape, sums, workspace)
    water, solid, momentum = sums[0], sums[1], sums[2:]
    _add_drops(box, drops, water, momentum)

    def smooth(values: Floats) -> Floats:
        _surface.smooth_binomial(values, box.shape, passes, workspace)
        return values

    near = np.where(water > 0, 1.0, 0.0)
    _surface.dilate(near, box.shape, reach_of(passes) + 4, workspace)
    _surface.smooth_binomial(near, box.shape, 4, workspace)
    shares = np.clip(0.5 - grid, 0.0, 1.0)
    seen_shares = smooth(shares.copy())
    room_there = np.maximum(0.0, 1.0 - solid)
    seen_room = smooth(room_there.copy())
    weight = smooth(water.copy())
    wet = weight > _LITTLE
    for m in momentum:
        # At the surface the kernel sees the velocity within; what that lacks is added, seen in the same way.
        lacking = m.copy()
        smooth(m)
        lacking -= water * np.divide(m, weight, out=np.zeros(box.shape), where=wet)
        m += smooth(lacking)
    total = np.maximum(weight, seen_shares) if union else weight + seen_shares
    goal = np.divide(total, seen_room, out=np.zeros(box.shape), where=seen_room > _LITTLE)
    np.minimum(goal, 1.0, out=goal)
    width = math.sqrt(0.5 * passes + 1 / 6)
    phi = _level(goal, width)
    have = smooth(np.clip(0.5 - phi, 0.0, 1.0) * room_there)
    lack = goal - np.divide(have, seen_room, out=np.zeros(box.shape), where=seen_room > _LITTLE)
    phi -= math.sqrt(2 * math.pi) * width * lack
    np.clip(phi, -3 * width, 3 * width, out=phi)
    return Seen(phi, near, weight, momentum, seen_shares)


class Held:
    """Tetrahedra that are to lie inside of the surface, by their centroids.

    Args:
        box: of the level sets.
        tets: in fine cells.
        least_fill: those that are fuller than this.
        workspace: scratch memory.
    """

    def __init__(self, box: Box, tets: WaterInTets, least_fill: float, workspace: Workspace) -> None:
        full = np.flatnonzero((tets.volume > least_fill * tets.capacity) & (tets.volume > 0))
        centroids = tets.positions[tets.tets[full]].mean(axis=1)
        centroids = centroids[((centroids >= box.low) & (centroids < box.high)).all(axis=1)]
        self._box, self._workspace = box, workspace
        self._cells = np.floor(centroids).astype(np.int64) - np.array(box.low)
        self._places = centroids - np.array(box.low) - 0.5

    def hold(self, phi: Floats, depth: float = 0.0) -> None:
        """Lower a level set smoothly until these tetrahedra are so deep inside, in cells."""
        for _ in range(_HOLDS):
            lack = linear_at(phi, self._places) + depth
            out = lack > 0
            if not out.any():
                return
            most = np.zeros(self._box.shape)
            np.maximum.at(most, tuple(self._cells[out].T), lack[out] + _DEPTH)
            _surface.dilate(most, self._box.shape, 1, self._workspace)
            _surface.smooth_binomial(most, self._box.shape, 2, self._workspace)
            phi -= most


def _level(share: Floats, width: float) -> Floats:
    """Return the distance to a plane through whose smoothed edge a share is seen; the logistic function stands for the normal one."""
    s = np.clip(share, 1e-3, 1 - 1e-3)
    result: Floats = np.log((1 - s) / s) * (width / 1.702)
    return result


def _volumes(tets: WaterInTets) -> Floats:
    a, b, c, d = (tets.positions[tets.tets[:, k]] for k in range(4))
    result: Floats = np.abs(np.einsum("nd,nd->n", np.cross(b - a, c - a), d - a)) / 6
    return result


def _add_drops(box: Box, drops: WaterInDrops, water: Floats, momentum: Floats) -> None:
    cell = np.floor(drops.positions).astype(np.int64) - np.array(box.low)
    inside = ((cell >= 0) & (cell < np.array(box.shape))).all(axis=1)
    if inside.any():
        at = np.ravel_multi_index(tuple(cell[inside].T), box.shape)
        volume = drops.volume[inside]
        water += np.bincount(at, volume, box.cells).reshape(box.shape)
        for m, v in zip(momentum, drops.velocity[inside].T, strict=True):
            m += np.bincount(at, volume * v, box.cells).reshape(box.shape)
