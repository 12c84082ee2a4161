"""Volumes of a particle liquid: of the particles, and inside of their surface."""

from __future__ import annotations

from typing import Any

import numpy as np

from meniscus._meniscus import fluids as _fluids
from meniscus.core.stateful import Stateful
from meniscus.fluids.liquid.options import VolumeReport
from meniscus.fluids.liquid.volume import component_volumes, measure_components
from meniscus.grid.fields import CellField, NodeField
from meniscus.grid.particles.storage import Particles
from meniscus.grid.uniform import Grid
from meniscus.surface import LevelSet

TOTALS = ("initial", "emitted", "drained", "inflow", "outflow")
_DROP = 1e-3  # cells: components that are smaller are drops below the resolution


class ParticleVolume(Stateful):
    """Volume of particles of equal size, compared with the volume inside of the surface.

    Attributes:
        totals: numbers of particles at the start, emitted, drained, entered through sides, and left.
        each: the volume of a particle, m^dim.
    """

    def __init__(self, grid: Grid, per_cell: int) -> None:
        self.totals = self.declare("totals", dict.fromkeys(TOTALS, 0))
        self.each = float(grid.spacing**grid.dimension / per_cell)
        self._grid = grid

    def reset(self, particles: int) -> None:
        """Start from a number of particles."""
        self.totals = {**dict.fromkeys(TOTALS, 0), "initial": particles}

    def report(self, levelset: LevelSet, solid: NodeField | None, particles: Particles, shells: Any = None) -> VolumeReport:
        """Return the volume inside of the surface, by component, beside that of the particles there.

        Cells that are liquid for the sake of a drop have no volume; that of their particles is spray.

        `shells`: what tells the cells of particles beside thin walls, at which components end.
        """
        walls = None if shells is None else shells.walls
        labels, volumes = measure_components(levelset, solid, CellField(self._grid, levelset.dtype), walls)
        if shells is None:
            counts = _fluids.count_component_particles(particles._core, self._grid._core, labels, len(volumes))
        else:
            counts = shells.particles_of_parts(particles, labels, len(volumes))
        expected = np.multiply(self.each, counts)
        totals = {name: self.each * n for name, n in self.totals.items()}
        parts = component_volumes(self._grid, labels, volumes, expected)
        drops = volumes < _DROP * self._grid.spacing**self._grid.dimension
        drops[0] = False  # cells of air beside liquid, whose surface encloses what their particles are
        spray = float(expected[drops].sum())
        return VolumeReport(liquid=float(volumes.sum()), spray=spray, components=parts, **totals)
