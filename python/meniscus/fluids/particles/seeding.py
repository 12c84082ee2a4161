"""Seeding of liquid particles in a region."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.core import uniform
from meniscus.grid.fields import CellField
from meniscus.grid.particles.storage import Particles
from meniscus.grid.uniform import Grid
from meniscus.surface import Pose, Shape

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
Inside = Callable[[Floats], Bools]


def shape_inside(region: Shape, grid: Grid, pose: Pose | None = None) -> Inside:
    """Return a function that tells which points (n, dim), m, are in a shape, or in one of its images on periodic axes."""
    shifts = [(-1, 0, 1) if p else (0,) for p in grid.periodic]
    rotation = None if pose is None else np.array(pose.rotation)
    offset = np.zeros(grid.dimension) if pose is None else np.array(pose.translation)

    def inside(points: Floats) -> Bools:
        result = np.zeros(len(points), bool)
        for image in product(*shifts):
            local = points + np.array(image) * grid.extent - offset
            if rotation is not None:
                local = local @ rotation  # R^T x, row by row
            result |= region.signed_distance(np.ascontiguousarray(local)) <= 0
        return result

    return inside


class ParticleSeeder:
    """Fills regions with a given number of particles per cell, one in each part of a cell.

    The cells are those of the grid, moved by an offset. If the offset moves with the liquid of a source, new particles line up with those
    emitted before, and their number matches those that the flow has carried away. The position of a particle in its part depends on the
    cell alone.
    """

    def __init__(self, grid: Grid, per_cell: int, jitter: float, seed: int) -> None:
        self._grid = grid
        self.per_cell = per_cell
        self._seed = seed
        side = round(per_cell ** (1.0 / grid.dimension))
        # Where cells have no even parts, particles are anywhere in their cell.
        even = side**grid.dimension == per_cell
        self._parts = side if even else 1
        self._jitter = jitter if even else 1.0
        self._padded = tuple(n + 2 for n in grid.shape)

    def cells(self, positions: npt.NDArray[Any]) -> Integers:
        """Return the cells of the grid that positions (n, dim), m, lie in, as linear indices."""
        index = np.floor((positions.astype(np.float64) - self._grid.origin) / self._grid.spacing).astype(np.int64)
        for d, n in enumerate(self._grid.shape):
            index[:, d] = index[:, d] % n if self._grid.periodic[d] else np.clip(index[:, d], 0, n - 1)
        result: Integers = np.ravel_multi_index(tuple(index.T), self._grid.shape).astype(np.int64)
        return result

    def missing(self, particles: Particles, phi: CellField, inside: Inside, offset: Floats | None = None) -> Floats:
        """Return positions of the particles that are missing in a region.

        Args:
            particles: existing particles.
            phi: the region, <= 0 inside, a distance near its surface or a bound of it.
            inside: the region, exactly.
            offset: of the cells to fill, m; default none.
        """
        grid = self._grid
        shift = np.zeros(grid.dimension) if offset is None else np.asarray(offset, np.float64) / grid.spacing
        whole = np.floor(shift).astype(np.int64)
        reach = 0.5 * math.sqrt(grid.dimension) * grid.spacing * (1 + 1e-9)
        touched = self._moved_cells(phi.array <= reach, shift - whole)
        positions, keys = self._candidates(np.flatnonzero(touched), shift, whole)
        wanted = inside(positions)
        positions, keys = positions[wanted], keys[wanted]
        if len(particles) and len(keys):
            theirs = self._keys(particles.positions, shift - whole)
            near = np.flatnonzero(touched.ravel()[theirs // self.per_cell])
            count = np.bincount(theirs[near] // self.per_cell, minlength=touched.size)
            theirs = theirs[near][inside(np.ascontiguousarray(particles.positions[near], np.float64))]
            own = keys // self.per_cell
            # No more than the part of a cell that is in the region asks for, and never more than a cell holds.
            here = np.bincount(theirs // self.per_cell, minlength=touched.size)
            lacking = np.minimum(np.bincount(own, minlength=touched.size) - here, self.per_cell - count)
            # Empty parts of a cell first.
            taken = np.isin(keys, theirs) if self._parts > 1 else np.zeros(len(keys), bool)
            order = np.lexsort((keys, taken, own))
            cell = own[order]
            rank = np.arange(len(cell)) - np.searchsorted(cell, cell)
            positions = positions[np.sort(order[rank < lacking[cell]])]
        return positions

    def _moved_cells(self, touched: Bools, fraction: Floats) -> Bools:
        """Return the moved cells that overlap touched ones; index i + 1 along each axis is the cell that has moved from i by the
        fraction."""
        for d, n in enumerate(touched.shape):
            pad = [(0, 0)] * touched.ndim
            pad[d] = (1, 1)
            periodic = self._grid.periodic[d]
            wide = np.pad(touched, pad, mode="wrap" if periodic else "constant")
            if fraction[d] > 0:
                upper = np.concatenate([wide.take(range(1, n + 2), axis=d), wide.take([0], axis=d) & False], axis=d)
                wide = wide | upper
            if periodic:  # each cell once
                wide = wide.copy()
                np.moveaxis(wide, d, 0)[[0, -1]] = False
            touched = wide
        return touched

    def _candidates(self, cells: Integers, shift: Floats, whole: Integers) -> tuple[Floats, Integers]:
        """Return all particles of moved cells that are in the domain, and their keys: cell * per_cell + part."""
        grid, dimension, m = self._grid, self._grid.dimension, self.per_cell
        keys = (cells[:, None] * m + np.arange(m)).ravel().astype(np.int64)
        index = np.stack(np.unravel_index(keys // m, self._padded), axis=1).astype(np.int64) - 1
        # What cell it was before it moved names its random numbers.
        names = index - whole
        for d, n in enumerate(grid.shape):
            names[:, d] %= n if grid.periodic[d] else 2**18
        ids = np.zeros(len(keys), np.int64)
        for d in range(dimension):
            ids = ids * 2**18 + names[:, d]
        ids = ids * m + keys % m
        u = np.hstack([uniform(self._seed, ids, 0, k) for k in range(math.ceil(dimension / 2))])[:, :dimension]
        parts = self._parts
        part = keys % m if parts > 1 else np.zeros_like(keys)
        sub = np.stack(np.unravel_index(part, (parts,) * dimension), axis=1)
        at = index + (shift - whole) + (sub + 0.5 + self._jitter * (u - 0.5)) / parts
        kept = np.ones(len(at), bool)
        for d, n in enumerate(grid.shape):
            if grid.periodic[d]:
                at[:, d] %= n
            else:
                kept &= (at[:, d] >= 0) & (at[:, d] <= n)
        return np.ascontiguousarray(np.array(grid.origin) + grid.spacing * at[kept]), keys[kept]

    def _keys(self, positions: npt.NDArray[Any], fraction: Floats) -> Integers:
        """Return the keys of the parts of moved cells that positions lie in."""
        grid, parts = self._grid, self._parts
        c = (positions.astype(np.float64) - grid.origin) / grid.spacing - fraction
        whole = np.floor(c).astype(np.int64)
        sub = np.minimum((parts * (c - whole)).astype(np.int64), parts - 1)
        for d, n in enumerate(grid.shape):
            whole[:, d] = whole[:, d] % n if grid.periodic[d] else np.clip(whole[:, d], -1, n)
        cells = np.ravel_multi_index(tuple((whole + 1).T), self._padded)
        result: Integers = cells * self.per_cell + np.ravel_multi_index(tuple(sub.T), (parts,) * grid.dimension)
        return result
