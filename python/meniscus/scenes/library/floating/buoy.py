"""Scene of a buoy on a rope in waves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meniscus import _checks
from meniscus.mesh import TriangleMesh, icosphere
from meniscus.scenes.floating_water import FloatingWater
from meniscus.scenes.scene import parameter
from meniscus.scenes.shapes import hexahedron, together
from meniscus.scenes.water import below, water_grid
from meniscus.solids import MassProperties, RigidBody
from meniscus.surface import HalfSpace, KinematicSolid, Pose

LENGTH, WIDTH, HEIGHT = 2.4, 0.7, 0.95
_REST = 0.02  # m, from the end of the tank to the middle of the wave maker where it is farthest back
_LINK = 0.035  # m, thickness of the rope


@dataclass(kw_only=True)
class Buoy(FloatingWater):
    """A buoy in waves of a tank of 2.4 m, held by a rope of links on an anchor that lies on the ground.

    A wall that goes to and fro makes the waves, which run up a beach. The links are bodies joined by ball joints, which are constraints in
    the solve of water and bodies.
    """

    name: ClassVar[str] = "buoy"
    summary: ClassVar[str] = "a buoy on a rope and an anchor in waves"
    shows: ClassVar[Mapping[str, str]] = {**FloatingWater.shows, "solid": "_beach.levelset"}

    resolution: int = parameter(36, "cells per metre")
    level: float = parameter(0.5, "of the water at the start, m")
    stroke: float = parameter(0.07, "of the wave maker to each side, m")
    period: float = parameter(1.0, "of the waves, s")
    radius: float = parameter(0.12, "of the buoy, m")
    density: float = parameter(220.0, "of the buoy, kg/m^3")
    links: int = parameter(5, "of the rope")
    slack: float = parameter(1.12, "length of the rope over the depth that it spans")
    frames: int = parameter(96, "frames to write")
    end: float = parameter(4.0, "length of the run, s")

    def setup(self) -> None:
        """Create the tank, its beach, the wave maker, and the buoy on its rope."""
        n = _checks.integer("resolution", self.resolution, 12)
        grid = water_grid((round(LENGTH * n), round(WIDTH * n), round(HEIGHT * n)), 1 / n, below(self.level))
        beach = KinematicSolid(HalfSpace((LENGTH - 0.75, 0.0, 0.0), (-0.6, 0.0, 0.8)))
        self._beach = beach.sample(grid)
        self.float_bodies(grid, self.level, self._bodies(), solid=self._beach)
        self.world.add_obstacle(beach, friction=self.friction)
        rope = [self.anchor, *self._rope, self.buoy]
        for first, second, point in zip(rope, rope[1:], self._knots, strict=False):
            self.world.join(first, second, "ball", point=tuple(point.tolist()))

    def _wave_maker(self, time: float) -> Pose:
        """Return where the wall is; it begins at rest."""
        turn = 2 * np.pi / _checks.positive("period", self.period)
        grown = 1 - np.exp(-2 * time / self.period)
        return Pose((_REST + self.stroke - self.stroke * np.cos(turn * time) * grown, 0.5 * WIDTH, 0.5 * HEIGHT))

    def _bodies(self) -> list[RigidBody]:
        """Return the wave maker, the anchor, the links of the rope from below, and the buoy."""
        middle, count = 0.5 * WIDTH, _checks.integer("links", self.links, 1)
        low, high = 0.13, self.level - 0.5 * self.radius
        aside = (high - low) * np.sqrt(_checks.positive("slack", self.slack) ** 2 - 1)
        foot, top = np.array([1.05, middle, low]), np.array([1.05 + aside, middle, high])
        way = (top - foot) / np.linalg.norm(top - foot)
        self._knots = foot + np.linspace(0.0, 1.0, count + 1)[:, None] * (top - foot)
        length = float(np.linalg.norm(top - foot)) / count
        tilt = 0.5 * np.arctan2(way[0], way[2])
        turn = (np.cos(tilt), 0.0, np.sin(tilt), 0.0)
        # Its back is never in the tank, so that no water is behind it.
        thickness = 2 * _REST + 4 * _checks.positive("stroke", self.stroke)
        wall = RigidBody.box((thickness, WIDTH + 0.02, HEIGHT + 0.02), 1000.0, motion=self._wave_maker)
        self.anchor = RigidBody.box((0.2, 0.2, 0.12), 3000.0, pose=Pose((foot[0], middle, 0.06)))
        self._rope = [
            RigidBody.box((_LINK, _LINK, 0.86 * length), 1100.0, pose=Pose(tuple((0.5 * (a + b)).tolist()), turn))
            for a, b in zip(self._knots, self._knots[1:], strict=False)
        ]
        mesh = buoy_mesh(self.radius)
        whole = MassProperties.of_mesh(mesh, self.density)
        # Ballast keeps the mast upright.
        properties = MassProperties(whole.mass, np.array([0.0, 0.0, -0.35 * self.radius]), whole.inertia)
        self.buoy = RigidBody(mesh, properties=properties, pose=Pose((top[0], middle, top[2] + 0.75 * self.radius)))
        return [wall, self.anchor, *self._rope, self.buoy]

    def report(self, time: float) -> dict[str, float]:
        """As for all water that floats bodies; with the height of the buoy, m, its tilt, degrees, and the widest gap of the rope, m."""
        parts = [self.anchor, *self._rope, self.buoy]
        centres = np.array([body.center for body in parts])
        return {
            **super().report(time),
            "buoy height": float(self.buoy.center[2]),
            "buoy tilt": float(np.degrees(np.arccos(np.clip(self.buoy.rotation[2, 2], -1.0, 1.0)))),
            "anchor moved": float(np.linalg.norm(centres[0][:2] - self._knots[0][:2])),
        }


def buoy_mesh(radius: float) -> TriangleMesh:
    """Return a flat ball with a mast that gets thinner upward."""
    ball = icosphere(3, radius)
    float_ = TriangleMesh(np.ascontiguousarray(ball.vertices * (1.0, 1.0, 0.75)), ball.triangles)
    foot, tip = 0.35 * radius, 0.16 * radius
    corners = [(s * x, s * y, z) for z, s in ((0.4 * radius, foot), (2.6 * radius, tip)) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    return together(float_, hexahedron(corners))
