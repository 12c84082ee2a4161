"""Small scene with every kind of state: 3-D float32 fields, particles that come and go, a random generator, an array and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

import meniscus as ms
from meniscus.scenes import Scene, TimeStepper, parameter


class Counter:
    """A user's own class with snapshots."""

    def __init__(self) -> None:
        self.counts: list[int] = []

    def snapshot(self) -> dict[str, Any]:
        return {"counts": list(self.counts)}

    def restore(self, snapshot: dict[str, Any]) -> None:
        self.counts = snapshot["counts"]


@dataclass(kw_only=True)
class Dust(Scene):
    name: ClassVar[str] = "dust"
    summary: ClassVar[str] = "smoke and dust stirred at random"
    stages: ClassVar[tuple[str, ...]] = ("stir", "carry", "blow")

    resolution: int = parameter(12, "cells per axis")
    seed: int = parameter(7, "of the random numbers")
    frames: int = parameter(8, "frames to write")
    steps_per_frame: int = parameter(5, "steps")

    def clock(self) -> TimeStepper:
        return TimeStepper(1.0, self.frames)

    def setup(self) -> None:
        n = self.resolution
        grid = ms.Grid((n, n, n + 2), 1.0 / n)
        self.smoke = self.declare("smoke", ms.CellField(grid, np.float32))
        self.velocity = self.declare("velocity", ms.MacField(grid, np.float32))
        x, y, z = grid.cell_centers()
        self.smoke.array = np.exp(-20 * ((x - 0.5) ** 2 + (y - 0.5) ** 2 + (z - 0.3) ** 2)).astype(np.float32)
        self.random = self.declare("random", np.random.default_rng(self.seed))
        self.dust = self.declare("dust", ms.Particles(self.random.random((20, 3), np.float32), age=np.zeros(20)))
        self.wind = self.declare("wind", np.zeros(3))
        self.emitted = self.declare("emitted", 20)
        self.work = self.declare("work", 0.0)
        self.counter = self.declare("counter", Counter())

    def max_dt(self) -> float:
        return 1.0 / (self.frames * self.steps_per_frame)

    def advance(self, time: float, dt: float) -> None:
        with self.stage("stir"):
            self.wind += self.random.standard_normal(3) * 0.2
            for d in range(3):
                u = self.velocity.component(d)
                u += (0.3 * self.random.standard_normal(u.shape) + self.wind[d]).astype(np.float32)
                u *= np.float32(0.7)
            self.work += float(np.sqrt(dt) * self.wind[0])
        with self.stage("carry"):
            ms.fluids.advect(self.smoke, self.velocity, dt, method="maccormack")
        with self.stage("blow"):
            self.dust.positions[...] += (dt * self.wind).astype(np.float32)
            self.dust["age"][...] += dt
            self.dust.remove(self.random.random(len(self.dust)) < 0.05)
            new = int(self.random.integers(0, 4))
            self.dust.append(self.random.random((new, 3), np.float32), age=np.zeros(new))
            self.emitted += new
            self.counter.counts.append(len(self.dust))

    def report(self, time: float) -> dict[str, float]:
        return {"smoke": float(self.smoke.array.sum(dtype=float)), "dust": float(len(self.dust)), "work": self.work}

    def frame_data(self) -> Mapping[str, Any]:
        return {"smoke": self.smoke, "velocity": self.velocity, "dust": self.dust}
