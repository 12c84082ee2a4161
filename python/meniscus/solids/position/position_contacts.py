"""Contacts of bodies of position based dynamics, with themselves, each other and solids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.core.stateful import Stateful
from meniscus.mesh import SegmentMesh, TetMesh, TriangleMesh
from meniscus.solids.contact.obstacles import SolidObstacle, obstacle_of
from meniscus.solids.position.node_planes import NodePlanes, find_planes
from meniscus.solids.position.position_body import PositionBody
from meniscus.solids.position.position_step import PositionMethod, StepPlan, step_bodies

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

# Thickness where none is given, relative to the mean edge.
_THICKNESS = 0.25
# Motion that pairs are looked for ahead, over the thickness, and substeps.
_AHEAD = 3.0
_MOST_AHEAD = 64
# Turns of collisions and constraints, and the part of the first change of velocities below which they end.
_REBOUNDS = 100
_REBOUND_TOLERANCE = 1e-3


class PositionContactReport(NamedTuple):
    """Contacts between surfaces as they are now.

    Attributes:
        pairs: pairs of elements near each other when they were last looked for.
        active: of these, those closer than their thickness, or on the wrong side.
        passed: of these, those on the wrong side.
        least: least distance over thickness of the active ones, negative on the wrong side; infinite without any.
    """

    pairs: int
    active: int
    passed: int
    least: float


class _Surface(NamedTuple):
    """Surface of a body: nodes of its vertices, edges and triangles over these."""

    nodes: Ints
    edges: Ints
    triangles: Ints


class PositionContacts(Stateful):
    """Contact of bodies with themselves, each other and solids: surfaces keep a distance, on the side on which they were.

    Vertices and faces, and edges and edges, are constraints that are projected after those of the bodies in each iteration. Nodes stay out
    of solids, each above the plane where it meets them. Friction is Coulomb's, of what a substep slides.

    Pairs of elements near each other are looked for where nodes have moved from where they were expected. The state is where and with
    what motion they were looked for last, and which of them had passed each other. Bodies have their own; a copy is for the same bodies.

    Args:
        bodies: one, or a sequence. Of tetrahedra the boundary counts, of segments the edges; bodies without elements touch solids only.
        thickness: distance that surfaces keep, m, one number or one per body; default a quarter of the mean edge. It is cut where edges at
            rest are short.
        friction: coefficient between surfaces, one number or one per body (of two: the geometric mean).
        restitution: from 0 to 1: the part of the velocity along the normal with which what collides parts, above that of resting contacts.
        margin: m: pairs within their thickness and this are kept between searches; default half the mean thickness.
        recovery: m/s: what is too close at the start of a substep comes apart at most so fast.
        reach: pairs that have passed each other by more than this multiple of their thickness are left alone; where nodes move farther in
            a substep, as far as they do.

    Raises:
        TypeError, ValueError: wrong types or values.

    Source: Müller, Stam, James and Thürey 2008, section 5.4.3; Müller, Heidelberger, Hennix and Ratcliff 2006, sections 3.3 and 3.4; Selle
    2008, section 6.4 (sides).
    """

    settings = ("obstacles",)

    def __init__(
        self,
        bodies: PositionBody | Sequence[PositionBody],
        *,
        thickness: float | Sequence[float] | None = None,
        friction: float | Sequence[float] = 0.4,
        restitution: float = 0.0,
        margin: float | None = None,
        recovery: float = 1.0,
        reach: float = 4.0,
    ) -> None:
        own = (bodies,) if isinstance(bodies, PositionBody) else tuple(bodies)
        for body in own:
            _checks.one_of_type("bodies", body, PositionBody)
        if not own or len({id(body) for body in own}) != len(own):
            raise ValueError("bodies must be at least one, each once")
        self.bodies = own
        self.restitution = _checks.number("restitution", restitution)
        if not 0 <= self.restitution <= 1:
            raise ValueError(f"restitution must be from 0 to 1, not {restitution!r}")
        self.obstacles: list[SolidObstacle] = []
        self._surfaces = [_surface_of(body) for body in own]
        sizes = [len(s.nodes) for s in self._surfaces]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._slices = [slice(int(b) - n, int(b)) for b, n in zip(starts[1:], sizes, strict=True)]
        rest = np.concatenate([_rest_of(body)[s.nodes] for body, s in zip(own, self._surfaces, strict=True)])
        edges = np.concatenate([s.edges + a for s, a in zip(self._surfaces, starts, strict=False)]).astype(np.int32)
        triangles = np.concatenate([s.triangles + a for s, a in zip(self._surfaces, starts, strict=False)]).astype(np.int32)
        mu = _each("friction", friction, len(own))
        h = self._thicknesses(thickness, rest, edges)
        self.friction = mu
        each_h, each_mu = (np.repeat(a, sizes) for a in (h, mu))
        self._least_thickness = float(h.min())
        near = 0.5 * float(each_h.mean()) if len(each_h) and margin is None else 0.0
        near = near if margin is None else _checks.positive("margin", margin)
        self._reach = near + float(h.max(initial=0.0))
        self._core = _solids.PositionContacts(
            edges, triangles, rest, each_h, each_mu, near, _checks.positive("reach", reach), _checks.positive("recovery", recovery)
        )
        self.thickness = h
        self.recovery = float(recovery)
        n = len(rest)
        self.found = self.declare("found", np.zeros((n, 4)))
        self.motion = self.declare("motion", np.zeros((n, 3)))
        self.passed = self.declare("passed", np.zeros((0, 3), np.int32), resizable=True)
        # Substeps that the motion is for (0: nothing was looked for), and those that have gone by; greatest depth of pairs that passed.
        self.ahead = self.declare("ahead", 0)
        self.gone = self.declare("gone", 0)
        self.deepest = self.declare("deepest", float(reach))
        self._stale = False
        self._x, self._start = np.zeros((n, 4)), np.zeros((n, 4))
        self._v, self._before = np.zeros((n, 3)), np.zeros((n, 3))
        self._planes: list[NodePlanes] = []
        self._came_with = 0.0

    def add_obstacle(self, solid: Any, *, thickness: float = 0.0, friction: float = 0.4) -> None:
        """Add a solid that nodes stay out of: a `surface.Solid`, a shape, or a closed mesh.

        Args:
            solid: with its motion.
            thickness: distance that nodes keep, m.
            friction: coefficient.

        Raises:
            TypeError, ValueError: something else. For an open mesh, make a `PositionBody` of infinite masses.
        """
        found = obstacle_of(solid, thickness=thickness, friction=friction)
        if not isinstance(found, SolidObstacle):
            raise TypeError("an obstacle must be a solid; for an open mesh, make a PositionBody of infinite masses")
        self.obstacles.append(found)
        for body in self.bodies:
            body.wake()

    def step(
        self,
        dt: float,
        *,
        substeps: int = 10,
        iterations: int = 1,
        method: PositionMethod = "compliant",
        damping: float = 0.0,
        rigid_damping: float = 0.0,
    ) -> None:
        """Advance all bodies by dt seconds; arguments and errors are those of `PositionBody.step`."""
        step_bodies(self.bodies, StepPlan.checked(dt, substeps, iterations, method, damping, rigid_damping), self)

    def forget(self) -> None:
        """Forget all pairs and their sides, as after bodies were placed anew."""
        self.ahead, self.gone, self.passed = 0, 0, np.zeros((0, 3), np.int32)

    def report(self) -> PositionContactReport:
        """Return counts of the contacts between surfaces as they are now."""
        if self._stale and self.ahead:
            self._core.find(self.found, self.motion, self.passed)
            self._stale = False
        self._gather(self._x)
        return PositionContactReport(*self._core.report(self._x))

    # Stages of a substep, in their order.

    def note_start(self) -> None:
        """Note where nodes are before they are predicted."""
        self._gather(self._start)

    def find(self, dt: float, time: float) -> None:
        """Look for contacts at predicted positions, where those found before do not cover them.

        Args:
            dt: s, of the substep.
            time: at its end, s.
        """
        self._gather(self._x)
        if self._stale and self.ahead:
            self._core.find(self.found, self.motion, self.passed)
        self._stale = False
        if self.gone >= self.ahead or self._core.outdated(self._x, (self.gone + 1) / self.ahead):
            if self.ahead:
                self.passed = self._core.passed(self._start, self.deepest)
            self.found[...] = self._start
            self.ahead, self.gone = self._extrapolate(), 0
            self._core.find(self.found, self.motion, self.passed)
        self.gone += 1
        self.deepest = self._core.begin(self._start, self._x, dt)
        self._planes = [] if not self.obstacles else self._meet_solids(dt, time)
        if self.restitution:
            self._gather_velocities(self._before)
            self._came_with = _kinetic_energy([body.velocities for body in self.bodies], self.bodies)

    def project(self, *, backward: bool = False) -> None:
        """Project contacts once, in their order or backward."""
        if len(self._x) and self._has_surfaces:
            self._gather(self._x)
            self._core.project(self._x, backward)
            for body, surface, own in zip(self.bodies, self._surfaces, self._slices, strict=True):
                body.nodes[surface.nodes, :3] = self._x[own, :3]
        for p in self._planes:
            p.project(backward=backward)

    def rebound(self, dt: float, method: PositionMethod = "compliant") -> None:
        """Reflect velocities of what has collided.

        What constraints pass on to the other nodes of a body slows those that have collided again, so that both take turns until the
        collisions part as they are to.
        """
        if not self.restitution:
            return
        fastest = 2 * dt * max(float(np.linalg.norm(body.gravity)) for body in self.bodies)
        self._gather(self._x)
        before = [body.velocities.copy() for body in self.bodies]
        first = self._reflect(dt, fastest)
        # What only rests gets less than this.
        if first <= fastest:
            return
        linked = [body._velocity_response(dt, method) for body in self.bodies]
        for body, v, respond in zip(self.bodies, before, linked, strict=True):
            # The stop has left velocities that are not those of the constraints either.
            push = body.velocities - v
            v[...] = respond(v) if push.any() else v
            body.velocities[...] = v + respond(push) if push.any() else v
        stopped = before
        given = [p.values[:, 8] / dt for p in self._planes]
        for _ in range(_REBOUNDS):
            before = [body.velocities.copy() for body in self.bodies]
            if max(self._reflect(dt, fastest), self._part(given, dt, fastest)) <= _REBOUND_TOLERANCE * first:
                break
            for body, v, respond in zip(self.bodies, before, linked, strict=True):
                push = body.velocities - v
                if push.any():
                    body.velocities[...] = v + respond(push)
        if not self.moved() and not any(body._paths for body in self.bodies):
            self._bound_energy(stopped)

    def _part(self, given: list[Floats], dt: float, fastest: float) -> float:
        """Let nodes that solids have pushed by `given` (k,), m/s, part as fast as they are to, no faster; return the greatest change."""
        most = 0.0
        for p, push in zip(self._planes, given, strict=True):
            own = self._slices[self.bodies.index(p.body)]
            incoming = np.zeros_like(p.body.velocities, np.float64)
            incoming[self._surfaces[self.bodies.index(p.body)].nodes] = self._before[own]
            n, speed = p.values[:, :3], np.einsum("kd,kd->k", p.values[:, :3], p.values[:, 4:7]) / dt
            came, goes = (np.einsum("kd,kd->k", n, v[p.rows]) - speed for v in (incoming, p.body.velocities))
            met = (came < -fastest) & (push > 0) & (p.body.nodes[p.rows, 3] > 0)
            change = np.where(met, np.maximum(-self.restitution * came - goes, -push), 0.0)
            push += change
            p.body.velocities[p.rows] += (change[:, None] * n).astype(p.body.velocities.dtype)
            most = max(most, float(np.abs(change).max(initial=0.0)))
        return most

    def _bound_energy(self, stopped: list[Floats]) -> None:
        """Take back so much of what bodies have rebounded from the velocities of a stop that they have not gained energy.

        Where nodes of a body come to part faster than they must, none pulls them back.
        """
        pushes = [body.velocities - v for body, v in zip(self.bodies, stopped, strict=True)]
        low, gained = _kinetic_energy(stopped, self.bodies), _kinetic_energy(pushes, self.bodies)
        allowed = self.restitution**2 * max(self._came_with - low, 0.0)
        mixed = _kinetic_energy([body.velocities for body in self.bodies], self.bodies) - low - gained
        if gained > 0 and mixed + gained > allowed:
            # The root of gained s^2 + mixed s = allowed.
            part = (np.sqrt(mixed * mixed + 4 * gained * allowed) - mixed) / (2 * gained)
            for body, v, push in zip(self.bodies, stopped, pushes, strict=True):
                body.velocities[...] = v + min(part, 1.0) * push

    def _reflect(self, dt: float, fastest: float) -> float:
        """Reflect velocities that came faster than `fastest`; return the greatest change of a velocity, m/s."""
        self._gather_velocities(self._v)
        old = self._v.copy()
        self._core.rebound(self._x, self._before, self._v, self.restitution, fastest)
        most = 0.0
        for body, surface, own in zip(self.bodies, self._surfaces, self._slices, strict=True):
            body.velocities[surface.nodes] = self._v[own]
            incoming = np.zeros_like(body.velocities)
            incoming[surface.nodes] = self._before[own]
            for p in self._planes:
                if p.body is body:
                    _solids.rebound_from_planes(body.nodes, incoming, body.velocities, p.rows, p.values, self.restitution, fastest, dt)
            most = max(most, float(np.abs(body.velocities[surface.nodes] - old[own]).max(initial=0.0)))
        return most

    def moved(self) -> bool:
        """Return whether a solid moves, so that nothing may sleep on it."""
        return any(o.solid.moves for o in self.obstacles)

    def _extrapolate(self) -> int:
        """Write the motion over as many substeps as bring nodes by a few thicknesses against each other, and return their number."""
        u = np.subtract(self._x[:, :3], self._start[:, :3], out=self.motion)
        free = self._x[:, 3] > 0
        way = float(np.linalg.norm(np.ptp(u[free], axis=0))) if free.any() else 0.0
        ahead = max(1, min(_MOST_AHEAD, int(_AHEAD * self._least_thickness / way))) if way > 0 else _MOST_AHEAD
        u *= ahead
        return ahead

    def _state_replaced(self) -> None:
        self._stale = True
        super()._state_replaced()

    @property
    def _has_surfaces(self) -> bool:
        return any(len(s.edges) for s in self._surfaces)

    def _gather(self, to: Floats) -> None:
        for body, surface, own in zip(self.bodies, self._surfaces, self._slices, strict=True):
            to[own] = body.nodes[surface.nodes]

    def _gather_velocities(self, to: Floats) -> None:
        for body, surface, own in zip(self.bodies, self._surfaces, self._slices, strict=True):
            to[own] = body.velocities[surface.nodes]

    def _meet_solids(self, dt: float, time: float) -> list[NodePlanes]:
        planes: list[NodePlanes] = []
        for body, surface, own in zip(self.bodies, self._surfaces, self._slices, strict=True):
            x0, x1 = (np.ascontiguousarray(x[own, :3]) for x in (self._start, self._x))
            # As far as projections may move nodes towards the solid in the substep.
            slack = self._reach + float(np.abs(x1 - x0).max(initial=0.0))
            movable = np.flatnonzero(self._x[own, 3] > 0).astype(np.int32)
            rows, values = find_planes(self.obstacles, x0, x1, movable, time, dt, slack, self.recovery)
            planes.append(NodePlanes(body, surface.nodes[rows], values))
        return planes

    def _thicknesses(self, thickness: Any, rest: Floats, edges: Ints) -> Floats:
        if thickness is not None:
            return _each("thickness", thickness, len(self.bodies))
        lengths = np.linalg.norm(rest[edges[:, 1]] - rest[edges[:, 0]], axis=1)
        of_body = np.searchsorted([s.stop for s in self._slices], edges[:, 0], side="right")
        count = np.bincount(of_body, minlength=len(self.bodies))
        return _THICKNESS * np.bincount(of_body, lengths, minlength=len(self.bodies)) / np.maximum(count, 1)

    def __repr__(self) -> str:
        """One line: bodies, solids, pairs."""
        return f"<PositionContacts of {len(self.bodies)} bodies and {len(self.obstacles)} solids>"


def _kinetic_energy(velocities: Sequence[Any], bodies: Sequence[PositionBody]) -> float:
    """Return the kinetic energy of nodes of finite mass, J."""
    total = 0.0
    for v, body in zip(velocities, bodies, strict=True):
        moves = body.nodes[:, 3] > 0
        total += 0.5 * float(body.masses[moves] @ np.square(v[moves], dtype=np.float64).sum(axis=1))
    return total


def _each(name: str, value: Any, n: int) -> Floats:
    a = np.asarray(value, np.float64)
    if a.shape not in ((), (n,)) or not (np.isfinite(a) & (a >= 0)).all():
        raise ValueError(f"{name} must be one finite number that is not negative, or one for each of the {n} bodies")
    return np.array(np.broadcast_to(a, (n,)))


def _rest_of(body: PositionBody) -> Floats:
    result: Floats = np.asarray(body.mesh if isinstance(body.mesh, np.ndarray) else body.mesh.vertices, np.float64)
    return result


def _surface_of(body: PositionBody) -> _Surface:
    mesh = body.mesh
    if isinstance(mesh, SegmentMesh):
        return _numbered(np.asarray(mesh.segments), np.empty((0, 3), np.int32))
    if isinstance(mesh, (TriangleMesh, TetMesh)):
        surface = mesh.boundary if isinstance(mesh, TetMesh) else mesh
        return _numbered(np.asarray(surface.edges), np.asarray(surface.triangles))
    return _Surface(np.arange(len(body), dtype=np.int32), np.empty((0, 2), np.int32), np.empty((0, 3), np.int32))


def _numbered(edges: Ints, triangles: Ints) -> _Surface:
    nodes = np.unique(np.concatenate([edges.ravel(), triangles.ravel()])).astype(np.int32)
    return _Surface(nodes, np.searchsorted(nodes, edges).astype(np.int32), np.searchsorted(nodes, triangles).astype(np.int32))
