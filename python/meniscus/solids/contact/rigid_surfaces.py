"""Rigid bodies of a world, as contact between surfaces sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.mesh import SegmentMesh, TetMesh, TriangleMesh
from meniscus.solids.contact.body_surface import BodySurface
from meniscus.solids.contact.self_stepping import NO_RIGID, RigidRows, SelfStepping
from meniscus.solids.rigid.rigid_body import RigidBody
from meniscus.solids.rigid.rigid_system import RigidSystem
from meniscus.solids.rigid.rotations import rotations_of, turned

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

# Corners of a tetrahedron around the origin, whose second moments are those of a unit cube of points.
_CORNERS = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
# Of flat and straight bodies: least extent of the tetrahedron, relative to the largest.
_FLAT = 0.05


class RigidSurfaces(SelfStepping):
    """The rigid bodies of a system that have a mesh. Each has four nodes, the corners of a tetrahedron around its centre of mass.

    Four equal masses there have the inertia of the body, unless that is flat or straight. Impulses between surfaces act on the body as
    they act on any rigid body (`ContactNodes.set_rigid`); contact of rigid bodies with each other and with solids is that of the system.

    Args:
        system: whose steps are taken.

    Attributes:
        is_dynamic: (k,), of the bodies, whether forces move them; blocked: whether they stay where they are all the same.
    """

    def __init__(self, system: RigidSystem) -> None:
        self.system = system
        self.bodies: list[RigidBody] = []
        self._surfaces: list[BodySurface] = []
        corners = []
        for part in system.parts:
            body = part.body
            surface = None if body is None else _mesh_of(body)
            if body is None or surface is None:
                continue
            own = _corners_of(body)
            vertices, edges, triangles = surface
            local = vertices - body.properties.center
            weights = np.linalg.solve(np.vstack([np.ones(4), own.T]), np.vstack([np.ones(len(local)), local.T])).T
            nodes = np.broadcast_to(4 * len(self.bodies) + np.arange(4, dtype=np.int32), (len(local), 4))
            friction = float(part.row[0, 1])
            self._surfaces.append(BodySurface(edges, triangles, nodes, weights, vertices, float(part.row[0, 6]), friction))
            self.bodies.append(body)
            corners.append(own)
        self._corners = np.array(corners).reshape(-1, 4, 3)
        self._masses = np.array([b.mass for b in self.bodies])
        self._inverse_inertias = np.array([b._inverse_inertia for b in self.bodies]).reshape(-1, 3, 3)
        self.is_dynamic = np.array([b.is_dynamic for b in self.bodies], np.bool_)
        self.blocked = np.zeros(len(self.bodies), np.bool_)

    def __len__(self) -> int:
        """Return the number of nodes, four for each body."""
        return 4 * len(self.bodies)

    @property
    def surfaces(self) -> Sequence[BodySurface]:
        """Surfaces of the bodies."""
        return self._surfaces

    @property
    def inverse_masses(self) -> Floats:
        """Inverse masses (n,) of the nodes, 1/kg."""
        return np.repeat([4.0 / b.mass if b.is_dynamic else 0.0 for b in self.bodies], 4)

    def rigid_rows(self) -> RigidRows:
        """Return masses, inertia and nodes of the bodies that forces move."""
        k = np.flatnonzero(self.is_dynamic & ~self.blocked)
        if not len(k):
            return NO_RIGID
        rotations = self._rotations()[k]
        inertias = rotations @ self._inverse_inertias[k] @ rotations.transpose(0, 2, 1)
        arms = self._corners[k] @ rotations.transpose(0, 2, 1)
        nodes = (4 * k[:, None] + np.arange(4)).astype(np.int32)
        return RigidRows(nodes, arms, 1.0 / self._masses[k], inertias)

    def place(self, out: Floats) -> None:
        """Write the positions (n, 3) of the nodes, m."""
        out[...] = (self._arms() + self._centers()[:, None]).reshape(-1, 3)

    def velocities(self, out: Floats) -> None:
        """Write the velocities (n, 3) of the nodes, m/s."""
        if not self.bodies:
            return
        rotations, rows = self._rotations(), np.array([b.state_row for b in self.bodies])
        linear = rows[:, 7:10] / self._masses[:, None]
        local = np.einsum("kji,kj->ki", rotations, rows[:, 10:])
        angular = np.einsum("kij,kjl,kl->ki", rotations, self._inverse_inertias, local)
        arms = self._corners @ rotations.transpose(0, 2, 1)
        out[...] = (linear[:, None] + np.cross(angular[:, None], arms)).reshape(-1, 3)

    def predict(self, dt: float, out: Floats) -> None:
        """Write the velocities (n, 3) in the middle of a step of dt seconds; of bodies on paths, the means over it."""
        self.velocities(out)
        now = self._arms() + self._centers()[:, None]
        for i, body in enumerate(self.bodies):
            rows = slice(4 * i, 4 * i + 4)
            if body.is_dynamic:
                out[rows] += 0.5 * dt * body.gravity
            elif body._path is not None:
                ahead = body.copy()
                ahead.step(dt)
                out[rows] = (self._corners[i] @ ahead.rotation.T + ahead.state_row[:3] - now[i]) / dt

    def advance(self, dt: float, pushed: Floats, sprung: Floats) -> None:
        """Take a step of the system; positions go by `pushed` (n, 3), m/s, more than that."""
        linear, angular = self._twists(pushed)
        self.system.step(dt)
        for i in np.flatnonzero(self.is_dynamic & (pushed.reshape(-1, 12) != 0).any(axis=1)):
            self.bodies[i].state_row[:7] = turned(self.bodies[i].state_row[:7], dt * linear[i], dt * angular[i])

    def hold(self, velocities: Floats) -> None:
        """Change nothing: obstacles are part of the steps of the system."""

    def begin(self) -> None:
        """Begin a step; ValueError with the number of the body if its state is not finite."""
        for number, body in enumerate(self.bodies):
            if not np.isfinite(body.state_row).all():
                raise ValueError(f"poses and momenta of a RigidBody must be finite, but those of number {number} with a mesh are not")

    def take(self, change: Floats) -> None:
        """Change velocities of bodies by those of the nodes (n, 3), m/s."""
        linear, angular = self._twists(change)
        for i in np.flatnonzero(self.is_dynamic & (change.reshape(-1, 12) != 0).any(axis=1)):
            self._accelerate(self.bodies[i], linear[i], angular[i])
            self.system.wake(self.bodies[i])

    def closest(self, ends: Floats) -> Floats:
        """Return the positions (n, 3) of the nodes of rigid bodies closest to others, m."""
        at = ends.reshape(-1, 4, 3)
        centers = at.mean(axis=1, keepdims=True)
        rotations = _closest_rotations(np.einsum("kni,knj->kij", at - centers, self._corners))
        result: Floats = (self._corners @ rotations.transpose(0, 2, 1) + centers).reshape(-1, 3)
        return result

    def finish(self, here: Floats, whole: Floats, ends: Floats, v_free: Floats, part: float, over: Floats) -> None:
        """Go from `here` to `ends`; see `SelfStepping`."""
        changed = (here != ends).reshape(-1, 12).any(axis=1)
        linear, angular = self._twists((whole - here) / over[:, None])
        linear_free, angular_free = self._twists(v_free)
        at = ends.reshape(-1, 4, 3)
        rotations = _closest_rotations(np.einsum("kni,knj->kij", at - at.mean(axis=1, keepdims=True), self._corners))
        for i in np.flatnonzero(self.is_dynamic & (changed | (part < 1))):
            body = self.bodies[i]
            body.state_row[:3] = at[i].mean(axis=0)
            body.set_rotation(rotations[i])
            if part < 1:
                self._accelerate(
                    body, (1 - part) * (linear_free[i] - body.velocity), (1 - part) * (angular_free[i] - body.angular_velocity)
                )
            else:
                self._accelerate(body, linear[i], angular[i])
            self.system.wake(body)

    def start_at(self, time: float) -> None:
        """Set the time (s) of the system."""
        self.system.start_at(time)

    def _centers(self) -> Floats:
        return np.array([b.state_row[:3] for b in self.bodies]).reshape(-1, 3)

    def _rotations(self) -> Floats:
        return rotations_of(np.array([b.state_row[3:7] for b in self.bodies]).reshape(-1, 4))

    def _arms(self) -> Floats:
        result: Floats = self._corners @ self._rotations().transpose(0, 2, 1)
        return result

    def _twists(self, velocities: Floats) -> tuple[Floats, Floats]:
        """Return the velocities and angular velocities (k, 3) closest to velocities of the nodes (n, 3)."""
        v, r = velocities.reshape(-1, 4, 3), self._arms()
        linear = v.mean(axis=1)
        squares = np.einsum("kni,kni->k", r, r)[:, None, None] * np.eye(3) - np.einsum("kni,knj->kij", r, r)
        spin = np.cross(r, v - linear[:, None]).sum(axis=1)
        angular = np.linalg.solve(squares, spin[:, :, None])[:, :, 0] if len(v) else linear
        return linear, angular

    @staticmethod
    def _accelerate(body: RigidBody, linear: Floats, angular: Floats) -> None:
        rotation = body.rotation
        body.momentum[...] += body.mass * linear
        body.angular_momentum[...] += rotation @ (body.properties.inertia @ (rotation.T @ angular))


def _mesh_of(body: RigidBody) -> tuple[Floats, Ints | None, Ints] | None:
    """Return vertices, edges of segments and triangles of a body in its rest pose; None without a mesh."""
    mesh: Any = body.mesh.boundary if isinstance(body.mesh, TetMesh) else body.mesh
    if isinstance(mesh, TriangleMesh):
        return mesh.vertices, None, mesh.triangles
    if isinstance(mesh, SegmentMesh):
        return mesh.vertices, mesh.segments, np.empty((0, 3), np.int32)
    return None


def _corners_of(body: RigidBody) -> Floats:
    """Return the nodes (4, 3) of a body from its centre of mass, m, in axes of the rest pose."""
    moments, axes = np.linalg.eigh(body.properties.inertia)
    # Second moments of mass along the principal axes, from the inertia about them.
    extents = np.sqrt(np.maximum(0.5 * moments.sum() - moments, 0.0) / body.mass)
    result: Floats = (_CORNERS * np.maximum(extents, _FLAT * extents.max())) @ axes.T
    return result


def _closest_rotations(correlations: Floats) -> Floats:
    """Return the rotations (k, 3, 3) that carry one set of points closest to another, from their correlations."""
    if not len(correlations):
        return correlations
    u, _, vt = np.linalg.svd(correlations)
    u[:, :, 2] *= np.sign(np.linalg.det(u @ vt))[:, None]
    result: Floats = u @ vt
    return result
