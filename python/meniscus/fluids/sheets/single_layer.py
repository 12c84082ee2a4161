"""Potential flow around solids by sources on their surfaces."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.collision.proximity.queries import winding_number
from meniscus.mesh.arrays import float_rows
from meniscus.mesh.surface_like import SurfaceLike, surface_arrays
from meniscus.mesh.topology.watertight import check_watertight
from meniscus.mesh.triangle_mesh import TriangleMesh
from meniscus.numerics.solve import ConvergenceError, SolveInfo

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
SolidVelocity = Callable[[Floats], npt.ArrayLike]


class SingleLayer:
    """Sources on the surfaces of solids, whose flow outside has no vorticity, no divergence, and given normal velocities.

    The integral equation is of the second kind, so that some iterations suffice for any number of triangles, and solids may have holes,
    parts and any motion.

    Args:
        mesh: one or several closed surfaces, normals out of the solid.
        accuracy: of the sums by `FastMultipole`.

    Attributes:
        vertices: (n, 3), m.
        triangles: (m, 3).
        centres: (m, 3), m, of the triangles, where the flow is given.
        normals: (m, 3), out of the solid.
        areas: (m,), m^2.

    Raises:
        TypeError, ValueError: what is no surface, or is not closed; a part that is turned inside out; triangles without area.

    Source: Brochu 2012, section 6.4; Hess and Smith 1967 for points near the surface. The diagonal is ours: it makes the flux exact.
    """

    def __init__(self, mesh: SurfaceLike, accuracy: float = 1e-8) -> None:
        x, t = surface_arrays(mesh, name="mesh")
        self.vertices, self.triangles = np.ascontiguousarray(x, np.float64), np.ascontiguousarray(t, np.int32)
        _checks.require_finite("mesh", self.vertices)
        report = check_watertight(TriangleMesh(self.vertices.copy(), self.triangles.copy()))
        if not report.watertight or len(t) == 0:
            raise ValueError(f"mesh must be closed, but {report.boundary_edges} of its edges have one triangle")
        corners = self.vertices[self.triangles]
        six = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))
        for part in range(report.components):
            if six[report.component == part].sum() <= 0:
                raise ValueError(f"part {part} of mesh is turned inside out: its normals must point out of the solid")
        self._accuracy = _checks.positive("accuracy", accuracy)
        self._core = _fluids.SingleLayer(self.vertices, self.triangles, self._accuracy)
        self.centres: Floats = self._core.centres
        self.normals: Floats = self._core.normals
        self.areas: Floats = self._core.areas

    @property
    def density(self) -> Floats:
        """(m,) m/s, of the sources: a copy. A solve starts from it."""
        values: Floats = self._core.density
        return values

    def solve(self, normal_velocity: npt.ArrayLike, *, tolerance: float = 1e-7, max_iterations: int = 50) -> SolveInfo:
        """Find the sources whose flow has the normal velocities (m,), m/s, at the centres of the triangles, just outside.

        Raises:
            TypeError, ValueError: another shape, values that are not finite.
            ConvergenceError: the tolerance was not reached.
        """
        f = np.ascontiguousarray(_checks.numbers("normal_velocity", normal_velocity))
        if f.shape != self.areas.shape:
            raise ValueError(f"normal_velocity must have shape {self.areas.shape}, not {f.shape}")
        _checks.require_finite("normal_velocity", f)
        limit = _checks.integer("max_iterations", max_iterations, 1, 2**31)
        start = clock.perf_counter()
        before = self.density
        iterations, converged, history = self._core.solve(f, _checks.positive("tolerance", tolerance), limit)
        reason = "converged" if converged else "the limit of iterations was reached"
        info = SolveInfo(iterations, history[-1], converged, reason, clock.perf_counter() - start, 0.0, tuple(history))
        if not converged:
            self._core.density = before
            raise ConvergenceError(f"the sources on the solids did not converge: {reason}; {info.remedy}", info)
        return info

    def normal_velocity(self) -> Floats:
        """Return the normal velocities (m,), m/s, of the sources at the centres of the triangles, just outside."""
        found: Floats = self._core.normal_velocity()
        return found

    def velocity(self, points: npt.ArrayLike) -> Floats:
        """Return the velocities (n, 3), m/s, of the sources at points (n, 3), m; triangles near a point are integrated exactly.

        Points within 1e-5 edges of the centre of a triangle lose digits: there is `normal_velocity`.
        """
        x = np.ascontiguousarray(float_rows("points", points, 3))
        _checks.require_finite("points", x)
        found: Floats = self._core.velocity(x)
        return found

    def added_mass(self) -> Floats:
        """Return the matrix (3, 3) of added mass over the density of the fluid, m^3, of all solids moving together.

        Its columns follow from the dipole of the sources: minus it, less the volume. The sources of now are kept.
        """
        before = self.density
        corners = self.vertices[self.triangles]
        volume = np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
        columns = []
        for axis in range(3):
            self.solve(np.ascontiguousarray(self.normals[:, axis]))
            columns.append(-(self.density * self.areas) @ self.centres - volume * np.eye(3)[axis])
        self._core.density = before
        return np.stack(columns, axis=1)

    def require_outside(self, points: npt.ArrayLike, name: str = "the sheet") -> None:
        """Raise ValueError if one of points (n, 3), m, lies inside of a solid."""
        x = np.ascontiguousarray(float_rows("points", points, 3))
        inside = np.abs(winding_number(TriangleMesh(self.vertices.copy(), self.triangles.copy()), points=x)) > 0.5
        if inside.any():
            raise ValueError(f"{name} must begin outside of solids, but point {int(np.argmax(inside))} lies in one")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy the mesh; sources are solved for anew."""
        return SingleLayer, ((self.vertices, self.triangles), self._accuracy)

    def clear(self) -> None:
        """Set all sources to zero."""
        self._core.density = np.zeros(len(self.areas))

    def __repr__(self) -> str:
        """One line with the counts."""
        return f"<SingleLayer: {len(self.triangles)} triangles>"


class SheetSolids:
    """The solids of a flow, solved for together."""

    def __init__(self) -> None:
        self._parts: list[tuple[SingleLayer, SolidVelocity | None]] = []
        self._joint: SingleLayer | None = None

    def __len__(self) -> int:
        """Return the number of solids."""
        return len(self._parts)

    def add(self, layer: SingleLayer, velocity: SolidVelocity | None) -> None:
        """Add a solid with the velocity of its surface."""
        self._parts.append((layer, velocity if velocity is None else _checks.function("velocity", velocity)))
        firsts = np.cumsum([0, *(len(part.vertices) for part, _ in self._parts[:-1])])
        triangles = np.concatenate([part.triangles + np.int32(first) for (part, _), first in zip(self._parts, firsts, strict=True)])
        self._joint = SingleLayer((np.concatenate([part.vertices for part, _ in self._parts]), triangles))

    def solve(self, flow: Callable[[Floats], Floats]) -> SolveInfo:
        """Find the sources that keep a flow out of all solids, from none, so that a run that is resumed has the same bits."""
        assert self._joint is not None
        self._joint.clear()
        velocities = [
            np.zeros_like(part.centres) if given is None else np.asarray(given(part.centres), np.float64) for part, given in self._parts
        ]
        slip = np.concatenate(velocities) - flow(self._joint.centres)
        return self._joint.solve(np.einsum("ij,ij->i", slip, self._joint.normals))

    def velocity(self, points: npt.ArrayLike) -> Floats:
        """Return the velocities (n, 3), m/s, of the sources at points (n, 3), m."""
        assert self._joint is not None
        return self._joint.velocity(points)
