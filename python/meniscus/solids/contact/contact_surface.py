"""All surfaces of a world as one, and the nodes behind its vertices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import solids as _solids
from meniscus.collision import CollisionMesh, ContactNodes
from meniscus.mesh.segment_mesh import SegmentMesh
from meniscus.mesh.tet_mesh import TetMesh
from meniscus.mesh.triangle_mesh import TriangleMesh
from meniscus.solids.body import DeformableBody
from meniscus.solids.contact.body_surface import BodySurface
from meniscus.solids.contact.obstacles import MeshObstacle
from meniscus.solids.contact.self_stepping import RigidRows, SelfStepping

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

# Thickness where none is given, relative to the mean edge.
_THICKNESS = 0.25


def _groups(bodies: Sequence[DeformableBody]) -> Ints:
    """Return for each node of bodies the number of the connected part that it belongs to; nodes without elements are alone."""
    found, first = [np.empty(0, np.int64)], 0
    for body in bodies:
        own = np.full(len(body), -1, np.int64)
        elements = body.elements
        if elements is not None and len(elements):
            kind: Any = {2: SegmentMesh, 3: TriangleMesh, 4: TetMesh}[elements.shape[1]]
            own[elements] = kind(body.positions, elements).component[:, None]
        alone = np.flatnonzero(own < 0)
        own[alone] = own.max(initial=-1) + 1 + np.arange(len(alone))
        found.append(own + first)
        first += int(own.max(initial=-1)) + 1
    return np.concatenate(found).astype(np.int32)


def _in_tetrahedra(bodies: Sequence[DeformableBody]) -> Bools:
    """Return for each node of bodies whether it is part of a tetrahedron."""
    found = [np.zeros(0, np.bool_)]
    for body in bodies:
        own = np.zeros(len(body), np.bool_)
        if body.elements is not None and body.elements.shape[1] == 4:
            own[body.elements] = True
        found.append(own)
    return np.concatenate(found)


class ContactSurface:
    """The surfaces of all bodies and mesh obstacles as one mesh.

    Its nodes are those of deformable bodies, of bodies with steps of their own, and the vertices of the obstacles.

    Attributes:
        mesh: all surfaces.
        contact_nodes: the nodes behind its vertices.
        rest: (v, 3), where the vertices were when their bodies were added, m.
        thickness, friction: (v,) of the vertices, m and coefficients.
        inverse_masses: (n,) of the nodes, 1/kg, 0 for those on given paths.
        movable: nodes of deformable bodies that contact can move, ascending.
        yields: (v,) whether contact can move a vertex, and not only as part of a rigid body.
        body_nodes: number of the nodes of deformable bodies; size: of all.
        others: bodies with steps of their own, with their rows.
        exact: rows of nodes that stay at given places to the last digit.
        groups: nodes of bodies that hang together.
    """

    def __init__(
        self,
        bodies: Sequence[tuple[DeformableBody, BodySurface | None]],
        obstacles: Sequence[MeshObstacle],
        others: Sequence[SelfStepping] = (),
    ) -> None:
        self._obstacles = tuple(obstacles)
        sizes = [len(body) for body, _ in bodies] + [len(other) for other in others] + [len(o.rest) for o in obstacles]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.size = int(starts[-1])
        self.body_nodes = int(starts[len(bodies)])
        self.starts = starts
        self.others = tuple((o, slice(int(f), int(f) + len(o))) for o, f in zip(others, starts[len(bodies) :], strict=False))
        self.exact = [slice(0, self.body_nodes), *(rows for other, rows in self.others if other.exact)]
        self._obstacle_nodes = int(starts[len(bodies) + len(others)])
        parts: list[BodySurface] = []
        firsts: list[int] = []
        for (_, surface), first in zip(bodies, starts, strict=False):
            if surface is not None:
                parts.append(surface)
                firsts.append(int(first))
        whole = len(parts)
        for other, rows in self.others:
            parts += other.surfaces
            firsts += [rows.start] * len(other.surfaces)
        shared = range(whole, len(parts))
        for o, first in zip(obstacles, starts[len(bodies) + len(others) :], strict=False):
            own = np.arange(len(o.rest), dtype=np.int32)[:, None]
            parts.append(BodySurface(o.edges, o.triangles, own, np.ones(own.shape), o.rest, o.thickness, o.friction))
            firsts.append(int(first))
        self._join(parts, firsts, shared)
        self.inverse_masses = self._inverse_masses(bodies)
        self.projectors = constraint_projectors(bodies)
        deformable = [body for body, _ in bodies]
        self.groups = _solids.NodeGroups(_groups(deformable), self.inverse_masses[: self.body_nodes], _in_tetrahedra(deformable))
        self.movable = np.flatnonzero(self.inverse_masses[: self.body_nodes]).astype(np.int32)
        single = np.ones(self.size, np.bool_)
        for other, rows in self.others:
            single[rows] = not other.rigid_rows().nodes.size
        used = (self.weights != 0) | self._kept
        self.yields: Bools = ((self.weights != 0) & single[self.nodes] & (self.inverse_masses[self.nodes] > 0)).any(axis=1)
        # Vertices of rigid bodies, and those of deformable ones that are held, which rigid bodies meet.
        self._rigid: Bools = np.logical_not(single[self.nodes[:, 0]])
        soft = single & (np.arange(self.size) < self._obstacle_nodes)
        self._met: Bools = soft[self.nodes[:, 0]] & self._rigid.any()
        self._held = np.flatnonzero(soft & (self.inverse_masses == 0)).astype(np.int32)
        shares: dict[str, Any] = {"first": np.concatenate([[0], np.cumsum(used.sum(axis=1))]), "node": self.nodes[used]}
        self.contact_nodes = ContactNodes(
            self.inverse_masses, **shares, weight=self.weights[used], guided=self.projectors[0], free=self.projectors[1]
        )
        self.turn(0.0)
        # Whether the vertices are the nodes, in their order.
        alike = self.nodes.shape == (self.size, 1) and np.array_equal(self.nodes[:, 0], np.arange(self.size))
        self._same = alike and bool((self.weights == 1.0).all())
        self.rest = np.concatenate([np.empty((0, 3)), *(p.rest for p in parts)])
        self.thickness = np.concatenate([np.empty(0), *self._thicknesses(parts, self.rest)])
        self.friction = np.concatenate([np.empty(0), *(np.full(len(p.nodes), p.friction) for p in parts)])

    def _join(self, parts: Sequence[BodySurface], firsts: Sequence[int], shared: range) -> None:
        """Join the parts. Of those in `shared`, vertices have shares of weight 0 too: they move with these nodes."""
        columns = max((p.nodes.shape[1] for p in parts), default=1)
        counts = [len(p.nodes) for p in parts]
        self.vertex_starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        n = int(self.vertex_starts[-1])
        self.nodes = np.zeros((n, columns), np.int32)
        self.weights = np.zeros((n, columns))
        self._kept = np.zeros((n, columns), np.bool_)
        edges, triangles = [np.empty((0, 2), np.int32)], [np.empty((0, 3), np.int32)]
        for i, (p, first, v) in enumerate(zip(parts, firsts, self.vertex_starts, strict=False)):
            k = p.nodes.shape[1]
            rows = slice(int(v), int(v) + len(p.nodes))
            self.nodes[rows, :k] = p.nodes + first
            self.nodes[rows, k:] = p.nodes[:, :1] + first
            self.weights[rows, :k] = p.weights
            self._kept[rows, :k] = i in shared
            own = CollisionMesh(None, p.triangles).edges if p.edges is None else p.edges
            edges.append((own + v).astype(np.int32))
            triangles.append((p.triangles + v).astype(np.int32))
        self.mesh = CollisionMesh(np.concatenate(edges), np.concatenate(triangles))

    def _thicknesses(self, parts: Sequence[BodySurface], at: Floats) -> list[Floats]:
        edges = self.mesh.edges
        lengths = np.linalg.norm(at[edges[:, 1]] - at[edges[:, 0]], axis=1)
        of_part = np.searchsorted(self.vertex_starts, edges[:, 0], side="right") - 1
        result = []
        for k, p in enumerate(parts):
            own = lengths[of_part == k]
            default = _THICKNESS * float(own.mean()) if len(own) else 0.0
            result.append(np.full(len(p.nodes), default if p.thickness is None else p.thickness))
        return result

    def fits(self, bodies: Sequence[tuple[DeformableBody, BodySurface | None]]) -> bool:
        """Return whether masses and constraints of the bodies are still what the surface was made with."""
        nodes, free = constraint_projectors(bodies)
        if not np.array_equal(nodes, self.projectors[0]) or not np.array_equal(free, self.projectors[1]):
            return False
        return np.array_equal(self.inverse_masses, self._inverse_masses(bodies))

    def _inverse_masses(self, bodies: Sequence[tuple[DeformableBody, BodySurface | None]]) -> Floats:
        """Return the inverse masses of all nodes (n,), 1/kg: 0 for obstacles, for pinned and moved nodes and for infinite masses."""
        w = np.zeros(self.size)
        first = 0
        for body, _ in bodies:
            own = w[first : first + len(body)]
            own[...] = 1.0 / body.masses
            own[fixed_nodes(body)] = 0.0
            first += len(body)
        for other, rows in self.others:
            w[rows] = other.inverse_masses
        return w

    def turn(self, over: float) -> None:
        """Tell the contact nodes how rigid bodies are turned now, and how bodies with few coordinates yield in `over` seconds."""
        found = [RigidRows(r.nodes + rows.start, *r[1:]) for o, rows in self.others if (r := o.rigid_rows()).nodes.size]
        self._turned: Any = [np.concatenate(parts) for parts in zip(*found, strict=True)]
        self._coupled = [
            (rows.start, rows.start + c.lead, c.response) for o, rows in self.others if (c := o.coupled_rows(over)) is not None
        ]
        self.join()

    def blocks(self) -> list[Any]:
        """Return the nodes of each body of which contact moves all as one, as an index: rigid ones, and those with few coordinates."""
        rigid = list(self._turned[0]) if self._turned else []
        return rigid + [slice(first, first + len(response)) for first, _, response in self._coupled]

    def masses_of_coupled(self) -> list[tuple[slice, float]]:
        """Return the rows of bodies with few coordinates, whose nodes have no masses of their own, and their masses, kg."""
        coupled = {first for first, _, _ in self._coupled}
        return [(rows, float(other.mass)) for other, rows in self.others if rows.start in coupled]

    def moving_as_one(self) -> list[tuple[Ints, Floats]]:
        """Return the nodes (m,) of each rigid body and each with few coordinates that yields, and how they move.

        Impulses (m, 3), N s, change the velocities of the nodes by R R^T times these, for the response R of size (m, 3, d), kg^-1/2.
        """
        found: list[tuple[Ints, Floats]] = []
        for nodes, arms, inverse_mass, inverse_inertia in zip(*self._turned, strict=True):
            moments, axes = np.linalg.eigh(inverse_inertia)
            turns = axes * np.sqrt(np.maximum(moments, 0.0))
            response = np.empty((4, 3, 6))
            response[:, :, :3] = np.sqrt(inverse_mass) * np.eye(3)
            response[:, :, 3:] = np.cross(turns.T[None], arms[:, None, :]).transpose(0, 2, 1)
            found.append((nodes, response))
        for first, _, response in self._coupled:
            found.append((np.arange(first, first + len(response), dtype=np.int32), response))
        return found

    def join(self) -> None:
        """Let nodes of such bodies move as one, as `turn` has found last."""
        if self._turned:
            nodes, arms, masses, inertias = self._turned
            self.contact_nodes.set_rigid(nodes, arms, masses, inertias, self._held)
        if self._coupled:
            self.contact_nodes.set_coupled(self._coupled)

    def release(self) -> None:
        """Let the contact nodes forget what moves as one."""
        self.contact_nodes.release_rigid()
        self.contact_nodes.set_coupled([])

    def __len__(self) -> int:
        """Return the number of vertices."""
        return len(self.nodes)

    @property
    def can_touch(self) -> bool:
        """Whether there is anything that contact could be between."""
        return len(self.mesh.triangles) > 0 or len(self.mesh.edges) > 1

    def movable_pairs(self, pairs: Ints) -> Ints:
        """Return those of pairs (k, 2) of an edge and a triangle of which contact between surfaces can move a vertex."""

        def any_of(flags: Bools) -> Bools:
            edges, triangles = self.mesh.edges[pairs[:, 0]], self.mesh.triangles[pairs[:, 1]]
            found: Bools = np.logical_or(flags[edges].any(axis=1), flags[triangles].any(axis=1))
            return found

        result: Ints = pairs[any_of(self.yields | self._met) & any_of(self.yields | self._rigid)]
        return result

    def gather(self, of_bodies: Sequence[Floats], time: float, out: Floats | None = None) -> Floats:
        """Return positions of all nodes (n, 3), m: those of the bodies, others where they are, and the obstacles at a time."""
        x = np.empty((self.size, 3)) if out is None else out
        for first, positions in zip(self.starts, of_bodies, strict=False):
            x[first : first + len(positions)] = positions
        self.place_others(x)
        self.move_obstacles(x, time)
        return x

    def place_others(self, positions: Floats) -> None:
        """Set the rows of bodies with steps of their own in positions of all nodes to where they are."""
        for other, rows in self.others:
            other.place(positions[rows])

    def velocities_of(self, bodies: Sequence[DeformableBody]) -> Floats:
        """Return the velocities (n, 3) of the nodes of all bodies, m/s; 0 of obstacles."""
        v = np.zeros((self.size, 3))
        for first, body in zip(self.starts, bodies, strict=False):
            v[int(first) : int(first) + len(body)] = body.velocities
        for other, rows in self.others:
            other.velocities(v[rows])
        return v

    def moved_others(self, positions: Floats, dt: float) -> None:
        """Do so after these have moved in a step of dt seconds."""
        self.place_others(positions)
        self.turn(dt)

    def move_obstacles(self, positions: Floats, time: float) -> None:
        """Set the rows of the obstacles in positions of all nodes to those at a time (s)."""
        first = self._obstacle_nodes
        for o in self._obstacles:
            positions[first : first + len(o.rest)] = o.vertices(time)
            first += len(o.rest)

    def set_obstacle_velocities(self, velocities: Floats, time: float, dt: float) -> None:
        """Set the rows of the obstacles in velocities of all nodes (m/s) to their means over a step of dt from a time (s)."""
        first = self._obstacle_nodes
        for o in self._obstacles:
            rows = slice(first, first + len(o.rest))
            velocities[rows] = 0.0 if o.motion is None else (o.vertices(time + dt) - o.vertices(time)) / dt
            first += len(o.rest)

    def at_vertices(self, of_nodes: Floats) -> Floats:
        """Return positions of nodes (n, 3) at the vertices (v, 3): the same array where vertices are nodes, each its own."""
        return of_nodes if self._same else self.contact_nodes.at_vertices(of_nodes)


def constraint_projectors(bodies: Sequence[tuple[DeformableBody, BodySurface | None]]) -> tuple[Ints, Floats]:
    """Return the nodes that slide in planes or on lines, ascending, and the projections (k, 3, 3) onto their free directions."""
    nodes, free = [np.empty(0, np.int32)], [np.empty((0, 3, 3))]
    first = 0
    for body, _ in bodies:
        held = body.constrained
        if len(held):
            projections = body._core.projections
            slides = np.abs(projections).max(axis=(1, 2)) > 0
            nodes.append((held[slides] + first).astype(np.int32))
            free.append(projections[slides])
        first += len(body)
    return np.concatenate(nodes), np.ascontiguousarray(np.concatenate(free))


def fixed_nodes(body: DeformableBody) -> Ints:
    """Return the nodes of a body that forces do not move: pinned, moved, or sliding across three directions."""
    held = body.constrained
    if not len(held):
        return held
    freedom = np.abs(body._core.projections).max(axis=(1, 2))
    result: Ints = held[freedom == 0]
    return result
