"""Scene of a boat that is filled by a stream, and sinks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meniscus import _checks
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.liquid.sources import LiquidSource
from meniscus.grid import Grid
from meniscus.mesh import TriangleMesh
from meniscus.scenes.scene import parameter
from meniscus.scenes.shell_water import ShellWater
from meniscus.solids import RigidBody, World
from meniscus.surface import HalfSpace, Pose, Sphere

_DECK = np.array([[-0.3, -0.15], [0.1, -0.15], [0.33, 0.0], [0.1, 0.15], [-0.3, 0.15]])
"""Outline of the deck, m: along the boat, and across."""


@dataclass(kw_only=True)
class Boat(ShellWater):
    """A boat of sheet metal, heavier than water, that floats in a tank until a stream has filled it; then it sinks to the ground.

    Water and boat push each other; the boat is a surface without thickness, and no water goes through it.

    Source: Guendelman, Selle, Losasso and Fedkiw 2005, figure 7; Selle 2008, Figure 4.8.
    """

    name: ClassVar[str] = "boat"
    summary: ClassVar[str] = "a boat of sheet metal that floats until a stream has filled it"

    resolution: int = parameter(40, "cells across the tank, 1 m")
    frames: int = parameter(72, "frames to write")
    end: float = parameter(3.0, "length of the run, s")
    level: float = parameter(0.42, "of the water at the start, m")
    depth: float = parameter(0.22, "of the hull, m")
    draft: float = parameter(0.08, "with which the boat would float, m")
    stream: float = parameter(1.5, "speed of the stream, m/s")
    pouring: float = parameter(2.0, "how long water is poured, s")

    def setup(self) -> None:
        """Create the tank, the boat and the stream."""
        n = _checks.integer("resolution", self.resolution, 8)
        grid = Grid((n, n, n), 1 / n)
        nozzle = Sphere((0.45, 0.5, 0.85), 0.07)
        source = LiquidSource(region=nozzle, velocity=(0.0, 0.0, -self.stream), end=self.pouring)
        self.use(LiquidSolver(grid, self.liquid_options(), sources=[source]))
        self.boat = self.make_boat()
        self.world = self.declare("world", World(gravity=(0.0, 0.0, -9.81)))
        self.world.add(self.boat, thickness=0.1 / n)
        self.world.add_obstacle(HalfSpace((0.0, 0.0, 0.25 / n), (0.0, 0.0, 1.0)))
        self.couple(self.boat, world=self.world)
        self.coupling.fill(HalfSpace((0.0, 0.0, self.level), (0.0, 0.0, 1.0)), (0.5 / n,) * 3)

    def make_boat(self) -> RigidBody:
        """Return the boat, afloat."""
        m, height = len(_DECK), _checks.positive("depth", self.depth)
        low, high = (np.column_stack([s * _DECK, np.full(m, z)]) for s, z in ((0.8, 0.0), (1.0, height)))
        bottom = [(0, k, k + 1) for k in range(1, m - 1)]
        sides = [t for k in range(m) for t in ((k, (k + 1) % m, m + (k + 1) % m), (k, m + (k + 1) % m, m + k))]
        mesh = TriangleMesh(np.concatenate([low, high]), np.array(bottom + sides, np.int32))
        x, y = np.concatenate([_DECK[1:], _DECK[:1]]).T, _DECK.T
        deck = 0.5 * abs(float((y[0] * x[1] - x[0] * y[1]).sum()))
        # A frustum up to the water line.
        scale = 0.8 + 0.2 * self.draft / height
        mass = self.solver.options.density * deck * self.draft * (0.64 + 0.8 * scale + scale**2) / 3
        area = float(mesh.area())
        return RigidBody(mesh, density=mass / area, shell=True, pose=Pose((0.5, 0.5, self.level - self.draft)))

    def report(self, time: float) -> dict[str, float]:
        """As for all water; with the lowest point of the boat, m, and the force of the water on it, N."""
        return {**super().report(time), "keel": float(self.boat.positions()[:, 2].min()), "force": self.force(2)}
