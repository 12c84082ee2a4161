"""Scene of a jelly beam whose ends are twisted against each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh import TetMesh, tet_block
from meniscus.scenes.bodies.base import Bodies
from meniscus.scenes.scene import parameter
from meniscus.solids import DeformableBody, TetElements

Floats = npt.NDArray[np.float64]


class Turning:
    """Positions and velocities of nodes that rotate smoothly around the x axis up to an angle, and then rest."""

    def __init__(self, start: Floats, angle: float, duration: float) -> None:
        self.start, self.angle, self.duration = start, angle, duration

    def __call__(self, time: float) -> tuple[Floats, Floats]:
        """Return positions (k, 3) and velocities (k, 3) at a time."""
        s = min(max(time / self.duration, 0.0), 1.0)
        angle = self.angle * s * s * (3.0 - 2.0 * s)
        rate = self.angle * 6.0 * s * (1.0 - s) / self.duration
        c, n = np.cos(angle), np.sin(angle)
        x, y, z = self.start.T
        positions = np.stack([x, c * y - n * z, n * y + c * z], axis=1)
        velocities = rate * np.stack([np.zeros_like(x), -positions[:, 2], positions[:, 1]], axis=1)
        return positions, velocities


@dataclass(kw_only=True)
class TwistedBar(Bodies):
    """A square beam of jelly whose ends are twisted against each other by two whole turns, before one of them is released.

    Source: Müller et al. 2008, chapter 4; Selle 2008, section 5.4.
    """

    name: ClassVar[str] = "twist"
    edges: ClassVar[bool] = True
    summary: ClassVar[str] = "a jelly beam twisted by 720 degrees and let go"
    box: ClassVar[Any] = ((-0.8, -0.35, -0.35), (0.8, 0.35, 0.35))
    eye: ClassVar[tuple[float, float, float]] = (0.3, 0.6, 2.0)

    resolution: int = parameter(6, "elements along the thickness")
    turns: float = parameter(2.0, "turns of one end against the other")
    duration: float = parameter(2.0, "of the turning, s")
    hold: float = parameter(0.3, "before one end is let go, s")
    youngs_modulus: float = parameter(5e4, "Pa")
    poissons_ratio: float = parameter(0.4, "")
    density: float = parameter(1000.0, "kg/m^3")
    damping: float = parameter(0.003, "proportional to stiffness, s")
    dt: float = parameter(1.0 / 96.0, "longest step, s")

    def make_mesh(self) -> TetMesh:
        """A beam along x through the origin."""
        n = _checks.integer("resolution", self.resolution, 1)
        _checks.positive("duration", self.duration)
        return tet_block(5 * n, n, n, (1.5, 0.3, 0.3), origin=(-0.75, -0.15, -0.15), pattern="five")

    def make_body(self, mesh: TetMesh) -> DeformableBody:
        """Elements that resist inversion, and ends that turn."""
        body = DeformableBody(mesh, density=self.density)
        body.add(TetElements(mesh, material="neo-hookean", **self.values("youngs_modulus", "poissons_ratio", "damping")))
        x = mesh.vertices
        self.left, self.right = np.flatnonzero(x[:, 0] == x[:, 0].min()), np.flatnonzero(x[:, 0] == x[:, 0].max())
        half = np.pi * self.turns
        body.move(self.left, Turning(x[self.left], -half, self.duration))
        body.move(self.right, Turning(x[self.right], half, self.duration))
        return body

    def max_dt(self) -> float:
        """Return the longest step."""
        return self.dt

    def advance(self, time: float, dt: float) -> None:
        """Take one step; release the right end at its time."""
        if time >= self.duration + self.hold - 1e-9 and np.isin(self.right[0], self.body.constrained):
            self.body.release(self.right)
        super().advance(time, dt)

    def step_options(self) -> dict[str, Any]:
        """Return those of implicit Euler, which is stable for any twist."""
        return {"integrator": "implicit-euler", "tolerance": 1e-3, "newton_tolerance": 1e-5}
