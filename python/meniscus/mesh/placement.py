"""Meshes moved, scaled and turned."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.numerics.rotation_matrix import rotation_matrix

Floats = npt.NDArray[np.float64]
_P = TypeVar("_P", bound="Placement")


_AT_ONCE = 256  # points


def box_around(points: Floats) -> tuple[Floats, Floats]:
    """Return the lower and the upper corner (3,), m, of the box around points (n, 3), at least one, C-contiguous."""
    whole = len(points) // _AT_ONCE * _AT_ONCE
    if not whole:
        return points.min(axis=0), points.max(axis=0)
    # NumPy compares long rows ten times as fast as short ones.
    rows, rest = points[:whole].reshape(-1, 3 * _AT_ONCE), points[whole - 1 :]
    ends = np.concatenate((rows.min(axis=0).reshape(-1, 3), rows.max(axis=0).reshape(-1, 3), rest))
    return ends.min(axis=0), ends.max(axis=0)


class Placement:
    """What all meshes with rest positions have in common: where they are."""

    @property
    @abstractmethod
    def vertices(self) -> Floats:
        """Rest positions (n, 3), m; read-only."""

    @abstractmethod
    def moved(self: _P, vertices: Floats) -> _P:
        """Return a mesh with other rest positions (n, 3) and the same elements."""

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Lower and upper corner (3,), m, of the box around all vertices at rest. Raises ValueError where there are none."""
        if not len(self.vertices):
            raise ValueError("a mesh without vertices has no bounds")
        return box_around(self.vertices)

    def translated(self: _P, translation: Sequence[float]) -> _P:
        """Return the mesh moved by a vector, m. Raises TypeError or ValueError for what is no such vector."""
        return self.moved(self.vertices + np.array(_checks.vector("translation", translation, 3)))

    def scaled(self: _P, factor: float | Sequence[float], about: Sequence[float] | None = None) -> _P:
        """Return the mesh scaled from a point.

        Args:
            factor: positive, or one for each axis.
            about: the point that stays, m; default: the origin.

        Raises:
            TypeError, ValueError: a factor that is no positive number, a point that is none.
        """
        each = (factor,) * 3 if isinstance(factor, (int, float, np.number)) else _checks.vector("factor", factor, 3)
        factors = np.array([_checks.positive("factor", f) for f in each])
        center = _center(about)
        return self.moved((self.vertices - center) * factors + center)

    def rotated(self: _P, rotation: Any, about: Sequence[float] | None = None) -> _P:
        """Return the mesh turned around a point.

        Args:
            rotation: a rotation matrix, or a unit quaternion (w, x, y, z).
            about: the point that stays, m; default: the origin.

        Raises:
            TypeError, ValueError: what is no rotation, a point that is none.
        """
        center = _center(about)
        return self.moved((self.vertices - center) @ np.array(rotation_matrix("rotation", rotation, 3)).T + center)


def _center(about: Sequence[float] | None) -> Floats:
    return np.zeros(3) if about is None else np.array(_checks.vector("about", about, 3))
