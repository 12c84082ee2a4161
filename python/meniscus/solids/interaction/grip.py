"""Points of bodies that something pulls at, of bodies of any type."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


class GripRows(NamedTuple):
    """How k points of a body move, in terms of its generalised velocities.

    Attributes:
        coordinates: (k, c), which generalised velocities of the body they depend on.
        directions: (k, c, 3): the velocity of a point is the sum of these times the generalised velocities.
        responses: (k, c, 3): an impulse p at the point changes these by responses @ p.
    """

    coordinates: Ints
    directions: Floats
    responses: Floats


class BodyTriangles(NamedTuple):
    """The surface of a body as triangles, those of segments with one corner twice.

    Attributes:
        vertices: (v, 3), where they are now, m.
        triangles: (m, 3).
        nodes, weights: (v, c), each vertex as a weighted sum of nodes of the body; without columns for rigid bodies.
        local: (v, 3), places in the rest pose, m; of rigid bodies.
    """

    vertices: Floats
    triangles: Ints
    nodes: Ints
    weights: Floats
    local: Floats


class Grip(ABC):
    """Points of a body, with positions, velocities, inverse masses and impulses. A subclass for each type of body registers itself.

    Args:
        body: which they belong to.
        places: arrays by name that say where they are on the body, of as many rows.
    """

    body_types: ClassVar[tuple[type, ...]] = ()
    """Types of bodies that a subclass is for."""
    columns: ClassVar[Mapping[str, npt.NDArray[Any]]] = {}
    """Arrays of places of no points, by name."""

    def __init_subclass__(cls) -> None:
        """Register the subclass for its types of bodies."""
        for kind in cls.body_types:
            GRIPS[kind] = cls

    def __init__(self, body: Any, places: Mapping[str, Any]) -> None:
        self.body = body
        self.places = {name: np.array(places[name]) for name in self.columns}

    def __len__(self) -> int:
        """Return the number of points."""
        return len(next(iter(self.places.values())))

    @classmethod
    @abstractmethod
    def triangles(cls, body: Any) -> BodyTriangles | None:
        """Return the surface of a body, or None where it has none."""

    @classmethod
    @abstractmethod
    def on(cls, body: Any, surface: BodyTriangles, triangles: Ints, barycentric: Floats) -> Grip:
        """Return a grip of points on triangles (k,) of the surface of a body, by barycentric coordinates (k, 3)."""

    @property
    @abstractmethod
    def positions(self) -> Floats:
        """Positions (k, 3), m."""

    @property
    def velocities(self) -> Floats:
        """Velocities (k, 3), m/s."""
        rows = self.rows()
        result: Floats = np.einsum("kc,kcd->kd", self.generalised()[rows.coordinates], rows.directions)
        return result

    @property
    def inverse_mass(self) -> Floats:
        """Matrices (k, 3, 3), 1/kg: an impulse at a point changes its velocity by matrix @ impulse."""
        rows = self.rows()
        result: Floats = np.einsum("kci,kcj->kij", rows.directions, rows.responses)
        return result

    @abstractmethod
    def apply_impulses(self, impulses: Floats) -> None:
        """Let impulses (k, 3), kg m/s, act at the points."""

    @abstractmethod
    def rows(self) -> GripRows:
        """Return how the points move with the generalised velocities of the body."""

    @abstractmethod
    def generalised(self, dt: float = 0.0) -> Floats:
        """Return the generalised velocities of the body, with dt > 0 those in a step of dt seconds that gravity and paths give."""

    @property
    @abstractmethod
    def mass(self) -> float:
        """Mass of the body, kg, without infinite masses."""


GRIPS: dict[type, type[Grip]] = {}
"""Classes of grips by types of bodies."""


def grip_type(body: Any) -> type[Grip]:
    """Return the class of grips of a body. Raises TypeError for what is no body."""
    for kind in type(body).__mro__:
        if kind in GRIPS:
            return GRIPS[kind]
    known = ", ".join(sorted(kind.__name__ for kind in GRIPS))
    raise TypeError(f"a body must be one of {known}, not {type(body).__name__}")
