"""Sources that emit at a rate, under water by a divergence of the flow, and sinks likewise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus.core import Workspace
from meniscus.core.stateful import Stateful
from meniscus.fluids.exchange.expansion import are_uncut, holds_liquid
from meniscus.fluids.flows.region import RegionCells
from meniscus.fluids.liquid.sources import LiquidSource
from meniscus.fluids.liquid.surface import LiquidSurface
from meniscus.fluids.liquid.volume import LiquidVolume
from meniscus.grid.fields import CellField, MacField, NodeField
from meniscus.grid.transport.walls import ThinWalls
from meniscus.grid.uniform import Grid
from meniscus.surface import LevelSet, SolidBoundary

Floats = npt.NDArray[np.float64]
Index = tuple[npt.NDArray[np.int64], ...]

_LIMIT = 1.0  # largest divergence times the length of the step
_CATCH_UP = 0.1  # of the rate: how much faster than that a source emits what it owes
_HALVINGS = 40


class OpenCells(NamedTuple):
    """Cells of a region in the own block that no solid and no thin wall cuts, with and without liquid, and the volumes of each over all
    ranks, m^dim."""

    wet: Index
    air: Index
    wet_volume: float
    air_volume: float


class Emission(Stateful):
    """What sources with a rate owe, and the divergence by which they emit it under water.

    The projection gives the cells of liquid in a region, but for those that a solid or a thin wall cuts, one divergence, whose sum is the
    rate. What the last steps could not emit comes at up to a tenth of the rate more.

    Args:
        velocity: of the liquid; gives grid and dtype.
        sources: with rates.
        reach: m, up to which distances from the regions are needed.

    Attributes:
        regions: of the sources.
        rates: of the sources, m^dim/s.
        owed: (k,) what each source has yet to emit, m^dim, the same on all ranks; negative for what a sink has yet to take, which is
            nothing where no liquid is in its region.
        flow: (k,) what each emits by the divergence of the present velocity, m^dim/s; likewise.
        count: (k,) particles that each has emitted or taken under water, in liquids of particles; likewise.
        room: (k,) most of the air in each region that filling takes, m^dim; likewise.
    """

    def __init__(self, velocity: MacField, sources: Sequence[LiquidSource], reach: float) -> None:
        self._grid: Grid = velocity.grid
        self._cell = velocity.grid.spacing**velocity.grid.dimension
        self._dtype = velocity.dtype
        self._workspace = Workspace()
        self._target = CellField(velocity.grid, velocity.dtype)
        self._part: CellField | None = None
        self.regions = [RegionCells(s, CellField(velocity.grid, velocity.dtype), reach) for s in sources]
        self.rates: Floats = np.array([s.rate for s in sources], np.float64)
        self.owed: Floats = self.declare("owed", np.zeros(len(sources)))
        self.flow: Floats = self.declare("flow", np.zeros(len(sources)))
        self.count: npt.NDArray[np.int64] = self.declare("count", np.zeros(len(sources), np.int64))
        self.room: Floats = self.declare("room", np.full(len(sources), np.finfo(np.float64).max))

    @property
    def waiting(self) -> float:
        """All that sources owe, m^dim."""
        return math.fsum(self.owed[self.rates > 0])

    def clear(self) -> None:
        """Forget what is owed, and the flow."""
        self.owed[...] = self.flow[...] = 0.0

    def speed(self, time: float) -> float:
        """Return the largest speed at which liquid leaves a region, m/s, as if each were a ball. Collective."""
        fastest = 0.0
        for region, rate in zip(self.regions, self.rates, strict=True):
            if region.owner.is_on(time):
                phi = region.at(time, self._workspace).array
                volume = self._cell * max(self._grid.comm.total(int((phi <= 0).sum())), 1)
                disc = 2.0 * math.sqrt(math.pi * volume), (36.0 * math.pi * volume**2) ** (1.0 / 3.0)
                fastest = max(fastest, abs(float(rate)) / disc[self._grid.dimension - 2])
        return fastest

    def due(self, dt: float, time: float) -> Floats:
        """Return the volumes (k,) that go with the rates from a time, s, on for dt seconds, m^dim; those of sinks are negative."""
        on = [max(0.0, min(r.owner.end, time + dt) - max(r.owner.start, time)) for r in self.regions]
        due: Floats = self.rates * np.array(on)
        return due

    def accrue(self, dt: float, time: float) -> float:
        """Let the sources owe what goes with their rates from a time, s, on for dt seconds; return the sum without sinks, m^dim."""
        due = self.due(dt, time)
        self.owed += due
        return math.fsum(due[due > 0])

    def open_cells(self, k: int, time: float, levelset: LevelSet, solid: NodeField | None, walls: ThinWalls | None) -> OpenCells:
        """Return the cells of the region of a source. Collective."""
        inside = self._inside(self.regions[k].at(time, self._workspace, walls).array)
        if walls is not None:
            for d, blocked in enumerate(walls.blocked_faces):
                lower = tuple(slice(0, -1) if e == d else slice(None) for e in range(self._grid.dimension))
                upper = tuple(slice(1, None) if e == d else slice(None) for e in range(self._grid.dimension))
                inside &= ~(blocked[lower] | blocked[upper])
        index = _chosen(np.nonzero(inside), solid)
        wet = _where(index, holds_liquid(index, levelset))
        air = _where(index, levelset.array[index] > 0)
        total = self._grid.comm.total
        return OpenCells(wet, air, self._cell * total(len(wet[0])), self._cell * total(len(air[0])))

    def spread(
        self, wanted: Floats, dt: float, time: float, levelset: LevelSet, solid: NodeField | None, walls: ThinWalls | None
    ) -> CellField | None:
        """Set the flows for a step of dt seconds to wanted ones (k,), m^dim/s, at most as large as the liquid in the regions allows.

        Returns:
            The divergence, 1/s, overwritten by the next call; None: there is none.
        """
        self.flow[...] = 0.0
        self._target.array[...] = 0.0
        for k in np.flatnonzero(wanted).tolist():
            cells = self.open_cells(k, time, levelset, solid, walls)
            if cells.wet_volume:
                most = _LIMIT * cells.wet_volume / dt
                self.flow[k] = np.clip(wanted[k], -most, most)
                self._target.array[cells.wet] += self._dtype.type(self.flow[k] / cells.wet_volume)
            elif self.rates[k] < 0:
                self.owed[k] = 0.0
        return self._target if self.flow.any() else None

    def wanted(
        self, due: Floats, owed: Floats, dt: float, time: float, levelset: LevelSet, solid: NodeField | None, walls: ThinWalls | None
    ) -> Floats:
        """Return the flows (k,) that are wanted for a step of dt seconds, m^dim/s: of what is due in it and, slowly, of what has been owed
        before, m^dim, less what will fill the air in the regions."""
        catch_up = _CATCH_UP * np.abs(self.rates)
        wanted = due / dt + np.clip(owed / dt, -catch_up, catch_up)
        for k in np.flatnonzero(wanted > 0).tolist():
            air = self.open_cells(k, time, levelset, solid, walls).air_volume
            wanted[k] = max(wanted[k] - min(air, self.room[k]) / dt, 0.0)
        return wanted

    def fill_air(
        self, dt: float, time: float, surface: LiquidSurface, volume: LiquidVolume, solid: SolidBoundary | None, walls: ThinWalls | None
    ) -> None:
        """Fill air in the regions, at most with what is owed and the flow will not emit in the step of dt seconds from a time on."""
        nodes = None if solid is None else solid.levelset
        for k in range(len(self.regions)):
            part = self._part_to_fill(k, float(self.owed[k] - self.flow[k] * dt), time, surface.levelset, nodes, walls)
            if part is not None:
                change = surface.change_regions([part], "emitted", solid, volume)
                volume.totals["emitted"] -= change  # counted when it became due
                self.owed[k] -= change

    def make_room(
        self, dt: float, time: float, volume: LiquidVolume, levelset: LevelSet, solid: NodeField | None, walls: ThinWalls | None
    ) -> None:
        """Expect of the liquid what the flow emits as it moves for dt seconds from a time on."""
        for k in np.flatnonzero(self.flow).tolist():
            cells = self.open_cells(k, time, levelset, solid, walls)
            if cells.wet_volume:
                made = float(self.flow[k]) * dt
                own = len(cells.wet[0])
                volume.add_volumes(self._centres(cells.wet), np.full(own, made * self._cell / cells.wet_volume), solid)
                self.owed[k] -= made
                if self.rates[k] < 0:
                    volume.totals["drained"] -= made

    def _inside(self, phi: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Return the cells with their centre in a region; of one that is so small that it has none, those nearest to it. Collective."""
        least = min(self._grid.comm.gather(float(phi.min())))
        beside = 0.0 < least < 0.5 * math.sqrt(self._grid.dimension) * self._grid.spacing
        inside: npt.NDArray[np.bool_] = phi <= (least if beside else 0.0)
        return inside

    def _part_to_fill(
        self, k: int, volume: float, time: float, levelset: LevelSet, solid: NodeField | None, walls: ThinWalls | None
    ) -> CellField | None:
        """Return the innermost part of a region whose air has a volume, m^dim, as a level set; None if there is no air, or too little for a
        drop that cells resolve. Collective."""
        cells = self.open_cells(k, time, levelset, solid, walls)
        if volume <= 0.0 or not cells.air_volume:
            return None
        phi, h, comm = self.regions[k].at(time, self._workspace, walls), self._grid.spacing, self._grid.comm
        index = _chosen(np.nonzero(phi.array <= h), solid)
        depth, there = np.float64(phi.array[index]), np.clip(0.5 - np.float64(levelset.array[index]) / h, 0.0, 1.0)

        def air_within(inset: float) -> float:
            return self._cell * comm.exact_sum(np.maximum(np.clip(0.5 - (depth + inset) / h, 0.0, 1.0) - there, 0.0))

        room = air_within(0.0)
        if not cells.wet_volume and volume < min(2**self._grid.dimension * self._cell, room):
            return None
        inset = 0.0
        if room > volume:
            low, high = 0.0, max(comm.gather(float(-depth.min(initial=0.0)))) + h
            for _ in range(_HALVINGS):
                inset = 0.5 * (low + high)
                low, high = (inset, high) if air_within(inset) > volume else (low, inset)
        if self._part is None:
            self._part = CellField(self._grid, self._dtype)
        np.add(phi.array, self._dtype.type(inset), out=self._part.array)
        return self._part

    def _centres(self, cells: Index) -> Floats:
        """Return the centres of cells, m."""
        index = np.stack(cells, axis=1) + np.array(self._grid.first_cell)
        return np.ascontiguousarray(np.asarray(self._grid.origin) + (index + 0.5) * self._grid.spacing)


def _chosen(index: Index, solid: NodeField | None) -> Index:
    return index if solid is None else _where(index, are_uncut(index, solid))


def _where(index: Index, mask: npt.NDArray[np.bool_]) -> Index:
    return tuple(i[mask] for i in index)
