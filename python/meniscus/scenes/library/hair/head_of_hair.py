"""Scene of a head of hair that turns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meniscus.mesh import TriangleMesh, icosphere
from meniscus.scenes.bodies.strands import Strands
from meniscus.scenes.scene import parameter
from meniscus.scenes.shapes import load, placed
from meniscus.solids import Groom

Floats = npt.NDArray[np.float64]


@dataclass(kw_only=True)
class HeadOfHair(Strands):
    """A head, or what a file of a mesh shows, with hair on its upper half, is shaken about the vertical axis and then stands still.

    Source: Selle 2008, section 7.6, figures 7.8 to 7.11, smaller.
    """

    name: ClassVar[str] = "head-of-hair"
    summary: ClassVar[str] = "a head of hair that is shaken"
    box: ClassVar[Any] = ((-0.2, -0.1, -0.2), (0.2, 0.22, 0.2))
    eye: ClassVar[tuple[float, float, float]] = (0.6, 0.4, 2.0)

    skin: str = parameter("", "file of a triangle mesh; none: a ball")
    strands: int = parameter(1500, "their number")
    length: float = parameter(0.14, "of each, m")
    curl: float = parameter(0.0, "radius of the curls, m")
    segments: int = parameter(25, "of a strand")
    swing: float = parameter(0.9, "amplitude of the turns, rad")
    shakes: float = parameter(1.2, "turns to and fro, 1/s")
    drawn_radius: float = parameter(7e-4, "of the strands in pictures, m")
    end: float = parameter(3.0, "length of the run, s")
    frames: int = parameter(72, "frames to write")
    seed: int = parameter(0, "of the places of the roots")

    def make_groom(self) -> Groom:
        """Strands on all triangles above the middle."""
        skin = self._skin()
        middle = skin.vertices[skin.triangles].mean(axis=1)[:, 1]
        height = skin.vertices[:, 1]
        return Groom.grow(
            skin,
            self.strands,
            self.length,
            curl_radius=self.curl,
            segments=self.segments,
            noise=0.15,
            where=middle > height.min() + 0.6 * np.ptp(height),
            seed=self.seed,
        )

    def _skin(self) -> TriangleMesh:
        if not self.skin:
            return icosphere(3, 0.09)
        v, t = placed(load(self.skin, "y"), (0.0, 0.0, 0.0), 0.2)
        return TriangleMesh(v, t)

    def skin_at(self, time: float) -> Floats:
        """The head turns to and fro for two thirds of the run."""
        part = min(1.0, 4 * time / self.end, max(0.0, 4 * (2 * self.end / 3 - time) / self.end))
        a = self.swing * part * math.sin(2 * math.pi * self.shakes * time)
        c, s = math.cos(a), math.sin(a)
        turned: Floats = self.skin_mesh.vertices @ np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])
        return turned
