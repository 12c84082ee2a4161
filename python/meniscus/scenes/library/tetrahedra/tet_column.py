"""Scene of a column of water on a plate, within tetrahedra."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.fluids import TetVOF
from meniscus.io.frames import FrameMesh
from meniscus.mesh import MovingTetMesh, bcc_lattice, tet_block
from meniscus.scenes.scene import parameter
from meniscus.scenes.tet_water import TetWaterScene
from meniscus.surface import Box, KinematicSolid

Floats = npt.NDArray[np.float64]
Sides = Literal["open", "walls"]


@dataclass(kw_only=True)
class TetColumn(TetWaterScene):
    """A column of water that is let go on a plate; the plate, and its mesh with it, may accelerate.

    With `width` 1 and walls the water rests on the plate, and all of it moves as the plate does.

    Source: Lee 2018, section 3.3.3.
    """

    name: ClassVar[str] = "tet-column"
    summary: ClassVar[str] = "a column of water on a plate that may accelerate, on tetrahedra"

    cells: int = parameter(18, "of the lattice across the mesh, which is 1 m wide")
    width: float = parameter(0.4, "of the column, m; 1: as wide as the mesh")
    height: float = parameter(0.5, "of the column, m")
    sides: Sides = parameter("open", "water leaves at the sides of the mesh as drops, or stays")
    acceleration: float = parameter(0.0, "of the plate and the mesh upward, m/s^2")
    end: float = parameter(1.0, "length of the run, s")

    def height_of_plate(self, time: float) -> float:
        """Return how far the plate has gone, m: it starts at rest."""
        return 0.5 * self.acceleration * time * time if time > 0 else 0.0

    def setup(self) -> None:
        """Create the plate, its mesh and the water."""
        n = _checks.integer("cells", self.cells, 4)
        h = 1.0 / n
        top = _checks.positive("height", self.height) + 0.1
        self._plate = Box((-2.0, -2.0, -2.0), (2.0, 2.0, 0.0))
        # The plate lies on faces of the lattice: no tetrahedron is cut, and those below it hold nothing.
        rest = bcc_lattice((-0.5, -0.5, -2 * h), h, (n, n, math.ceil(top / h) + 2))
        up = np.array((0.0, 0.0, 1.0))
        moving = MovingTetMesh(rest, lambda t: rest.vertices + self.height_of_plate(t) * up)
        solid = KinematicSolid(self._plate, lambda t: (0.0, 0.0, self.height_of_plate(t)))
        half = 0.5 * _checks.positive("width", self.width)
        vof = TetVOF(
            moving,
            solid,
            outside="wall" if self.sides == "walls" else None,
            options=self.options(),
        )
        vof.fill(Box((-half, -half, 0.0), (half, half, self.height)))
        end = self.clock().end
        high = max(self.height_of_plate(end), 0.0)
        low = min(self.height_of_plate(end), 0.0)
        self.use(vof, ((-0.7, -0.7, low - 0.35), (0.7, 0.7, top + high)), fall=1.0)

    def distance(self, points: Floats) -> Floats:
        """Return the signed distance of the plate, m."""
        return self._plate.signed_distance(points - np.array((0.0, 0.0, self.height_of_plate(self.vof.time))))

    def report(self, time: float) -> dict[str, float]:
        """Also the height of the centre of the water over the plate, and its weight."""
        v = self.vof
        volume = max(v.total_volume(), v.quantum)
        z = v.positions[:, 2][v.tets].mean(axis=1)
        return {
            **super().report(time),
            "height of centre": float((v.volume * z).sum() / volume) - self.height_of_plate(v.time),
            "weight": v.options.density * volume * 9.81,
        }

    def body_meshes(self, time: float) -> Mapping[str, FrameMesh]:
        """Return the plate as wide as the mesh."""
        plate = tet_block(1, 1, 1, (1.0, 1.0, 0.05), origin=(-0.5, -0.5, self.height_of_plate(time) - 0.05)).boundary
        return {"body": FrameMesh(plate.vertices, plate.triangles)}
