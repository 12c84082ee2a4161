"""Penalty forces between tetrahedral bodies that overlap, with consistent penetration depths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from meniscus import _checks
from meniscus.collision import vertices_in_tets
from meniscus.mesh import TetMesh
from meniscus.solids.force import FLOAT64, Floats, Ints


class PenaltyForces(NamedTuple):
    """Penalty forces on bodies, and the nodes that are inside of others.

    Attributes:
        forces: (n_i, 3) per body, N.
        nodes: (k,) of all bodies, one after the other, whose depth is known.
        depths: (k,), m.
        directions: (k, 3), unit, out of the other body.
    """

    forces: list[Floats]
    nodes: Ints
    depths: Floats
    directions: Floats


class TetPenalty:
    """Penalty response of tetrahedral bodies that overlap: f = k d r on a node at depth d, -f on the tetrahedron around it.

    Depths are consistent: nodes next to the surface get theirs from where their edges pass through it, those farther inside from
    their neighbours, so that directions do not jump as they do with closest points. Each pair of forces acts at one point: their sums and
    torques are zero. A body that is wholly inside another has no edge through its surface, and feels nothing.

    Args:
        meshes: the bodies, `mesh.TetMesh` each.
        stiffness: N/m per node.
        damping: N s/m, of the velocity along the direction, and at most of that across it; forces never pull.
        friction: coefficient; the force across is at most that times the one along the direction.

    Raises:
        TypeError, ValueError: other arguments, negative numbers.

    Source: Müller, Stam, James and Thürey 2008, section 3.8; Heidelberger et al., "Consistent penetration depth estimation for
    deformable collision response", 2004.
    """

    def __init__(self, meshes: Sequence[TetMesh], *, stiffness: float, damping: float = 0.0, friction: float = 0.0) -> None:
        bodies = _checks.items("meshes", meshes, TetMesh)
        if not bodies:
            raise ValueError("meshes must be at least one")
        self.stiffness = _checks.positive("stiffness", stiffness)
        self.damping = _checks.number("damping", damping)
        self.friction = _checks.number("friction", friction)
        if min(self.damping, self.friction) < 0:
            raise ValueError("damping and friction must not be negative")
        self.counts = [len(b.vertices) for b in bodies]
        first = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int32)
        self._first = first
        self._tets = np.concatenate([b.tets + k for b, k in zip(bodies, first, strict=False)]).astype(np.int32)
        self._body_of_node = np.repeat(np.arange(len(bodies)), self.counts)
        self._surfaces = [b.boundary.triangles + k for b, k in zip(bodies, first, strict=False)]
        pairs = np.concatenate([self._tets[:, p] for p in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))])
        edges = np.unique(np.sort(pairs, axis=1), axis=0)
        self._edges = np.concatenate([edges, edges[:, ::-1]])

    def forces(self, positions: Sequence[Floats], velocities: Sequence[Floats] | None = None) -> PenaltyForces:
        """Return the forces at positions (n_i, 3) per body, m, and velocities, m/s (default at rest).

        Raises:
            TypeError, ValueError: arrays that do not fit the bodies.
        """
        x = self._joined("positions", positions)
        v = np.zeros_like(x) if velocities is None else self._joined("velocities", velocities)
        pairs = vertices_in_tets(x, self._tets)
        other = self._body_of_node[self._tets[pairs[:, 1], 0]]
        pairs = pairs[self._body_of_node[pairs[:, 0]] != other]
        nodes, rows = np.unique(pairs[:, 0], return_index=True)
        tet = np.full(len(x), -1)
        tet[nodes] = pairs[rows, 1]
        depth, direction = self._depths(x, tet)
        known = np.flatnonzero((tet >= 0) & (depth > 0))
        f = np.zeros_like(x)
        corners = self._tets[tet[known]]
        weights = _barycentric(x[known], x[corners])
        relative = v[known] - np.einsum("kc,kcd->kd", weights, v[corners])
        r = direction[known]
        along = np.einsum("kd,kd->k", relative, r)
        normal = np.maximum(0.0, self.stiffness * depth[known] - self.damping * along)
        slip = relative - along[:, None] * r
        speed = np.linalg.norm(slip, axis=1)
        most = np.minimum(self.damping * speed, self.friction * normal)
        push = normal[:, None] * r - slip * np.divide(most, speed, out=np.zeros_like(speed), where=speed > 0)[:, None]
        np.add.at(f, known, push)
        np.add.at(f, corners, -weights[:, :, None] * push[:, None])
        parts = [f[a:b] for a, b in zip(self._first[:-1], self._first[1:], strict=True)]
        return PenaltyForces(parts, known.astype(np.int32), depth[known], r)

    def _joined(self, name: str, arrays: Sequence[Floats]) -> Floats:
        if len(arrays) != len(self.counts):
            raise ValueError(f"{name} must be one array per body")
        checked = [_checks.points(name, a, FLOAT64, 3) for a in arrays]
        if [len(a) for a in checked] != self.counts:
            raise ValueError(f"{name} must have a row per node of each body")
        return np.concatenate(checked)

    def _depths(self, x: Floats, tet: Any) -> tuple[Floats, Floats]:
        """Return depths (n,) and directions (n, 3); zero where they are unknown."""
        depth, direction, total = np.zeros(len(x)), np.zeros((len(x), 3)), np.zeros(len(x))
        border = self._edges[(tet[self._edges[:, 0]] >= 0) & (tet[self._edges[:, 1]] < 0)]
        target = self._body_of_node[self._tets[tet[border[:, 0]], 0]]
        for body, surface in enumerate(self._surfaces):
            mine = border[target == body]
            if len(mine) == 0:
                continue
            place, normal, hit = _first_hits(x[mine[:, 0]], x[mine[:, 1]], x[surface])
            inside, place, normal = mine[hit, 0], place[hit], normal[hit]
            step = place - x[inside]
            w = _weights(step, x[mine[hit, 1]] - x[inside])
            np.add.at(total, inside, w)
            np.add.at(depth, inside, w * np.einsum("kd,kd->k", step, normal))
            np.add.at(direction, inside, w[:, None] * normal)
        known = total > 0
        depth[known] /= total[known]
        direction[known] /= np.linalg.norm(direction[known], axis=1)[:, None]
        links = self._edges[(tet[self._edges] >= 0).all(axis=1)]
        while True:
            front = links[~known[links[:, 0]] & known[links[:, 1]]]
            if len(front) == 0:
                return depth, direction
            p, q = front.T
            step = x[q] - x[p]
            w = _weights(step, step)
            np.add.at(total, p, w)
            np.add.at(depth, p, w * (np.einsum("kd,kd->k", step, direction[q]) + depth[q]))
            np.add.at(direction, p, w[:, None] * direction[q])
            new = np.unique(p)
            depth[new] /= total[new]
            direction[new] /= np.linalg.norm(direction[new], axis=1)[:, None]
            known[new] = True


def _weights(steps: Floats, edges: Floats) -> Floats:
    """Return one over the squared lengths of steps (k, 3) along edges: of nodes on the surface, which are inside, a great number, but
    one whose sums can be squared."""
    least = 1e-12 * np.einsum("kd,kd->k", edges, edges)
    result: Floats = 1 / np.maximum(np.einsum("kd,kd->k", steps, steps), np.maximum(least, 1e-100))
    return result


def _barycentric(points: Floats, corners: Floats) -> Floats:
    """Return the weights (k, 4) of the corners (k, 4, 3) at points (k, 3)."""
    edges = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)
    inner = np.linalg.solve(edges, (points - corners[:, 0])[..., None])[..., 0]
    return np.concatenate([1 - inner.sum(axis=1, keepdims=True), inner], axis=1)


def _first_hits(starts: Floats, ends: Floats, triangles: Floats) -> tuple[Floats, Floats, Any]:
    """Return where segments first meet triangles (m, 3, 3) from inside, the unit normals there, and which segments meet any."""
    a, e1, e2 = triangles[:, 0], triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    normals = np.cross(e1, e2)
    best, face = np.full(len(starts), np.inf), np.zeros(len(starts), np.int64)
    for i, (p, q) in enumerate(zip(starts, ends, strict=True)):
        d = q - p
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = 1 / np.einsum("md,md->m", np.cross(d, e2), e1)
            s = p - a
            u = np.einsum("md,md->m", s, np.cross(d, e2)) * inverse
            c = np.cross(s, e1)
            w = c @ d * inverse
            t = np.einsum("md,md->m", c, e2) * inverse
            sum_of_two = u + w
        inside = (u >= -1e-12) & (w >= -1e-12) & (sum_of_two <= 1 + 1e-12) & (t >= 0) & (t <= 1) & (normals @ d > 0)
        if inside.any():
            face[i] = np.where(inside, t, np.inf).argmin()
            best[i] = t[face[i]]
    hit = np.isfinite(best)
    place = starts + np.where(hit, best, 0)[:, None] * (ends - starts)
    n = normals[face]
    return place, n / np.linalg.norm(n, axis=1)[:, None], hit
