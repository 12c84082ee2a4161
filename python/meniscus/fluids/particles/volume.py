"""Volumes of a particle liquid: of the particles, and inside of their surface."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from meniscus._meniscus import fluids as _fluids
from meniscus.core.stateful import Stateful
from meniscus.fluids.liquid.closed_regions import ClosedRegions
from meniscus.fluids.liquid.options import VolumeReport
from meniscus.fluids.liquid.volume import component_volumes, measure_components
from meniscus.fluids.pressure.projection import Region
from meniscus.grid.fields import NodeField
from meniscus.grid.particles.storage import Particles
from meniscus.grid.uniform import Grid
from meniscus.surface import LevelSet

TOTALS = ("initial", "emitted", "drained", "inflow", "outflow", "incompatible")
_DROP = 1e-3  # cells: components that are smaller are drops below the resolution
_MARK = 1e-5  # cells: so are those that are nowhere deeper, marks of the cells of drops


class ParticleVolume(Stateful):
    """Volume of particles of equal size, compared with the volume inside of the surface.

    Attributes:
        totals: numbers of particles at the start, emitted, drained, entered through sides, and left; and what closed regions have lost, as
            a number of particles that may have a fraction: these are still there, closer together.
        each: the volume of a particle, m^dim.
    """

    def __init__(self, grid: Grid, per_cell: int) -> None:
        self.totals = self.declare("totals", _totals(0))
        self.each = float(grid.spacing**grid.dimension / per_cell)
        self._grid = grid
        self._closed = ClosedRegions(kept=True)

    def reset(self, particles: int) -> None:
        """Start from a number of particles."""
        self.totals = _totals(particles)

    def subtract_incompatible(self, regions: Sequence[Region], dt: float, count: Callable[[], int]) -> None:
        """Account for what the regions of a projection over dt seconds lose where they are closed; `count` returns the number of particles
        in all."""
        losses = self._closed.losses(regions, dt, lambda: self.each * count())
        if losses:
            self.totals["incompatible"] += math.fsum(v for _, v in losses) / self.each
            self._closed.warn(self.totals["incompatible"] * self.each, self.each * count())

    def report(
        self, levelset: LevelSet, solid: NodeField | None, particles: Particles, shells: Any = None, waiting: float = 0.0
    ) -> VolumeReport:
        """Return the volume inside of the surface, by component, beside that of the particles there.

        Cells that are liquid for the sake of a drop have no volume; that of their particles is spray.

        `waiting`: what sources with a rate owe, m^dim, a part of a particle as a rule; it counts as emitted.

        `shells`: what tells the cells of particles beside thin walls, at which components end.
        """
        walls = None if shells is None else shells.walls
        labels, volumes = measure_components(levelset, solid, walls)
        if shells is None:
            counts = _fluids.count_component_particles(particles._core, self._grid._core, labels, len(volumes))
        else:
            counts = shells.particles_of_parts(particles, labels, len(volumes))
        expected = np.multiply(self.each, counts)
        totals = {name: self.each * n for name, n in self.totals.items()}
        totals["emitted"] += waiting
        deepest = np.full(len(volumes), np.inf)
        np.minimum.at(deepest, labels.ravel(), levelset.array.ravel())
        deepest = np.min(self._grid.comm.gather(deepest), axis=0)
        marks = (deepest <= 0) & (deepest > -_MARK * self._grid.spacing)
        volumes[marks] = 0.0  # at a side a mark would reach as far as that
        drops = volumes < _DROP * self._grid.spacing**self._grid.dimension
        drops[0] = False  # cells of air beside liquid, whose surface encloses what their particles are
        parts = component_volumes(self._grid, labels, volumes, expected)
        spray = float(expected[drops].sum())
        return VolumeReport(liquid=float(volumes.sum()), spray=spray, waiting=waiting, components=parts, **totals)


def _totals(initial: int) -> dict[str, Any]:
    return {**dict.fromkeys(TOTALS, 0), "initial": initial, "incompatible": 0.0}
