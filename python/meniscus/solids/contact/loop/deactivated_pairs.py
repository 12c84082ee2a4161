"""Pairs of elements that may pass through each other, as nothing has resolved their contact."""

from __future__ import annotations

from typing import Any

import numpy as np

from meniscus.collision import CollisionMesh, CollisionPairs
from meniscus.core.stateful import Stateful
from meniscus.solids.contact.contact_surface import Bools, Ints

_NO_PAIRS = np.zeros((0, 2), np.int32)


class DeactivatedPairs(Stateful):
    """Deactivated pairs of the elements of a surface; they are taken back once nothing of theirs intersects.

    Attributes:
        vertex_face, edge_edge: (k, 2), numbers of vertices and triangles, and of edges, ascending.
    """

    def __init__(self) -> None:
        self.vertex_face = self.declare("vertex_face", _NO_PAIRS, resizable=True)
        self.edge_edge = self.declare("edge_edge", _NO_PAIRS, resizable=True)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.vertex_face) + len(self.edge_edge)

    @property
    def pairs(self) -> CollisionPairs:
        """All pairs."""
        return CollisionPairs(self.vertex_face, self.edge_edge)

    def add(self, pairs: CollisionPairs) -> None:
        """Deactivate more pairs."""
        both = [np.concatenate([old, new]).astype(np.int32) for old, new in zip(self.pairs, pairs, strict=True)]
        self.vertex_face, self.edge_edge = (np.unique(p, axis=0).reshape(-1, 2) for p in both)

    def take_back(self, mesh: CollisionMesh, found: Ints) -> None:
        """Take pairs back of which no element is in one of the intersections `found` (k, 2) of an edge and a triangle."""
        edges, triangles = mesh.edges, mesh.triangles
        caught = np.union1d(edges[found[:, 0]].ravel(), triangles[found[:, 1]].ravel())
        vertex, face = self.vertex_face.T
        self.vertex_face = self.vertex_face[np.isin(vertex, caught) | np.isin(triangles[face], caught).any(axis=1)]
        self.edge_edge = self.edge_edge[np.isin(edges[self.edge_edge].reshape(-1, 4), caught).any(axis=1)]

    def passed(self, mesh: CollisionMesh, found: Ints) -> Bools:
        """Return which pairs (k, 2) of an edge and a triangle can intersect since a pair of their vertices and edges is deactivated."""
        edges, triangles = np.asarray(mesh.edges, np.int64), mesh.triangles
        of_ends = np.int64(len(triangles)) * edges[found[:, 0]] + found[:, 1:]
        through_faces = np.isin(of_ends, np.int64(len(triangles)) * self.vertex_face[:, 0] + self.vertex_face[:, 1]).any(axis=1)
        # Sides of the triangles by the vertices of edges.
        size = np.int64(edges.max(initial=0) + 1)
        keys = size * edges.min(axis=1, initial=size) + edges.max(axis=1, initial=0)
        order = np.argsort(keys, kind="stable")
        corners = np.asarray(triangles, np.int64)[found[:, 1]]
        others = corners[:, [2, 0, 1]]
        low, high = np.minimum(corners, others), np.maximum(corners, others)
        sides = order[np.minimum(np.searchsorted(keys, size * low + high, sorter=order), len(keys) - 1)] if len(keys) else low
        first, second = np.minimum(found[:, :1], sides), np.maximum(found[:, :1], sides)
        through_edges = np.isin(np.int64(len(edges)) * first + second, np.int64(len(edges)) * self.edge_edge[:, 0] + self.edge_edge[:, 1])
        result: Bools = np.logical_or(through_faces, through_edges.any(axis=1))
        return result

    def renumber(self, gone: slice, before: CollisionMesh, now: CollisionMesh) -> None:
        """Number the elements anew after the vertices `gone` have left the mesh."""
        faces = {tuple(sorted(row)): k for k, row in enumerate(now.triangles.tolist())}
        lines = {tuple(sorted(row)): k for k, row in enumerate(now.edges.tolist())}

        def element(rows: Ints, known: dict[Any, int]) -> list[int]:
            return [known.get(tuple(sorted(row)), -1) for row in renumbered(rows, gone).tolist()]

        pairs = self.vertex_face
        of_faces = np.stack([renumbered(pairs[:, 0], gone), np.array(element(before.triangles[pairs[:, 1]], faces), np.int32)], axis=1)
        both = [np.array(element(before.edges[self.edge_edge[:, k]], lines), np.int32) for k in range(2)]
        of_edges = np.sort(np.stack(both, axis=1), axis=1)
        self.vertex_face, self.edge_edge = (p[(p >= 0).all(axis=1)].astype(np.int32) for p in (of_faces, of_edges))


def renumbered(old: Ints, gone: slice) -> Ints:
    """Return numbers after those in `gone` have left: -1 for these."""
    new: Ints = old - (gone.stop - gone.start) * (old >= gone.stop).astype(np.int32)
    new[(old >= gone.start) & (old < gone.stop)] = -1
    return new
