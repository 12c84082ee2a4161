"""Scene of the growth of a vortex sheet with and without merging and splitting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from meniscus.scenes.library.sheets.sheet_plume import SheetPlume
from meniscus.scenes.scene import parameter
from meniscus.surface import TrackedSurface


@dataclass(kw_only=True)
class PlumeGrowth(SheetPlume):
    """A plume whose number of triangles grows exponentially, unless parts of its surface merge and split.

    Source: Brochu 2012, section 6.7.1, Figure 6.7.
    """

    name: ClassVar[str] = "plume-growth"
    summary: ClassVar[str] = "how the number of triangles of a plume grows, with and without change of topology"

    merge: bool = parameter(True, "whether parts of the surface merge and split")
    ring: bool = parameter(False, "a ring in the way")
    edge: float = parameter(0.04, "edge length, m")
    dt: float = parameter(0.02, "longest time step, s")
    end: float = parameter(1.6, "end, s")

    def make_surface(self) -> TrackedSurface:
        """Return the surface of the first ball."""
        return TrackedSurface(self.ball(), self.edge, topology=self.merge, merge="both" if self.merge else "none")
