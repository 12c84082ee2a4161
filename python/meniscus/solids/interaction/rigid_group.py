"""Many rigid bodies at once, as fields of force see them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meniscus.solids.interaction.grip import Floats
from meniscus.solids.interaction.rigid_grips import RigidGrip
from meniscus.solids.rigid.rigid_body import RigidBody
from meniscus.solids.rigid.rotations import rotations_of

# Corners of a tetrahedron whose second moments are those of a unit cube of points.
_CORNERS = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
STRONGEST = 1e8
"""Drag that is that many times stronger than what carries a triangle along in the step is as good as infinite."""


class RigidGroup:
    """Rigid bodies that forces move. What does not change with their motion is stored.

    Accelerations act at four points with the mass and inertia of the body, so that fields that are linear in space act as on all of it.
    Wind acts on the triangles of the mesh.

    Args:
        bodies: the bodies; those that forces do not move are left out.
    """

    def __init__(self, bodies: Sequence[RigidBody]) -> None:
        self.bodies = [body for body in bodies if body.is_dynamic]
        self._masses = np.array([body.mass for body in self.bodies])
        self._inverse_inertias = np.array([body._inverse_inertia for body in self.bodies]).reshape(-1, 3, 3)
        self._corners = np.array([_corners_of(body) for body in self.bodies]).reshape(-1, 4, 3)
        local, triangles, counts, first = [np.zeros((0, 3))], [np.zeros((0, 3), np.int64)], [], 0
        self._sides: list[int] = []  # vertices of each body
        for body in self.bodies:
            surface = RigidGrip.triangles(body)
            vertices = np.zeros((0, 3)) if surface is None else surface.local - body.properties.center
            own = np.zeros((0, 3), np.int64) if surface is None else surface.triangles.astype(np.int64) + first
            local.append(vertices)
            triangles.append(own)
            counts.append(len(own))
            self._sides.append(len(vertices))
            first += len(vertices)
        self._local, self._triangles = np.concatenate(local), np.concatenate(triangles)
        self._owners = np.repeat(np.arange(len(self.bodies)), counts)
        self._owners_of_vertices = np.repeat(np.arange(len(self.bodies)), self._sides)

    def _state(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Return centres, rotations, inverse inertias in axes of the world, velocities and angular velocities."""
        rows = np.array([body.state_row for body in self.bodies]).reshape(-1, 13)
        turns = rotations_of(rows[:, 3:7])
        inverse = np.einsum("nij,njk,nlk->nil", turns, self._inverse_inertias, turns)
        return rows[:, :3], turns, inverse, rows[:, 7:10] / self._masses[:, None], np.einsum("nij,nj->ni", inverse, rows[:, 10:])

    def points(self) -> tuple[Floats, Floats]:
        """Return positions and velocities (4 n, 3) of the points that stand for the bodies, m and m/s."""
        centers, turns, _, v, omega = self._state()
        arms = np.einsum("nij,nkj->nki", turns, self._corners)
        x, speeds = centers[:, None] + arms, v[:, None] + np.cross(omega[:, None], arms)
        return x.reshape(-1, 3), speeds.reshape(-1, 3)

    def add(self, change: Floats) -> Floats:
        """Let impulses act that would change the velocities of the points by that (4 n, 3), m/s; return them (n, 3), kg m/s."""
        impulses = 0.25 * self._masses[:, None, None] * change.reshape(-1, 4, 3)
        arms = np.einsum("nij,nkj->nki", self._state()[1], self._corners)
        return self._give(impulses.sum(axis=1), np.cross(arms, impulses).sum(axis=1))

    def triangles(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return centroids and normals (m, 3), areas (m,) and velocities along the normals (m,) of all triangles, m, m^2, m/s."""
        centers, turns, _, v, omega = self._state()
        corners = np.einsum("vij,vj->vi", turns[self._owners_of_vertices], self._local)[self._triangles]
        areas = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        sizes = np.sqrt(np.einsum("md,md->m", areas, areas))
        normals = areas / np.where(sizes > 0, sizes, 1.0)[:, None]
        arms = corners.sum(axis=1) / 3
        speeds = np.einsum("md,md->m", v[self._owners] + np.cross(omega[self._owners], arms), normals)
        return centers[self._owners] + arms, normals, sizes, speeds

    def drag(self, relative: Floats, strength: Floats) -> Floats:
        """Let triangles be dragged along their normals for a step; return the impulses (n, 3), kg m/s.

        Each gives `strength` (kg) times its relative velocity (m,), m/s, at the end of the step: all of a body are solved together.
        """
        centers, _, inverse, _, _ = self._state()
        at, normals, _, _ = self.triangles()
        moments = np.cross(at - centers[self._owners], normals)
        along = np.concatenate([normals, moments], axis=1)
        turned = np.einsum("mij,mj->mi", inverse[self._owners], moments)
        answers = np.concatenate([normals / self._masses[self._owners, None], turned], axis=1)
        weakest = np.einsum("mc,mc->m", along, answers)
        with np.errstate(divide="ignore"):
            strong = np.minimum(strength, np.where(weakest > 0, STRONGEST / weakest, 0.0))
        n = len(self.bodies)
        matrices, right = np.zeros((n, 6, 6)), np.zeros((n, 6))
        np.add.at(matrices, self._owners, np.einsum("mc,m,me->mce", answers, strong, along))
        np.add.at(right, self._owners, answers * (strong * relative)[:, None])
        change = np.linalg.solve(matrices + np.eye(6), right[:, :, None])[:, :, 0]
        impulses = strong * (relative - np.einsum("mc,mc->m", along, change[self._owners]))
        sums = np.zeros((n, 6))
        np.add.at(sums, self._owners, impulses[:, None] * along)
        return self._give(sums[:, :3], sums[:, 3:])

    def _give(self, impulses: Floats, moments: Floats) -> Floats:
        for body, p, q in zip(self.bodies, impulses, moments, strict=True):
            body.momentum[...] += p
            body.angular_momentum[...] += q
        return impulses


def _corners_of(body: RigidBody) -> Floats:
    """Return four points (4, 3) from the centre of mass, in axes of the rest pose, m, whose equal masses have the inertia of a body."""
    moments, axes = np.linalg.eigh(body.properties.inertia)
    extents = np.sqrt(np.maximum(0.5 * moments.sum() - moments, 0.0) / body.mass)
    result: Floats = (_CORNERS * extents) @ axes.T
    return result
