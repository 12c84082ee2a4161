"""Scene of many pieces of cloth that fall in the wind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.scenes.cloths import Cloths, centered_cloth
from meniscus.scenes.scene import parameter
from meniscus.solids import DeformableBody, WindDrag, World

Floats = npt.NDArray[np.float64]


class GroundWind:
    """Wind along x that is strongest at the ground and sways."""

    def __init__(self, speed: float, height: float) -> None:
        self.speed, self.height = speed, height

    def __call__(self, x: Floats, time: float) -> Floats:
        """Return the wind at positions (n, 3) and a time (s), m/s."""
        wind = np.zeros_like(x)
        strength = self.speed * np.exp(-np.maximum(x[:, 1], 0.0) / self.height)
        wind[:, 0] = strength * (0.7 + 0.3 * np.sin(3.0 * time - 5.0 * x[:, 2]))
        wind[:, 1] = 0.3 * strength * np.sin(5.0 * time - 7.0 * x[:, 0])
        return wind


@dataclass(kw_only=True)
class Leaves(Cloths):
    """Squares of cloth fall, flutter in their drag, meet each other, and are blown over the ground.

    Source: Selle 2008, section 6.6 and figure 6.9: a hundred of 10,000 triangles each.
    """

    name: ClassVar[str] = "leaves"
    ground: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "pieces of cloth fall in the wind"
    eye: ClassVar[tuple[float, float, float]] = (0.3, 0.5, 1.6)

    pieces: int = parameter(24, "number of pieces")
    side: float = parameter(0.2, "of a piece, m")
    density: float = parameter(0.1, "mass per area, kg/m^2")
    thickness: float = parameter(0.005, "distance at which surfaces repel each other, m")
    drag: float = parameter(0.8, "force per area and speed across a piece, N s/m^3")
    wind: float = parameter(3.0, "largest speed of the wind, m/s")
    wind_height: float = parameter(0.15, "at which it is less by the factor e, m")
    ground_friction: float = parameter(0.3, "of a piece on the ground")
    seed: int = parameter(1, "of places and directions")

    @property
    def _cell(self) -> float:
        # No piece reaches out of its cell, however it is turned.
        return 1.45 * self.side

    def _layer(self) -> tuple[int, int]:
        """Return how many pieces there are along x and along z in a layer."""
        n = _checks.integer("pieces", self.pieces, 1)
        layers = max(1, round(4.0 * (n / 24.0) ** (1.0 / 3.0)))
        nx = math.ceil(math.sqrt(1.5 * n / layers) - 1e-9)
        return nx, math.ceil(n / (layers * nx))

    def shown_box(self) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
        """Where the pieces come to lie."""
        nx, nz = self._layer()
        around = 0.75 * nx * self._cell
        top = (math.ceil(self.pieces / (nx * nz)) + 0.3) * self._cell
        return (-around, 0.0, -1.1 * around), (3.2 * around, top, 1.8 * around)

    def make_meshes(self) -> Sequence[Any]:
        """The pieces, flat, each in a cell of its own."""
        n, (nx, nz) = self.pieces, self._layer()
        quads = self.quads((1.0, 1.0), 1.0 / n)
        rng = np.random.default_rng(self.seed)
        cell = self._cell
        meshes = []
        for k in range(n):
            layer, place = divmod(k, nx * nz)
            center = cell * np.array([place % nx - 0.5 * (nx - 1), 0.6 + layer, place // nx - 0.5 * (nz - 1)])
            center[[0, 2]] += 0.3 * cell * (layer % 2) - 0.15 * cell
            turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
            turn *= np.sign(np.linalg.det(turn))
            meshes.append(centered_cloth(quads, (self.side, self.side)).rotated(turn, (0.0, 0.0, 0.0)).translated(tuple(center)))
        return meshes

    def make_body(self, mesh: Any) -> DeformableBody:
        """Springs and drag."""
        body = super().make_body(mesh)
        body.add(WindDrag(mesh, per_area=self.drag, wind=GroundWind(self.wind, self.wind_height)))
        return body

    def add_obstacles(self, world: World) -> None:
        """The ground."""
        world.add_obstacle(self.ground_plane(), friction=self.ground_friction)
