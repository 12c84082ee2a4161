"""Grips of rigid bodies: points, and the turn of the whole body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from meniscus.mesh import TetMesh
from meniscus.solids.interaction.grip import BodyTriangles, Floats, Grip, GripRows, Ints
from meniscus.solids.interaction.node_grips import elements_of
from meniscus.solids.rigid.rigid_body import RigidBody

_ALL = np.arange(6, dtype=np.int32)


class RigidGrip(Grip):
    """Points of a `RigidBody`, by their places in its rest pose. What is fixed or on a path does not yield."""

    body_types: ClassVar[tuple[type, ...]] = (RigidBody,)
    columns: ClassVar[Mapping[str, Any]] = {"local": np.zeros((0, 3))}

    @classmethod
    def triangles(cls, body: RigidBody) -> BodyTriangles | None:
        """Return the surface of a body, or None where it has none."""
        mesh: Any = body.mesh.boundary if isinstance(body.mesh, TetMesh) else body.mesh
        elements = elements_of(mesh)
        if elements is None or not len(elements):
            return None
        ends = np.ascontiguousarray(elements if elements.shape[1] == 3 else elements[:, [0, 1, 1]], np.int32)
        local = np.asarray(mesh.vertices)
        none = np.zeros((len(local), 0))
        return BodyTriangles(np.ascontiguousarray(body.positions(local)), ends, none.astype(np.int32), none, local)

    @classmethod
    def on(cls, body: RigidBody, surface: BodyTriangles, triangles: Ints, barycentric: Floats) -> Grip:
        """Return a grip of points on triangles (k,) of the surface of a body, by barycentric coordinates (k, 3)."""
        return cls(body, {"local": np.einsum("kc,kcd->kd", barycentric, surface.local[surface.triangles[triangles]])})

    @property
    def positions(self) -> Floats:
        """Positions (k, 3), m."""
        result: Floats = self.body.positions(self.places["local"])
        return result

    def rows(self) -> GripRows:
        """Return how the points move with the velocity of the centre and the angular velocity."""
        body = self.body
        arms = self.positions - body.state_row[:3]
        k = len(arms)
        skew = np.zeros((k, 3, 3))
        for i, j, axis in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            skew[:, j, i], skew[:, i, j] = arms[:, axis], -arms[:, axis]
        directions, responses = np.zeros((k, 6, 3)), np.zeros((k, 6, 3))
        # Entry by entry: the velocity is v - r x w, row d of which multiplies entry d of w.
        directions[:, :3] = np.eye(3)
        directions[:, 3:] = skew
        if body.is_dynamic:
            responses[:, :3] = np.eye(3) / body.mass
            responses[:, 3:] = np.einsum("ij,kjl->kil", inverse_inertia(body), skew)
        return GripRows(np.broadcast_to(_ALL, (k, 6)), directions, responses)

    def generalised(self, dt: float = 0.0) -> Floats:
        """Return the velocity of the centre and the angular velocity."""
        body = self.body
        if dt > 0 and body._path is not None:
            ahead = body.copy()
            ahead.step(dt)
            return np.concatenate([(ahead.state_row[:3] - body.state_row[:3]) / dt, ahead.angular_velocity])
        u = np.concatenate([body.velocity, body.angular_velocity])
        if dt > 0 and body.is_dynamic:
            u[:3] += 0.5 * dt * body.gravity
        return u

    def apply_impulses(self, impulses: Floats) -> None:
        """Let impulses (k, 3), kg m/s, act at the points."""
        self.body.apply_impulses(np.ascontiguousarray(self.positions), np.ascontiguousarray(impulses))

    @property
    def mass(self) -> float:
        """Mass of the body, kg."""
        return float(self.body.mass)


class TurnGrip(RigidGrip):
    """The turn of a rigid body: its velocity is the angular one, its impulse an angular one, kg m^2/s."""

    body_types = ()

    def rows(self) -> GripRows:
        """Return how it depends on the velocity of the centre and the angular velocity."""
        directions, responses = np.zeros((1, 3, 3)), np.zeros((1, 3, 3))
        directions[0] = np.eye(3)
        if self.body.is_dynamic:
            responses[0] = inverse_inertia(self.body)
        return GripRows(_ALL[None, 3:], directions, responses)

    def apply_impulses(self, impulses: Floats) -> None:
        """Let angular impulses (1, 3), kg m^2/s, act."""
        if self.body.is_dynamic:
            self.body.angular_momentum[...] += impulses.sum(axis=0)


def inverse_inertia(body: RigidBody) -> Floats:
    """Return the inverse inertia (3, 3) of a rigid body in axes of the world, 1/(kg m^2)."""
    r = body.rotation
    result: Floats = r @ body._inverse_inertia @ r.T
    return result
