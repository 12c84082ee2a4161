"""Scene of jellies that are dropped into a tank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meniscus import _checks
from meniscus.mesh import TetMesh, tet_block
from meniscus.scenes.floating_water import FloatingWater, turn_at_random
from meniscus.scenes.scene import parameter
from meniscus.scenes.water import below, water_grid
from meniscus.solids import DeformableBody, TetElements


@dataclass(kw_only=True)
class JellyInTank(FloatingWater):
    """Cubes of jelly of rising density fall into a tank of 1 m by 1 m: the light ones float, the heavy ones sink, all of them wobble.

    Water and jellies push each other in one solve, in which a jelly is its finite elements.

    Source: Batty, Bertails and Bridson 2007, section 4; Guendelman et al. 2005, section 5.1.
    """

    name: ClassVar[str] = "jelly-in-tank"
    summary: ClassVar[str] = "cubes of jelly fall into a tank"

    resolution: int = parameter(40, "cells across the tank, 1 m")
    bodies: int = parameter(4, "their number")
    elements: int = parameter(5, "cubes of five tetrahedra along a jelly")
    size: float = parameter(0.26, "of the jellies, m")
    lightest: float = parameter(250.0, "density of the lightest jelly, kg/m^3")
    heaviest: float = parameter(1300.0, "density of the heaviest jelly, kg/m^3")
    youngs_modulus: float = parameter(8e3, "Pa")
    poissons_ratio: float = parameter(0.4, "")
    damping: float = parameter(0.002, "proportional to stiffness, s")
    level: float = parameter(0.4, "of the water at the start, m")
    seed: int = parameter(1, "of turns")
    frames: int = parameter(60, "frames to write")
    end: float = parameter(2.5, "length of the run, s")

    def setup(self) -> None:
        """Create the tank and the jellies above it."""
        n = _checks.integer("resolution", self.resolution, 8)
        across = max(int(1.0 / (1.8 * _checks.positive("size", self.size))), 1)
        count = _checks.integer("bodies", self.bodies, 1)
        layers = int(np.ceil(count / across**2))
        grid = water_grid((n, n, int(np.ceil((self.level + self.size * (1.8 + 1.8 * layers)) * n))), 1 / n, below(self.level))
        rng = np.random.default_rng(self.seed)
        made = []
        for k in range(count):
            x, y, layer = k % across, k // across % across, k // across**2
            place = np.array([(x + 0.5) / across, (y + 0.5) / across, self.level + self.size * (1.0 + 1.8 * layer)])
            density = self.lightest + k / max(count - 1, 1) * (self.heaviest - self.lightest)
            made.append(self._jelly(density, place, turn_at_random(rng)))
        self.float_bodies(grid, self.level, made)

    def _jelly(self, density: float, place: np.ndarray, turn: np.ndarray) -> DeformableBody:
        """Return a cube of finite elements around a place, turned."""
        n = _checks.integer("elements", self.elements, 1)
        block = tet_block(n, n, n, (self.size,) * 3, origin=(-0.5 * self.size,) * 3, pattern="five")
        mesh = TetMesh(np.ascontiguousarray(block.vertices @ turn.T + place), block.tets)
        body = DeformableBody(mesh, density=density)
        body.add(TetElements(mesh, material="neo-hookean", **self.values("youngs_modulus", "poissons_ratio", "damping")))
        return body
