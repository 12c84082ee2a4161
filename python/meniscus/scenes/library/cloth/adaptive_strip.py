"""Scene of a heavy strip of adaptive cloth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus.mesh import TriangleMesh, cloth_mesh
from meniscus.scenes.bodies.adaptive_cloths import AdaptiveCloths
from meniscus.scenes.scene import parameter
from meniscus.solids import AdaptiveCloth


@dataclass(kw_only=True)
class AdaptiveStrip(AdaptiveCloths):
    """A strip that is clamped at one end bends under its weight, w; its stiffness against bending is w L^3 / `load`.

    Its end comes to rest at 0.9913, 0.6564 and 0.1592 of its length for loads of 1, 10 and 100: the elastica.
    """

    name: ClassVar[str] = "adaptive-strip"
    summary: ClassVar[str] = "a heavy strip of adaptive cloth, clamped at one end"
    box: ClassVar[Any] = ((-0.1, -0.2, -1.0), (1.1, 0.2, 0.2))
    eye: ClassVar[tuple[float, float, float]] = (0.4, -2.0, 0.5)

    load: float = parameter(10.0, "w L^3 / B")
    length: float = parameter(1.0, "of the strip, m")
    width: float = parameter(0.2, "of the strip, m")
    longest: float = parameter(0.05, "edges that are wanted, m")
    turn: float = parameter(6.0, "of an edge of the wanted length where cloth is curved, degrees")
    stretch: float = parameter(3000.0, "stiffness against stretch, N/m")
    poissons_ratio: float = parameter(0.0, "of the strip")
    damping: float = parameter(0.02, "in proportion to the stiffness, s")
    end: float = parameter(3.0, "length of the run, s")
    frames: int = parameter(72, "frames to write")

    def __post_init__(self) -> None:
        """Give the strip the stiffness of the load."""
        super().__post_init__()
        self.bending = self.density * -self.gravity[2] * self.length**3 / self.load

    def make_mesh(self) -> TriangleMesh:
        """The strip, flat, with a column of cells in the clamp."""
        cells, across = (max(2, round(size / self.longest)) for size in (self.length, self.width))
        h = self.length / cells
        return cloth_mesh(cells + 1, across, (self.length + h, self.width), origin=(-h, -0.5 * self.width, 0.0))

    def make_body(self, mesh: TriangleMesh) -> AdaptiveCloth:
        """The strip, clamped."""
        body = super().make_body(mesh)
        body.pin(mesh.vertices[:, 0] < 1e-9)
        return body

    def report(self, time: float) -> dict[str, float]:
        """As for all cloth; with the place of the end, relative to the length."""
        strip = self.sheets()[0]
        x, rest = strip.positions, strip.rest
        tip = x[np.isclose(rest[:, 0], rest[:, 0].max())].mean(axis=0)
        return {**super().report(time), "tip along": float(tip[0] / self.length), "tip down": float(-tip[2] / self.length)}
