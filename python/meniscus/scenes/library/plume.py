"""Scene of smoke that rises past an obstacle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meniscus.scenes.gas import WIDTH, RisingSmoke
from meniscus.scenes.scene import parameter
from meniscus.scenes.shapes import knot, load, placed
from meniscus.surface import KinematicSolid, LevelSet
from meniscus.viz.smoke import UpAxis


@dataclass(kw_only=True)
class Plume(RisingSmoke):
    """Hot smoke that rises past a closed triangle mesh in a box with an open top.

    The mesh is scaled and placed above the source; without one, a knotted tube is made.

    Source: Selle 2008, sections 3.3 to 3.5 (vortex particles) and 4.4.1 (smoke).
    """

    name: ClassVar[str] = "plume"
    summary: ClassVar[str] = "smoke that rises past a mesh"
    shows: ClassVar[Mapping[str, str]] = {**RisingSmoke.shows, "solid": "_solid"}

    mesh: str | None = parameter(None, "mesh file of the obstacle (OBJ, PLY, STL, OFF); default: a knotted tube is made")
    mesh_up: UpAxis = parameter("y", "axis of the mesh file that points upward")
    mesh_size: float = parameter(0.6, "longest edge of the obstacle's bounding box, m")
    mesh_height: float = parameter(0.62, "of the middle of the obstacle, m")

    def setup(self) -> None:
        """Create the obstacle and the smoke."""
        mesh = knot() if self.mesh is None else load(self.mesh, self.mesh_up)
        self.obstacle = KinematicSolid(placed(mesh, (0.5 * WIDTH, 0.5 * WIDTH, self.mesh_height), self.mesh_size))
        sample = self.obstacle.sample(self.make_grid(), dtype=np.float32)
        self._solid = LevelSet(sample.levelset.grid, dtype=np.float32)
        self._solid.array = sample.levelset.array.astype(np.float32)
        self.start(sample)
