"""Water that a surface is made for: in tetrahedra, and in drops; and the mesh of its surface."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meniscus import _checks

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
_FLOAT64 = np.dtype(np.float64)


@dataclass(frozen=True, eq=False)
class WaterInTets:
    """Water in tetrahedra, one amount and one velocity for each. Arrays are used in place and not changed.

    Attributes:
        positions: (n, 3), m.
        tets: (m, 4) int32. Those that hold nothing may be left out, unless a solid takes room from them.
        volume: (m,) water in each, m^3.
        capacity: (m,) room in each, m^3: the volume without solids.
        velocity: (m, 3), m/s.

    Raises:
        TypeError, ValueError: other shapes or dtypes, corners that are no vertices, values that are not finite or negative.
    """

    positions: Floats
    tets: Ints
    volume: Floats
    capacity: Floats
    velocity: Floats

    def __post_init__(self) -> None:
        """Check everything."""
        _put(self, "positions", _checks.points("positions", self.positions, _FLOAT64, 3))
        _checks.require_finite("positions", self.positions)
        tets = _checks.one_of_type("tets", self.tets, np.ndarray)
        if tets.dtype != np.int32 or tets.ndim != 2 or tets.shape[1] != 4:
            raise TypeError(f"tets must be int32 of shape (m, 4), not {tets.dtype} {tets.shape}")
        if len(tets) and not (tets.min() >= 0 and tets.max() < len(self.positions)):
            raise ValueError(f"tets must refer to vertices below {len(self.positions)}, not to {tets.min()} to {tets.max()}")
        _put(self, "tets", np.ascontiguousarray(tets))
        for name in ("volume", "capacity"):
            values = _values(name, getattr(self, name), (len(tets),))
            if len(values) and values.min() < 0:
                raise ValueError(f"{name} must not be negative, but tetrahedron {int(values.argmin())} has {values.min():g}")
            _put(self, name, values)
        _put(self, "velocity", _values("velocity", self.velocity, (len(tets), 3)))


@dataclass(frozen=True, eq=False)
class WaterInDrops:
    """Balls of water that fly.

    Attributes:
        positions: (n, 3), m.
        radius: (n,), m.
        velocity: (n, 3), m/s.

    Raises:
        TypeError, ValueError: other shapes or dtypes, values that are not finite, radii below zero.
    """

    positions: Floats
    radius: Floats
    velocity: Floats

    def __post_init__(self) -> None:
        """Check everything."""
        _put(self, "positions", _checks.points("positions", self.positions, _FLOAT64, 3))
        _checks.require_finite("positions", self.positions)
        n = len(self.positions)
        radius = _values("radius", self.radius, (n,))
        if n and radius.min() < 0:
            raise ValueError(f"radius must not be negative, but drop {int(radius.argmin())} has {radius.min():g} m")
        _put(self, "radius", radius)
        _put(self, "velocity", _values("velocity", self.velocity, (n, 3)))

    @property
    def volume(self) -> Floats:
        """Volumes (n,), m^3."""
        result: Floats = 4 / 3 * math.pi * self.radius**3
        return result


@dataclass(frozen=True, eq=False)
class WaterMesh:
    """Surface of water.

    Attributes:
        vertices: (n, 3), m.
        triangles: (m, 3) int32, with normals out of the water.
        normals: (n, 3), unit vectors out of the water.
        velocities: (n, 3) of the water at the vertices, m/s.
    """

    vertices: Floats
    triangles: Ints
    normals: Floats
    velocities: Floats


def _values(name: str, value: object, shape: tuple[int, ...]) -> Floats:
    result: Floats = _checks.incoming(name, _checks.one_of_type(name, value, np.ndarray), _FLOAT64, shape)
    return result


def _put(target: object, name: str, value: object) -> None:
    object.__setattr__(target, name, value)
