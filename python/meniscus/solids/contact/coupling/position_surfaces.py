"""Bodies of position based dynamics in a world, as contact between surfaces sees them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from meniscus.mesh import SegmentMesh, TetMesh, TriangleMesh
from meniscus.solids.contact.body_surface import BodySurface, surface_of_nodes
from meniscus.solids.contact.coupling.coupled_body import CoupledBody, margins
from meniscus.solids.contact.energies import without_speed
from meniscus.solids.contact.self_stepping import Floats, Ints
from meniscus.solids.contact.solid_contacts import NO_CONTACTS, SolidContacts
from meniscus.solids.position.node_planes import Besides, NodePlanes, SolidPlanes
from meniscus.solids.position.position_body import PositionBody
from meniscus.solids.position.position_step import StepPlan, step_bodies

# s: in which the body with displacements by contact and the one without become one.
_SETTLES = 0.02
# Of that: displacements below this are none.
_FORGOTTEN = 1e-6
# Of the mean edge: how far constraints may move nodes towards solids in a step, besides the longest way of a node.
_REACH = 0.5
# Part of the longest step that is still the usual one in the next step.
_REMEMBERS = 0.95


class PositionSurface(CoupledBody):
    """A body of position based dynamics of which contact is that of the world.

    Contact is part of the projections, so that velocities are ways over time:

    - Nodes stay above planes of solids, with friction, as in `PositionContacts`.
    - Surfaces push mean velocities of a predicted step. The step is taken again, and in its projections nodes that were pushed go at
      least so far along the push.
    - What this has given of momentum is no impulse that others have got: it is taken back, and contact at the end of the step gives what
      stops the nodes without it. That is about the same; the rest all these nodes get together.
    - What elastic repulsion has pushed apart faster than that is no speed.

    Ends of loops displace nodes, over a whole loop. That would come back as velocity where constraints move the nodes again, and once more
    in each step in which projections have not yet ended. So these displacements are kept: velocities are those of the body without them,
    whose step is taken too; positions are those of the body with them. Both become one in the course of time: the difference decays in
    `_SETTLES` seconds, so that it gives no more speed than it is long over that time. The same goes for what projections have left of a
    long step, where a short one follows, as after a cut.

    Args:
        body: whose steps are taken, of float64.
        thickness, friction: as for `World.add`.
        **options: of the steps, as in `PositionBody.step`: `iterations` (10), `method`, `damping`, `rigid_damping`. A step of the world
            is one substep.

    Attributes:
        displaced: (n, 3), how far ends of loops have moved the nodes from where they would be without displacements, m.
        usual_step: the longest step of late, s.

    Source: Macklin, Müller, Chentanez and Kim, "Unified particle physics for real-time applications", 2014, section 4.4
    (pre-stabilisation), for displacements by contact, and 6.1 (friction by positions).
    """

    unrestricted = True

    def __init__(self, body: PositionBody, thickness: float | None = None, friction: float = 0.4, **options: Any) -> None:
        if body.dtype != np.float64:
            raise ValueError("positions of float32 are no certified ones: a PositionBody of a world must be float64")
        self._make(body)
        if "substeps" in options:
            raise TypeError("a step of a world is one substep of its bodies: take shorter steps in place of `substeps`")
        chosen = {"iterations": 10, "method": "compliant", "damping": 0.0, "rigid_damping": 0.0, **options}
        if len(chosen) > 4:
            raise TypeError(f"{sorted(set(options) - {*list(chosen)[:4]})[0]} is no option of a PositionBody of a world")
        self._plan = StepPlan.checked(1.0, 1, **chosen)
        self.surface = _surface_of(body, *margins(thickness, friction))
        self.displaced = self.declare("displaced", np.zeros((len(body), 3)))
        self.usual_step = self.declare("usual_step", 0.0)
        ends = self.surface.triangles[:, :2] if self.surface.edges is None else self.surface.edges
        lengths = np.linalg.norm(np.subtract(*(self.surface.rest[ends[:, k]] for k in (0, 1))), axis=1)
        self._planes = SolidPlanes(body, _REACH * float(lengths.mean()))
        self._start: dict[str, Any] = {}
        self._given: Floats | None = None
        self._contacts: SolidContacts = NO_CONTACTS

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.body)

    @property
    def inverse_masses(self) -> Floats:
        """Inverse masses (n,) of the nodes, 1/kg; 0 for those that are held."""
        return np.ascontiguousarray(self.body.nodes[:, 3])

    def place(self, out: Floats) -> None:
        """Write the positions (n, 3) of the nodes, m."""
        out[...] = self.body.positions

    def velocities(self, out: Floats) -> None:
        """Write the velocities (n, 3) of the nodes, m/s."""
        out[...] = self.body.velocities

    def predict(self, dt: float, out: Floats) -> None:
        """Take the step of the body, as if no surface touched, and write the mean velocities (n, 3) in it, m/s."""
        body = self.body
        self._start = {name: np.array(part) for name, part in body.state.items()}
        self._step(dt)
        np.subtract(body.positions, self._start["nodes"][:, :3], out=out)
        out /= dt

    def advance(self, dt: float, pushed: Floats, sprung: Floats) -> None:
        """Take the step again where the surface was pushed (n, 3), m/s: nodes go at least so far along that; `sprung` is no speed.

        What contact adds to the momentum is that of the way alone: velocities get what it gives at the end of the step, and lack it until
        then (`take`).
        """
        body = self.body
        self._given = None
        if pushed.any():
            # Pushes into solids end there.
            pushed = pushed.copy()
            self._planes.planes.contacts(dt).without_motion().apply(pushed)
        if not pushed.any():
            self._split(dt)
            return
        x = self._start["nodes"][:, :3]
        means = (body.positions - x) / dt + pushed
        rows, sizes, normals = _directions(pushed)
        besides = rows, normals, np.einsum("kd,kd->k", normals, x[rows] + dt * means[rows])
        self._return_to(self._start)
        self._step(dt, besides=besides)
        self._split(dt)
        self._given = self._planes.planes.added(dt)
        rows, sizes, normals = _directions(sprung)
        faster = np.einsum("kd,kd->k", normals, body.velocities[rows] - means[rows] + sprung[rows])
        taken = np.clip(faster, 0.0, sizes)[:, None] * normals
        body.velocities[rows] -= taken
        self._given[rows] -= taken
        self._contacts.without_motion().apply(self._given)
        body.velocities -= self._given

    def hold(self, velocities: Floats) -> None:
        """Change velocities (n, 3), m/s, as the solids do that press on nodes in the step."""
        contacts = self._contacts
        if not len(contacts):
            return
        nodes = np.unique(contacts.nodes)
        before = velocities[nodes]
        contacts.apply(velocities)
        self._pressed = self._pressed + self.body.masses[nodes] @ (velocities[nodes] - before)

    def take(self, change: Floats) -> None:
        """Change velocities by those of the nodes (n, 3), m/s.

        Of a step that was pushed, velocities are then its ways over time, and what contact gives more or less than the step has taken is
        that of all nodes together that were pushed. It makes none faster than the fastest is; what then is missing, all nodes get.
        """
        velocities, given, self._given = self.body.velocities, self._given, None
        if given is None:
            velocities += change
            return
        more, masses = change - given, np.where(np.isfinite(self.body.masses), self.body.masses, 0.0)
        rows = np.flatnonzero(given.any(axis=1))
        if len(rows):
            more[rows] = masses[rows] @ more[rows] / masses[rows].sum()
        velocities += given
        moves = self.body.nodes[:, 3] > 0
        one = np.zeros(len(more), np.int32)
        parts, missing = without_speed(velocities, more, np.where(moves, masses, 0.0), one, moves, np.ones(len(more), np.bool_))
        velocities += parts[:, None] * more + missing

    def closest(self, ends: Floats) -> Floats:
        """Return the same positions (n, 3), m: nodes may be anywhere."""
        return ends

    def finish(self, here: Floats, whole: Floats, ends: Floats, v_free: Floats, part: float, over: Floats) -> None:
        """Go from `here` to `ends`; see `SelfStepping`."""
        body = self.body
        moved = whole - here
        if moved.any():
            body.velocities += moved / over[:, None]
            self.displaced += part * moved
        if part < 1.0:
            body.velocities[...] = v_free + part * (body.velocities - v_free)
        body.positions[...] = ends

    def _step(self, dt: float, given: NodePlanes | None = None, besides: Besides | None = None) -> None:
        """Take a step with contacts with solids, those given or those found, and planes besides."""
        self._planes.begin(self.solids, given, besides)
        touches = self.solids or given is not None or besides is not None
        step_bodies([self.body], self._plan._replace(dt=dt), self._planes if touches else None)

    def _return_to(self, state: dict[str, Any]) -> None:
        """Return the body to a state."""
        for name, part in state.items():
            if part.ndim:
                getattr(self.body, name)[...] = part
            else:
                setattr(self.body, name, float(part))

    def _split(self, dt: float) -> bool:
        """Give the body, which has taken the step, the velocities of the one that contact has not displaced; return whether it differs."""
        body, planes = self.body, self._planes.planes
        self.usual_step = usual = max(dt, _REMEMBERS * self.usual_step)
        apart = (bool(self.displaced.any()) or dt < usual) and not body.asleep
        if apart:
            self._step_apart(dt, usual)
        self._pressed = planes.impulse(dt)
        self._contacts = planes.contacts(dt)
        return apart

    def _step_apart(self, dt: float, usual: float) -> None:
        """Take the step of the body without displacements, and give the body its velocities."""
        body, planes = self.body, self._planes.planes
        end = {name: np.array(part) for name, part in body.state.items()}
        self._return_to(self._start)
        body.positions[...] -= self.displaced
        left, part = np.zeros_like(self.displaced), 0.0
        fastest = body._fastest() + dt * float(np.linalg.norm(body.gravity))
        planes.begin_at(self.displaced, dt * fastest)
        if dt < usual:
            # Of what projections had left at the start, only as much as gives the acceleration that it gives in the usual step.
            part = 1.0 - (dt / usual) ** 2
            left = part * self._left(dt, planes)
        self._step(dt, planes)
        planes.values[:, 8:] -= part * planes.left
        free = body.nodes[:, 3] > 0
        positions, velocities = body.positions - left, body.velocities - left / dt
        self._return_to(end)
        body.velocities[free] = velocities[free]
        self.displaced[free] = math.exp(-dt / _SETTLES) * (body.positions - positions)[free]
        if body.turns_freely():
            # Where both are as a whole does not matter to constraints.
            self.displaced -= body.masses @ self.displaced / body.masses.sum()
        if np.abs(self.displaced).max() < _FORGOTTEN * self._planes.reach:
            self.displaced[...] = 0.0

    def _left(self, dt: float, planes: NodePlanes) -> Floats:
        """Return what projections move (n, 3), m, of a body that stays where it is, and on its planes."""
        body, plan = self.body, self._plan
        body.previous[...] = body.positions
        held = NodePlanes(body, planes.rows, planes.values.copy())
        held.values[:, 3] = np.minimum(held.values[:, 3], np.einsum("kd,kd->k", held.values[:, :3], body.positions[held.rows]))
        for projector in body._projectors:
            projector.begin()
        for _ in range(plan.iterations):
            held.project(backward=True)
            body.project(dt, method=plan.method, rounds=plan.iterations)
            held.project()
        planes.left = held.values[:, 8:]
        moved: Floats = body.positions - body.previous
        body.positions[...] = body.previous
        return moved

    def _numbers(self) -> dict[str, Floats]:
        return {"positions": self.body.positions, "velocities": self.body.velocities}

    def energy(self) -> dict[str, float]:
        """Return the kinetic and gravitational energy of the body and their sum, J."""
        body = self.body
        m = np.where(np.isfinite(body.masses), body.masses, 0.0)
        kinetic = 0.5 * float(m @ np.einsum("nd,nd->n", body.velocities, body.velocities))
        gravity = -float(m @ (body.positions @ body.gravity))
        return {"kinetic": kinetic, "gravity": gravity, "total": kinetic + gravity}


def _directions(changes: Floats) -> tuple[Ints, Floats, Floats]:
    """Return the rows (k,) of changes (n, 3) that are not zero, and their sizes and directions (k, 3)."""
    rows = np.flatnonzero(changes.any(axis=1)).astype(np.int32)
    sizes = np.linalg.norm(changes[rows], axis=1)
    return rows, sizes, changes[rows] / sizes[:, None]


def _surface_of(body: PositionBody, thickness: float | None, friction: float) -> BodySurface:
    mesh = body.mesh
    none = np.empty((0, 3), np.int32)
    if isinstance(mesh, SegmentMesh):
        return surface_of_nodes(body, mesh.segments, none, thickness, friction)
    if isinstance(mesh, (TriangleMesh, TetMesh)):
        triangles = mesh.triangles if isinstance(mesh, TriangleMesh) else mesh.boundary.triangles
        return surface_of_nodes(body, None, triangles, thickness, friction)
    raise ValueError("a PositionBody of a world needs a mesh: points alone have no surface")
