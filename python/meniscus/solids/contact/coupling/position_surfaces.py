"""Bodies of position based dynamics in a world, as contact between surfaces sees them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from meniscus.mesh import SegmentMesh, TetMesh, TriangleMesh
from meniscus.solids.contact.body_surface import BodySurface, surface_of_nodes
from meniscus.solids.contact.coupling.coupled_body import CoupledBody, margins
from meniscus.solids.contact.self_stepping import Floats
from meniscus.solids.contact.solid_contacts import NO_CONTACTS, SolidContacts, meet_solids
from meniscus.solids.position.position_body import PositionBody
from meniscus.solids.position.position_step import StepPlan, step_bodies

# s: in which the body with displacements by contact and the one without become one.
_SETTLES = 0.02
# Part of the longest step that is still the usual one in the next step.
_REMEMBERS = 0.95


class PositionSurface(CoupledBody):
    """A body of position based dynamics of which contact is that of the world.

    Its velocities are ways over a time, so that what contact displaces would come back as velocity where constraints move it again: by as
    much over a step, though a whole loop may have moved it, and once more in each step in which projections have not yet ended. So all
    displacements by contact are kept. Velocities are those of the body without them, whose step is taken too; positions are those of the
    body with them, as constraints leave it. Velocities change by impulses alone. Both bodies become one in the course of time: the
    difference decays in `_SETTLES` seconds, so that it gives no more speed than it is long over that time. The same goes for what
    projections have left of a long step, where a short one follows, as after a cut.

    Args:
        body: whose steps are taken, of float64.
        thickness, friction: as for `World.add`.
        **options: of the steps, as in `PositionBody.step`: `iterations` (10), `method`, `damping`, `rigid_damping`. A step of the world
            is one substep.

    Attributes:
        displaced: (n, 3), how far contact has moved the nodes from where they would be without displacements, m.
        usual_step: the longest step of late, s.

    Source: Macklin, Müller, Chentanez and Kim, "Unified particle physics for real-time applications", 2014, section 4.4
    (pre-stabilisation), for displacements by contact.
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
        self._start = np.zeros((len(body), 3))
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
        """Take the step of the body, as if nothing touched, and write the mean velocities (n, 3) in it, m/s."""
        body = self.body
        self._start[...] = body.positions
        self._step(dt)
        np.subtract(body.positions, self._start, out=out)
        out /= dt

    def advance(self, dt: float, pushed: Floats) -> None:
        """Move positions by `pushed` (n, 3), m/s, more than the step has; keep nodes out of solids, with friction."""
        body = self.body
        if pushed.any():
            body.positions[...] += dt * pushed
            self.displaced += dt * pushed
        self._pressed, self._contacts = np.zeros(3), NO_CONTACTS
        if not self.solids:
            return
        ends = np.array(body.positions)
        free = np.flatnonzero(body.nodes[:, 3] > 0).astype(np.int32)
        self._contacts = meet_solids(self.solids, self._start, ends, dt, body.time, free)
        if len(self._contacts):
            self.displaced += ends - body.positions
            body.positions[...] = ends
            self.hold(body.velocities)

    def hold(self, velocities: Floats) -> None:
        """Change velocities (n, 3), m/s, as the solids do that nodes have met in the step."""
        contacts = self._contacts
        if not len(contacts):
            return
        nodes = np.unique(contacts.nodes)
        before = velocities[nodes]
        contacts.apply(velocities)
        self._pressed = self._pressed + self.body.masses[nodes] @ (velocities[nodes] - before)

    def take(self, change: Floats) -> None:
        """Change velocities by those of the nodes (n, 3), m/s."""
        if change.any():
            self.body.velocities += change

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

    def _step(self, dt: float) -> None:
        """Take a step in which velocities are those of a body that contact has not displaced."""
        body, plan = self.body, self._plan._replace(dt=dt)
        self.usual_step = usual = max(dt, _REMEMBERS * self.usual_step)
        if (dt == usual and not self.displaced.any()) or (body.asleep and not body.is_disturbed()):
            step_bodies([body], plan, None)
            return
        start = {name: np.array(part) for name, part in body.state.items()}
        left = np.zeros_like(self.displaced)
        body.positions[...] -= self.displaced
        if dt < usual:
            # Of what projections had left at the start, only as much as gives the acceleration that it gives in the usual step.
            before = body.positions.copy()
            for projector in body._projectors:
                projector.begin()
            body.project(dt, iterations=plan.iterations, method=plan.method)
            left = (1.0 - (dt / usual) ** 2) * (body.positions - before)
            body.positions[...] = before
        step_bodies([body], plan, None)
        positions, velocities = body.positions - left, body.velocities - left / dt
        for name, part in start.items():
            if part.ndim:
                getattr(body, name)[...] = part
            else:
                setattr(body, name, float(part))
        step_bodies([body], plan, None)
        free = body.nodes[:, 3] > 0
        body.velocities[free] = velocities[free]
        self.displaced[free] = math.exp(-dt / _SETTLES) * (body.positions - positions)[free]
        if body.turns_freely():
            # Where both are as a whole does not matter to constraints.
            self.displaced -= body.masses @ self.displaced / body.masses.sum()

    def _numbers(self) -> dict[str, Floats]:
        return {"positions": self.body.positions, "velocities": self.body.velocities}

    def energy(self) -> dict[str, float]:
        """Return the kinetic and gravitational energy of the body and their sum, J."""
        body = self.body
        m = np.where(np.isfinite(body.masses), body.masses, 0.0)
        kinetic = 0.5 * float(m @ np.einsum("nd,nd->n", body.velocities, body.velocities))
        gravity = -float(m @ (body.positions @ body.gravity))
        return {"kinetic": kinetic, "gravity": gravity, "total": kinetic + gravity}


def _surface_of(body: PositionBody, thickness: float | None, friction: float) -> BodySurface:
    mesh = body.mesh
    none = np.empty((0, 3), np.int32)
    if isinstance(mesh, SegmentMesh):
        return surface_of_nodes(body, mesh.segments, none, thickness, friction)
    if isinstance(mesh, (TriangleMesh, TetMesh)):
        triangles = mesh.triangles if isinstance(mesh, TriangleMesh) else mesh.boundary.triangles
        return surface_of_nodes(body, None, triangles, thickness, friction)
    raise ValueError("a PositionBody of a world needs a mesh: points alone have no surface")
