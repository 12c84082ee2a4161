"""Bodies as the grid of a fluid sees them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import surface as _surface

Floats = npt.NDArray[np.float64]
_MOST = 0.25  # cells by which the surface of a body moves at most


class PushedForm(ABC):
    """A body that a fluid moves: its form, where it is, and its motion, of a body that deforms that of all of it.

    Attributes:
        body: of a world.
        dimension: 2 or 3.
        volume: m^3 (m^2 in the plane).
        area: of its surface, m^2 (m).
    """

    body: Any
    dimension: int
    volume: float
    area: float

    def level(self, nodes: Floats, spacing: float) -> float:
        """Return the level, m, of the signed distance at nodes around the body at which their cells measure its volume.

        Edges are cut off where they pass through cells: a box of 12 cells lost 0.4 % of its volume, and as much of its lift. The cells
        of bodies with `planes` are cut exactly.
        """
        if len(self.planes()) or not self.area > 0:
            return 0.0
        missing = self.volume - _surface.solid_volume(np.ascontiguousarray(nodes), 0.0) * spacing**self.dimension
        return float(np.clip(missing / self.area, -_MOST * spacing, _MOST * spacing))

    def planes(self) -> Floats:
        """Return the faces (k, 4) of a box: outward normals, and distances from the centre of mass, m; none of other bodies."""
        return np.zeros((0, 4))

    @abstractmethod
    def bounds(self) -> tuple[Floats, Floats]:
        """Return the corners (dim,) of a box around the body, m."""

    @abstractmethod
    def signed_distance(self, points: Floats) -> Floats:
        """Return the distance (n,) of points (n, dim), m, negative in the body."""

    @abstractmethod
    def speeds(self, coordinates: Sequence[Floats], axis: int) -> Floats:
        """Return the component along an axis of the velocity at the places of a box, given by coordinates along its axes, m/s."""

    @property
    @abstractmethod
    def state(self) -> Floats:
        """Where the body is, (k,)."""

    @property
    @abstractmethod
    def is_dynamic(self) -> bool:
        """Whether forces move the body."""

    @property
    def is_free(self) -> bool:
        """Whether nothing but forces does."""
        return self.is_dynamic

    @property
    def gravity(self) -> Floats:
        """Of the body (3,), m/s^2."""
        return np.asarray(self.body.gravity, np.float64)

    @property
    @abstractmethod
    def mass(self) -> float:
        """What forces move of the body, kg; 0 if it follows a path."""

    @property
    @abstractmethod
    def center(self) -> Floats:
        """The centre of mass (3,), m."""

    @property
    @abstractmethod
    def inertia(self) -> Floats:
        """The inertia (3, 3) about the centre, in axes of the world, kg m^2."""

    @property
    @abstractmethod
    def motion(self) -> Floats:
        """The velocity of the centre, m/s, and the angular velocity, rad/s, (6,): those with the momenta of the body."""

    @abstractmethod
    def add_motion(self, change: Floats) -> None:
        """Add to the motion, (6,)."""

    @abstractmethod
    def go_on(self, load: Floats, rate: Floats, dt: float) -> None:
        """Let gravity and the load (6,) of the fluid, N and N m, go on for dt seconds; with both, the motion changed by `rate` (6,)."""

    @property
    @abstractmethod
    def energies(self) -> tuple[float, float]:
        """Kinetic and elastic energy, J."""

    @property
    @abstractmethod
    def mesh(self) -> tuple[Floats, Any]:
        """Vertices (n, 3), m, and triangles (m, 3) of the surface."""
