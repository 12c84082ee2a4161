"""Scene of a creature that leaps out of a pool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.coupling import KDSM, KDSMWater
from meniscus.fluids.liquid.volume import measure_components
from meniscus.grid import Grid, NodeField
from meniscus.io.frames import FrameData, FrameMesh
from meniscus.mesh import TriangleMesh, read
from meniscus.numerics.axis_angle import rotation_about
from meniscus.scenes.coupled_water import CoupledWater, Setting
from meniscus.scenes.creatures import creature, whale
from meniscus.scenes.scene import parameter
from meniscus.scenes.shapes import placed
from meniscus.surface import Box, DeformingSolid, LevelSet
from meniscus.viz.smoke import UpAxis

Floats = npt.NDArray[np.float64]
CELLS = (48, 72, 48)
"""Of the grid, at scale 1."""
SPACING = 0.4
"""Of the grid at scale 1, m."""
_GRAVITY = (0.0, -9.81, 0.0)
_UPWARD: dict[UpAxis, list[int]] = {"x": [2, 0, 1], "y": [0, 1, 2], "z": [1, 2, 0]}
"""Axes of a file as x, y and z, where the named one turns upward, to y."""


@dataclass(kw_only=True)
class Breach(CoupledWater):
    """A whale of 8 m, or a surface of yours, leaps out of a pool in a box of 19.2 m by 28.8 m by 19.2 m, and falls back; y points up.

    The water that is more than a cell (at scale 1) above the level of the pool at rest is reported as `carried`.

    Source: Lee 2018, sections 3.1 and 3.6, figures 3.1, 3.8 and 3.12; there on 200 x 300 x 200 cells with 8.5 million tetrahedra.
    """

    name: ClassVar[str] = "breach"
    summary: ClassVar[str] = "a whale leaps out of a pool, on tetrahedra, drops and a grid coupled, or on a grid alone"
    up: ClassVar[UpAxis] = "y"

    frames: int = parameter(96, "frames to write")
    mesh: str | None = parameter(None, "file of a closed surface that moves as the whale does, instead of the whale")
    mesh_up: UpAxis = parameter("y", "axis of the mesh file that points upward")
    mesh_size: float = parameter(8.0, "longest edge of the bounding box of the surface of the file, m")
    cell: float = parameter(0.4, "of the lattice of the mesh at scale 1, m")
    layers: int = parameter(3, "of the lattice around the body")
    subdivisions: int = parameter(2, "each halves the edges of the mesh")
    store: str | None = parameter(None, "HDF5 file that keeps the mesh, so that it is built once")
    level: float = parameter(6.4, "of the pool at rest, m")
    azimuth: float = parameter(20.0, "of the camera, degrees")
    elevation: float = parameter(10.0, "of the camera, degrees")
    zoom: float = parameter(1.2, "of the camera; 1 shows the whole pool")

    def setup(self) -> None:
        """Create the pool and the body."""
        shape = tuple(round(n * self.scale) for n in CELLS)
        if min(shape) < 8:
            raise ValueError(f"scale must leave at least 8 cells across the box, so be at least {8 / min(CELLS):.3g}, not {self.scale:g}")
        grid = Grid(shape, CELLS[0] * SPACING / shape[0])
        if not 0 < _checks.number("level", self.level) < grid.extent[1]:
            raise ValueError(f"level must be above 0 and below {grid.extent[1]:g} m, not {self.level:g}")
        self.rest, self.motion = self.moved_surface()
        far = 2 * max(grid.extent)
        pool = Box((-far, -far, -far), (far, self.level, far))
        self._high = NodeField(grid)
        if self.solver != "coupled":
            solid = DeformingSolid(self.motion, self.rest.triangles)
            self.use(Setting(grid=grid, solid=solid, gravity=_GRAVITY, pool=pool, mesh=self.kdsm))
            return
        kdsm = self.kdsm()
        self.motion = kdsm.skin_at  # on straight lines between frames
        self.use(Setting(grid=grid, solid=kdsm.solid, gravity=_GRAVITY, pool=pool, mesh=lambda: kdsm))

    def kdsm(self) -> KDSM:
        """Return the mesh that follows the body."""
        times = np.arange(self.frames + 1) / _checks.positive("rate", self.rate)
        cell = _checks.positive("cell", self.cell) / self.scale
        return KDSM.build(self.rest, self.motion, times, cell_size=cell, out=self.store, **self.values("layers", "subdivisions"))

    def moved_surface(self) -> tuple[TriangleMesh, Callable[[float], Floats]]:
        """Return the surface at rest and its vertices as a function of time, m."""
        if self.mesh is None:
            being = creature("whale")
            return being.rest, being.vertices
        try:
            vertices, triangles = read(self.mesh)
        except (OSError, ValueError) as error:
            raise ValueError(f"the surface cannot be read: {error}") from error
        turned = np.ascontiguousarray(vertices[:, _UPWARD[self.mesh_up]])
        rest = TriangleMesh(*placed((turned, triangles), whale.PLACE, self.mesh_size))

        def moved(time: float) -> Floats:
            turns, place = whale.breach(time)
            axis, angle = turns["chest"]
            middle = np.array(whale.PLACE)
            result: Floats = (rest.vertices - middle) @ rotation_about(axis, angle).T + middle + place
            return result

        return rest, moved

    def report(self, time: float) -> dict[str, float]:
        """Also the water carried more than a cell above the level at rest, m^3, and the highest point of the body, m."""
        return {**super().report(time), "carried": self.carried(), "body top": float(self.body(time).vertices[:, 1].max())}

    def carried(self) -> float:
        """Return the volume of water more than a cell (at scale 1) above the level at rest, m^3."""
        above = self.level + SPACING
        volume = self._volume_above(above)
        spray = self.spray()
        if spray is not None and len(spray):
            radius = np.asarray(spray["radius"][spray.positions[:, 1] > above], np.float64)
            volume += float(4 / 3 * np.pi * (radius**3).sum())
        if isinstance(self.model, KDSMWater):
            v = self.model.vof
            wet = np.flatnonzero(v.volume > 0)
            heights = np.array(v.positions)[:, 1][v.tets[wet]].mean(axis=1)
            volume += float(v.volume[wet[heights > above]].sum())
        return volume

    def _volume_above(self, height: float) -> float:
        """Return the volume of the liquid on the grid above a height outside of the body, m^3."""
        boundary: Any = self.liquid.sampled_solid.at(self.liquid.time)
        # All below the height counts as solid.
        self._high.array[...] = np.minimum(boundary.levelset.array, self._high.coordinates()[1] - height)
        self._high.fill_ghosts()
        liquid: LevelSet = self.liquid.levelset
        return float(measure_components(liquid, self._high)[1].sum())

    def view(self, frame: FrameData) -> tuple[Floats, Floats]:
        """Return the lower part of the box, in which the water is."""
        low, high = super().view(frame)
        return low, np.minimum(high, (np.inf, self.level + 9.0, np.inf))

    def body(self, time: float) -> FrameMesh:
        """Return the surface of the body."""
        return FrameMesh(self.motion(time), self.rest.triangles)
