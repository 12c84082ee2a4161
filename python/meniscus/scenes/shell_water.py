"""Base of the scenes of water beside thin shells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus.collision import closest_point
from meniscus.coupling.shell_pictures.smooth_shells import smooth_shells
from meniscus.coupling.shell_pictures.water_mesh import water_surface
from meniscus.coupling.shell_water.water_stages import WATER_STAGES
from meniscus.coupling.shells.shell_coupling import ShellCoupling
from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.coupling.shells.shells import THICKNESS, Shells
from meniscus.fluids.liquid.options import VolumeReport
from meniscus.io.frames import FrameData, FrameItem, FrameMesh
from meniscus.mesh import TriangleMesh
from meniscus.scenes.frame_meshes import liquid_of
from meniscus.scenes.scene import parameter
from meniscus.scenes.water import Water
from meniscus.surface import LevelSet


@dataclass(kw_only=True)
class ShellWater(Water):
    """A scene that steps one `ShellCoupling` of water, its attribute `coupling`."""

    on_ranks: ClassVar[bool] = False
    stages: ClassVar[tuple[str, ...]] = ("seed", *WATER_STAGES, "whitewater")
    stepped: ClassVar[str] = "coupling"

    refine: int = parameter(2, "samples per cell, along each axis, of the surface in pictures")
    smooth: int = parameter(0, "levels of subdivision of the shells in pictures")

    def couple(self, body: Any, **options: Any) -> None:
        """Couple the water and a thin body; both are state of the scene, and so is what the coupling knows of the next step."""
        coupling = self.coupling = ShellCoupling(self.solver, Shells(self.solver.grid, [body], **options))
        self.impulses = self.declare("impulses", coupling.impulses)
        self.begun = self.declare("begun", coupling.begun)

    def force(self, axis: int) -> float:
        """Return the mean force of the water on the shells in the last step along an axis, N."""
        last = self.coupling.report
        return 0.0 if last is None else float(last.impulse[axis] / last.next_dt)

    def deleted(self) -> float:
        """Return the number of markers and drops that found no way past the shells in the last step."""
        last = self.coupling.report
        return 0.0 if last is None else float(last.deleted_markers + last.deleted_drops)

    def volume_report(self) -> VolumeReport:
        """Return the volumes of the water on each side of the shells."""
        return self.coupling.volume_report()

    def frame_data(self) -> Mapping[str, FrameItem]:
        """As for all water, and the shells."""
        shells = self.coupling.shells
        elements = np.concatenate([np.asarray(p.elements) + shells.rows(i).start for i, p in enumerate(shells.parts)])
        return {**super().frame_data(), "shells": FrameMesh(shells.positions, elements.astype(np.int32), {})}

    def _shown(self, frame: FrameData) -> dict[str, Any]:
        """Return the arguments of both renderers. Drops beside a shell are drawn no larger than fits on their side."""
        shells = TriangleMesh(*self.shown_shells(frame)[0].mesh)
        shown = {**super()._shown(frame), "solids": [shells]}
        if shown["spray"] is not None:
            free = closest_point(shells, np.ascontiguousarray(shown["spray"], np.float64)).distances
            shown["spray_radius"] = np.minimum(shown["spray_radius"], free)
        return shown

    def shown_surface(self, frame: FrameData) -> dict[str, Any]:
        """Return the free surface of the water alone, which ends at the shells: light goes from water into a shell without air between."""
        walls, liquid = self.shown_shells(frame)
        made = water_surface(liquid, walls, self.refine)
        return {"surface": made.vertices, "triangles": made.elements[~made.wetted], "normals": made.normals}

    def shown_shells(self, frame: FrameData) -> tuple[ShellWalls, LevelSet]:
        """Return the shells of a frame as they are drawn, and the water beside them."""
        grid, shells, drops = frame.grid, frame.meshes["shells"], frame.particles.get("spray")
        assert grid is not None
        vertices, elements = np.ascontiguousarray(shells.vertices, np.float64), np.ascontiguousarray(shells.elements, np.int32)
        walls = ShellWalls(grid, vertices, elements, THICKNESS * grid.spacing)
        if self.smooth == 0:
            return walls, liquid_of(frame)
        points = [] if drops is None else [np.ascontiguousarray(drops["position"], np.float64)]
        return smooth_shells(walls, liquid_of(frame), self.smooth, points=points)
