"""Volume of a particle liquid: by particles, and within its surface."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.fluids.liquid.options import ComponentVolume, VolumeReport
from meniscus.fluids.liquid.volume import LiquidVolume
from meniscus.grid.fields import MacField, NodeField
from meniscus.grid.uniform import Grid
from meniscus.surface import LevelSet

TOTALS = ("initial", "emitted", "drained", "outflow")


class ParticleVolume:
    """Volume of particles of equal size, compared with the volume inside of the surface.

    Attributes:
        totals: numbers of particles at the start, emitted, drained, and left.
        each: the volume of a particle, m^dim.
    """

    def __init__(self, grid: Grid, velocity: MacField, per_cell: int) -> None:
        self.totals = dict.fromkeys(TOTALS, 0)
        self.each = float(grid.spacing**grid.dimension / per_cell)
        self._liquid = LiquidVolume(grid, velocity)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._liquid.nbytes

    def reset(self, particles: int) -> None:
        """Start from a number of particles."""
        self.totals = {**dict.fromkeys(TOTALS, 0), "initial": particles}

    def report(self, levelset: LevelSet, solid: NodeField | None, cells: npt.NDArray[np.int64]) -> VolumeReport:
        """Return the volume inside of the surface, by component, with that of the particles in these cells (linear indices)."""
        labels, volumes = self._liquid.measure(levelset, solid)
        flat = labels.ravel()
        expected = self.each * np.bincount(flat[cells], minlength=len(volumes) + 1)
        count = np.bincount(flat, minlength=len(volumes) + 1)
        first = np.full(len(volumes) + 1, flat.size, np.int64)
        wet = np.flatnonzero(flat)
        np.minimum.at(first, flat[wet], wet)
        components = tuple(
            ComponentVolume(float(v), float(e), int(c), tuple(int(i) for i in np.unravel_index(f, labels.shape)))
            for v, e, c, f in zip(volumes, expected[1:], count[1:], first[1:], strict=True)
            if c
        )
        totals = {name: self.each * n for name, n in self.totals.items()}
        return VolumeReport(liquid=float(volumes.sum()), spray=0.0, inflow=0.0, components=components, **totals)

    def snapshot(self) -> list[int]:
        """Return the totals, for `restore`."""
        return [self.totals[name] for name in TOTALS]

    def restore(self, snapshot: list[int]) -> None:
        """Restore the state of a snapshot."""
        self.totals = dict(zip(TOTALS, (int(n) for n in snapshot), strict=True))
