"""Grips of bodies that consist of nodes: deformable, position based and reduced ones."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from meniscus.mesh import SegmentMesh, TetMesh, TriangleMesh
from meniscus.solids.body import DeformableBody
from meniscus.solids.contact.contact_surface import fixed_nodes
from meniscus.solids.interaction.grip import BodyTriangles, Floats, Grip, GripRows, Ints
from meniscus.solids.position.position_body import PositionBody
from meniscus.solids.reduced.reduced_body import ReducedBody

_AXES = np.arange(3, dtype=np.int32)


class NodeGrip(Grip):
    """Points between nodes of a body: weighted sums of these."""

    columns: ClassVar[Mapping[str, Any]] = {"nodes": np.zeros((0, 0), np.int32), "weights": np.zeros((0, 0))}

    def __init__(self, body: Any, places: Mapping[str, Any]) -> None:
        super().__init__(body, places)
        if self.nodes.shape != self.weights.shape or not (
            0 <= self.nodes.min(initial=0) <= self.nodes.max(initial=0) < len(body.positions)
        ):
            raise ValueError(f"points of a body need nodes of its {len(body.positions)}, and a weight for each of them")

    @classmethod
    @abstractmethod
    def elements(cls, body: Any) -> Ints | None:
        """Return segments, triangles or tetrahedra of a body, or None."""

    @classmethod
    def triangles(cls, body: Any) -> BodyTriangles | None:
        """Return the surface of a body, or None where it has none."""
        own = cls.elements(body)
        if own is None or not len(own):
            return None
        x = np.ascontiguousarray(body.positions, np.float64)
        if own.shape[1] == 4:
            own = TetMesh(x, own).boundary.triangles
        triangles = own if own.shape[1] == 3 else own[:, [0, 1, 1]]
        used, numbered = np.unique(triangles, return_inverse=True)
        nodes = used.astype(np.int32)[:, None]
        ends = np.ascontiguousarray(numbered.reshape(-1, 3), np.int32)
        return BodyTriangles(np.ascontiguousarray(x[used]), ends, nodes, np.ones(nodes.shape), np.zeros((0, 3)))

    @classmethod
    def on(cls, body: Any, surface: BodyTriangles, triangles: Ints, barycentric: Floats) -> Grip:
        """Return a grip of points on triangles (k,) of the surface of a body, by barycentric coordinates (k, 3)."""
        corners = surface.triangles[triangles]
        weights = (barycentric[:, :, None] * surface.weights[corners]).reshape(len(corners), -1)
        return cls(body, {"nodes": surface.nodes[corners].reshape(len(corners), -1), "weights": weights})

    @property
    def nodes(self) -> Ints:
        """Nodes (k, c) of each point."""
        return self.places["nodes"]

    @property
    def weights(self) -> Floats:
        """Their weights (k, c)."""
        return self.places["weights"]

    @property
    def positions(self) -> Floats:
        """Positions (k, 3), m."""
        result: Floats = np.einsum("kc,kcd->kd", self.weights, np.asarray(self.body.positions[self.nodes], np.float64))
        return result


class FreeNodeGrip(NodeGrip):
    """Points of a body whose nodes yield each on its own: those of `DeformableBody` and `PositionBody`."""

    @abstractmethod
    def _inverse_masses(self) -> Floats:
        """Return the inverse masses (k, c, 3, 3) of the nodes, 1/kg."""

    def rows(self) -> GripRows:
        """Return how the points move with the velocities of the nodes."""
        k, c = self.nodes.shape
        coordinates = (3 * self.nodes[:, :, None] + _AXES).reshape(k, 3 * c)
        directions = (self.weights[:, :, None, None] * np.eye(3)).reshape(k, 3 * c, 3)
        responses = (self.weights[:, :, None, None] * self._inverse_masses()).reshape(k, 3 * c, 3)
        return GripRows(coordinates, directions, responses)

    def apply_impulses(self, impulses: Floats) -> None:
        """Let impulses (k, 3), kg m/s, act at the points; on a body in single precision they are as exact as that."""
        change = np.einsum("kc,kcij,kj->kci", self.weights, self._inverse_masses(), impulses)
        np.add.at(self.body.velocities, self.nodes, change)

    @property
    def mass(self) -> float:
        """Mass of the body, kg, without infinite masses."""
        m = self.body.masses
        return float(m[np.isfinite(m)].sum())


class DeformableGrip(FreeNodeGrip):
    """Points of a `DeformableBody`. What is pinned, moved or infinitely heavy does not yield; what slides yields along its ways."""

    body_types = (DeformableBody,)

    @classmethod
    def elements(cls, body: DeformableBody) -> Ints | None:
        """Return segments, triangles or tetrahedra of a body, or None."""
        return body.elements

    def _inverse_masses(self) -> Floats:
        return inverse_masses_of(self.body, self.nodes)

    def generalised(self, dt: float = 0.0) -> Floats:
        """Return the velocities of all nodes, one after the other."""
        body = self.body
        v = np.array(body.velocities)
        if dt > 0:
            free = np.isfinite(body.masses)
            free[body.constrained] = False
            v[free] += 0.5 * dt * body.gravity
            for nodes, ends in body._on_paths(body.time + dt):
                v[nodes] = (ends - body.positions[nodes]) / dt
            for node, end in body._targets.items():
                v[node] = (end - body.positions[node]) / dt
        return v.ravel()


class PositionGrip(FreeNodeGrip):
    """Points of a `PositionBody`. What is held does not yield."""

    body_types = (PositionBody,)

    @classmethod
    def elements(cls, body: PositionBody) -> Ints | None:
        """Return segments, triangles or tetrahedra of a body, or None."""
        return elements_of(body.mesh)

    def _inverse_masses(self) -> Floats:
        result: Floats = self.body.nodes[self.nodes, 3].astype(np.float64)[:, :, None, None] * np.eye(3)
        return result

    def generalised(self, dt: float = 0.0) -> Floats:
        """Return the velocities of all nodes, one after the other."""
        body = self.body
        v = np.array(body.velocities, np.float64)
        if dt > 0:
            v[body.nodes[:, 3] > 0] += 0.5 * dt * body.gravity
            for nodes, path in body._paths:
                v[nodes] = (np.asarray(path(body.time + dt), np.float64) - body.positions[nodes]) / dt
        result: Floats = v.ravel()
        return result


class ReducedGrip(NodeGrip):
    """Points of a `ReducedBody`: its frame and all of its vectors answer to an impulse."""

    body_types = (ReducedBody,)

    @classmethod
    def elements(cls, body: ReducedBody) -> Ints | None:
        """Return the tetrahedra."""
        return np.asarray(body.model.tets)

    def _rows(self) -> tuple[Floats, Floats, Floats]:
        nodes, weights = self.body._points(self.nodes, self.weights)
        self.body._prepare()
        directions, responses, velocity = self.body._contacts.rows(self.body._core, nodes, weights)
        return directions, responses, velocity

    def rows(self) -> GripRows:
        """Return how the points move with the velocity of the centre and turn, in axes of the frame, unless held, and the rates."""
        directions, responses, velocity = self._rows()
        coordinates = np.broadcast_to(np.arange(len(velocity), dtype=np.int32), responses.shape[:2])
        return GripRows(coordinates, np.ascontiguousarray(directions.transpose(0, 2, 1)), responses)

    def generalised(self, dt: float = 0.0) -> Floats:
        """Return the generalised velocities."""
        velocity = self._rows()[2]
        if dt > 0 and not self.body.clamped:
            velocity[:3] += 0.5 * dt * (self.body.rotation.T @ self.body.gravity)
        return velocity

    def apply_impulses(self, impulses: Floats) -> None:
        """Let impulses (k, 3), kg m/s, act at the points."""
        self.body.apply_impulses(self.nodes, np.ascontiguousarray(impulses), self.weights)

    @property
    def mass(self) -> float:
        """Mass of the body, kg."""
        return float(self.body.mass)


def node_inverse_masses(body: Any) -> Floats:
    """Return the inverse masses (n,) of all nodes of a deformable or position based body, 1/kg: at most so much do they yield."""
    if isinstance(body, PositionBody):
        return np.asarray(body.nodes[:, 3], np.float64)
    result: Floats = 1.0 / body.masses
    result[fixed_nodes(body)] = 0.0
    return result


def add_to_nodes(body: Any, impulses: Floats) -> Floats:
    """Let impulses (n, 3), kg m/s, act on all nodes of a deformable or position based body; return (3,) what those got that yield."""
    change = node_inverse_masses(body)[:, None] * impulses
    if isinstance(body, DeformableBody):
        held = body.constrained
        change[held] = np.einsum("kij,kj->ki", body._core.projections, change[held])
    body.velocities[...] += change.astype(body.velocities.dtype)
    result: Floats = np.einsum("n,nd->d", np.where(np.isfinite(body.masses), body.masses, 0.0), change)
    return result


def inverse_masses_of(body: DeformableBody, nodes: Ints) -> Floats:
    """Return the inverse masses (..., 3, 3) of nodes of a deformable body, 1/kg, with what holds them."""
    result: Floats = (1.0 / body.masses)[nodes][..., None, None] * np.eye(3)
    held = body.constrained
    if len(held):
        place = np.minimum(np.searchsorted(held, nodes), len(held) - 1)
        ours = held[place] == nodes
        result[ours] = body._core.projections[place[ours]] @ result[ours]
    return result


def elements_of(mesh: Any) -> Ints | None:
    """Return segments, triangles or tetrahedra of a mesh, or None."""
    return np.asarray(mesh.elements) if isinstance(mesh, (SegmentMesh, TriangleMesh, TetMesh)) else None
