"""Rigid bodies as the grid of a fluid sees them: signed distance, bounds and velocity."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.mesh import TetMesh, TriangleMesh
from meniscus.solids import RigidBody
from meniscus.surface import Box, Shape, Sphere
from meniscus.surface.shapes.sampled import MeshShape

Floats = npt.NDArray[np.float64]


class BodyForm:
    """The form of a rigid body, wherever it is, in space or in the plane z = 0 of a 2-D grid.

    In the plane, a box or a ball is as long as the domain is deep, a cylinder; other bodies have their section.

    Args:
        body: with a shape or a closed mesh.
        dimension: 2 or 3.
        name: of the body, in errors.

    Raises:
        ValueError: the body has neither a shape nor a closed surface.
    """

    def __init__(self, body: RigidBody, dimension: int, name: str) -> None:
        self.body, self.dimension = body, dimension
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
