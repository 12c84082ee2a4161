"""Bodies of position based dynamics in a world, as contact between surfaces sees them."""

from __future__ import annotations

from typing import Any

import numpy as np

from meniscus.mesh import SegmentMesh, TetMesh, TriangleMesh
from meniscus.solids.contact.body_surface import BodySurface, surface_of_nodes
from meniscus.solids.contact.coupling.coupled_body import CoupledBody, margins
from meniscus.solids.contact.self_stepping import Floats
from meniscus.solids.contact.solid_contacts import NO_CONTACTS, SolidContacts, meet_solids
from meniscus.solids.position.position_body import PositionBody
from meniscus.solids.position.position_step import StepPlan, step_bodies


class PositionSurface(CoupledBody):
    """A body of position based dynamics of which contact is that of the world.

    Its velocities are ways over a time. What contact moves comes back as velocity where constraints move it again. Within a step this
    is no more than the velocity that contact has taken, as long as the step of the world is the one of the body too: with substeps, it
    would be as many times as much, and bodies would gain energy without end. What the end of a loop of n steps moves would come back
    n times as fast. So these displacements are kept, and the velocities of the next step are those of the body without them; its
    positions have them, as constraints leave them. Velocities change by impulses alone.

    Args:
        body: whose steps are taken, of float64.
        thickness, friction: as for `World.add`.
        **options: of the steps, as in `PositionBody.step`: `iterations` (10), `method`, `damping`, `rigid_damping`. A step of the world
            is one substep.

    Attributes:
        displaced: (n, 3), what the end of a loop has moved, until the next step, m.

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
        self._pressed, self._contacts = np.zeros(3), NO_CONTACTS
        if not self.solids:
            return
        ends = np.array(body.positions)
        free = np.flatnonzero(body.nodes[:, 3] > 0).astype(np.int32)
        self._contacts = meet_solids(self.solids, self._start, ends, dt, body.time, free)
        if len(self._contacts):
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

    def finish(self, here: Floats, whole: Floats, ends: Floats, v_free: Floats, part: float, length: float) -> None:
        """Go from `here` to `ends`; see `SelfStepping`."""
        body = self.body
        moved = whole - here
        if moved.any():
            body.velocities += moved / length
            self.displaced += part * moved
        if part < 1.0:
            body.velocities[...] = v_free + part * (body.velocities - v_free)
        body.positions[...] = ends

    def _step(self, dt: float) -> None:
        """Take a step in which velocities are those of a body that contact has not displaced."""
        body, plan = self.body, self._plan._replace(dt=dt)
        if not self.displaced.any():
            step_bodies([body], plan, None)
            return
        start = {name: np.array(part) for name, part in body.state.items()}
        body.positions[...] -= self.displaced
        step_bodies([body], plan, None)
        velocities = body.velocities.copy()
        for name, part in start.items():
            if part.ndim:
                getattr(body, name)[...] = part
            else:
                setattr(body, name, float(part))
        step_bodies([body], plan, None)
        free = body.nodes[:, 3] > 0
        body.velocities[free] = velocities[free]
        self.displaced[...] = 0.0

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
