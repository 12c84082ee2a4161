"""Geometry of a kinematic solid at rest: one interface over shapes, meshes and functions of points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import grid as _grid
from meniscus._meniscus import surface as _surface
from meniscus.core import Workspace
from meniscus.grid import Grid, NodeField
from meniscus.mesh.surface_like import is_surface
from meniscus.surface.shapes.constructive import Shape, Transformed
from meniscus.surface.shapes.mesh_distance import MeshDistance
from meniscus.surface.shapes.normals import difference_normals, unit_rows
from meniscus.surface.shapes.pose import Pose
from meniscus.surface.shapes.sampled import FunctionShape, as_shape, checked_distances

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int32]


class ClosestTriangles(Protocol):
    """The closest points of a mesh to n points."""

    @property
    def triangles(self) -> npt.NDArray[Any]:
        """The triangle (n,) that each lies on."""

    @property
    def barycentric(self) -> Floats:
        """Its barycentric coordinates (n, 3) there."""


@runtime_checkable
class MeshQueries(Protocol):
    """Interface of a closed triangle mesh for kinematic solids; `MeshDistance` implements it."""

    @property
    def vertices(self) -> Floats:
        """Current positions (n, 3), m."""

    def signed_distance(self, points: Floats) -> Floats:
        """Return the signed distances (n,), m, of points (n, 3)."""

    def closest(self, points: Floats) -> ClosestTriangles:
        """Return the closest points of the mesh to points (n, 3)."""

    def update(self, vertices: Floats) -> None:
        """Set new positions of the same vertices."""


class Distance(ABC):
    """A solid at rest."""

    dimension: int
    """2 or 3."""

    @abstractmethod
    def signed_distance(self, points: Floats) -> Floats:
        """Return phi (n,), m, at points (n, dim)."""

    def normals(self, points: Floats) -> Floats:
        """Return the outward unit normals (n, dim) at points (n, dim)."""
        return difference_normals(self.signed_distance, points)

    def bounds(self) -> tuple[Floats, Floats] | None:
        """Return the corners of a box around the solid, or None if they are not known."""
        return None

    def core_at(self, pose: Pose) -> Any:
        """Return the core of the shape under a pose, None where the core cannot ask without Python."""
        return None

    @abstractmethod
    def sample(self, pose: Pose, phi: NodeField, band: float, periodic_images: bool, workspace: Workspace) -> None:
        """Set a level set, with its ghosts, to the solid under a pose."""


class ShapeDistance(Distance):
    """An analytic shape."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self.dimension = shape.dimension
        self._posed: tuple[Pose, Shape] | None = None

    def posed(self, pose: Pose) -> Shape:
        """Return the shape under a pose: the same object as in the last call, where that had the same pose."""
        posed = self._posed
        if posed is None or posed[0] != pose:
            rests = pose == Pose((0.0,) * self.dimension)
            self._posed = posed = pose, self._shape if rests else Transformed(self._shape, pose.rotation, pose.translation)
        return posed[1]

    def signed_distance(self, points: Floats) -> Floats:
        """Return the shape's values."""
        return self._shape.signed_distance(points)

    def core_at(self, pose: Pose) -> Any:
        """Return the core of the shape under a pose; None of functions, which are asked for all points at once."""
        return None if isinstance(self._shape, FunctionShape) else self.posed(pose)._core

    def normals(self, points: Floats) -> Floats:
        """Return the shape's normals."""
        return self._shape.normals(points)

    def bounds(self) -> tuple[Floats, Floats]:
        """Return the shape's box."""
        return self._shape.bounds

    def sample(self, pose: Pose, phi: NodeField, band: float, periodic_images: bool, workspace: Workspace) -> None:
        """Sample natively."""
        self._shape.sample(phi, pose=pose, band=band, periodic_images=periodic_images, workspace=workspace)


class MeshSolid(Distance):
    """A closed triangle mesh."""

    def __init__(self, queries: MeshQueries) -> None:
        self._queries = queries
        self.dimension = 3

    def signed_distance(self, points: Floats) -> Floats:
        """Return the mesh's values, checked."""
        if not len(points):
            return np.empty(0)
        return checked_distances("shape.signed_distance", self._queries.signed_distance(points), len(points))

    def normals(self, points: Floats) -> Floats:
        """Return directions to and from the closest points; closer than round-off, the normals of their triangles."""
        if not len(points) or not isinstance(self._queries, MeshDistance):
            return super().normals(points)
        closest = self._queries.closest(points)
        corners = self._queries.vertices[self._queries.triangles[closest.triangles]]
        faces = unit_rows(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
        way = points - np.einsum("nk,nkd->nd", closest.barycentric, corners)
        away = np.where(self.signed_distance(points) < 0, -1.0, 1.0)[:, None] * way
        near = np.linalg.norm(way, axis=1) < 1e-9 * np.abs(points).max()
        return np.where(near[:, None], faces, unit_rows(away))

    def bounds(self) -> tuple[Floats, Floats]:
        """Return the box of the vertices."""
        vertices = np.asarray(self._queries.vertices)
        return vertices.min(axis=0), vertices.max(axis=0)

    def sample(self, pose: Pose, phi: NodeField, band: float, periodic_images: bool, workspace: Workspace) -> None:
        """Sample natively; of other queries than `MeshDistance`, evaluate centres of blocks, then the nodes of blocks near the surface."""
        if isinstance(self._queries, MeshDistance):
            core = self._queries._core
            _surface.sample_mesh_distance(core, pose.rotation, pose.translation, band, periodic_images, phi._core, workspace)
            return
        shifts = [np.zeros(3)]
        if periodic_images:
            shifts = image_shifts(phi.grid, posed_bounds(self.bounds(), pose))
        phi.array[...] = _sampled_in_blocks(phi, lambda x: self.signed_distance(pose.to_body(x)), shifts, band)
        phi.fill_ghosts()


def _sampled_in_blocks(phi: NodeField, distance: Callable[[Floats], Floats], shifts: list[Floats], band: float) -> Floats:
    """Sample the union of images of an exact distance: as `sample_signed_distance` of the native core does for shapes."""
    edge = 8
    axes = [x.ravel() for x in phi.coordinates()]
    starts = [np.arange(0, len(x), edge) for x in axes]
    ends = [np.minimum(s + edge, len(x)) for s, x in zip(starts, axes, strict=True)]
    low = np.stack(np.meshgrid(*(x[s] for x, s in zip(axes, starts, strict=True)), indexing="ij"), axis=-1)
    high = np.stack(np.meshgrid(*(x[e - 1] for x, e in zip(axes, ends, strict=True)), indexing="ij"), axis=-1)
    radius = 0.5 * np.linalg.norm(high - low, axis=-1) + 1e-6 * phi.grid.spacing
    center = 0.5 * (low + high).reshape(-1, len(axes))
    at_center = np.stack([distance(center - s).reshape(radius.shape) for s in shifts])
    nearest = at_center.min(axis=0)
    close = np.abs(nearest) - radius <= band
    lengths = [e - s for s, e in zip(starts, ends, strict=True)]

    def per_node(block_values: Any) -> Any:
        for axis, n in enumerate(lengths):
            block_values = np.repeat(block_values, n, axis=axis)
        return block_values

    bound = np.copysign(np.abs(nearest) - radius, nearest)
    values: Floats = per_node(np.where(close, np.inf, bound))
    for shift, here in zip(shifts, at_center, strict=True):
        chosen = per_node(close & (here <= nearest + 2.0 * radius))
        index = np.nonzero(chosen)
        points = np.stack([x[i] for x, i in zip(axes, index, strict=True)], axis=1)
        values[index] = np.minimum(values[index], distance(points - shift))
    return values


def distance_of(shape: Any, dimension: int | None) -> Distance:
    """Return the interface to any kind of shape argument; `dimension` is needed for a function. Raises TypeError or ValueError."""
    if dimension is not None:
        _checks.dimension("dimension", dimension)
    distance = _distance_of(shape, dimension)
    if dimension not in (None, distance.dimension):
        raise ValueError(f"dimension must be {distance.dimension} like that of the shape, not {dimension}")
    return distance


def _distance_of(shape: Any, dimension: int | None) -> Distance:
    if isinstance(shape, Shape):
        return ShapeDistance(shape)
    if is_surface(shape):
        return MeshSolid(MeshDistance(shape))
    if isinstance(shape, MeshQueries):
        return MeshSolid(shape)
    return ShapeDistance(as_shape("shape", shape, dimension))


def posed_bounds(bounds: tuple[Floats, Floats], pose: Pose) -> tuple[Floats, Floats]:
    """Return a box around a box under a pose."""
    rotation: Any = pose.rotation
    lower, upper = _surface.transformed_bounds(bounds[0].tolist(), bounds[1].tolist(), rotation, pose.translation)
    return np.array(lower), np.array(upper)


def image_shifts(grid: Grid, bounds: tuple[Floats, Floats]) -> list[Floats]:
    """Return the translations (m) to the images of a solid whose surface can be nearest to a point of the domain."""
    return [np.array(s) for s in _grid.image_shifts(grid._core, bounds[0].tolist(), bounds[1].tolist())]
