"""Mass, centre and inertia of rigid bodies: of meshes, shapes and compounds, in closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh import SegmentMesh, TetMesh, TriangleMesh
from meniscus.mesh.any_mesh import own_mesh
from meniscus.surface import Pose

Floats = npt.NDArray[np.float64]

# Of the largest moment of inertia: below this, the least one counts as zero.
_FLAT = 1e-12


@dataclass(frozen=True, eq=False)
class MassProperties:
    """What of a rigid body resists forces and torques.

    Attributes:
        mass: kg.
        center: (3,), the centre of mass, m.
        inertia: (3, 3), about the centre of mass, kg m^2.

    Source: Müller, Stam, James and Thürey 2008, section 6.1.
    """

    mass: float
    center: Floats
    inertia: Floats

    def __post_init__(self) -> None:
        """Check the values."""
        object.__setattr__(self, "mass", _checks.positive("mass", self.mass))
        object.__setattr__(self, "center", np.array(_checks.vector("center", self.center, 3)))
        j = np.array(_checks.numbers("inertia", self.inertia), np.float64)
        if j.shape != (3, 3):
            raise ValueError(f"inertia must have shape (3, 3), not {j.shape}")
        _checks.require_finite("inertia", j)
        if np.abs(j - j.T).max() > 1e-9 * np.abs(j).max():
            raise ValueError("inertia must be symmetric")
        j = 0.5 * (j + j.T)
        a = np.linalg.eigvalsh(j)
        if a[0] < -1e-9 * a[2] or a[2] > (a[0] + a[1]) * (1 + 1e-9) + 1e-300:
            raise ValueError(f"no body has the moments of inertia {a[0]:g}, {a[1]:g} and {a[2]:g}: none exceeds the sum of the others")
        object.__setattr__(self, "inertia", j)

    def with_mass(self, mass: float) -> MassProperties:
        """Return those of the same body with another density, so that it has this mass, kg. Raises TypeError or ValueError."""
        return MassProperties(_checks.positive("mass", mass), self.center, self.inertia * (mass / self.mass))

    @staticmethod
    def of_mesh(mesh: Any, density: float | Floats = 1000.0, *, shell: bool = False) -> MassProperties:
        """Return those of a mesh, exact up to rounding errors.

        Args:
            mesh: a closed surface, of which the inside counts; with `shell` a surface, closed or not, of which the triangles count;
                tetrahedra; segments; or what these are made from.
            density: kg/m^3 for the inside and tetrahedra, kg/m^2 for a shell, kg/m for segments; but for the inside also (m,), of each
                element.
            shell: whether the surface itself has mass.

        Raises:
            TypeError, ValueError: wrong types; a surface that is not closed, or inside out; no mass.
        """
        mesh = own_mesh(mesh)
        if not isinstance(mesh, (TriangleMesh, TetMesh, SegmentMesh)):
            raise TypeError(f"mesh must be a mesh of triangles, tetrahedra or segments, not {type(mesh).__name__}")
        if not len(mesh.vertices):
            raise ValueError("a mesh without vertices has no mass")
        # Coordinates around the middle of the mesh keep digits where it is far from the origin.
        middle = 0.5 * (mesh.vertices.min(axis=0) + mesh.vertices.max(axis=0))
        x = mesh.vertices - middle
        if isinstance(mesh, TriangleMesh) and not shell:
            faults = mesh.check_watertight()
            if not faults.watertight:
                raise ValueError(
                    f"a surface around a solid must be closed, but has {faults.faults()}; "
                    "mesh.repair closes holes, and a shell has mass itself (shell=True)"
                )
            corners = np.concatenate([x[mesh.triangles], np.zeros((len(mesh.triangles), 1, 3))], axis=1)
            masses = np.linalg.det(corners[:, :3]) / 6 * _checks.positive("density", density)
            if masses.sum() < 0:
                raise ValueError(
                    "the surface is inside out: its triangles must be counter-clockwise as seen from outside; mesh.repair turns them"
                )
        else:
            elements, sizes = _elements(mesh)
            corners = x[elements]
            each = _checks.numbers("density", density)
            masses = sizes * each if each.shape in ((), sizes.shape) else each
            if masses.shape != sizes.shape or not (np.isfinite(masses).all() and (masses >= 0).all()):
                raise ValueError(f"density must be one positive number, or one for each of the {len(sizes)} elements")
        return _of_simplices(corners, masses).moved(Pose(tuple(middle.tolist())))

    @staticmethod
    def of_points(points: Floats, masses: npt.ArrayLike) -> MassProperties:
        """Return those of point masses (n,), kg, at points (n, 3), m."""
        x = _checks.points("points", points, np.dtype(np.float64), 3)
        m = _checks.numbers("masses", masses)
        if m.shape not in ((), (len(x),)):
            raise ValueError(f"masses must be one number, or one for each of the {len(x)} points, not of shape {m.shape}")
        m = np.broadcast_to(m, (len(x),))
        _checks.require_finite("points", x)
        if not len(x) or not (m >= 0).all() or not np.isfinite(m).all():
            raise ValueError("masses must not be negative, and of at least one point")
        return _of_simplices(np.asarray(x[:, None, :], np.float64), m)

    @staticmethod
    def box(size: Sequence[float], density: float = 1000.0) -> MassProperties:
        """Return those of a box around the origin with sides `size` (m) along the axes; `density` in kg/m^3."""
        a = np.array(_checks.vector("size", size, 3))
        if not (a > 0).all():
            raise ValueError(f"size must be positive, not {size!r}")
        mass = _checks.positive("density", density) * float(a.prod())
        return MassProperties(mass, np.zeros(3), np.diag(mass / 12 * ((a**2).sum() - a**2)))

    @staticmethod
    def sphere(radius: float, density: float = 1000.0, *, shell: bool = False) -> MassProperties:
        """Return those of a ball around the origin (`density` in kg/m^3), or with `shell` of a thin sphere (kg/m^2)."""
        r, rho = _checks.positive("radius", radius), _checks.positive("density", density)
        mass = rho * (4 * math.pi * r**2 if shell else 4 / 3 * math.pi * r**3)
        return MassProperties(mass, np.zeros(3), (2 / 3 if shell else 2 / 5) * mass * r**2 * np.eye(3))

    @staticmethod
    def capsule(radius: float, length: float, density: float = 1000.0) -> MassProperties:
        """Return those of all points within `radius` (m) of a segment of `length` (m) along z around the origin; `density` in kg/m^3."""
        r, h, rho = _checks.positive("radius", radius), _checks.positive("length", length), _checks.positive("density", density)
        rod, ball = rho * math.pi * r**2 * h, rho * 4 / 3 * math.pi * r**3
        along = rod * r**2 / 2 + ball * 2 / 5 * r**2
        # Each half of the ball has its centre 3 r / 8 beyond an end of the rod.
        across = rod * (3 * r**2 + h**2) / 12 + ball * (2 / 5 * r**2 + h**2 / 4 + 3 / 8 * h * r)
        return MassProperties(rod + ball, np.zeros(3), np.diag([across, across, along]))

    @staticmethod
    def joined(parts: Sequence[MassProperties]) -> MassProperties:
        """Return those of a body of several parts; move these to their places first."""
        parts = _checks.items("parts", parts, MassProperties)
        if not parts:
            raise ValueError("a compound needs at least one part")
        mass = math.fsum(p.mass for p in parts)
        center = np.array([math.fsum(p.mass * p.center[k] for p in parts) for k in range(3)]) / mass
        inertia = sum((p.inertia + p.mass * _about(p.center - center) for p in parts), np.zeros((3, 3)))
        return MassProperties(mass, center, inertia)

    def moved(self, pose: Pose) -> MassProperties:
        """Return those of the body in a pose."""
        r = np.array(_checks.one_of_type("pose", pose, Pose).rotation)
        return MassProperties(self.mass, pose.apply(self.center[None])[0], r @ self.inertia @ r.T)

    def principal(self) -> tuple[Floats, Floats]:
        """Return moments of inertia (3,), kg m^2, ascending, and a rotation (3, 3) whose columns are their axes."""
        moments, axes = np.linalg.eigh(self.inertia)
        return moments, axes * np.sign(np.linalg.det(axes))

    def inverse_inertia(self) -> Floats:
        """Return the inverse (3, 3) of the inertia; ValueError where the body turns about some axis without resistance."""
        moments, axes = np.linalg.eigh(self.inertia)
        if not moments[0] > _FLAT * moments[2]:
            raise ValueError(
                f"the body has no inertia about some axis (moments {moments[0]:g}, {moments[1]:g}, {moments[2]:g} kg m^2): "
                "it must not lie on a line or in a point"
            )
        result: Floats = (axes / moments) @ axes.T
        return result


def _about(offset: Floats) -> Floats:
    """Return the inertia (3, 3) of a unit mass at an offset from an axis' origin."""
    result: Floats = float(offset @ offset) * np.eye(3) - np.outer(offset, offset)
    return result


def _elements(mesh: TriangleMesh | TetMesh | SegmentMesh) -> tuple[npt.NDArray[np.int32], Floats]:
    """Return the elements and their areas, volumes or lengths."""
    if isinstance(mesh, TriangleMesh):
        return mesh.triangles, mesh.areas
    if isinstance(mesh, TetMesh):
        return mesh.tets, mesh.volumes
    return mesh.segments, mesh.lengths


def _of_simplices(corners: Floats, masses: Floats) -> MassProperties:
    """Return the properties of simplices, corners (m, k, 3), with evenly spread masses (m,), which may be negative in part."""
    k = corners.shape[1]
    total = float(masses.sum())
    if not total > 0:
        raise ValueError("the body has no mass")
    sums = corners.sum(axis=1)
    center = np.einsum("m,md->d", masses, sums) / (k * total)
    # The mean of x x^T over a simplex of k corners: (sum x x^T + (sum x) (sum x)^T) / (k (k + 1)).
    x = corners - center
    s = x.sum(axis=1)
    second = np.einsum("m,mki,mkj->ij", masses, x, x) + np.einsum("m,mi,mj->ij", masses, s, s)
    second /= k * (k + 1)
    return MassProperties(total, center, np.trace(second) * np.eye(3) - second)
