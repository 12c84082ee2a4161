"""Signed distance to triangle meshes."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus.collision.proximity.queries import ClosestPoints
from meniscus.core.known_names import KnownNames
from meniscus.grid import CellField, NodeField, ScalarField
from meniscus.mesh.surface_like import SurfaceLike
from meniscus.mesh.topology.watertight import WatertightReport, report_of
from meniscus.mesh.triangle_mesh import triangle_mesh

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
_FLOAT64 = np.dtype(np.float64)


class NotWatertightWarning(UserWarning):
    """Warning that a mesh is not the boundary of a solid."""


class MeshDistance(KnownNames):
    """Exact signed distance to a triangle mesh, negative inside. It copies the mesh.

    A watertight mesh has the sign of its angle-weighted pseudo-normals. If it crosses itself or its components could lie within each
    other, and for a mesh that is not watertight, what has a winding number above one half is inside; the latter emits a
    `NotWatertightWarning`. Triangles may be the wrong way round, have vertices of their own, or lie on each other: they count as after
    `mesh.repair`, which however closes holes as well.

    Args:
        surface: a `TriangleMesh` or what it is made from (a mesh of trimesh, meshio or PyVista, a tuple of arrays); with `triangles`, the
            vertices (n, 3) alone, m.
        triangles: (m, 3), counter-clockwise as seen from outside.

    Raises:
        TypeError, ValueError: what is no surface, no triangle, indices out of range, positions that are not finite.

    Source: Baerentzen and Aanaes, "Signed distance computation using the angle weighted pseudonormal", 2005; Jacobson, Kavan and
    Sorkine-Hornung 2013; Barill et al. 2018.
    """

    def __init__(self, surface: SurfaceLike, triangles: npt.ArrayLike | None = None) -> None:
        mesh = triangle_mesh(surface, triangles)
        self._triangles: Ints = mesh.triangles
        self._core: Any = _surface.MeshDistance(mesh.vertices, self._triangles)
        self._vertices: Floats = np.array(mesh.vertices)
        self._report = report_of(self._core.report)
        warn_unless_watertight(self._report, stacklevel=3)

    @property
    def vertices(self) -> Floats:
        """A copy of the current positions, m."""
        return np.array(self._vertices)

    @property
    def triangles(self) -> Ints:
        """A copy of the triangles."""
        return np.array(self._triangles)

    @property
    def report(self) -> WatertightReport:
        """Whether the mesh is watertight, its holes and components."""
        return self._report

    def update(self, vertices: Floats) -> None:
        """Set new positions of the same vertices, for a mesh that deforms. Raises TypeError or ValueError; then nothing changes."""
        x = _checks.points("vertices", vertices, _FLOAT64, 3)
        self._core.update(x)
        self._vertices[...] = x
        self._report = report_of(self._core.report)

    def signed_distance(self, points: Floats) -> Floats:
        """Return the signed distances (k,), m, of points (k, 3) float64. Raises TypeError or ValueError."""
        return self._core.signed_distance(_checks.points("points", points, _FLOAT64, 3))  # type: ignore[no-any-return]

    def closest(self, points: Floats) -> ClosestPoints:
        """Return the closest points of the mesh to points (k, 3) float64. Raises TypeError or ValueError."""
        return ClosestPoints(*self._core.closest(_checks.points("points", points, _FLOAT64, 3)))

    def contains(self, points: Floats) -> Bools:
        """Return whether each of the points (k, 3) float64 is inside. Raises TypeError or ValueError."""
        return self._core.contains(_checks.points("points", points, _FLOAT64, 3))  # type: ignore[no-any-return]

    def sample(self, phi: ScalarField, *, band: float | None = None) -> None:
        """Set a cell or node field to the signed distance at its samples, m.

        Args:
            phi: on a 3-D grid that is not periodic.
            band: m; samples farther away than this get any magnitude between the band and their distance, which is cheaper. Their sign is
                right. Default: exact everywhere.

        Raises:
            TypeError, ValueError: not such a field, `band` that is not positive.
        """
        _checks.one_of_type("phi", phi, (CellField, NodeField))
        if phi.grid.dimension != 3:
            raise ValueError(f"phi must be on a 3-D grid, not {phi.grid.dimension}-D")
        self._core.sample(phi._core, math.inf if band is None else _checks.positive("band", band))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the mesh."""
        return _rebuild, (self._vertices, self._triangles)

    def __repr__(self) -> str:
        """One line: size and watertightness."""
        return f"<MeshDistance: {self._report}>"


def warn_unless_watertight(report: WatertightReport, *, stacklevel: int) -> None:
    """Emit a `NotWatertightWarning` that says why."""
    if len(report.degenerate) == len(report.component):
        warnings.warn("the mesh encloses nothing: none of its triangles has an area", NotWatertightWarning, stacklevel=stacklevel)
    elif not report.watertight:
        message = f"the mesh is not watertight: it has {report.faults()}, and the winding number decides what is inside"
        warnings.warn(message, NotWatertightWarning, stacklevel=stacklevel)


def _rebuild(vertices: Floats, triangles: Ints) -> MeshDistance:
    """Rebuild from a pickle, without a second warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotWatertightWarning)
        return MeshDistance(vertices, triangles)
