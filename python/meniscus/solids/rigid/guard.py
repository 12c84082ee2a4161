"""Certified ends of steps of rigid bodies: nothing intersects, by the exact test, nor meets on the straight way there."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus.collision import CollisionMesh
from meniscus.core.memory import MemoryOwner
from meniscus.solids.rigid.rotations import rotation_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Pair = tuple[int, int]

# How often the way of a body is halved before it stays where it is.
_HALVINGS = 6


class Outcome(NamedTuple):
    """What was done to the ends of a step.

    Attributes:
        parts: (n,), part of its way that each body goes.
        unresolved: pairs that collide although none of both moves by forces, or has any way left.
    """

    parts: Floats
    unresolved: tuple[Pair, ...]


class RigidGuard(MemoryOwner):
    """Surfaces of the parts of a system, for exact tests between them.

    Args:
        parts: of the system; all bodies need a mesh, and a thickness of more than twice `slop` (m).
        apart: pairs that need not stay apart: those of joints.

    Raises:
        ValueError: a body without a mesh or with less thickness.
    """

    def __init__(self, parts: list[Any], apart: set[Pair], slop: float) -> None:
        self._meshes: dict[int, CollisionMesh] = {}
        self._rest: dict[int, Floats] = {}
        self.is_dynamic: list[bool] = []
        self._exact: list[bool] = []
        for i, part in enumerate(parts):
            self.is_dynamic.append(part.body is not None and part.body.is_dynamic)
            self._exact.append(part.form is not None and part.form.kind == "mesh")
            surface = _surface(part)
            if surface is None:
                if part.body is not None:
                    raise ValueError(f"guarantee needs a mesh of every body, which part {i} has not")
                continue
            if part.body is not None and not part.thickness > 2 * slop:
                raise ValueError(
                    f"guarantee needs a thickness of more than twice the slop ({2 * slop:.3g} m), but that of part {i} is "
                    f"{part.thickness:.3g} m: give `thickness`"
                )
            self._rest[i], triangles = surface
            self._meshes[i] = CollisionMesh(None, triangles)
        self._apart = apart

    def vertices(self, part: int, state: Floats) -> Floats:
        """Return the vertices (n, 3) of a part in a state (13,), as exact tests see them."""
        result: Floats = self._rest[part] @ rotation_of(state[3:7]).T + state[:3]
        return result

    def intersecting(self, states: Floats) -> list[Pair]:
        """Return the pairs of parts whose surfaces intersect, by the exact test."""
        x = {i: self.vertices(i, states[i]) for i in self._meshes}
        found = []
        for i, j in self._near(x, x, set(self._meshes)):
            meeting = self._meshes[i].intersections_with(self._meshes[j], x[i], x[j])
            if len(meeting.edge_face) or len(meeting.face_edge):
                found.append((i, j))
        return found

    def keep_apart(self, start: Floats, end: Floats, distances: dict[Pair, float], margins: Any) -> Outcome:
        """Shorten the ways of bodies from `start` to `end`, states (n, 13) that change, until nothing meets on the way of vertices.

        `distances` are lower bounds between meshes that are near each other, m, and margins(i, j) one for all other pairs.
        """
        parts = np.ones(len(start))
        goal = end.copy()
        halved = np.zeros(len(start), np.int64)
        x0 = {i: self.vertices(i, start[i]) for i in self._meshes}
        x1 = {i: self.vertices(i, end[i]) for i in self._meshes}
        changed = set(self._meshes)
        unresolved: set[Pair] = set()
        while changed:
            ways = {i: float(np.sqrt(((x1[i] - x0[i]) ** 2).sum(axis=1).max(initial=0.0))) for i in self._meshes}
            met = set()
            for i, j in self._near(x0, x1, changed):
                if self._exact[i] or self._exact[j]:
                    known = distances.get((i, j))
                    # A part for rounding errors.
                    if ways[i] + ways[j] < 0.99 * (margins(i, j) if known is None else known):
                        continue
                if self._meshes[i].collides_with(self._meshes[j], x0[i], x1[i], x0[j], x1[j]):
                    met.add((i, j))
            changed = set()
            for pair in met:
                free = [b for b in pair if self.is_dynamic[b] and parts[b] > 0]
                if not free:
                    unresolved.add(pair)
                changed.update(free)
            for b in changed:
                halved[b] += 1
                parts[b] = 0.0 if halved[b] > _HALVINGS else 0.5 * parts[b]
                end[b, :7] = _between(start[b], goal[b], parts[b])
                x1[b] = self.vertices(b, end[b])
        return Outcome(parts, tuple(sorted(unresolved)))

    def _near(self, x0: dict[int, Floats], x1: dict[int, Floats], changed: set[int]) -> list[Pair]:
        """Return the pairs with a changed part whose boxes around both positions meet."""
        numbers = sorted(self._meshes)
        low = np.array([np.minimum(x0[i].min(axis=0), x1[i].min(axis=0)) for i in numbers])
        high = np.array([np.maximum(x0[i].max(axis=0), x1[i].max(axis=0)) for i in numbers])
        moving = np.array([self.is_dynamic[i] for i in numbers])
        ask = np.array([i in changed for i in numbers])
        pairs: list[Pair] = []
        for a, i in enumerate(numbers[:-1]):
            rest = slice(a + 1, None)
            meet = ((low[a] <= high[rest]) & (low[rest] <= high[a])).all(axis=1) & (moving[a] | moving[rest]) & (ask[a] | ask[rest])
            pairs += [(i, numbers[a + 1 + int(k)]) for k in np.flatnonzero(meet)]
        return [p for p in pairs if p not in self._apart]


def _surface(part: Any) -> tuple[Floats, Ints] | None:
    """Return vertices from the centre of mass and triangles; None where the part has none."""
    if part.form is None:
        return None
    if len(part.form.triangles):
        return part.form.vertices, part.form.triangles
    mesh = None if part.body is None else part.body.mesh
    if mesh is None or not hasattr(mesh, "triangles"):
        return None
    return np.ascontiguousarray(mesh.vertices - part.body.properties.center), mesh.triangles


def _between(start: Floats, end: Floats, part: float) -> Floats:
    """Return place and orientation (7,) after a part of the way."""
    if part == 0.0:
        result: Floats = start[:7].copy()
        return result
    p, q = start[3:7], end[3:7]
    dot = float(p @ q)
    if dot < 0:
        q, dot = -q, -dot
    angle = float(np.arccos(min(dot, 1.0)))
    weights = (1 - part, part) if angle < 1e-6 else (np.sin((1 - part) * angle), np.sin(part * angle))
    turned = weights[0] * p + weights[1] * q
    return np.array([*((1 - part) * start[:3] + part * end[:3]), *(turned / np.linalg.norm(turned))])
