"""Scene of the motions of quadratic shape matching."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh import TetMesh, tet_block
from meniscus.scenes.bodies.positioned import Positioned
from meniscus.scenes.scene import parameter
from meniscus.solids import PositionBody, ShapeMatching

Floats = npt.NDArray[np.float64]


def quadratic_basis(q: Floats) -> Floats:
    """Return the nine quantities (9, n) of positions (n, 3): coordinates, squares, products, their mean subtracted."""
    x, y, z = q.T
    b = np.stack([x, y, z, x * x, y * y, z * z, x * y, y * z, z * x])
    result: Floats = b - b.mean(axis=1, keepdims=True)
    return result


@dataclass(kw_only=True)
class Modes(Positioned):
    """The 27 motions of a quadratic shape, each swinging by itself: stretch, shear, bending, twist and taper.

    Columns are the nine quantities, rows the direction along which nodes move.

    Source: Müller et al. 2008, figure 5.7.
    """

    name: ClassVar[str] = "modes"
    summary: ClassVar[str] = "the 27 modes of quadratic shape matching"
    gravity: ClassVar[tuple[float, float, float]] = (0.0, 0.0, 0.0)
    box: ClassVar[Any] = ((-0.9, -0.9, -0.7), (16.9, 4.9, 0.7))
    eye: ClassVar[tuple[float, float, float]] = (0.7, 0.6, 2.0)

    end: float = parameter(1.0, "length of the run, s")
    frames: int = parameter(24, "frames to write")
    damping: float = parameter(0.0, "decay of velocities, 1/s")
    resolution: int = parameter(4, "boxes along a side")
    size: float = parameter(0.45, "of the motions, over half the side")
    softness: float = parameter(0.9, "part of the goal that is quadratic")
    period: float = parameter(1.0, "of the motions, s")

    def make_meshes(self) -> Sequence[Any]:
        """Cubes of 1 m in three rows of nine."""
        n = _checks.integer("resolution", self.resolution, 2)
        cube = tet_block(n, n, n, origin=(-0.5, -0.5, -0.5))
        return [TetMesh(cube.vertices + np.array([2.0 * (k % 9), 2.0 * (2 - k // 9), 0.0]), cube.tets) for k in range(27)]

    def make_bodies(self, meshes: Sequence[Any]) -> list[PositionBody]:
        """Each deformed by its motion."""
        # The part of the shape that is turned only pulls back: w^2 = (1 - softness) / compliance.
        compliance = (1.0 - self.softness) * (_checks.positive("period", self.period) / (2 * np.pi)) ** 2
        bodies = []
        for k, mesh in enumerate(meshes):
            body = PositionBody(mesh, density=100.0)
            body.add(ShapeMatching(mesh, motion="quadratic", softness=self.softness, compliance=compliance))
            center = mesh.vertices.mean(axis=0)
            body.positions[:, k // 9] += self.size * 2 ** (k % 9 >= 3) * quadratic_basis(mesh.vertices - center)[k % 9]
            bodies.append(body)
        return bodies
