"""Scene of a stream of water that is poured over a mesh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from meniscus import _checks
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.liquid.sources import LiquidSource
from meniscus.scenes.scene import parameter
from meniscus.scenes.shapes import knot, load, placed
from meniscus.scenes.water import Water, below, water_grid
from meniscus.surface import KinematicSolid, Sphere
from meniscus.viz.smoke import UpAxis


@dataclass(kw_only=True)
class Pour(Water):
    """Water poured over a closed triangle mesh in a box of 1 m by 1 m by 1.25 m, where it gathers on the floor.

    Source: Selle 2008, section 4.4.3; Guendelman et al. 2005, section 7 (poured water).
    """

    name: ClassVar[str] = "pour"
    summary: ClassVar[str] = "a stream of water poured over a mesh"
    shows: ClassVar[Mapping[str, str]] = {**Water.shows, "solid": "_sample.levelset"}

    resolution: int = parameter(56, "cells across the box, 1 m")
    mesh: str | None = parameter(None, "mesh file of the obstacle (OBJ, PLY, STL, OFF); default: a knotted tube is made")
    mesh_up: UpAxis = parameter("y", "axis of the mesh file that points upward")
    mesh_size: float = parameter(0.6, "longest edge of the obstacle's bounding box, m")
    mesh_height: float = parameter(0.45, "of the middle of the obstacle, m")
    nozzle_radius: float = parameter(0.13, "of the ball that water comes from, m")
    nozzle_x: float = parameter(0.42, "where the stream comes from, m")
    speed: float = parameter(1.5, "of the water at the source, m/s")
    pouring: float = parameter(1.5, "how long water is poured, s")
    frames: int = parameter(48, "frames to write")
    end: float = parameter(2.0, "length of the run, s")

    def setup(self) -> None:
        """Create the obstacle and the source."""
        n = _checks.integer("resolution", self.resolution, 8)
        mesh = knot() if self.mesh is None else load(self.mesh, self.mesh_up)
        obstacle = KinematicSolid(placed(mesh, (0.5, 0.5, self.mesh_height), self.mesh_size))
        nozzle = Sphere((self.nozzle_x, 0.5, 1.23 - self.nozzle_radius), _checks.positive("nozzle_radius", self.nozzle_radius))
        source = LiquidSource(region=nozzle, velocity=(0.0, 0.0, -_checks.positive("speed", self.speed)), end=self.pouring)
        # What is poured gathers on the floor.
        grid = water_grid((n, n, round(1.25 * n)), 1 / n, nozzle, below(0.2))
        self._sample = obstacle.sample(grid)
        self.use(LiquidSolver(grid, self.liquid_options(), solid=self._sample, sources=[source]))
        self.solver.fill(nozzle, source.velocity)
