"""Base of the scenes of water beside thin shells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus.coupling.shell_water.water_stages import WATER_STAGES
from meniscus.coupling.shells.shell_coupling import ShellCoupling
from meniscus.fluids.liquid.options import VolumeReport
from meniscus.io.frames import FrameData, FrameItem, FrameMesh
from meniscus.scenes.water import Water


@dataclass(kw_only=True)
class ShellWater(Water):
    """A scene that steps one `ShellCoupling` of water, its attribute `coupling`."""

    on_ranks: ClassVar[bool] = False
    stages: ClassVar[tuple[str, ...]] = ("seed", *WATER_STAGES)

    def couple(self, coupling: ShellCoupling) -> None:
        """Step this; water and bodies are state of the scene, and so is what the coupling knows of the next step."""
        self.coupling = coupling
        self.impulses = self.declare("impulses", coupling.impulses)
        self.begun = self.declare("begun", coupling.begun)

    def max_dt(self) -> float:
        """Return the step in which neither water nor shells pass more than `cfl` cells."""
        return self.coupling.max_dt()

    def advance(self, time: float, dt: float) -> None:
        """Step water and shells, and time each stage."""
        self.coupling.step(dt, on_stage=self.after_stage)
        self.steps_done += 1

    def volume_report(self) -> VolumeReport:
        """Return the volumes of the water on each side of the shells."""
        return self.coupling.volume_report()

    def frame_data(self) -> Mapping[str, FrameItem]:
        """As for all water, and the shells."""
        shells = self.coupling.shells
        elements = np.concatenate([np.asarray(p.elements) + shells.rows(i).start for i, p in enumerate(shells._parts)])
        return {**super().frame_data(), "shells": FrameMesh(shells.positions, elements.astype(np.int32), {})}

    def _shown(self, frame: FrameData) -> dict[str, Any]:
        """Return the arguments of both renderers."""
        shells = frame.meshes["shells"]
        return {**super()._shown(frame), "solids": [(shells.vertices, shells.elements)]}
