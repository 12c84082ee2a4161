"""Scene of hanging strands from straight to curled."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh import TriangleMesh
from meniscus.scenes.bodies.strands import Strands
from meniscus.scenes.scene import parameter
from meniscus.solids import Groom

Floats = npt.NDArray[np.float64]

_SPACING = 0.022  # m


@dataclass(kw_only=True)
class CurlSweep(Strands):
    """Strands hang from a bar, straight on the left and more and more curled to the right, which is shaken and then held still.

    Source: Selle 2008, section 7.3.1 and figure 7.4; own motion.
    """

    name: ClassVar[str] = "curl-sweep"
    summary: ClassVar[str] = "hanging strands, straight to curled, on a bar that is shaken"
    box: ClassVar[Any] = ((-0.13, -0.27, -0.05), (0.13, 0.01, 0.05))
    eye: ClassVar[tuple[float, float, float]] = (0.1, 0.15, 2.0)

    strands: int = parameter(11, "their number")
    length: float = parameter(0.25, "of each along its curve, m")
    most_curl: float = parameter(0.008, "radius of the curl of the last strand, m")
    segments: int = parameter(100, "of a strand")
    swing: float = parameter(0.03, "amplitude of the bar, m")
    shakes: float = parameter(2.0, "of the bar, 1/s")
    end: float = parameter(3.0, "length of the run, s")
    frames: int = parameter(72, "frames to write")
    drawn_radius: float = parameter(8e-4, "of the strands in pictures, m")

    def make_groom(self) -> Groom:
        """One strand per triangle of a bar; each triangle looks down."""
        n = _checks.integer("strands", self.strands, 1)
        x = _SPACING * (np.arange(n) - 0.5 * (n - 1))
        corner = 0.006 * np.array([[-1.0, 0.0, -1.0], [1.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
        vertices = (x[:, None, None] * np.array([1.0, 0, 0]) + corner).reshape(-1, 3)
        skin = TriangleMesh(vertices, np.arange(3 * n, dtype=np.int32).reshape(-1, 3))
        parts = []
        for k in range(n):
            curl = self.most_curl * k / max(n - 1, 1)
            one = TriangleMesh(vertices[3 * k : 3 * k + 3], np.array([[0, 1, 2]], np.int32))
            parts.append(Groom.grow(one, 1, self.length, curl_radius=curl, segments=self.segments, seed=k))
        points = np.concatenate([p.points for p in parts])
        offsets = np.arange(n + 1) * (self.segments + 1)
        weights = np.concatenate([p.root_weights for p in parts if p.root_weights is not None])
        return Groom(points, offsets, skin=skin, root_triangles=np.arange(n), root_weights=weights)

    def skin_at(self, time: float) -> Floats:
        """The bar goes to and fro along the view for half of the run."""
        way = self.swing * math.sin(2 * math.pi * self.shakes * time) if time < 0.5 * self.end else 0.0
        part = min(1.0, 4 * time / self.end)
        moved: Floats = self.skin_mesh.vertices + np.array([way * part, 0.0, 0.0])
        return moved
