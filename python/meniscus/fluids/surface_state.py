"""The surface of a liquid solver: a level set, with particles or without, and the drops that fly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.core import Workspace
from meniscus.fluids.liquid_options import LiquidOptions
from meniscus.fluids.solid_masks import SolidMasks
from meniscus.fluids.vortex_particles import VortexParticles
from meniscus.grid.extrapolation import extrapolate
from meniscus.grid.fields import CellField, MacField
from meniscus.grid.points import sample
from meniscus.grid.transport import advect
from meniscus.grid.uniform import Grid
from meniscus.surface import LevelSet

Floats = npt.NDArray[np.float64]
_LAYERS = 4  # as far into a solid as stencils and short traces reach


def _no_points() -> Floats:
    return np.empty((0, 0))


@dataclass
class Drops:
    """What became of drops in a step.

    Attributes:
        left: where particles left the liquid, (n, dim), m, and their volumes.
        joined: where drops joined it, and their volumes.
        lost_volume: of drops that left the domain, m^dim.
    """

    left: Floats = field(default_factory=_no_points)
    left_volumes: Floats = field(default_factory=lambda: np.empty(0))
    joined: Floats = field(default_factory=_no_points)
    joined_volumes: Floats = field(default_factory=lambda: np.empty(0))
    lost_volume: float = 0.0


class SurfaceState:
    """The level set of a liquid, on cells, and how it moves."""

    def __init__(self, grid: Grid, options: LiquidOptions, dtype: np.dtype[Any]) -> None:
        self._options = options
        self._workspace = Workspace()
        self.particles: Any = None
        self.levelset: LevelSet = LevelSet(grid, "cells", dtype)
        self.levelset.array[...] = (options.band + 1) * grid.spacing
        self._near = np.zeros(grid.shape, bool)

    @property
    def band(self) -> float:
        """How far from the surface the level set is a distance, m."""
        return (self._options.band + 1) * self.levelset.grid.spacing

    @property
    def drops(self) -> int:
        """Drops that fly."""
        return 0

    @property
    def spray_volume(self) -> float:
        """Their volume, m^dim."""
        return 0.0

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.levelset.field.with_ghosts.nbytes + self._workspace.bytes + self._near.nbytes

    def reset(self, solid: Any) -> None:
        """Start from the level set as it is."""
        self.settle()

    def settle(self) -> None:
        """Make the level set a distance again."""
        self.levelset.redistance(band=self.band, workspace=self._workspace)

    def continue_into(self, masks: SolidMasks, workspace: Workspace) -> None:
        """Continue the level set into a solid, so that no air is between it and the liquid."""
        extrapolate(self.levelset.field, masks.outside_cells, layers=_LAYERS, workspace=workspace)

    def advance(self, velocity: MacField, dt: float, time: float, solid: Any) -> None:
        """Carry the surface along a velocity for dt."""
        np.less(np.abs(self.levelset.array), self.band, out=self._near)
        advect(
            self.levelset.field,
            velocity,
            dt,
            method="semi-lagrangian",
            trace=self._options.trace,
            active=self._near,
            time=time,
            workspace=self._workspace,
        )
        self.settle()

    def surface_moved(self) -> None:
        """Fit everything to a surface that was moved a little."""

    def add(self, phi: CellField) -> None:
        """Fill the region where phi <= 0."""
        np.minimum(self.levelset.array, phi.array, out=self.levelset.array)

    def take(self, phi: CellField) -> float:
        """Empty the region where phi <= 0; returns the volume of drops in it, which vanish."""
        np.maximum(self.levelset.array, -phi.array, out=self.levelset.array)
        return 0.0

    def fly(self, velocity: MacField, dt: float, gravity: Floats, solid: Any, time: float) -> Drops:
        """Let drops fly for dt, hit solids, join the liquid, and leave it."""
        return Drops()

    def remove_outside(self, vortices: VortexParticles) -> None:
        """Remove vortex particles that are not in the liquid."""
        if len(vortices):
            vortices.remove(sample(self.levelset.field, vortices.positions) > 0, workspace=self._workspace)

    def snapshot(self) -> dict[str, Any]:
        """Return copies, for `restore`."""
        return {"levelset": self.levelset.snapshot()}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Become what the snapshot saw."""
        self.levelset.restore(snapshot["levelset"])
