"""Level sets: surfaces as the zero set of a function on a grid."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus.core import Workspace
from meniscus.core.state import Arguments, State
from meniscus.grid import CellField, Grid, NodeField, ScalarField, sample
from meniscus.mesh.surface_like import SurfaceLike
from meniscus.surface.evolution import evolution
from meniscus.surface.extraction import surfaces as extraction
from meniscus.surface.redistancing import redistance as redistancing
from meniscus.surface.shapes.constructive import Shape
from meniscus.surface.shapes.mesh_distance import MeshDistance, NotWatertightWarning, warn_unless_watertight

Location = Literal["nodes", "cells"]


class LevelSet(State):
    """A function phi on a grid (m) whose zero set is a surface: phi <= 0 inside, phi > 0 outside.

    Args:
        grid: 2-D or 3-D.
        location: position of the samples: 'nodes' (usual for solids) or 'cells' (for liquids).
        dtype: float64 (default), or float32 in three dimensions.

    Raises:
        TypeError, ValueError: not a grid, unknown location, another dtype.
    """

    def __init__(self, grid: Grid, location: Location = "nodes", dtype: npt.DTypeLike = np.float64) -> None:
        _checks.choice("location", location, Location)
        self._location = location
        self._field: ScalarField = (NodeField if location == "nodes" else CellField)(grid, dtype)

    @classmethod
    def from_mesh(
        cls,
        grid: Grid,
        surface: SurfaceLike,
        triangles: npt.ArrayLike | None = None,
        location: Location = "nodes",
        *,
        band: float | None = None,
        dtype: npt.DTypeLike = np.float64,
    ) -> LevelSet:
        """Return the signed distance to a closed triangle mesh, exact at the samples.

        Args:
            grid: 3-D and not periodic.
            surface: a `TriangleMesh` or what it is made from; with `triangles`, the vertices (n, 3) alone, m.
            triangles: (m, 3), counter-clockwise as seen from outside.
            location: 'nodes' or 'cells'.
            band: m; beyond it only the sign is exact, and the magnitude is between the band and the distance, which is cheaper.
            dtype: float64, or float32 in three dimensions.

        Raises:
            TypeError, ValueError: as `MeshDistance` and `MeshDistance.sample`.

        Warns:
            NotWatertightWarning: the mesh has holes or is not consistently oriented, so that the winding number decides the sign.
        """
        result = cls(grid, location, dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotWatertightWarning)
            distance = MeshDistance(surface, triangles)
        distance.sample(result._field, band=band)
        warn_unless_watertight(distance.report, stacklevel=3)
        return result

    @classmethod
    def from_shape(cls, grid: Grid, shape: Shape, location: Location = "nodes", *, dtype: npt.DTypeLike = np.float64) -> LevelSet:
        """Return the signed distance of a shape. Raises TypeError or ValueError for no shape, or one of another dimension."""
        result = cls(grid, location, dtype)
        _checks.one_of_type("shape", shape, Shape).sample(result._field)
        return result

    @classmethod
    def from_function(
        cls,
        grid: Grid,
        function: Callable[..., npt.ArrayLike],
        location: Location = "nodes",
        *,
        dtype: npt.DTypeLike = np.float64,
    ) -> LevelSet:
        """Return the level set with the values function(x, y[, z]), where the coordinates (m) are arrays that broadcast.

        Raises:
            TypeError, ValueError: as the constructor; values that are not finite or do not broadcast to the samples.
        """
        result = cls(grid, location, dtype)
        result._field.set_from_function(function)
        return result

    @property
    def grid(self) -> Grid:
        """The grid."""
        return self._field.grid

    @property
    def location(self) -> Location:
        """Position of the samples: 'nodes' or 'cells'."""
        return self._location

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self._field.dtype

    @property
    def field(self) -> ScalarField:
        """The NodeField or CellField of the samples; its memory is that of the level set."""
        return self._field

    @property
    def array(self) -> npt.NDArray[Any]:
        """Writable view of the samples, m. Assigning copies into it and refuses NaN and infinity."""
        return self._field.array

    @array.setter
    def array(self, value: npt.ArrayLike) -> None:
        self._field.array = value

    def sample(self, points: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return phi at points (k, dim) of its dtype, m, interpolated linearly.

        Beyond sides that are not periodic it is phi at the nearest point of the domain plus the distance to it: right in sign outside of
        a body that lies within the domain, and at least a bound of the distance. `grid.sample` continues as the boundary of the field does.

        Raises:
            TypeError, ValueError: as `grid.sample`.
        """
        x = _checks.points("points", points, self._field.dtype, self.grid.dimension)
        _checks.require_finite("points", x)
        nearest = self.grid.nearest(x)
        result: npt.NDArray[Any] = sample(self._field, nearest) + np.linalg.norm(x - nearest, axis=1).astype(x.dtype)
        return result

    # Functions of a level set that are methods, too.
    evolve = evolution.evolve
    redistance = redistancing.redistance
    to_mesh = extraction.extract
    volume_fractions = extraction.volume_fractions
    curvature = extraction.curvature
    components = extraction.components

    def volume(self, *, workspace: Workspace | None = None) -> float:
        """Return the volume of phi <= 0 in the domain, m^3 (in 2-D the area, m^2): that of the closed mesh of `to_mesh`."""
        return extraction.measure(self, workspace=workspace)[0]

    def area(self, *, workspace: Workspace | None = None) -> float:
        """Return the area of the surface, m^2 (in 2-D the length, m), without the sides of the domain."""
        return extraction.measure(self, workspace=workspace)[1]

    def unite(self, other: LevelSet | Shape) -> None:
        """Make this the union with a level set on the same samples, or with a shape: min(phi, other).

        The sign is right everywhere; the value is the distance (if both were) outside of the union, and a bound where the two overlap.
        Periodic axes repeat a shape. The same holds, mutatis mutandis, for `intersect` and `subtract`; `redistance` restores distances.

        Raises:
            TypeError, ValueError: something else, or another grid, location or dtype; nothing is changed.
        """
        _surface.combine_level_sets(self._field._core, _surface.SetOperation.unite, self._samples_of(other)._core)

    def intersect(self, other: LevelSet | Shape) -> None:
        """Make this the intersection with a level set on the same samples, or with a shape: max(phi, other); see `unite`."""
        _surface.combine_level_sets(self._field._core, _surface.SetOperation.intersect, self._samples_of(other)._core)

    def subtract(self, other: LevelSet | Shape) -> None:
        """Subtract a level set on the same samples, or a shape: max(phi, -other); see `unite`.

        The surface of the other belongs to both: a sample with other = 0 and phi <= 0 stays inside.
        """
        _surface.combine_level_sets(self._field._core, _surface.SetOperation.subtract, self._samples_of(other)._core)

    def complement(self) -> None:
        """Swap inside and outside: -phi. A sample with phi = 0 is inside before and after."""
        np.negative(self.array, out=self.array)

    def offset(self, distance: float) -> None:
        """Grow by `distance` (m), or shrink by a negative one: phi - distance.

        Raises:
            TypeError, ValueError: not a finite number; nothing is changed.
        """
        np.subtract(self.array, self.dtype.type(_checks.number("distance", distance)), out=self.array)

    def _samples_of(self, other: LevelSet | Shape) -> ScalarField:
        """Return the samples of another level set, or of a shape at the positions of this one."""
        _checks.one_of_type("other", other, (LevelSet, Shape))
        if isinstance(other, LevelSet):
            if (other.grid, other.location, other.dtype) != (self.grid, self.location, self.dtype):
                raise ValueError(f"other must have the samples of {self!r}, not of {other!r}")
            return other.field
        n = self.grid.dimension
        if other.dimension != n:
            raise ValueError(f"other must be {n}-D like the level set, not {other.dimension}-D")
        samples = (NodeField if self._location == "nodes" else CellField)(self.grid, self.dtype)
        at_rest = np.eye(n).tolist(), [0.0] * n
        _surface.sample_signed_distance(other._core, *at_rest, math.inf, True, samples._core, Workspace())
        return samples

    def snapshot(self) -> tuple[npt.NDArray[Any], ...]:
        """Return a copy of the samples, for `restore`."""
        return self._field.snapshot()

    def restore(self, snapshot: tuple[npt.NDArray[Any], ...]) -> None:
        """Set the samples from a snapshot. Raises ValueError or TypeError; then nothing is changed."""
        self._field.restore(snapshot)

    def assign(self, other: LevelSet) -> None:
        """Take the samples of a level set of the same kind. Raises TypeError or ValueError; then nothing is changed."""
        self._field.assign(_checks.one_of_type("the level set to assign", other, LevelSet)._field)

    @property
    def nbytes(self) -> int:
        """Bytes of the samples with their ghosts."""
        return self._field.nbytes

    def __repr__(self) -> str:
        """One line: shape, location, dtype, range."""
        cells = "x".join(map(str, self.grid.shape))
        return f"<LevelSet {cells} cells, at {self.location}, {self.dtype.name}, phi in [{self.array.min():.4g}, {self.array.max():.4g}]>"

    def _arguments(self) -> Arguments:
        return (self.grid, self.location, self.dtype.name), {}
