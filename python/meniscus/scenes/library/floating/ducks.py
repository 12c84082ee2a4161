"""Scene of ducks that a river carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meniscus import _checks
from meniscus.fluids.liquid.sources import LiquidSource
from meniscus.grid import Prescribed
from meniscus.grid.boundary import SideCondition
from meniscus.scenes.floating_water import FloatingWater
from meniscus.scenes.library.river import LENGTH, WIDTH, River
from meniscus.scenes.scene import parameter
from meniscus.scenes.shapes import duck
from meniscus.scenes.water import below, water_grid
from meniscus.solids import MassProperties, RigidBody
from meniscus.surface import Box, KinematicSolid, Pose, Twist

_HEAD_ROOM = 0.25  # m, of air above the water
_KEEL = 0.1  # of a duck's length: how far its centre of mass is below the middle of its body


@dataclass(kw_only=True)
class Ducks(FloatingWater):
    """Ducks drift down a river of 2.5 m by 1 m past rocks, on which the stream presses them; a rake at its end holds them.

    Water and ducks push each other in one solve. 200 of them: `--bodies 200 --size 0.1 --resolution 80`.
    """

    name: ClassVar[str] = "ducks"
    summary: ClassVar[str] = "ducks drift down a river past rocks"
    shows: ClassVar[Mapping[str, str]] = {**FloatingWater.shows, "solid": "_rocks.levelset"}

    resolution: int = parameter(32, "cells across the river, 1 m")
    bodies: int = parameter(24, "ducks")
    size: float = parameter(0.2, "of a duck, m")
    density: float = parameter(250.0, "of the ducks, kg/m^3")
    rocks: int = parameter(3, "rocks in the stream")
    speed: float = parameter(0.8, "of the stream, m/s")
    level: float = parameter(0.3, "of the water, m")
    seed: int = parameter(1, "of places and turns")
    frames: int = parameter(60, "frames to write")
    end: float = parameter(2.5, "length of the run, s")

    def setup(self) -> None:
        """Create the river, its rocks, and the ducks in rows upstream."""
        n = _checks.integer("resolution", self.resolution, 8)
        bed = River(rocks=self.rocks, seed=self.seed, level=self.level).bed()
        layers = int(np.ceil(_checks.integer("bodies", self.bodies, 1) / len(self._places())))
        high = self.level + _HEAD_ROOM + 0.7 * self.size * layers
        grid = water_grid((round(LENGTH * n), n, round(high * n)), 1 / n, below(self.level))
        along = Prescribed((_checks.positive("speed", self.speed), 0.0, 0.0))
        inlet = Box((-1.0, -1.0, -1.0), (2 / n, WIDTH + 1.0, self.level))
        sources = [LiquidSource(region=inlet, velocity=(self.speed, 0.0, 0.0))]
        rocks = KinematicSolid(bed)
        self._rocks = rocks.sample(grid)
        sides: dict[str, SideCondition] = {"x-": along, "x+": along}
        self.float_bodies(grid, self.level, self._ducks(), sources=sources, boundary=sides, solid=self._rocks)
        self.world.add_obstacle(rocks, friction=self.friction)
        self.solver.velocity.u = self.speed

    def _places(self) -> np.ndarray:
        """Return the places (n, 2) of a layer of ducks, before the rocks come and among them, m."""
        apart = 1.3 * _checks.positive("size", self.size)
        x, y = np.arange(0.6 * apart, 0.75 * LENGTH, apart), np.arange(0.6 * apart, WIDTH - 0.5 * apart, apart)
        return np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)

    def _ducks(self) -> list[RigidBody]:
        """Return the ducks, turned about the vertical at random, in layers above the water."""
        rng = np.random.default_rng(self.seed)
        mesh = duck(self.size)
        whole = MassProperties.of_mesh(mesh, self.density)
        # Ballast keeps them upright.
        properties = MassProperties(whole.mass, np.array([whole.center[0], 0.0, -_KEEL * self.size]), whole.inertia)
        places, made = self._places(), []
        for k in range(self.bodies):
            layer, place = divmod(k, len(places))
            half = 0.5 * rng.uniform(-np.pi, np.pi)
            turn = (np.cos(half), 0.0, 0.0, np.sin(half))
            # The first layer floats with the stream, about as deep as it will.
            high = self.level + self.size * (0.08 + 0.7 * layer)
            drift = Twist((self.speed, 0.0, 0.0), (0.0, 0.0, 0.0))
            made.append(RigidBody(mesh, properties=properties, pose=Pose((*places[place], high), turn), twist=drift))
        return made

    def report(self, time: float) -> dict[str, float]:
        """As for all water that floats bodies; with how far the ducks have come on average, m, and how upright they are, 1 at best."""
        bodies = self.both.bodies
        return {
            **super().report(time),
            "mean place": float(np.mean([body.center[0] for body in bodies])),
            "upright": float(np.mean([body.rotation[2, 2] for body in bodies])),
        }
