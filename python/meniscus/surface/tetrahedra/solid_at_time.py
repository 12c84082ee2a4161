"""Members of a solid at one time: distances, surface triangles, closest points and velocities, evaluated many times."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus._types import AnyShape
from meniscus.mesh.surface_like import is_surface
from meniscus.surface.levelset import LevelSet
from meniscus.surface.shapes.constructive import Shape
from meniscus.surface.shapes.kinematic import DeformingSolid, KinematicSolid
from meniscus.surface.shapes.mesh_distance import MeshDistance
from meniscus.surface.shapes.rest_distance import MeshSolid, ShapeDistance
from meniscus.surface.shapes.sampled import FunctionShape, LevelSetShape, MeshShape
from meniscus.surface.shapes.solid import Solid, SolidGroup

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
TetSolid = Solid | Shape | LevelSet


class SolidAtTime(ABC):
    """One member of a solid, at one time."""

    slope = 1.0
    """The most by which the distance changes per metre; infinite: not known."""
    surface: tuple[Floats, Ints] | None = None
    """Vertices (n, 3), m, and triangles (m, 3) of its surface, where it is one of triangles."""
    has_skin = False
    """Whether `on_surface` answers."""

    @abstractmethod
    def distance(self, points: Floats) -> Floats:
        """Return phi (n,), m, at points (n, 3)."""

    @property
    def field(self) -> Callable[[Floats], Floats] | AnyShape:
        """The distance as the core asks for it: a shape of its own, or a function of points."""
        return self.finite_distance

    def finite_distance(self, points: Floats) -> Floats:
        """Return `distance`, or raise ValueError if it is not finite."""
        values = self.distance(points)
        _checks.require_finite("the signed distance of the solid", values)
        return values

    @abstractmethod
    def velocity(self, points: Floats) -> Floats:
        """Return the velocity (n, 3), m/s, at points (n, 3) of the surface."""

    def motion(self, points: Floats, step: float) -> tuple[Floats, Floats, Floats]:
        """Return the closest points (n, 3) of the surface, the outward normals and velocities there; `step` (m) is for differences."""
        closest, normals = np.empty_like(points), np.empty_like(points)
        _surface.closest_points(self.field, points, step, closest, normals)
        return closest, normals, self.velocity(closest)

    def on_surface(self, points: Floats) -> tuple[Ints, Floats]:
        """Return the vertices (n, 3) of the triangle with the closest point of the surface, and its barycentric coordinates (n, 3)."""
        raise TypeError(f"{type(self).__name__} has no triangles")


class _AnySolid(SolidAtTime):
    """A solid of which nothing but the interface is known."""

    def __init__(self, solid: Solid, time: float, dt: float | None) -> None:
        self._solid, self._time, self._dt = solid, time, dt

    def distance(self, points: Floats) -> Floats:
        return self._solid.signed_distance(points, self._time)

    def velocity(self, points: Floats) -> Floats:
        return self._solid.velocity(points, self._time, self._dt)


class _RigidShape(_AnySolid):
    """A shape in motion."""

    def __init__(self, solid: KinematicSolid, rest: ShapeDistance, time: float, dt: float | None) -> None:
        super().__init__(solid, time, dt)
        pose, shape = solid.pose(time), rest._shape
        self._shape = rest.posed(pose)
        if isinstance(shape, FunctionShape):
            self.slope = math.inf
        elif isinstance(shape, LevelSetShape):
            self.slope = math.sqrt(3.0)  # linear interpolation of distances that change by a cell per cell along each axis
        elif isinstance(shape, MeshShape):
            self.surface = (pose.apply(shape.surface.vertices), shape.surface.triangles)

    @property
    def field(self) -> AnyShape:
        return self._shape._core

    def distance(self, points: Floats) -> Floats:
        return self._shape.signed_distance(points)


class _RigidMesh(_AnySolid):
    """A mesh in rigid motion."""

    has_skin = True

    def __init__(self, solid: KinematicSolid, queries: MeshDistance, time: float, dt: float | None) -> None:
        super().__init__(solid, time, dt)
        self._pose = solid.pose(time)
        self._queries = queries
        self.surface = (np.ascontiguousarray(self._pose.apply(queries.vertices)), queries.triangles)

    def distance(self, points: Floats) -> Floats:
        return self._queries.signed_distance(self._pose.to_body(points))

    def motion(self, points: Floats, step: float) -> tuple[Floats, Floats, Floats]:
        closest, normals = np.empty_like(points), np.empty_like(points)
        _surface.closest_points_of_mesh(self._queries._core, self._pose.to_body(points), closest, normals)
        turned = np.ascontiguousarray(normals @ np.array(self._pose.rotation).T)
        moved = np.ascontiguousarray(self._pose.apply(closest))
        return moved, turned, self.velocity(moved)

    def on_surface(self, points: Floats) -> tuple[Ints, Floats]:
        closest = self._queries.closest(self._pose.to_body(points))
        return self._queries.triangles[closest.triangles], closest.barycentric


class _DeformingMesh(SolidAtTime):
    """A mesh whose vertices move each in its own way.

    The solid has one set of queries for all times: who asks it about another time in between moves them, and they are moved back here.
    """

    has_skin = True

    def __init__(self, solid: DeformingSolid, time: float, dt: float | None) -> None:
        self._solid, self._time = solid, time
        solid._mesh(time)
        self._queries = solid._queries
        self._vertex_velocity = solid._vertex_velocity(time, dt)
        self.surface = (self._queries.vertices, self._queries.triangles)

    def distance(self, points: Floats) -> Floats:
        self._return()
        return self._queries.signed_distance(points)

    def velocity(self, points: Floats) -> Floats:
        self._return()
        return self._solid._closest_velocity(points, self._vertex_velocity)

    def on_surface(self, points: Floats) -> tuple[Ints, Floats]:
        self._return()
        closest = self._queries.closest(points)
        return self._queries.triangles[closest.triangles], closest.barycentric

    def _return(self) -> None:
        if self._solid._placed_at != self._time:
            self._solid._mesh(self._time)

    def motion(self, points: Floats, step: float) -> tuple[Floats, Floats, Floats]:
        self._return()
        closest, normals = np.empty_like(points), np.empty_like(points)
        triangles, barycentric = _surface.closest_points_of_mesh(self._queries._core, points, closest, normals)
        corners = self._vertex_velocity[self._queries._triangles[triangles]]
        return closest, normals, np.ascontiguousarray(np.einsum("nk,nkd->nd", barycentric, corners))


def members_at(solid: TetSolid | None, time: float, dt: float | None) -> list[SolidAtTime]:
    """Return the members of a solid at a time (s), those of groups one by one; none of None.

    Raises:
        TypeError, ValueError: no solid, or not in 3-D.
    """
    if solid is None:
        return []
    if isinstance(solid, (Shape, LevelSet)) or is_surface(solid):
        solid = KinematicSolid(solid)
    if not isinstance(solid, Solid):
        raise TypeError(
            f"solid must be a Solid such as KinematicSolid, a Shape, a surface mesh, a LevelSet or None, not {type(solid).__name__}"
        )
    if solid.dimension != 3:
        raise ValueError(f"solid must be 3-D like the tetrahedra, not {solid.dimension}-D")
    if isinstance(solid, SolidGroup):
        return [member for part in solid.solids for member in members_at(part, time, dt)]
    if isinstance(solid, DeformingSolid):
        return [_DeformingMesh(solid, time, dt)]
    if isinstance(solid, KinematicSolid):
        rest: Any = solid._distance
        if isinstance(rest, ShapeDistance):
            return [_RigidShape(solid, rest, time, dt)]
        if isinstance(rest, MeshSolid) and isinstance(rest._queries, MeshDistance):
            return [_RigidMesh(solid, rest._queries, time, dt)]
    return [_AnySolid(solid, time, dt)]


def union_distance(members: list[SolidAtTime]) -> Callable[[Floats], Floats]:
    """Return the smallest distance to any of at least one member, as a function of points."""
    if len(members) == 1:
        return members[0].distance

    def distance(points: Floats) -> Floats:
        result = members[0].distance(points)
        for member in members[1:]:
            result = np.minimum(result, member.distance(points))
        return result

    return distance
