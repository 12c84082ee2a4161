"""Volume that a liquid has taken up, and the divergence that makes room for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus.core.stateful import Stateful
from meniscus.fluids.liquid.volume import LiquidVolume
from meniscus.grid.fields import CellField, MacField, NodeField
from meniscus.grid.uniform import Grid
from meniscus.surface import LevelSet

Floats = npt.NDArray[np.float64]
_LEAST_DEPTH = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12}
# Cells below the surface from which on the projection takes a cell for liquid.
_WHOLE = 1e-9
# Relative: a rate that makes room for this much of a volume but for round-off makes room for all of it.
_NOTHING = 1e-15
# Cells: what waits below this is done with.


class Expansion(Stateful):
    """Volumes that wait in cells of a liquid until the liquid has made room for them; negative ones until it has closed up.

    A projection gives these cells a divergence. The next transport, along that velocity, makes the room, and what it has made is
    from then on expected of the liquid. What is too much for one step waits, and so does what finds no liquid within two cells.

    Args:
        grid: of the liquid.
        dtype: of its velocity.
        limit: largest divergence times the length of the step.

    Each rank holds what waits in the cells of its block. All methods are collective.

    Attributes:
        cells: (k,) C-ordered indices of the cells in the domain, int64, ascending.
        volume: (k,) that waits in each, m^dim.
        rate: (k,) volume that the present velocity makes room for, m^dim/s.

    Source: Losasso, Talton, Kwatra and Fedkiw 2008, section 4.3; Lee 2018, section 3.4.
    """

    rows_of_cells = "cells"

    def __init__(self, grid: Grid, dtype: npt.DTypeLike, limit: float) -> None:
        self._grid, self._limit = grid, limit
        self._dtype = np.dtype(dtype)
        self._cell = grid.spacing**grid.dimension
        self._target: CellField | None = None
        self.cells: npt.NDArray[np.int64] = self.declare("cells", np.empty(0, np.int64), resizable=True)
        self.volume: Floats = self.declare("volume", np.empty(0), resizable=True, rows_of="cells")
        self.rate: Floats = self.declare("rate", np.empty(0), resizable=True, rows_of="cells")

    @property
    def waiting(self) -> float:
        """The volume that waits, m^dim, on all ranks."""
        return self._grid.comm.exact_sum(self.volume)

    def add(self, positions: Floats, volumes: Floats, levelset: LevelSet, solid: NodeField | None) -> None:
        """Let volumes (n,), m^dim, at positions (n, dim), m, in this block wait in the cells of liquid around them."""
        if self._anywhere(len(volumes) > 0):
            cells, shares, _ = self._room(positions, volumes, levelset, solid)
            self._merge(cells, shares)

    def wait(self, cells: npt.NDArray[np.int64], volumes: Floats) -> None:
        """Let volumes, m^dim, wait in cells given by their C-ordered indices in the domain."""
        self._merge(np.asarray(cells, np.int64), volumes)

    def take_in(self, region: CellField, velocity: MacField) -> tuple[float, Floats]:
        """Remove what waits in cells where a region is <= 0; return its volume, m^dim, and its momentum per density."""
        index = self._indices()
        gone = region.array[index] <= 0
        volumes, momentum = self.volume[gone], np.zeros(self._grid.dimension)
        for d in range(self._grid.dimension):
            u = velocity.component(d)
            lower = tuple(i[gone] for i in index)
            upper = tuple(i + (e == d) for e, i in enumerate(lower))
            momentum[d] = self._grid.comm.exact_sum(volumes * 0.5 * (u[lower].astype(np.float64) + u[upper]))
        self._keep(~gone)
        return self._grid.comm.exact_sum(volumes), momentum

    def divergence(self, dt: float, levelset: LevelSet, solid: NodeField | None, fall: float) -> CellField | None:
        """Set the rates for a step of dt seconds; return the divergence, 1/s, overwritten by the next call, or None if nothing waits.

        In steps that are much shorter than the time, s, in which water falls by a cell, much room would be made at great speed: there the
        limit holds for a quarter of that time.
        """
        self._keep(self.volume != 0)
        if not self._anywhere(len(self.cells) > 0):
            return None
        stuck = ~self._can_expand(levelset, solid)
        if self._anywhere(bool(stuck.any())):
            places, volumes = self._centres(stuck), self.volume[stuck]
            self._keep(~stuck)
            self.add(places, volumes, levelset, solid)
        fastest = self._limit * self._cell / max(dt, 0.25 * fall)
        self.rate = np.where(self._can_expand(levelset, solid), np.clip(self.volume / dt, -fastest, fastest), 0.0)
        if self._target is None:
            self._target = CellField(self._grid, self._dtype)
        self._target.array[...] = 0
        self._target.array[self._indices()] = self.rate / self._cell
        return self._target

    def make_room(self, dt: float, volume: LiquidVolume, solid: NodeField | None) -> None:
        """Expect of the liquid what it has made room for by moving for dt seconds."""
        if not self._anywhere(len(self.cells) > 0):
            return
        # Of a step that is many times as long as the one of the projection, no flow makes as much room as the rate says.
        most = np.maximum(np.abs(self.volume), 2 * self._limit * self._cell)
        made = np.clip(self.rate * dt, -most, most)
        rest = np.abs(made - self.volume)
        made = np.where((rest <= _WHOLE * np.abs(self.volume)) | (rest <= _NOTHING * self._cell), self.volume, made)
        volume.add_volumes(self._centres(slice(None)), made, solid)
        self.volume = self.volume - made

    def clear(self) -> None:
        """Forget everything."""
        self._keep(np.zeros(len(self.cells), bool))

    def _anywhere(self, here: bool) -> bool:
        """Return whether something is so on any rank."""
        return self._grid.comm.total(here) > 0

    def _indices(self) -> tuple[Any, ...]:
        """Return the indices of the cells in the block."""
        return tuple(i - first for i, first in zip(np.unravel_index(self.cells, self._grid.shape), self._grid.first_cell, strict=True))

    def _centres(self, which: Any) -> Floats:
        index = np.stack([i[which] for i in np.unravel_index(self.cells, self._grid.shape)], axis=1)
        return np.ascontiguousarray(np.asarray(self._grid.origin) + (index + 0.5) * self._grid.spacing)

    def _can_expand(self, levelset: LevelSet, solid: NodeField | None) -> npt.NDArray[np.bool_]:
        """Return whether each cell is liquid, and not cut by the solid."""
        index = self._indices()
        able = holds_liquid(index, levelset)
        return able if solid is None else able & are_uncut(index, solid)

    def _room(self, positions: Floats, volumes: Floats, levelset: LevelSet, solid: NodeField | None) -> tuple[Any, Any, Any]:
        room: tuple[Any, Any, Any] = _fluids.find_room(levelset.field._core, None if solid is None else solid._core, positions, volumes)
        return room

    def _merge(self, cells: npt.NDArray[np.int64], volumes: Floats) -> None:
        """Add volumes to what waits in cells, which may be those of other ranks."""
        own = self._own(cells)
        for theirs, more in self._grid.comm.gather((cells[~own], volumes[~own])):
            mine = self._own(theirs)
            if mine.any():
                cells, volumes = np.concatenate([cells, theirs[mine]]), np.concatenate([volumes, more[mine]])
                own = np.concatenate([own, np.ones(mine.sum(), bool)])
        cells, volumes = cells[own], volumes[own]
        # In an order of their own, so that the sums do not depend on who has brought them.
        order = np.lexsort((volumes, cells))
        every, index = np.unique(np.concatenate([self.cells, cells[order]]), return_inverse=True)
        rate = np.zeros(len(every))
        rate[index[: len(self.cells)]] = self.rate
        sums = np.zeros(len(every))
        np.add.at(sums, index, np.concatenate([self.volume, volumes[order]]))
        self.volume = sums
        self.cells, self.rate = every, rate

    def _own(self, cells: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return which cells of the domain are in the block."""
        inside: npt.NDArray[np.bool_] = np.ones(len(cells), bool)
        places = np.unravel_index(cells, self._grid.shape)
        for i, first, n in zip(places, self._grid.first_cell, self._grid.local_shape, strict=True):
            inside &= (i >= first) & (i < first + n)
        return inside

    def _keep(self, which: npt.NDArray[np.bool_]) -> None:
        if not which.all():
            self.cells, self.volume, self.rate = self.cells[which], self.volume[which], self.rate[which]

    def _restore_within(self, snapshot: Mapping[str, Any]) -> None:
        super()._restore_within(snapshot)
        n = len(self.cells)
        if n and not (self.cells[0] >= 0 and self.cells[-1] < np.prod(self._grid.shape) and (np.diff(self.cells) > 0).all()):
            raise ValueError("the cells in the snapshot must be indices of the grid in ascending order")
        if not self._own(self.cells).all():
            raise ValueError("the cells in the snapshot must be those of the block")


def holds_liquid(index: tuple[Any, ...], levelset: LevelSet) -> npt.NDArray[np.bool_]:
    """Return whether the projection takes each cell of the block for liquid."""
    able: npt.NDArray[np.bool_] = levelset.array[index] <= -_LEAST_DEPTH[levelset.dtype] * levelset.grid.spacing
    return able


def are_uncut(index: tuple[Any, ...], solid: NodeField) -> npt.NDArray[np.bool_]:
    """Return whether each cell of the block has all corners outside of a solid."""
    uncut = np.ones(len(index[0]), bool)
    for corner in np.ndindex(*(2,) * len(index)):
        uncut &= solid.array[tuple(i + c for i, c in zip(index, corner, strict=True))] > 0
    return uncut
