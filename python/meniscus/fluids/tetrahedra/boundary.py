"""The boundary of a tetrahedral mesh with water: what comes in from beyond it, and whether anything may leave."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.fluids.tetrahedra.geometry import TetGeometry

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Beside = tuple[Ints, Floats, Floats]
"""Tetrahedra that touch nothing but water beyond the mesh, the velocities there, m/s, and up to what they are to be full, m^3."""
NOWHERE: Beside = (np.empty(0, np.int32), np.empty((0, 3)), np.empty(0))
_IN_WATER = 0.95  # fill from which on a tetrahedron beside water is in it, and not at its surface


class Boundary:
    """What lies beyond a mesh.

    Args:
        outside: None: air; 'wall': nothing can come or go; or a function, see `Outside`.

    Attributes:
        open: whether water may leave.
        wet: whether water may come in.

    Raises:
        TypeError, ValueError: anything else.

    Source: Lee 2018, sections 3.3.2 and 3.4.
    """

    def __init__(self, outside: Any) -> None:
        if isinstance(outside, str) and outside != "wall":
            raise ValueError(f"outside must be 'wall', a function of points and time, or None, not {outside!r}")
        if outside is not None and not isinstance(outside, str):
            _checks.function("outside", outside)
        self.open = not isinstance(outside, str)
        self.wet = callable(outside)
        self._outside = outside

    def at(self, points: Floats, time: float) -> tuple[Floats, Floats]:
        """Return how wet points (k, 3) beyond the mesh are, 0 to 1, and the velocities there, m/s.

        Raises:
            TypeError, ValueError: the function returns other shapes, values that are not finite, or a wetness beyond [0, 1].
        """
        if not len(points):
            return np.empty(0), np.empty((0, 3))
        result = self._outside(points, time)
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError("outside must return a tuple of wetness and velocities")
        wetness, velocities = (_numbers(name, a) for name, a in zip(("wetness", "velocity"), result, strict=True))
        if wetness.shape != (len(points),) or velocities.shape != points.shape:
            raise ValueError(
                f"outside must return arrays of shapes ({len(points)},) and {points.shape}, not {wetness.shape} and {velocities.shape}"
            )
        _checks.require_finite("the wetness outside", wetness)
        _checks.require_finite("the velocity outside", velocities)
        if ((wetness < 0) | (wetness > 1)).any():
            raise ValueError(f"the wetness outside must be in [0, 1], but is between {wetness.min():g} and {wetness.max():g}")
        return wetness, velocities

    def beside(self, geometry: TetGeometry, time: float) -> tuple[Ints, Floats, npt.NDArray[np.bool_]]:
        """Return the tetrahedra that touch water beyond the mesh, ascending, its velocities there, and whether they touch nothing else."""
        faces, tets = geometry.boundary_faces()
        wetness, velocities = self.at(np.ascontiguousarray(geometry.positions[faces].mean(axis=1)), time)
        first = np.flatnonzero(np.diff(tets, prepend=-1))
        total = np.add.reduceat(wetness, first)
        some = total > 0
        mean = np.add.reduceat(wetness[:, None] * velocities, first)[some] / total[some, None]
        return tets[first[some]], mean, np.minimum.reduceat(wetness, first)[some] == 1

    def inflow(self, points: Floats, volumes: Floats, tets: Ints, time: float) -> tuple[Ints, Floats, Floats]:
        """Return what comes in at points, each of which stands for a volume, m^3: tetrahedra, volumes, and velocities; see `at`."""
        wetness, velocities = self.at(points, time)
        some = wetness > 0
        return tets[some], volumes[some] * wetness[some], velocities[some]


def in_pool(beside: Beside, volume: Floats, missing: Floats, capacity: Floats) -> Beside:
    """Return those beside water that would be in it with what is `missing`, m^3, of what their points have asked for."""
    tets, velocities, _ = beside
    wanted = volume[tets] + missing
    some = wanted >= _IN_WATER * capacity[tets]
    return tets[some], velocities[some], np.minimum(wanted, capacity[tets])[some]


def lacking(beside: Beside, volume: Floats, quantum: float) -> tuple[Ints, Floats, Floats]:
    """Return what comes in there, since water leaves no room beside it: tetrahedra, volumes, m^3, and velocities."""
    tets, velocities, wanted = beside
    volumes = np.floor((wanted - volume[tets]) / quantum) * quantum
    return tets[volumes > 0], volumes[volumes > 0], velocities[volumes > 0]


def _numbers(name: str, value: Any) -> Floats:
    array = value.astype(np.float64) if isinstance(value, np.ndarray) and value.dtype.kind == "b" else value
    return np.ascontiguousarray(_checks.numbers(f"the {name} outside", array))
