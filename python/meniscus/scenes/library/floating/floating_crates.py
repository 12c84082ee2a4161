"""Scene of crates that are dropped into a tank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.mesh import TriangleMesh, read
from meniscus.scenes.floating_water import FloatingWater, turn_at_random
from meniscus.scenes.scene import parameter
from meniscus.scenes.water import below, water_grid
from meniscus.solids import RigidBody
from meniscus.surface import Pose


@dataclass(kw_only=True)
class FloatingCrates(FloatingWater):
    """Crates, or bodies of any closed mesh, fall into a tank of 1 m by 1 m and float, each as deep as it is heavy.

    Water and bodies push each other in one solve; bodies touch each other and the walls.

    Source: Batty, Bertails and Bridson 2007, section 4.
    """

    name: ClassVar[str] = "floating-crates"
    summary: ClassVar[str] = "crates fall into a tank and float"

    resolution: int = parameter(48, "cells across the tank, 1 m")
    bodies: int = parameter(12, "their number")
    mesh: str = parameter("", "file of a closed mesh, in place of crates; scaled to their size")
    size: float = parameter(0.18, "of the bodies, m")
    lightest: float = parameter(150.0, "density of the lightest body, kg/m^3")
    heaviest: float = parameter(850.0, "density of the heaviest body, kg/m^3")
    level: float = parameter(0.4, "of the water at the start, m")
    seed: int = parameter(1, "of places and turns")
    frames: int = parameter(72, "frames to write")
    end: float = parameter(3.0, "length of the run, s")

    def setup(self) -> None:
        """Create the tank and the bodies above it."""
        n = _checks.integer("resolution", self.resolution, 8)
        high = self.level + self.size * (2.0 + 1.8 * np.ceil(self.bodies / self._in_layer() ** 2))
        grid = water_grid((n, n, int(np.ceil(max(high, 0.8) * n))), 1 / n, below(self.level))
        self.float_bodies(grid, self.level, self.make_bodies())

    def _in_layer(self) -> int:
        """Return how many bodies fit beside each other."""
        return max(int(1.0 / (1.8 * _checks.positive("size", self.size))), 1)

    def make_bodies(self) -> list[RigidBody]:
        """Return the bodies in layers above the water, turned at random; the lightest comes first."""
        count, across = _checks.integer("bodies", self.bodies, 1), self._in_layer()
        rng = np.random.default_rng(self.seed)
        given = self._given_mesh()
        made = []
        for k in range(count):
            part = k / max(count - 1, 1)
            density = self.lightest + part * (self.heaviest - self.lightest)
            x, y, layer = k % across, k // across % across, k // across**2
            place = ((x + 0.5) / across, (y + 0.5) / across, self.level + self.size * (1.0 + 1.8 * layer))
            pose = Pose(place, turn_at_random(rng).tolist())
            body = RigidBody.box((self.size,) * 3, density, pose=pose) if given is None else RigidBody(given, density=density, pose=pose)
            made.append(body)
        return made

    def _given_mesh(self) -> TriangleMesh | None:
        if not self.mesh:
            return None
        mesh: Any = read(_checks.path("mesh", self.mesh))
        middle, extent = mesh.vertices.mean(axis=0), np.ptp(mesh.vertices, axis=0).max()
        return TriangleMesh(np.ascontiguousarray((mesh.vertices - middle) * (self.size / extent)), mesh.triangles)
