"""Scene of an arch of stones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from meniscus.scenes.bodies.rigid import Piece, Rigid
from meniscus.scenes.scene import parameter
from meniscus.scenes.shapes import hexahedron
from meniscus.solids import RigidBody, World

_STONE = ((0.74, 0.68, 0.58), (0.64, 0.58, 0.50))


@dataclass(kw_only=True)
class Arch(Rigid):
    """A semicircular arch of stones without mortar. Of 21 stones, it stands with a thickness of more than 0.1067 of its mean radius.

    Source: Müller et al. 2008, sections 6.4 and 6.5.
    """

    name: ClassVar[str] = "arch"
    ground: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "an arch of stones that stands or falls, by its thickness"
    box: ClassVar[Any] = ((-1.3, 0.0, -0.6), (1.3, 1.15, 0.6))
    eye: ClassVar[tuple[float, float, float]] = (0.7, 0.4, 2.0)

    stones: int = parameter(21, "their number")
    thickness: float = parameter(0.1, "of the arch, relative to its mean radius")
    depth: float = parameter(0.3, "of the arch, m")
    friction: float = parameter(0.8, "of all surfaces")
    end: float = parameter(2.0, "length of the run, s")
    frames: int = parameter(48, "frames to write")
    iterations: int = parameter(50, "sweeps over the contacts in a substep")
    substeps: int = parameter(4, "of a step")
    dt: float = parameter(0.01, "longest step, s")

    def make_pieces(self) -> Sequence[Piece]:
        """The stones."""
        radii = (1 - self.thickness / 2, 1 + self.thickness / 2)
        pieces = []
        for k in range(self.stones):
            around = [(radii[0], k), (radii[1], k), (radii[1], k + 1), (radii[0], k + 1)]
            angles = [math.pi * j / self.stones for _, j in around]
            corners = [
                (r * math.cos(a), r * math.sin(a), z)
                for z in (-self.depth / 2, self.depth / 2)
                for (r, _), a in zip(around, angles, strict=True)
            ]
            pieces.append(Piece(RigidBody(hexahedron(corners), density=2000.0), {"friction": self.friction}, _STONE[k % 2]))
        return pieces

    def prepare(self, world: World) -> None:
        """The ground."""
        world.add_obstacle(self.ground_plane(), friction=self.friction)
