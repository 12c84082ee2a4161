"""Planes of solids that the nodes of a body stay above in a substep."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import solids as _solids
from meniscus.solids.contact.obstacles import SolidObstacle
from meniscus.solids.contact.solid_contacts import NO_CONTACTS, SolidContacts

if TYPE_CHECKING:
    from meniscus.solids.position.position_body import PositionBody

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

# Columns of planes: normal, offset, way, friction, pressed, rubbed.
# Arguments of `NodePlanes.add`.
Besides = tuple[Ints, Floats, Floats]
_NO_ROWS, _NO_PLANES = np.zeros(0, np.int32), np.zeros((0, 12))


def find_planes(
    solids: Sequence[SolidObstacle], start: Floats, end: Floats, points: Ints, time: float, dt: float, slack: float, recovery: float
) -> tuple[Ints, Floats]:
    """Return planes of solids where points enter them in a step, or nearest to them: rows (k,) of points, and values (k, 12).

    Values are the normal, the least n . x (m), the way of the solid in the step (m), friction, and what projections have pressed and
    rubbed so far.

    Args:
        solids: the obstacles.
        start, end: (n, 3), m, at both ends of the step.
        points: (p,), those that can move, ascending.
        time: at the end of the step, s.
        dt: s, of the step.
        slack: m: points that end farther than this from a solid get no plane.
        recovery: m/s: points that begin inside come out at most so fast.

    Source: Müller, Heidelberger, Hennix and Ratcliff 2006, section 3.4.
    """
    found: tuple[Ints, Floats] = _solids.find_planes([o.at(time, -dt) for o in solids], start, end, points, dt, slack, recovery)
    return found


class NodePlanes:
    """Planes of a substep, and what they have done to the nodes of a body.

    Args:
        body: a `PositionBody`.

    Attributes:
        rows: (k,), nodes.
        values: (k, 12), their planes, as of `find_planes`.
        of_solids: how many of them, the first, are those of solids.
        left: (k, 4), what they press and rub of a body that stays where it is, m.
    """

    def __init__(self, body: PositionBody, rows: Ints = _NO_ROWS, values: Floats = _NO_PLANES) -> None:
        self.body, self.rows, self.values = body, rows, values
        self.of_solids = len(rows)
        self.left: Floats | float = 0.0

    def __len__(self) -> int:
        """Return their number."""
        return len(self.rows)

    def project(self, *, backward: bool = False) -> None:
        """Project the nodes above their planes once, in their order or backward, with Coulomb friction against the way of the substep."""
        if len(self):
            _solids.project_planes(self.body.nodes, self.body.previous, self.rows, self.values, backward)

    def begin_at(self, displaced: Floats, farthest: float) -> None:
        """Begin the substep anew, for nodes that are now where they are without a displacement (n, 3), m.

        Planes that no solid has push nodes by the `farthest` way (m) at most: what displaced nodes come back with is no speed.
        """
        self.values[:, 3] -= np.einsum("kd,kd->k", self.values[:, :3], displaced[self.rows])
        self.values[:, 8:] = 0.0
        rest = self.values[self.of_solids :]
        here = np.einsum("kd,kd->k", rest[:, :3], self.body.positions[self.rows[self.of_solids :]])
        rest[:, 3] = np.minimum(rest[:, 3], here + farthest)

    def add(self, rows: Ints, normals: Floats, least: Floats) -> None:
        """Add planes without friction that no solid has: nodes (k,), normals (k, 3) and the least n . x (k,), m."""
        values = np.zeros((len(rows), self.values.shape[1]))
        values[:, :3], values[:, 3] = normals, least
        self.rows, self.values = np.concatenate([self.rows, rows]), np.concatenate([self.values, values])

    def impulse(self, dt: float) -> Floats:
        """Return the impulse (3,) that solids have given to the nodes in a substep of dt seconds, N s."""
        own = slice(self.of_solids)
        ways = self.values[own, 8:9] * self.values[own, :3] + self.values[own, 9:]
        total: Floats = self.body.masses[self.rows[own]] @ ways / dt
        return total

    def added(self, dt: float) -> Floats:
        """Return what the planes that no solid has have added to velocities (n, 3) in a substep of dt seconds, m/s."""
        rest = slice(self.of_solids, None)
        result = np.zeros((len(self.body), 3))
        np.add.at(result, self.rows[rest], self.values[rest, 8:9] * self.values[rest, :3] / dt)
        return result

    def contacts(self, dt: float) -> SolidContacts:
        """Return the planes that press, as contacts of a step of dt seconds, ordered by nodes."""
        pressing = np.flatnonzero(self.values[: self.of_solids, 8] > 0)
        if not len(pressing):
            return NO_CONTACTS
        rows = pressing[np.argsort(self.rows[pressing], kind="stable")]
        v = self.values[rows]
        numbers, sticks = np.full(len(rows), -1, np.int32), np.zeros(len(rows), np.bool_)
        normals, velocities = np.ascontiguousarray(v[:, :3]), v[:, 4:7] / dt
        return SolidContacts(self.rows[rows], numbers, normals, velocities, np.ascontiguousarray(v[:, 7]), sticks)


class SolidPlanes:
    """Contact of one body with solids, as the stages of a step see it (`step_bodies`).

    Args:
        body: a `PositionBody`.
        reach: m: as far as projections move nodes besides what the step does.

    Attributes:
        planes: of the last substep.
    """

    def __init__(self, body: PositionBody, reach: float) -> None:
        self.body, self.reach = body, reach
        self.solids: Sequence[SolidObstacle] = ()
        self.planes = NodePlanes(body)
        self._finds = True
        self._besides: Besides | None = None
        self._start = np.zeros((len(body), 3))

    def begin(self, solids: Sequence[SolidObstacle], given: NodePlanes | None = None, besides: Besides | None = None) -> None:
        """Begin a step among solids, with planes that are given or else found, and those `besides` (see `NodePlanes.add`)."""
        self.solids, self._finds, self._besides = solids, given is None, besides
        self.planes = NodePlanes(self.body) if given is None else given

    def note_start(self) -> None:
        """Note where nodes are before they are predicted."""
        self._start[...] = self.body.positions

    def find(self, dt: float, time: float) -> None:
        """Find planes at predicted positions, in a substep of dt seconds that ends at a time (s)."""
        if not self._finds:
            return
        body = self.body
        if self.solids:
            end = np.array(body.positions, np.float64)
            free = np.flatnonzero(body.nodes[:, 3] > 0).astype(np.int32)
            slack = self.reach + float(np.abs(end - self._start).max(initial=0.0))
            # What begins inside comes out as fast as what rests falls in a step.
            recovery = dt * float(np.linalg.norm(body.gravity))
            self.planes = NodePlanes(body, *find_planes(self.solids, self._start, end, free, time, dt, slack, recovery))
        if self._besides is not None:
            self.planes.add(*self._besides)

    def project(self, *, backward: bool = False) -> None:
        """Project nodes above planes."""
        self.planes.project(backward=backward)

    def rebound(self, dt: float, method: str) -> None:
        """Nothing: what meets a solid stays on it."""

    def moved(self) -> bool:
        """Return whether a solid moves, so that nothing may sleep on it."""
        return any(o.solid.moves for o in self.solids)

    def transaction(self) -> AbstractContextManager[None]:
        """Return nothing to take back: planes are those of one substep."""
        return nullcontext()


def frame_planes(
    solids: Sequence[SolidObstacle], x: Floats, v: Floats, gravity: Floats, slack: float, time: float, dt: float
) -> tuple[Ints, Floats]:
    """Return rows of vertices, and planes (k, 8) that they stay above in a frame: normal, least n . x now, velocity, friction.

    Args:
        solids: whose planes are taken where vertices enter them in the frame, or nearest to them.
        x, v: (n, 3), m and m/s, of the vertices now.
        gravity: (3,), m/s^2.
        slack: m: what contact may move vertices.
        time: s, now.
        dt: s, of the frame.
    """
    start, way = np.ascontiguousarray(x), dt * v + dt * dt * gravity
    near = slack + float(np.linalg.norm(way, axis=1).max(initial=0.0))
    rows, found = find_planes(solids, start, start + way, np.arange(len(start), dtype=np.int32), time + dt, dt, near, np.inf)
    values = found[:, :8].copy()
    # The plane is that at the end of the frame: it has come there with its velocity.
    values[:, 3] -= np.einsum("kd,kd->k", values[:, :3], values[:, 4:7])
    values[:, 4:7] /= dt
    return rows, values
