"""Rigid bodies as the grid of a fluid sees them: signed distance, bounds and velocity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import surface as _surface
from meniscus.coupling.bodies.pushed_form import PushedForm
from meniscus.mesh import TetMesh, TriangleMesh
from meniscus.solids import RigidBody
from meniscus.surface import Box, Shape, Sphere
from meniscus.surface.shapes.sampled import MeshShape

Floats = npt.NDArray[np.float64]
_FINE = 64  # cells across a form, whose volume is measured
_FINE_FLAT = 512  # the same in the plane
_STEP = 0.25  # cells, for the derivative of its volume


class BodyForm(PushedForm):
    """The form of a rigid body, wherever it is, in space or in the plane z = 0 of a 2-D grid.

    In the plane, a box or a ball is as long as the domain is deep, a cylinder; other bodies have their section.

    Args:
        body: with a shape or a closed mesh.
        dimension: 2 or 3.
        name: of the body, in errors.

    Attributes:
        volume: m^3 (m^2 in the plane), measured with cells much smaller than the body.
        area: of its surface, m^2 (m), likewise.

    Raises:
        ValueError: the body has neither a shape nor a closed surface.
    """

    def __init__(self, body: RigidBody, dimension: int, name: str) -> None:
        self.body: RigidBody = body
        self.dimension = dimension
        form = body.shape
        if form is None:
            surface = body.mesh.boundary if isinstance(body.mesh, TetMesh) else body.mesh
            if not isinstance(surface, TriangleMesh) or not surface.check_watertight().watertight:
                raise ValueError(f"{name} needs a shape or a closed surface for a fluid to move it")
            form = MeshShape(surface)
        self._lower, self._upper = (np.array(corner) for corner in form.bounds)
        if not (np.isfinite(self._lower).all() and np.isfinite(self._upper).all()):
            raise ValueError(f"{name} must be bounded for a fluid to move it")
        self._flat = False
        if dimension == 2 and isinstance(form, Box):
            form, self._flat = Box(form.lower[:2], form.upper[:2], form.rounding), True
        elif dimension == 2 and isinstance(form, Sphere):
            form, self._flat = Sphere(form.center[:2], form.radius), True
        self._form: Shape = form
        self._faces = _faces_of(form, dimension)
        self.volume, self.area = self._measure()

    def _measure(self) -> tuple[float, float]:
        """Return volume and area of the form at rest, or of its section by the plane in which it is now."""
        k = self.dimension
        lower, upper = (self._lower[:k], self._upper[:k]) if self._flat or k == 3 else self.bounds()
        h = float((upper - lower).max()) / (_FINE if k == 3 else _FINE_FLAT)
        # Sides of boxes do not lie in nodes.
        axes = [np.arange(a - 2.37 * h, b + 3 * h, h) for a, b in zip(lower, upper, strict=True)]
        x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        points = np.ascontiguousarray(x.reshape(-1, k))
        at_rest = self._flat or k == 3
        phi = self._form.signed_distance(points) if at_rest else self.signed_distance(points)
        nodes = np.ascontiguousarray(phi.reshape(x.shape[:-1]))
        volumes = [_surface.solid_volume(nodes, level * h) for level in (0.0, -_STEP, _STEP)]
        return volumes[0] * h**k, (volumes[2] - volumes[1]) * h ** (k - 1) / (2 * _STEP)

    def planes(self) -> Floats:
        """Return the faces (k, 4) of a box: outward normals, and distances from the centre of mass, m; none of other bodies."""
        if not len(self._faces):
            return self._faces
        normals = self._faces[:, :3]
        offsets = self._faces[:, 3] - normals @ self.body.properties.center
        return np.column_stack([normals @ self.body.rotation.T, offsets])

    def bounds(self) -> tuple[Floats, Floats]:
        """Return the corners (dim,) of a box around the body, m."""
        choices = np.stack([self._lower, self._upper])
        corners = np.array([[choices[i, 0], choices[j, 1], choices[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
        x = self.body.positions(corners)[:, : self.dimension]
        return x.min(axis=0), x.max(axis=0)

    def signed_distance(self, points: Floats) -> Floats:
        """Return the distance (n,) of points (n, dim), m, negative in the body."""
        rotation, center = self.body.rotation, self.body.state_row[:3]
        k = self.dimension
        rest = self.body.properties.center
        if self._flat:
            local = (points - center[:2]) @ rotation[:2, :2] + rest[:2]
        elif k == 2:
            full = np.column_stack([points, np.zeros(len(points))])
            local = (full - center) @ rotation + rest
        else:
            local = (points - center) @ rotation + rest
        return self._form.signed_distance(np.ascontiguousarray(local))

    @property
    def state(self) -> Floats:
        """The pose, (7,)."""
        return np.array(self.body.state_row[:7])

    @property
    def is_dynamic(self) -> bool:
        """Whether forces move the body."""
        return self.body.is_dynamic

    @property
    def mass(self) -> float:
        """Of the body, kg; 0 if it follows a path."""
        return float(self.body.mass) if self.body.is_dynamic else 0.0

    @property
    def center(self) -> Floats:
        """The centre of mass (3,), m."""
        return np.array(self.body.state_row[:3])

    @property
    def inertia(self) -> Floats:
        """The inertia (3, 3) about the centre, in axes of the world, kg m^2."""
        return inertia_of(self.body)

    @property
    def motion(self) -> Floats:
        """The velocity of the centre, m/s, and the angular velocity, rad/s, (6,)."""
        return motion_of(self.body)

    def add_motion(self, change: Floats) -> None:
        """Add to the motion, (6,)."""
        kick = momentum_of(self.body, change)
        self.body.momentum[...] += kick[:3]
        self.body.angular_momentum[...] += kick[3:]

    def go_on(self, load: Floats, rate: Floats, dt: float) -> None:
        """Let gravity and the load (6,) of the fluid, N and N m, go on for dt seconds, where forces move the body."""
        if not self.body.is_dynamic:
            return
        self.body.momentum[...] += dt * (self.body.mass * self.body.gravity + load[:3])
        self.body.angular_momentum[...] += dt * load[3:]

    def speeds(self, coordinates: Sequence[Floats], axis: int) -> Floats:
        """Return the component along an axis of the velocity at the places of a box, given by coordinates along its axes, m/s."""
        return _speed(self.motion, [x - self.body.state_row[k] for k, x in enumerate(coordinates)], axis)

    @property
    def energies(self) -> tuple[float, float]:
        """Kinetic and elastic energy, J."""
        return float(self.body.kinetic_energy), 0.0

    @property
    def mesh(self) -> tuple[Floats, Any]:
        """Vertices (n, 3), m, and triangles (m, 3) of the surface."""
        mesh: Any = self.body.mesh
        return self.body.positions(), mesh.triangles if isinstance(mesh, TriangleMesh) else mesh.boundary.triangles


def _speed(motion: Floats, arms: Sequence[Floats], d: int) -> Floats:
    """Return the component of the velocity of a rigid motion along an axis, at places from the centre given by axes."""
    total = np.full([len(a) for a in arms], motion[d])
    for k, arm in enumerate(arms):
        other = 3 - k - d
        if k == d:
            continue
        # (w x r)_d = w_other r_k, with the sign of the order (d, other, k).
        sign = 1.0 if (d, other, k) in ((0, 1, 2), (1, 2, 0), (2, 0, 1)) else -1.0
        shape = [1] * len(arms)
        shape[k] = len(arm)
        total = total + sign * motion[3 + other] * arm.reshape(shape)
    return total


def _faces_of(form: Shape, dimension: int) -> Floats:
    """Return the faces (k, 4) of a box at rest, n . x = c."""
    if not isinstance(form, Box) or form.rounding != 0.0:
        return np.zeros((0, 4))
    rows = []
    for d in range(dimension):
        normal = np.zeros(3)
        normal[d] = 1.0
        rows += [[*normal, form.upper[d]], [*-normal, -form.lower[d]]]
    return np.array(rows)


def motion_of(body: RigidBody) -> Floats:
    """Return the velocity of the centre, m/s, and the angular velocity, rad/s, (6,)."""
    return np.concatenate([body.velocity, body.angular_velocity])


def inertia_of(body: RigidBody) -> Floats:
    """Return the inertia (3, 3) about the centre, in axes of the world, kg m^2."""
    r = body.rotation
    result: Floats = r @ body.properties.inertia @ r.T
    return result


def momentum_of(body: RigidBody, motion: Floats) -> Floats:
    """Return the momentum and the angular momentum (6,) that belong to a motion (6,)."""
    return np.concatenate([body.mass * motion[:3], inertia_of(body) @ motion[3:]])


def keep_in_plane(body: RigidBody) -> None:
    """Take from a body of the plane z = 0 what rounding in contacts has moved it out of the plane."""
    row = body.state_row
    row[[2, 4, 5, 9, 10, 11]] = 0.0
    row[3:7] /= np.linalg.norm(row[3:7])
    body.matrix[...] = body.rotation
