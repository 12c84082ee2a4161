"""Certified ends of steps of rigid bodies: nothing intersects, by the exact test, nor meets on the straight way there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus.collision import CollisionMesh
from meniscus.core.memory import MemoryOwner
from meniscus.solids.rigid.rotations import rotation_of, rotations_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Pair = tuple[int, int]

# How often the way of a body is halved before it stays where it is.
_HALVINGS = 6
# Parts of the half of the least extent up to which contact brings back what has gone into a closed surface: of polyhedra, whose axis of
# least overlap is then the right one, and of meshes, where `mesh_contacts` looks as far for vertices behind faces.
_BACK_FROM_POLYHEDRON = 0.5
_BACK_FROM_MESH = 0.25
# Part of the radius of balls and capsules up to which contact brings them back through an open surface: it goes by their middle.
_BACK_OF_ROUNDED = 0.75
_CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])


class Outcome(NamedTuple):
    """What was done to the ends of a step.

    Attributes:
        parts: (n,), part of its way that each body goes.
        unresolved: pairs that collide although none of both moves by forces, or has any way left.
        carriers: the part on a path that a body was in the way of, by its number: it goes with that, in place of staying where it was.
    """

    parts: Floats
    unresolved: tuple[Pair, ...]
    carriers: dict[int, int]


class RigidGuard(MemoryOwner):
    """Surfaces of the parts of a system, for exact tests between them.

    Args:
        parts: of the system; those without a surface are left out.
        apart: pairs that need not stay apart: those of joints.
    """

    def __init__(self, parts: list[Any], apart: set[Pair]) -> None:
        n = len(parts)
        self._parts = parts
        self._meshes: dict[int, CollisionMesh] = {}
        self._rest: dict[int, tuple[Floats, Ints]] = {}
        self.is_dynamic = np.array([p.body is not None and p.body.is_dynamic for p in parts], np.bool_)
        self._exact = [p.form is not None and p.form.kind == "mesh" for p in parts]
        self._middle, self._half = np.zeros((n, 3)), np.zeros((n, 3))
        self._reach, self._back = np.zeros(n), np.zeros(n)
        # Of balls and capsules: how far their middle may go, and how far from the centre of mass that reaches.
        self._round, self._core = np.zeros(n), np.zeros(n)
        self._thickness = np.array([p.thickness for p in parts])
        for i, part in enumerate(parts):
            surface = _surface(part)
            if surface is None:
                continue
            self._rest[i] = surface
            low, high = surface[0].min(axis=0), surface[0].max(axis=0)
            self._middle[i], self._half[i] = 0.5 * (low + high), 0.5 * (high - low)
            self._reach[i] = float(np.sqrt((surface[0] ** 2).sum(axis=1).max()))
            self._core[i] = self._reach[i]
            if part.form.kind == "rounded":
                self._round[i] = _BACK_OF_ROUNDED * part.form.radius
                self._core[i] = float(np.sqrt((part.form.vertices**2).sum(axis=1).max()))
            if part.form.closed:
                self._back[i] = (_BACK_FROM_MESH if self._exact[i] else _BACK_FROM_POLYHEDRON) * float(self._half[i].min())
        self._known = np.isin(np.arange(n), list(self._rest))
        self._apart = apart
        # Least way of each part that may lead through any other one.
        known = self._known
        back, thickness = (v[known].min() if known.any() else 0.0 for v in (self._back, self._thickness))
        self._least = np.where(known, np.maximum(np.minimum(self._back, back), 0.5 * (self._thickness + thickness)), np.inf)

    @property
    def all(self) -> set[int]:
        """The parts with a surface."""
        return set(self._rest)

    def require(self, slop: float) -> None:
        """Raise ValueError for a body without a mesh, or with a thickness of not more than twice `slop` (m)."""
        for i, part in enumerate(self._parts):
            if part.body is None:
                continue
            if i not in self._rest:
                raise ValueError(f"guarantee needs a mesh of every body, which part {i} has not")
            if not part.thickness > 2 * slop:
                raise ValueError(
                    f"guarantee needs a thickness of more than twice the slop ({2 * slop:.3g} m), but that of part {i} is "
                    f"{part.thickness:.3g} m: give `thickness`"
                )

    def vertices(self, part: int, state: Floats) -> Floats:
        """Return the vertices (n, 3) of a part in a state (13,), as exact tests see them."""
        result: Floats = self._rest[part][0] @ rotation_of(state[3:7]).T + state[:3]
        return result

    def intersecting(self, states: Floats) -> list[Pair]:
        """Return the pairs of parts whose surfaces intersect, by the exact test."""
        return [pair for pair in self._near(states, states, set(self._rest)) if self._intersect(pair, states)]

    def fast(self, start: Floats, end: Floats) -> set[int]:
        """Return the parts that go far enough between states (n, 13) to come out on the wrong side of another one.

        Contact finds its sides anew in each step. From a closed surface it brings back what has gone in by a part of its extent; what is
        behind an open one, farther than the thickness that they keep, it would hold there.
        """
        return set(np.flatnonzero(self._known & (self._ways(start, end, self._reach) > 0.5 * self._least)).tolist())

    def passing(self, start: Floats, end: Floats) -> Callable[[Pair, float], bool]:
        """Return a function of a pair and of the sum of its ways (m): whether both may come out on wrong sides of each other; see `fast`.

        `start` and `end` are states (n, 13).
        """
        cores = self._ways(start, end, self._core)

        def passes(pair: Pair, way: float) -> bool:
            i, j = pair
            open_to = self._back[i] == 0 or self._back[j] == 0
            if open_to and cores[i] + cores[j] <= max(self._round[i], self._round[j]):
                return False
            return bool(way > max(min(self._back[i], self._back[j]), 0.5 * (self._thickness[i] + self._thickness[j])))

        return passes

    def meets(self, distances: dict[Pair, float], margins: Callable[[int, int], float]) -> Callable[[Pair, float], bool]:
        """Return a function of a pair and of the sum of its ways (m): whether they are long enough to meet.

        `distances` are lower bounds between meshes that are near each other, m, and margins(i, j) one for all other pairs.
        """

        def may_meet(pair: Pair, way: float) -> bool:
            if not (self._exact[pair[0]] or self._exact[pair[1]]):
                return True
            known = distances.get(pair)
            # A part for rounding errors.
            return way >= 0.99 * (margins(*pair) if known is None else known)

        return may_meet

    def keep_apart(
        self, start: Floats, end: Floats, changed: set[int], asks: Callable[[Pair, float], bool], *, apart: bool = False
    ) -> Outcome:
        """Shorten the ways of bodies from `start` to `end`, states (n, 13) that change, until nothing meets on the way of vertices.

        Only pairs with one of `changed` are tested, of which asks(pair, sum of their ways in m) is true, and those of bodies whose ways
        change. With `apart` no pair intersects at the start; else those that do are left alone.
        """
        parts, goal, base = np.ones(len(start)), end.copy(), start.copy()
        halved = np.zeros(len(start), np.int64)
        unresolved: set[Pair] = set()
        left: set[Pair] = set()
        carriers: dict[int, int] = {}
        moving = ~self.is_dynamic & (start[:, :7] != end[:, :7]).any(axis=1)
        while changed:
            ways = self._ways(start, end, self._reach)
            met: set[Pair] = set()
            for pair in self._near(start, end, changed):
                i, j = pair
                if pair in left or not asks(pair, float(ways[i] + ways[j])):
                    continue
                x0, x1, y0, y1 = (self.vertices(k, state[k]) for k in pair for state in (start, end))
                if self._mesh(i).collides_with(self._mesh(j), x0, x1, y0, y1):
                    (met if apart or not self._intersect(pair, start) else left).add(pair)
            changed = set()
            for pair in sorted(met):
                free = [b for b in pair if self.is_dynamic[b] and parts[b] > 0]
                if not free:
                    unresolved.add(pair)
                for b, other in (pair, pair[::-1]):
                    # What is on a path goes on, and takes along what it would go through, with all that this meets.
                    carrier = other if moving[other] else carriers.get(other)
                    if b in free and carrier is not None and carriers.get(b) is None:
                        carriers[b] = carrier
                        base[b, :7] = _carried(start[b], start[carrier], end[carrier])
                changed.update(free)
            for b in changed:
                halved[b] += 1
                parts[b] = 0.0 if halved[b] > _HALVINGS else 0.5 * parts[b]
                end[b, :7] = _between(base[b], goal[b], parts[b])
        return Outcome(parts, tuple(sorted(unresolved)), carriers)

    def _mesh(self, part: int) -> CollisionMesh:
        if part not in self._meshes:
            self._meshes[part] = CollisionMesh(None, self._rest[part][1])
        return self._meshes[part]

    def _intersect(self, pair: Pair, states: Floats) -> bool:
        i, j = pair
        meeting = self._mesh(i).intersections_with(self._mesh(j), self.vertices(i, states[i]), self.vertices(j, states[j]))
        return bool(len(meeting.edge_face) or len(meeting.face_edge))

    def _ways(self, start: Floats, end: Floats, reach: Floats) -> Floats:
        """Return bounds (n,) of how far points within a reach (n,), m, of the centres go, m."""
        p, q = start[:, 3:7], end[:, 3:7]
        # Of a turn by an angle a: 4 sin(a / 4), not less than the chord 2 sin(a / 2).
        turn = 2.0 * np.sqrt(np.minimum(((p - q) ** 2).sum(axis=1), ((p + q) ** 2).sum(axis=1)))
        result: Floats = np.sqrt(((end[:, :3] - start[:, :3]) ** 2).sum(axis=1)) + turn * reach
        return result

    def _near(self, start: Floats, end: Floats, asked: set[int]) -> list[Pair]:
        """Return the pairs with one of some parts whose boxes around both positions meet."""
        low, high = np.full((len(start), 3), np.inf), np.full((len(start), 3), -np.inf)
        for states in (start, end):
            turn = rotations_of(states[:, 3:7])
            middle = states[:, :3] + np.einsum("nij,nj->ni", turn, self._middle)
            half = np.einsum("nij,nj->ni", np.abs(turn), self._half)
            # For rounding errors.
            half += 1e-12 * (np.abs(middle) + half)
            low, high = np.minimum(low, middle - half), np.maximum(high, middle + half)
        pairs = set()
        for i in sorted(asked):
            meet = self._known & (low[i] <= high).all(axis=1) & (low <= high[i]).all(axis=1) & (self.is_dynamic | self.is_dynamic[i])
            meet[i] = False
            pairs |= {(min(i, j), max(i, j)) for j in np.flatnonzero(meet).tolist()}
        return sorted(pairs - self._apart)


def stop(found: Outcome, parts: list[Any], start: Floats, states: Floats, given: Floats, dt: float) -> None:
    """Take the velocity of what did not move, or it would gather more of it; what is carried gets that of its carrier.

    Args:
        found: what was done to the ends of the step.
        parts: of the system.
        start, states: (n, 13) at both ends of the step.
        given: (n, 6), velocities of centres and angular velocities of parts on paths, m/s and rad/s.
        dt: s.
    """
    for i in np.flatnonzero(found.parts == 0).tolist():
        states[i, 7:] = 0.0
        if i in found.carriers:
            body, turn = parts[i].body, rotation_of(states[i, 3:7])
            states[i, 7:10] = body.mass / dt * (states[i, :3] - start[i, :3])
            states[i, 10:] = turn @ (body.properties.inertia @ (turn.T @ given[found.carriers[i], 3:]))


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


def _carried(place: Floats, start: Floats, end: Floats) -> Floats:
    """Return place and orientation (7,) of what goes with a body from one place of it to another."""
    turn = _product(end[3:7], start[3:7] * _CONJUGATE)
    q = _product(turn, place[3:7])
    return np.concatenate([rotation_of(turn) @ (place[:3] - start[:3]) + end[:3], q / np.linalg.norm(q)])


def _product(a: Floats, b: Floats) -> Floats:
    """Return the product (4,) of quaternions."""
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])


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
