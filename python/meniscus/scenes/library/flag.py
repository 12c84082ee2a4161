"""Scene of a flag in the wind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh import TriangleMesh, cloth_mesh
from meniscus.scenes.cloths import sprung
from meniscus.scenes.scene import parameter
from meniscus.scenes.touching import Touching
from meniscus.solids import DeformableBody, WindDrag, World


class Gusts:
    """Wind along x whose direction sways in waves that it carries along."""

    def __init__(self, speed: float, sway: float, wavelength: float = 0.9) -> None:
        self.speed, self.sway, self.wavelength = speed, sway, wavelength

    def __call__(self, x: npt.NDArray[np.float64], time: float) -> npt.NDArray[np.float64]:
        """Return the wind at positions (n, 3) and a time, m/s."""
        phase = 2.0 * np.pi * (x[:, 0] - self.speed * time) / self.wavelength
        wind = np.zeros_like(x)
        wind[:, 0] = self.speed
        wind[:, 2] = self.sway * self.speed * (np.sin(phase) + 0.5 * np.sin(0.37 * phase + 4.0 * x[:, 1]))
        return wind


@dataclass(kw_only=True)
class Flag(Touching):
    """A flag of 1.5 m by 1 m on its pole in a wind whose direction sways. It does not pass through itself.

    Source: Selle 2008, sections 5.4, 5.5, 6.2 and 6.6.
    """

    name: ClassVar[str] = "flag"
    summary: ClassVar[str] = "a flag in the wind"
    box: ClassVar[Any] = ((0.0, -0.7, -0.5), (1.6, 1.1, 0.5))
    eye: ClassVar[tuple[float, float, float]] = (-0.6, 0.35, 2.0)

    resolution: int = parameter(24, "quads along the pole")
    density: float = parameter(0.15, "mass per area, kg/m^2")
    stiffness: float = parameter(30.0, "of the edges, N")
    bending: float = parameter(0.02, "stiffness of the springs across edges, N")
    damping: float = parameter(0.2, "fraction of the critical damping of an edge")
    wind: float = parameter(6.0, "speed of the wind, m/s")
    sway: float = parameter(0.4, "largest part of the wind across its mean direction")
    drag: float = parameter(0.6, "force per area and speed across the flag, N s/m^3")
    thickness: float = parameter(0.01, "distance at which parts of the flag repel each other, m")
    friction: float = parameter(0.4, "of the flag against itself")

    def make_mesh(self) -> TriangleMesh:
        """The flag, flat, in the plane of x and y."""
        n = _checks.integer("resolution", self.resolution, 2)
        return cloth_mesh(3 * n // 2, n, (1.5, 1.0))

    def make_body(self, mesh: Any) -> DeformableBody:
        """Springs, wind, and a pinned side."""
        springs = (self.stiffness, self.damping), (self.bending, self.damping)
        body = sprung(mesh, *springs, density=self.density, gravity=(0.0, -9.8, 0.0))
        body.add(WindDrag(mesh, per_area=self.drag, wind=Gusts(self.wind, self.sway)))
        body.pin(np.flatnonzero(mesh.vertices[:, 0] == 0.0))
        return body

    def make_world(self, bodies: Any) -> World:
        """The flag alone."""
        world = World(steps_per_loop=self.steps_per_loop, elasticity="full-step", tolerance=1e-4)
        world.add(bodies[0], thickness=self.thickness, friction=self.friction)
        return world
