"""Rigid bodies as the grid of a fluid sees them: signed distance, bounds and velocity."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import surface as _surface
from meniscus.mesh import TetMesh, TriangleMesh
from meniscus.solids import RigidBody
from meniscus.surface import Box, Shape, Sphere
from meniscus.surface.shapes.sampled import MeshShape

Floats = npt.NDArray[np.float64]
_FINE = 64  # cells across a form, whose volume is measured
_FINE_FLAT = 512  # the same in the plane
_MOST = 0.25  # cells by which the surface of a body moves at most
_STEP = 0.25  # cells, for the derivative of its volume


class BodyForm:
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

    def level(self, nodes: Floats, spacing: float) -> float:
        """Return the level, m, of the signed distance at nodes around the body at which their cells measure its volume.

        Edges are cut off where they pass through cells: a box of 12 cells lost 0.4 % of its volume, and as much of its lift. The cells
        of bodies with `planes` are cut exactly.
        """
        if len(self._faces) or not self.area > 0:
            return 0.0
        k = self.dimension
        missing = self.volume - _surface.solid_volume(np.ascontiguousarray(nodes), 0.0) * spacing**k
        return float(np.clip(missing / self.area, -_MOST * spacing, _MOST * spacing))

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
