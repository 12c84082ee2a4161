"""Obstacles of a world: solids with a signed distance, and meshes as thin surfaces with two sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus.surface import SolidAt
from meniscus.mesh.arrays import index_rows
from meniscus.mesh.segment_mesh import SegmentMesh
from meniscus.mesh.surface_like import is_surface, surface_arrays
from meniscus.surface import DeformingSolid, KinematicSolid, Pose, Solid

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Sides = Literal["outside", "both"]
MeshMotion = Callable[[float], Any]

_FLOAT64 = np.dtype(np.float64)


@dataclass(frozen=True)
class SolidObstacle:
    """A solid that nodes stay out of.

    Attributes:
        solid: with its motion.
        thickness: distance that nodes keep, m.
        friction: coefficient.
    """

    solid: Solid
    thickness: float
    friction: float

    def distance(self, points: Floats, time: float) -> Floats:
        """Return how far points (n, 3), m, are outside of what nodes stay out of (n,), m, at a time in seconds."""
        return self.solid.signed_distance(points, time) - self.thickness

    def at(self, time: float, dt: float | None) -> tuple[SolidAt, float, float]:
        """Return the obstacle at a time (s) as the core asks it, with mean velocities over dt seconds, or until `time` where negative."""
        return self.solid.core_at(time, dt), self.thickness, self.friction

    def box(self, time: float) -> Floats:
        """Return the corners (2, 3) of a box around that; infinite where it is not bounded."""
        lower, upper = self.solid.bounds(time)
        return np.stack([lower - self.thickness, upper + self.thickness])


@dataclass(frozen=True)
class MeshObstacle:
    """A surface of triangles or segments on a given path, which may be open: nothing crosses it, from either side.

    Attributes:
        rest: (n, 3) vertices without a motion, m.
        edges: (e, 2) of a mesh of segments; None for those of the triangles.
        triangles: (m, 3).
        motion: function of time (s) that returns the vertices (n, 3), m, or a pose of `rest`; None: it does not move.
        thickness: m.
        friction: coefficient.
    """

    rest: Floats
    edges: Ints | None
    triangles: Ints
    motion: MeshMotion | None
    thickness: float | None
    friction: float

    def vertices(self, time: float) -> Floats:
        """Return the vertices (n, 3) at a time, m. Raises TypeError or ValueError for a motion that returns something else."""
        if self.motion is None:
            return self.rest
        at = self.motion(time)
        if isinstance(at, Pose):
            x = at.apply(self.rest)
        else:
            x = np.array(np.broadcast_to(_checks.incoming("the vertices of an obstacle", at, _FLOAT64, self.rest.shape), self.rest.shape))
        _checks.require_finite(f"the vertices of an obstacle at {time:g} s", x)
        return x


def obstacle_of(
    given: Any,
    *,
    thickness: float | None = None,
    friction: float = 0.4,
    sides: Sides = "outside",
    motion: MeshMotion | None = None,
) -> SolidObstacle | MeshObstacle:
    """Return an obstacle from what users have; arguments and errors as for `World.add_obstacle`."""
    two_sided = _checks.choice("sides", sides, Sides) == "both"
    mu = _checks.number("friction", friction)
    if mu < 0:
        raise ValueError(f"friction must not be negative, but is {mu:g}")
    h = None if thickness is None else _checks.number("thickness", thickness)
    if h is not None and h < 0:
        raise ValueError(f"thickness must not be negative, but is {h:g}")
    if motion is not None and not callable(motion):
        raise TypeError(f"motion must be a function of time or None, not {motion!r}")
    if isinstance(given, SegmentMesh) or (two_sided and is_surface(given)):
        return _mesh_obstacle(given, h, mu, motion)
    if two_sided:
        if not isinstance(given, DeformingSolid):
            raise TypeError(f"an obstacle with two sides must be a mesh, not {type(given).__name__}")
        start, triangles = given.mesh_at(0.0)
        return MeshObstacle(start, None, triangles, _VerticesOf(given), h, mu)
    if isinstance(given, Solid):
        if motion is not None:
            raise ValueError("a solid has its own motion")
        solid = given
    elif callable(motion) and is_surface(given):
        raise ValueError('a mesh that moves along `motion` has two sides: give sides="both", or a KinematicSolid')
    else:
        solid = KinematicSolid(given, dimension=None if not callable(given) else 3)
    if solid.dimension != 3:
        raise ValueError(f"an obstacle must be 3-D, not {solid.dimension}-D")
    return SolidObstacle(solid, 0.0 if h is None else h, mu)


class _VerticesOf:
    """Vertices of a deforming solid as a function of time (a class, so that it pickles)."""

    def __init__(self, solid: DeformingSolid) -> None:
        self.solid = solid

    def __call__(self, time: float) -> Floats:
        return self.solid.mesh_at(time)[0]


def _mesh_obstacle(given: Any, thickness: float | None, friction: float, motion: MeshMotion | None) -> MeshObstacle:
    if isinstance(given, SegmentMesh):
        vertices, edges, triangles = given.vertices, given.segments, np.empty((0, 3), np.int32)
        return MeshObstacle(np.array(vertices), index_rows("segments", edges, 2), triangles, motion, thickness, friction)
    vertices, triangles = surface_arrays(given)
    return MeshObstacle(np.array(vertices), None, np.array(triangles), motion, thickness, friction)
