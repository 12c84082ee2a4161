"""Liquid particles where a region asks for them."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.core import uniform
from meniscus.grid.fields import CellField
from meniscus.grid.particles import Particles
from meniscus.grid.uniform import Grid
from meniscus.surface import Pose, Shape

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Inside = Callable[[Floats], Bools]


def shape_inside(region: Shape, grid: Grid, pose: Pose | None = None) -> Inside:
    """Return the function that tells which points (n, dim), m, are in a shape, or in one of its images on periodic axes."""
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
    """Fills regions with a given number of particles per cell, one in each part of a cell."""

    def __init__(self, grid: Grid, per_cell: int, jitter: float, seed: int) -> None:
        self._grid = grid
        self.per_cell = per_cell
        self._seed = seed
        side = round(per_cell ** (1.0 / grid.dimension))
        # Where cells have no even parts, particles are anywhere in their cell.
        self._parts = side if side**grid.dimension == per_cell else 1
        self._jitter = jitter if self._parts == side and side**grid.dimension == per_cell else 1.0

    def candidates(self, cells: npt.NDArray[np.int64], step: int) -> tuple[Floats, npt.NDArray[np.int64]]:
        """Return positions (n, dim), m, of all particles that full cells (linear indices) hold, and their keys: cell * per_cell + part."""
        grid, dimension, m = self._grid, self._grid.dimension, self.per_cell
        keys = (cells[:, None] * m + np.arange(m)).ravel()
        index = np.stack(np.unravel_index(keys // m, grid.shape), axis=1)
        draws = math.ceil(dimension / 2)
        u = np.hstack([uniform(self._seed, keys, step, k) for k in range(draws)])[:, :dimension]
        parts = self._parts
        sub = np.stack(np.unravel_index(keys % m if parts > 1 else np.zeros_like(keys), (parts,) * dimension), axis=1)
        within = (sub + 0.5 + self._jitter * (u - 0.5)) / parts
        return np.array(grid.origin) + grid.spacing * (index + within), keys

    def keys(self, positions: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the cells of positions (linear indices), and their keys."""
        grid, parts = self._grid, self._parts
        c = (positions.astype(np.float64) - grid.origin) / grid.spacing
        whole = np.floor(c).astype(np.int64)
        sub = np.minimum((parts * (c - whole)).astype(np.int64), parts - 1)
        for d, n in enumerate(grid.shape):
            whole[:, d] = whole[:, d] % n if grid.periodic[d] else np.clip(whole[:, d], 0, n - 1)
        cells = np.ravel_multi_index(tuple(whole.T), grid.shape).astype(np.int64)
        part = np.ravel_multi_index(tuple(sub.T), (parts,) * grid.dimension)
        return cells, cells * self.per_cell + part

    def missing(self, particles: Particles, phi: CellField, inside: Inside, step: int) -> Floats:
        """Return positions for the particles that a region lacks to be full.

        Args:
            particles: that there are.
            phi: the region, <= 0 inside, a distance near its surface or a bound of it.
            inside: the region, exactly.
            step: keys the random numbers.
        """
        reach = 0.5 * math.sqrt(self._grid.dimension) * self._grid.spacing * (1 + 1e-9)
        touched = phi.array.ravel() <= reach
        positions, keys = self.candidates(np.flatnonzero(touched).astype(np.int64), step)
        wanted = inside(positions)
        positions, keys = positions[wanted], keys[wanted]
        if len(particles) and len(keys):
            cells, theirs = self.keys(particles.positions)
            near = np.flatnonzero(touched[cells])
            near = near[inside(np.ascontiguousarray(particles.positions[near], np.float64))]
            count = np.bincount(cells[near], minlength=touched.size)
            own = keys // self.per_cell
            lacking = np.bincount(own, minlength=touched.size) - count
            # Empty parts of a cell first; as many as the cell lacks.
            taken = np.isin(keys, theirs[near]) if self._parts > 1 else np.zeros(len(keys), bool)
            order = np.lexsort((keys, taken, own))
            cell = own[order]
            first = np.searchsorted(cell, cell)
            rank = np.arange(len(cell)) - first
            chosen = np.sort(order[rank < lacking[cell]])
            positions = positions[chosen]
        return positions
