"""Base of the scenes of the lattice Boltzmann solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from meniscus.fluids.lattice.solver import LatticeBoltzmann
from meniscus.grid import CellField
from meniscus.scenes.scene import Scene
from meniscus.surface import LevelSet

Floats = npt.NDArray[np.float64]


@dataclass(kw_only=True)
class LatticeScene(Scene):
    """A scene that steps one `LatticeBoltzmann`, its attribute `fluid`, which `setup` passes to `use`."""

    stages: ClassVar[tuple[str, ...]] = ("step",)
    stepped: ClassVar[str] = "fluid"
    on_ranks: ClassVar[bool] = False
    shows: ClassVar[Mapping[str, str]] = {"speed": "speed", "velocity": "vectors"}

    def use(self, fluid: LatticeBoltzmann) -> None:
        """Set the fluid of the run."""
        self.fluid: LatticeBoltzmann = self.declare("fluid", fluid)

    @property
    def speed(self) -> CellField:
        """Speed in the cells, m/s."""
        field = CellField(self.fluid.grid)
        field.array = np.sqrt((self.fluid.velocity**2).sum(axis=0))
        return field

    @property
    def vectors(self) -> Floats:
        """Velocity in the cells, components last, m/s."""
        return np.ascontiguousarray(np.moveaxis(self.fluid.velocity, 0, -1))

    @property
    def solid_distance(self) -> LevelSet | None:
        """The solid, by its signed distance on the nodes."""
        solid, grid = self.fluid.solid, self.fluid.grid
        if solid is None:
            return None
        levelset = LevelSet(grid)
        points = np.stack([x.ravel() for x in np.broadcast_arrays(*grid.nodes())], axis=1)
        levelset.array = solid.signed_distance(np.ascontiguousarray(points), self.fluid.time).reshape(levelset.array.shape)
        return levelset

    def report(self, time: float) -> dict[str, float]:
        """Kinetic energy, largest speed, and the mass beyond that of rest."""
        squares = (self.fluid.velocity**2).sum(axis=0)
        cell = self.fluid.grid.spacing**self.fluid.grid.dimension
        result = {
            "kinetic energy": 0.5 * self.fluid.options.density * float(squares.sum()) * cell,
            "max speed": float(np.sqrt(squares.max())),
            "excess mass": self.fluid.mass,
        }
        return result
