"""Shapes from meshes, level sets and functions, and any of these from what users have."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus.core import Workspace
from meniscus.grid.fields import ScalarField
from meniscus.mesh.surface_like import is_surface
from meniscus.mesh.triangle_mesh import TriangleMesh, triangle_mesh
from meniscus.surface.levelset import LevelSet
from meniscus.surface.shapes.constructive import Shape
from meniscus.surface.shapes.mesh_distance import MeshDistance
from meniscus.surface.shapes.normals import difference_normals
from meniscus.surface.shapes.pose import Pose

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class MeshShape(Shape):
    """The inside of a closed triangle mesh, with its exact distance; see `MeshDistance`.

    Args:
        surface: a `TriangleMesh` or what it is made from, or a `MeshDistance`, whose later changes do not count.

    Raises:
        TypeError, ValueError: as `MeshDistance`.
    """

    surface: Any

    def _make(self) -> None:
        given = self.surface
        distance = given if isinstance(given, MeshDistance) else MeshDistance(given)
        mesh = TriangleMesh(distance.vertices, distance.triangles) if distance is given else triangle_mesh(given)
        self._set(_surface.mesh_shape(distance._core), surface=mesh)


@dataclass(frozen=True, eq=False, repr=False)
class LevelSetShape(Shape):
    """The inside of a level set that is a signed distance (`LevelSet.redistance`), interpolated linearly.

    What reaches a side of the grid ends as far beyond it as it is deep there.

    Args:
        levelset: is copied; where its grid is cut among ranks, each gets all of it.

    Raises:
        TypeError, ValueError: something else, values that are not finite.
    """

    levelset: LevelSet

    def _make(self) -> None:
        phi = _replicated(_checks.one_of_type("levelset", self.levelset, LevelSet))
        _checks.require_finite("levelset", phi.array)
        phi.field.fill_ghosts()
        self._set(_surface.level_set_shape(phi.field._core), levelset=phi)


def _replicated(levelset: LevelSet) -> LevelSet:
    """Return a copy on one rank; collective where the grid is cut."""
    grid = levelset.grid
    if grid.comm.size == 1:
        return levelset.copy()
    result = LevelSet(grid.alone(), levelset.location, levelset.dtype)
    result.array[...] = grid.comm.gather(levelset.field.gather())[0]
    return result


@dataclass(frozen=True, eq=False, repr=False)
class FunctionShape(Shape):
    """The points where a function is not positive.

    It is evaluated at every sample at once, as nothing is known about its slope. Combined with other shapes, it should be a signed distance
    or below it, and is asked for few points at a time, which is slow: a `LevelSet` of it is faster.

    Args:
        function: phi(points (n, dim)) -> (n,), m, negative inside; a signed distance where distances count.
        dimension: 2 or 3.

    Raises:
        TypeError, ValueError: no function, another dimension.
    """

    function: Callable[[Floats], npt.ArrayLike]
    dimension: int = 3

    def _make(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function must be a function of points, not {self.function!r}")
        self._set(_surface.function_shape(self._checked, _checks.integer("dimension", self.dimension, 2, 4)))

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Infinite corners: nothing is known."""
        return np.full(self.dimension, -math.inf), np.full(self.dimension, math.inf)

    def signed_distance(self, points: Floats) -> Floats:
        """Return the function's values (n,), m, at points (n, dim), m, float64. Raises TypeError or ValueError for other arrays."""
        x: Any = _checks.points("points", points, np.dtype(np.float64), self.dimension)
        _checks.require_finite("points", x)
        return self._checked(x)

    def normals(self, points: Floats) -> Floats:
        """Return the unit normals (n, dim) of the function at points (n, dim), m, float64; errors as `signed_distance`."""
        _checks.points("points", points, np.dtype(np.float64), self.dimension)
        return difference_normals(self.signed_distance, points)

    def _checked(self, points: Floats) -> Floats:
        return checked_distances(getattr(self, "_name", "function"), self.function(points), len(points))

    def sample(
        self,
        phi: ScalarField,
        *,
        pose: Pose | None = None,
        band: float = math.inf,
        periodic_images: bool = True,
        workspace: Workspace | None = None,
    ) -> None:
        """Set a cell or node field to the function at its samples, m; `pose` as for other shapes, the rest does not matter."""
        _checks.one_of_type("phi", phi, ScalarField)
        if phi.grid.dimension != self.dimension:
            raise ValueError(f"phi must be {self.dimension}-D like the shape, not {phi.grid.dimension}-D")
        points = np.stack([x.ravel() for x in np.broadcast_arrays(*phi.coordinates())], axis=1)
        phi.array[...] = self.signed_distance(points if pose is None else pose.to_body(points)).reshape(phi.shape)
        phi.fill_ghosts()


def checked_distances(name: str, value: Any, n: int) -> Floats:
    """Return the values of a function of points as (n,) float64; raise ValueError for another shape, NaN or infinity."""
    array = np.asarray(value, np.float64)
    if array.shape != (n,):
        raise ValueError(f"{name} must return an array of shape ({n},) for {n} points, not {array.shape}")
    _checks.require_finite(f"the result of {name}", array)
    return array


def as_shape(name: str, value: Any, dimension: int | None = None) -> Shape:
    """Return a shape from any description of a solid at rest.

    Args:
        name: of the argument, for messages.
        value: a `Shape`; a closed surface: a `TriangleMesh` or what it is made from, or a `MeshDistance`; a `LevelSet`; or a function
            phi(points (n, dim)) -> (n,), m, negative inside.
        dimension: that the shape must have; needed for a function.

    Raises:
        TypeError, ValueError: something else, or another dimension.
    """
    if isinstance(value, Shape):
        shape = value
    elif isinstance(value, LevelSet):
        shape = LevelSetShape(value)
    elif isinstance(value, MeshDistance) or is_surface(value):
        shape = MeshShape(value)
    elif callable(value):
        if dimension is None:
            raise ValueError(f"dimension must be given where {name} is a function of points")
        shape = FunctionShape(value, dimension)
        object.__setattr__(shape, "_name", name)  # for messages
    else:
        raise TypeError(f"{name} must be a Shape, a surface mesh, a LevelSet or a function of points, not {value!r}")
    if dimension not in (None, shape.dimension):
        raise ValueError(f"{name} must be {dimension}-D, not {shape.dimension}-D")
    return shape
