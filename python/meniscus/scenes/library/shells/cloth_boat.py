"""Scene of a boat of cloth on a rim."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from meniscus import _checks
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.grid import Grid
from meniscus.mesh import TriangleMesh
from meniscus.scenes.cloths import sprung
from meniscus.scenes.scene import parameter
from meniscus.scenes.shapes import bowl
from meniscus.scenes.shell_water import ShellWater
from meniscus.solids import DeformableBody, EdgeSprings, SpringOptions
from meniscus.surface import HalfSpace


@dataclass(kw_only=True)
class ClothBoat(ShellWater):
    """A bowl of cloth below a stiff and heavy rim is laid on water, and swims: water bulges the cloth until both are at rest.

    Source: Guendelman, Selle, Losasso and Fedkiw 2005, sections 5 and 6.
    """

    name: ClassVar[str] = "cloth-boat"
    summary: ClassVar[str] = "a boat of cloth on a rim, which displaces its weight"

    resolution: int = parameter(40, "cells across the tank, 1 m")
    around: int = parameter(32, "nodes along the rim")
    rings: int = parameter(8, "rings of quads from the middle to the rim")
    frames: int = parameter(48, "frames to write")
    end: float = parameter(2.0, "length of the run, s")
    level: float = parameter(0.45, "of the water, m")
    radius: float = parameter(0.26, "of the rim, m")
    depth: float = parameter(0.14, "of the bowl, m")
    draft: float = parameter(0.1, "of the bowl at the start, m")
    cloth_density: float = parameter(1.0, "of the cloth, kg/m^2")
    weight: float = parameter(12.0, "of the rim, kg")
    stiffness: float = parameter(5000.0, "of the edges of the cloth, N/m")

    def setup(self) -> None:
        """Create the boat and the tank."""
        n = _checks.integer("resolution", self.resolution, 8)
        grid = Grid((n, n, n), 1 / n)
        self.use(LiquidSolver(grid, self.liquid_options()))
        self.boat = self.declare("boat", self.make_boat())
        self.couple(self.boat)
        self.coupling.fill(HalfSpace((0.0, 0.0, self.level), (0.0, 0.0, 1.0)), (0.5 / n,) * 3)

    def make_boat(self) -> DeformableBody:
        """Return the bowl with its rim, a band of two rings of nodes that springs from each to every other hold."""
        m, k = _checks.integer("around", self.around, 6), _checks.integer("rings", self.rings, 2)
        radius, depth = _checks.positive("radius", self.radius), _checks.positive("depth", self.depth)
        s = np.sin(0.5 * np.pi * np.arange(1, k + 1) / k)
        r, z = np.append(radius * s, radius), np.append(depth * (1 - np.sqrt(1 - s**2)), depth * 1.35)
        a = 2 * np.pi * np.arange(m) / m
        rings = [np.column_stack([ri * np.cos(a), ri * np.sin(a), np.full(m, zi)]) for ri, zi in zip(r, z, strict=True)]
        x = np.concatenate([np.zeros((1, 3)), *rings]) + np.array([0.5, 0.5, self.level - self.draft])
        mesh = TriangleMesh(x, bowl(m, k + 1))
        rim = np.arange(1 + (k - 1) * m, 1 + (k + 1) * m)
        masses = np.array(mesh.node_masses(_checks.positive("cloth_density", self.cloth_density)))
        masses[rim] += _checks.positive("weight", self.weight) / len(rim)
        body = sprung(mesh, (self.stiffness, 0.5), (0.01 * self.stiffness, None), masses=masses, gravity=(0.0, 0.0, -9.81))
        braces = np.array(list(combinations(rim.tolist(), 2)), np.int32)
        stiff = SpringOptions(stiffness=0.5 * self.stiffness, damping_fraction=0.5, masses=masses)
        body.add(EdgeSprings(braces, stiff, rest_positions=x))
        return body

    @property
    def mass(self) -> float:
        """Of cloth and rim, kg."""
        return float(np.asarray(self.boat.masses).sum())

    def report(self, time: float) -> dict[str, float]:
        """As for all water; with the lowest point of the boat, m, and the force of the water on it by its weight."""
        return {**super().report(time), "keel": float(self.boat.positions[:, 2].min()), "force": self.force(2) / (9.81 * self.mass)}
