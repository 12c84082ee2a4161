"""Volumes of a liquid and of its connected components: measured, accounted for, and corrected."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus.core import Workspace
from meniscus.core.stateful import Stateful
from meniscus.fluids.liquid.closed_regions import ClosedRegions
from meniscus.fluids.liquid.options import ComponentVolume, VolumeReport
from meniscus.fluids.pressure.projection import Region
from meniscus.grid.boundary import Open, Prescribed, ZeroGradient
from meniscus.grid.fields import CellField, MacField, NodeField
from meniscus.grid.particles.storage import Particles
from meniscus.grid.transport.walls import ThinWalls
from meniscus.grid.uniform import Grid
from meniscus.surface import LevelSet

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]

TOTALS = ("initial", "emitted", "drained", "inflow", "outflow", "received", "given", "incompatible")
_TAKEN = ("drained", "given")
_NEAR = 2  # cells around the first of a region in which its part is found: that one may lie in a solid, and belong to none


class LiquidVolume(Stateful):
    """Measures the liquid outside of solids, by part, and knows how much there should be of each.

    When a part breaks up, its pieces share its expected volume in proportion to their volumes; when parts merge, their
    volumes add up. The expected volumes of all parts and the spray add up to the totals.

    Attributes:
        totals: initial, emitted, drained and so on since the surface was set, m^dim.
    """

    _budget: Any

    def __init__(self, grid: Grid, velocity: MacField) -> None:
        self._grid = grid
        self._budget = _fluids.new_volume_budget(grid._core)
        self._seen: tuple[Any, ...] = ()
        self._fractions: CellField | None = None
        self._workspace = Workspace()
        self._closed = ClosedRegions()
        self.totals = self.declare("totals", dict.fromkeys(TOTALS, 0.0))
        self._labels = self.declare("_labels", self._budget.labels(grid._core), samples_of=grid)
        self.declare("budget", self.budget, resizable=True)
        # A source may blow through a closed side, and a wall may move along its normal.
        self._sides = [(d, sign == "+") for d in range(grid.dimension) for sign in "-+" if "xyz"[d] + sign in grid.sides]
        sides = velocity.boundary
        self._open = [s for s in self._sides if isinstance(sides["xyz"[s[0]] + "-+"[s[1]]], (Open, Prescribed, ZeroGradient))]

    @property
    def labels(self) -> Labels:
        """Of the cells: 0 in air, else the number of the part from 1; a view that cannot be written to."""
        view: Labels = self._labels.view()
        view.flags.writeable = False
        return view

    @property
    def volumes(self) -> Floats:
        """Measured volumes by label, m^dim; entry 0 is unused."""
        return np.asarray(self._budget.volumes())

    @property
    def expected(self) -> Floats:
        """Expected volumes by label, m^dim; entry 0 is unused."""
        return np.asarray(self._budget.expected())

    @property
    def total(self) -> float:
        """The measured volume of all parts, m^dim."""
        return float(self._budget.total)

    def expected_total(self) -> float:
        """Return the volume that there should be, of all parts and of families without parts, m^dim."""
        budget = self.budget
        return math.fsum(budget["unassigned"]) + math.fsum(budget["expected"][1:])

    @property
    def budget(self) -> dict[str, Any]:
        """Copies of the measured and the expected volumes, m^dim, and the families of the components by label, and of what the families
        expect beyond them (entry 0: written off) and have given as drops (entry 0: drops from nowhere); may be set.

        Raises:
            ValueError: volumes that are not finite, vectors of unequal lengths, labels without a volume, or families that are not there.
        """
        state: dict[str, Any] = self._budget.state()
        return state

    @budget.setter
    def budget(self, value: Mapping[str, Any]) -> None:
        numbers = {name: [float(v) for v in value[name]] for name in ("volumes", "expected", "unassigned", "sprayed")}
        self._budget.set(families=[int(f) for f in value["families"]], **numbers)

    def see_walls(self, walls: ThinWalls | None, start: ThinWalls | None = None, swept: npt.NDArray[np.bool_] | None = None) -> None:
        """Let everything from now on see thin walls: they part a liquid, and cells end at them.

        Args:
            walls: where they are; None: there are none.
            start: where they were before the last motion of the liquid.
            swept: the cells that they have passed since, or cover.
        """
        self._budget.see_walls(*(None if w is None else w._core for w in (walls, start)), swept)
        # The core has references.
        self._seen = walls, start, swept

    def reset(self, levelset: LevelSet, solid: NodeField | None) -> None:
        """Start from a surface that was set."""
        self._budget.reset(*self._liquid(levelset, solid), self._workspace)
        self.totals = {**dict.fromkeys(TOTALS, 0.0), "initial": self.total}

    def measure(self, levelset: LevelSet, solid: NodeField | None) -> None:
        """Measure the volumes again; as much is expected as before."""
        self._budget.measure(*self._liquid(levelset, solid), self._workspace)

    def update_after_motion(self, velocity: MacField, dt: float, levelset: LevelSet, solid: NodeField | None) -> None:
        """Update the volumes after the surface has moved along a velocity for dt."""
        args = velocity._core, dt, self._open, self._workspace
        self.totals["outflow"] += self._budget.update_after_motion(*self._liquid(levelset, solid), *args)

    def update_after_sources(self, total: str, levelset: LevelSet, solid: NodeField | None) -> float:
        """Update the volumes after sources ('emitted'), drains ('drained') or another owner of water ('received', 'given') have changed the
        surface, since the last `measure`; return the change.

        Only what they themselves have changed may have happened in between: all of it is added to the total.
        """
        change = float(self._budget.update_after_sources(*self._liquid(levelset, solid), self._workspace))
        self.totals[total] += -change if total in _TAKEN else change
        return change

    def update_after_giving(self, levelset: LevelSet, solid: NodeField | None) -> tuple[float, float]:
        """Update the volumes after the surface has lost liquid to another owner, since the last `measure`.

        Returns:
            The volume that is no longer there, and what was expected beyond that of families of which nothing is left: it goes along with
            the last of them, and is negative where that measures more. As drops leave, a part measures more until its surface is corrected.
        """
        before = float(self._budget.state()["unassigned"][0])
        gone = -self.update_after_sources("given", levelset, solid)
        rest = float(self._budget.state()["unassigned"][0]) - before
        if rest:
            budget = self.budget
            budget["unassigned"][0] = before
            self.budget = budget
            self.totals["given"] += rest
        return gone, rest

    def account_outflow(self, levelset: LevelSet, velocity: MacField, dt: float, solid: NodeField | None) -> None:
        """Account for the liquid that leaves through the sides of the domain in dt, before it moves."""
        self._account("outflow", self._budget.account_outflow, levelset, velocity, dt, solid)

    def account_inflow(self, levelset: LevelSet, velocity: MacField, dt: float, solid: NodeField | None) -> None:
        """Account for the liquid that enters through the sides of the domain in dt: half a step before and half a step after the motion."""
        self._account("inflow", self._budget.account_inflow, levelset, velocity, dt, solid)

    def subtract_drops(self, drops: Particles, levelset: LevelSet, first: int, solid: NodeField | None) -> None:
        """Account for the drops from index `first` on, which have left the liquid."""
        self.totals["outflow"] += self._budget.subtract_drops(drops._core, levelset.field._core, first, _core_of(solid), self._workspace)

    def add_joining_drops(self, drops: Particles, levelset: LevelSet, time: float, solid: NodeField | None) -> None:
        """Account for the drops that will join the liquid where it is."""
        self.totals["outflow"] += self._budget.add_joining_drops(drops._core, levelset.field._core, time, _core_of(solid), self._workspace)

    def add_volumes(self, positions: Floats, volumes: Floats, solid: NodeField | None) -> None:
        """Expect volumes (n,), m^dim, of the parts around positions (n, dim), m."""
        self.totals["outflow"] += self._budget.add_volumes(positions, volumes, _core_of(solid), self._workspace)

    def subtract_incompatible(self, regions: Sequence[Region], dt: float, solid: NodeField | None, *, mixed: bool) -> None:
        """Account for what the regions of a projection over dt seconds lose where they are closed: no part is to get it back. Collective.

        Slits that a solid closes off are left to the correction: their part of the liquid has room elsewhere. `mixed`: the regions hold
        air, too, which loses its share.
        """
        losses = self._closed.losses(regions, dt, lambda: self.total)
        if not losses:
            return
        cell = self._grid.spacing**self._grid.dimension
        for region, lost in losses:
            at = tuple(i - f for i, f in zip(region.first_cell, self._grid.first_cell, strict=True))
            near = self._labels[tuple(slice(max(i - _NEAR, 0), max(i + _NEAR + 1, 0)) for i in at)]
            label = max(self._grid.comm.gather(int(near.max(initial=0))))
            if not label or 2 * region.cells < self._grid.comm.total(int((self._labels == label).sum())):
                continue
            volume = lost * min(1.0, self.total / (region.cells * cell)) if mixed else lost
            here = all(0 <= i < n for i, n in zip(at, self._grid.local_shape, strict=True))
            place = np.asarray(self._grid.origin) + (np.array(region.first_cell) + 0.5) * self._grid.spacing
            self.add_volumes(place[None][: int(here)], np.full(int(here), -volume), solid)
            self.totals["incompatible"] += volume
        self._closed.warn(self.totals["incompatible"], self.total)

    def distribute_unassigned(self) -> None:
        """Let the parts of a family share what is expected of none of them. Those too small to be resolved expect to be as they are."""
        self.totals["outflow"] += self._budget.distribute_unassigned()

    def correct(self, levelset: LevelSet, solid: NodeField | None) -> float:
        """Distribute what is unassigned, then move the surface of each part so that it has the volume it should have.

        Returns:
            The largest distance, m.
        """
        outflow, moved = self._budget.correct(*self._liquid(levelset, solid), self._workspace)
        self.totals["outflow"] += outflow
        return float(moved)

    def report(self, levelset: LevelSet, solid: NodeField | None, spray: float, waiting: float = 0.0) -> VolumeReport:
        """Return the volumes as they are, with those of drops and of what waits for room."""
        labels, volumes = measure_components(levelset, solid, self._seen[0] if self._seen else None)
        expected = self.expected
        if len(volumes) != len(expected) > 1:
            expected = self._expected_of(labels, len(volumes))
        # Parts that nobody has followed yet have no expected volume.
        parts = component_volumes(self._grid, labels, volumes, expected) if len(volumes) == len(expected) else ()
        return VolumeReport(liquid=float(volumes.sum()), spray=spray, waiting=waiting, components=parts, **self.totals)

    def _expected_of(self, labels: Labels, count: int) -> Floats:
        """Return what is expected of parts with other labels, by the cells that they share with those that are followed.

        The surface may have moved a little since, beside a solid into which it was continued, and a thin part have parted. Collective.
        """
        before = self.expected
        both = (self._labels > 0) & (labels > 0)
        found = np.unique(self._labels[both].astype(np.int64) * count + labels[both], return_counts=True)
        keys, cells = (np.concatenate(v) for v in zip(*self._grid.comm.gather(found), strict=True))
        old, new = np.divmod(keys, count)
        shares = cells / np.maximum(np.bincount(old, cells, len(before)), 1.0)[old]
        return np.asarray(np.bincount(new, shares * before[old], count))

    def _account(self, total: str, account: Callable[..., float], levelset: LevelSet, *flow: Any) -> None:
        velocity, dt, solid = flow
        sides = self._sides_with_flow(velocity)
        if not sides:
            return
        if self._seen and self._seen[0] is not None:
            if self._fractions is None:
                self._fractions = CellField(self._grid, levelset.dtype)
            _fluids.walled_fractions(levelset.field._core, self._seen[0]._core, self._fractions._core, self._workspace)
        else:
            self._fractions = levelset.volume_fractions(out=self._fractions, workspace=self._workspace)
        for d, upper in sides:
            self.totals[total] += account(velocity._core, self._fractions._core, d, upper, dt, _core_of(solid), self._workspace)

    def _sides_with_flow(self, velocity: MacField) -> list[tuple[int, bool]]:
        """Return the sides of the domain on which a velocity is not zero, on any rank; collective."""
        moving = []
        for axis, upper in self._sides:
            first, cells = self._grid.first_cell[axis], self._grid.local_shape[axis]
            at_side = first + cells == self._grid.shape[axis] if upper else first == 0
            moving.append(at_side and bool(velocity.component(axis)[_slab(self._grid.dimension, axis, upper)].any()))
        every = self._grid.comm.gather(moving)
        return [side for k, side in enumerate(self._sides) if any(m[k] for m in every)]

    def _liquid(self, levelset: LevelSet, solid: NodeField | None) -> tuple[Any, Any]:
        """Return a liquid as the core wants it: level set, solid."""
        return levelset.field._core, _core_of(solid)


def _core_of(solid: NodeField | None) -> Any:
    return None if solid is None else solid._core


def _slab(dimension: int, axis: int, upper: bool) -> tuple[Any, ...]:
    """Return the index of the faces on a side in the component across it."""
    return tuple((-1 if upper else 0) if d == axis else slice(None) for d in range(dimension))


def measure_components(levelset: LevelSet, solid: NodeField | None, walls: ThinWalls | None = None) -> tuple[Labels, Floats]:
    """Label the parts of a liquid outside of a solid, and between thin walls, from 1; return the labels and the volumes by label.

    Entry 0 of these is zero. The ghosts of the solid must be up to date. Of cells that surface and solid cut together, the volume is what
    both planes leave.

    Collective: labels are those of the own block, by the first cells of the parts in the domain, volumes those of the whole domain.
    """
    labels = np.zeros(levelset.grid.local_shape, np.int32)
    args = levelset.field._core, _core_of(solid)
    if walls is not None:
        return labels, np.asarray(_fluids.measure_walled_components(*args, walls._core, labels, Workspace()))
    return labels, np.asarray(_fluids.measure_components(*args, labels, Workspace()))


def component_volumes(grid: Grid, labels: Labels, volumes: Floats, expected: Floats) -> tuple[ComponentVolume, ...]:
    """Return what a report says of the parts with these labels, those of the own block; parts without cells are left out. Collective."""
    cells, first = _fluids.count_component_cells(grid._core, labels, len(volumes))
    return tuple(
        ComponentVolume(float(v), float(e), int(c), tuple(int(i) for i in np.unravel_index(f, grid.shape)))
        for v, e, c, f in list(zip(volumes, expected, cells, first, strict=True))[1:]
        if c
    )
