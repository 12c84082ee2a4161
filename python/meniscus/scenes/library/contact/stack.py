"""Scene of sheets that fall on each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.scenes.cloths import Cloths, centered_cloth
from meniscus.scenes.scene import parameter
from meniscus.solids import World


@dataclass(kw_only=True)
class Stack(Cloths):
    """Sheets of cloth above each other, each turned a little, fall on the ground and on each other.

    Source: Selle 2008, section 6.3 (a stack of a hundred sheets as the test: own).
    """

    name: ClassVar[str] = "stack"
    ground: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "sheets that fall on each other"
    box: ClassVar[Any] = ((-0.25, 0.0, -0.25), (0.25, 0.3, 0.25))
    eye: ClassVar[tuple[float, float, float]] = (0.8, 0.6, 1.6)

    sheets: int = parameter(10, "number of sheets")
    side: float = parameter(0.3, "of a sheet, m")
    gap: float = parameter(0.008, "between them at the start, m")
    thickness: float = parameter(0.004, "distance at which surfaces repel each other, m")
    ground_friction: float = parameter(0.4, "of a sheet on the ground")
    seed: int = parameter(1, "of the angles")

    def make_meshes(self) -> Sequence[Any]:
        """The sheets, flat."""
        n = _checks.integer("sheets", self.sheets, 1)
        quads = self.quads((1.0, 1.0), 1.0 / n)
        angles = np.random.default_rng(self.seed).uniform(-0.4, 0.4, n)
        sheets = [centered_cloth(quads, (self.side, self.side), (k + 1) * self.gap) for k in range(n)]
        turns = [np.array([[np.cos(a), 0.0, np.sin(a)], [0.0, 1.0, 0.0], [-np.sin(a), 0.0, np.cos(a)]]) for a in angles]
        return [sheet.rotated(turn, (0.0, 0.0, 0.0)) for sheet, turn in zip(sheets, turns, strict=True)]

    def add_obstacles(self, world: World) -> None:
        """The ground."""
        world.add_obstacle(self.ground_plane(), friction=self.ground_friction)
