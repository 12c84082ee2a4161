"""Reduced bodies in a world, as contact between surfaces sees them."""

from __future__ import annotations

from typing import Any

import numpy as np

from meniscus._meniscus import solids as _solids
from meniscus.mesh import TetMesh
from meniscus.solids.contact.body_surface import BodySurface
from meniscus.solids.contact.coupling.coupled_body import CoupledBody, margins
from meniscus.solids.contact.self_stepping import CoupledRows, Floats, Ints
from meniscus.solids.reduced.reduced_body import REDUCED_METHOD, ReducedBody
from meniscus.solids.reduced.reduced_contact import TouchingNodes

# Coordinates of a body with its frame, see CoupledNodes of the collision room.
_MOST = 160
# Sweeps over contacts with solids.
_SWEEPS = 100


class ReducedSurface(CoupledBody):
    """A reduced body of which contact is that of the world; its nodes are those of its surface.

    An impulse at one node moves all of them, as the generalised inverse mass says (`ContactNodes.set_coupled`): frame and coordinates take
    it at once. Contact with solids is that of `ReducedBody.step`.

    Args:
        body: whose steps are taken.
        thickness, friction: as for `World.add`.
        **options: of the steps, as in `ReducedBody.step`: `method`, by default "implicit-euler", which does not bounce, `tolerance` and
            `max_iterations`.

    Source: Müller, Stam, James and Thürey 2008, section 6.3 and chapter 7.
    """

    def __init__(self, body: ReducedBody, thickness: float | None = None, friction: float = 0.4, **options: Any) -> None:
        self._make(body)
        self._options = {"method": "implicit-euler", **options}
        unknown = set(self._options) - {"method", "tolerance", "max_iterations"}
        if unknown:
            raise TypeError(f"{sorted(unknown)[0]} is no option of a ReducedBody of a world")
        REDUCED_METHOD("method", self._options["method"])
        model = body.model
        degrees = model.size + (0 if model.clamped else 6)
        if degrees > _MOST:
            raise ValueError(f"a ReducedBody of a world has at most {_MOST} coordinates, those of the frame included, not {degrees}")
        boundary = TetMesh(model.rest_positions, model.tets).boundary
        self.nodes: Ints = np.unique(boundary.triangles).astype(np.int32)
        if 3 * len(self.nodes) < degrees:
            raise ValueError(f"{len(self.nodes)} nodes of the surface do not tell {degrees} coordinates apart")
        self._response = _solids.ReducedResponse()
        # At rest, since copies of the body in any other state have to find the same.
        body._core.load(np.zeros(model.size), np.zeros(model.size), np.r_[0.0, 0.0, 0.0, 1.0, np.zeros(9)])
        body._core.prepare_impulses()
        self._inverse_masses = (self._response.set(body._core, self.nodes) ** 2).sum(axis=(1, 2)) / 3.0
        self._inverse_masses[np.isin(self.nodes, model.fixed)] = 0.0
        self._lead = int(self._inverse_masses.argmax())
        numbers = np.arange(len(self.nodes), dtype=np.int32)
        shares = np.stack([numbers, np.full_like(numbers, self._lead)], axis=1)
        weights = np.stack([np.ones(len(numbers)), np.zeros(len(numbers))], axis=1)
        triangles = np.searchsorted(self.nodes, boundary.triangles).astype(np.int32)
        body._moved()
        self.surface = BodySurface(None, triangles, shares, weights, body.positions[self.nodes], *margins(thickness, friction))
        self._touching = TouchingNodes(model)
        self.trial = body.coordinates.copy(), body.frame.copy(), body.positions[self.nodes]
        # kg m/s, as a loop began.
        self.momentum_free = self.declare("momentum_free", np.zeros(3))

    def __len__(self) -> int:
        """Return the number of nodes on the surface."""
        return len(self.nodes)

    @property
    def inverse_masses(self) -> Floats:
        """Inverse masses (n,) of the nodes at rest, the mean of all directions, 1/kg; 0 for those that are fixed."""
        masses: Floats = self._inverse_masses
        return masses

    @property
    def mass(self) -> float:
        """Mass of the body, kg."""
        return float(self.body.mass)

    def begin(self) -> None:
        """Begin a step; ValueError with the name of the body if its state is not finite."""
        super().begin()
        # Somebody may have changed the coordinates.
        self.body._moved()

    def begin_loop(self) -> None:
        """Begin a loop: note the momentum. What `closest` goes on from is found anew in each step."""
        self.momentum_free[...] = self.body.frame[7:10]

    def coupled_rows(self, over: float) -> CoupledRows:
        """Return how an impulse at one node that acts for `over` seconds moves all of them.

        Stiffness resists it meanwhile. What contact displaces is no more than that, or stiff coordinates would store far more energy than
        contact has taken.
        """
        body = self.body
        body._load()
        body._core.prepare_impulses(over, body.mass_damping, body.stiffness_damping)
        self.trial = body.coordinates.copy(), body.frame.copy(), body.positions[self.nodes]
        return CoupledRows(self._lead, self._response.set(body._core, self.nodes))

    def place(self, out: Floats) -> None:
        """Write the positions (n, 3) of the nodes, m."""
        out[...] = self.body.positions[self.nodes]

    def velocities(self, out: Floats) -> None:
        """Write the velocities (n, 3) of the nodes, m/s."""
        out[...] = self.body.velocities[self.nodes]

    def predict(self, dt: float, out: Floats) -> None:
        """Begin the step of the body, with contacts with solids, and write the mean velocities (n, 3) in it, m/s."""
        body = self.body
        body.predict(dt, **self._options)
        self._pressed = np.zeros(3)
        solids, kept = [o.solid for o in self.solids], [o.thickness for o in self.solids]
        found = self._touching.find(body._core, body.positions, solids, body.time, dt, kept)
        if found is not None:
            friction = np.array([o.friction for o in self.solids])[found.solids]
            self._pressed = found.solve(body._contacts, body._core, friction, _SWEEPS).sum(axis=0)
        ends = np.empty((len(self), 3))
        body._core.next_positions(self.nodes, ends)
        np.subtract(ends, body.positions[self.nodes], out=out)
        out /= dt

    def advance(self, dt: float, pushed: Floats, sprung: Floats) -> None:
        """End the step; positions go by `pushed` (n, 3), m/s, more than that."""
        body = self.body
        body.finish()
        if pushed.any():
            way = self._response.closest(np.ascontiguousarray(dt * pushed))
            body._load()
            body._core.displace(way)
            body._store()
            body._moved()

    def hold(self, velocities: Floats) -> None:
        """Change nothing: the next step of the body finds its contacts with solids."""

    def take(self, change: Floats) -> None:
        """Change velocities by those of the nodes (n, 3), m/s."""
        if change.any():
            self._add_velocity(self._response.closest(np.ascontiguousarray(change)))

    def closest(self, ends: Floats) -> Floats:
        """Return the positions (n, 3) of the nodes, m, of a state of the body near others.

        Centre, turn and coordinates go as the displacement from the last state says to first order: so momentum is kept, and nodes that
        went straight where the body turns do not stretch it.
        """
        coordinates, frame, at = self.trial
        if np.array_equal(ends, at):
            return ends
        body = self.body
        way = self._response.closest(np.ascontiguousarray(ends - at))
        body._core.load(coordinates, body.rates, frame)
        body._core.displace(way)
        coordinates, frame, rates = coordinates.copy(), frame.copy(), body.rates.copy()
        body._core.store(coordinates, rates, frame)
        places = np.empty_like(body._positions)
        body._core.positions(places)
        there: Floats = places[self.nodes]
        body._load()
        self.trial = coordinates, frame, there
        return there

    def finish(self, here: Floats, whole: Floats, ends: Floats, v_free: Floats, part: float, over: Floats) -> None:
        """Go from `here` to `ends`; see `SelfStepping`."""
        body = self.body
        moved = not np.array_equal(here, whole)
        if part < 1.0:
            now, momentum = np.empty_like(here), body.frame[7:10].copy()
            self.velocities(now)
            self._add_velocity(self._response.closest(np.ascontiguousarray((1.0 - part) * (v_free - now))))
            if not body.clamped:
                # Velocities of nodes of a body that has turned since then do not tell it to the last digit.
                body.frame[7:10] = self.momentum_free + part * (momentum - self.momentum_free)
        elif moved:
            self.closest(whole)
            way = self._response.closest(np.ascontiguousarray(whole - here))
            if not body.clamped:
                # The centre as it has gone, since nodes of a body that turns do not tell it to the last digit.
                way[:3] = body.rotation.T @ (self.trial[1][:3] - body.frame[:3])
            self._add_velocity(way / over[0])
        if moved or part < 1.0:
            self.closest(ends)
            body.coordinates[...], body.frame[:7] = self.trial[0], self.trial[1][:7]
            body._moved()

    def _add_velocity(self, change: Floats) -> None:
        body = self.body
        body._load()
        body._core.add_velocity(change)
        body._store()

    def _numbers(self) -> dict[str, Floats]:
        return {"coordinates": self.body.coordinates, "rates": self.body.rates, "frames": self.body.frame}

    def energy(self) -> dict[str, float]:
        """Return the kinetic, elastic and gravitational energy of the body and their sum, J."""
        result: dict[str, float] = self.body.energy()
        return result
