"""Rest: stages of a step with contacts that last."""

from __future__ import annotations

from typing import Any

import numpy as np

from meniscus.numerics.solve import ConvergenceError, SolveInfo, facts
from meniscus.solids.contact.contact_solver import ContactSolver
from meniscus.solids.contact.contact_surface import Floats
from meniscus.solids.contact.energies import stores_too_much
from meniscus.solids.contact.friction import SolveFriction
from meniscus.solids.contact.resting import (
    NO_NODES,
    Grounds,
    RestingNodes,
    friction_at_rest,
    met_meshes,
    resting_nodes,
    with_met,
    with_resting,
)
from meniscus.solids.contact.solid_contacts import NO_CONTACTS, SolidContacts, SolidResponse, meet_solids
from meniscus.solids.contact.stage_arrays import StageArrays

# How often a prediction is taken once more in a step.
_MOST = 3
_NO_HOLDS = (NO_CONTACTS.nodes, NO_CONTACTS.normals)
_NO_DRAGS = (NO_CONTACTS.nodes, NO_CONTACTS.friction)


class RestingContacts(ContactSolver):
    """Base of a solver by impulses: contacts with solids, and those that last from step to step.

    Attributes:
        resting_keys, resting_drag, resting_way, resting_speed: contacts that held nodes up in the last step; see `RestingNodes`.
    """

    _arrays: StageArrays
    _options: Any
    _raises: bool
    _solid_response: SolidResponse
    _solves: list[SolveInfo]

    def _make_rest(self, holds: bool, friction_solves: int, elastic_part: float) -> None:
        self._holds_rest = holds
        self._elastic_part = elastic_part
        self._may_settle = False
        self._friction_solves = friction_solves
        self._friction = self._predicted = SolveFriction()
        self.resting_keys = self.declare("resting_keys", NO_NODES.keys, resizable=True)
        self.resting_drag = self.declare("resting_drag", NO_NODES.drag, resizable=True, rows_of="resting_keys")
        self.resting_way = self.declare("resting_way", NO_NODES.way, resizable=True, rows_of="resting_keys")
        self.resting_speed = self.declare("resting_speed", NO_NODES.speed, resizable=True, rows_of="resting_keys")

    def _find_resting(self, dt: float) -> SolveFriction:
        """Return the contacts of nodes that rest at the start of a step."""
        a, fall = self._arrays, self._fall(dt)
        self._predicted = SolveFriction(fall=fall)
        if self._holds_rest and len(self.resting_keys):
            resting = RestingNodes(self.resting_keys, self.resting_drag, self.resting_way, self.resting_speed)
            self.surface.set_obstacle_velocities(a.v, self.time, dt)
            grounds = Grounds(self._solids, self.loop.supports(a.x0, a.v))
            self._predicted = friction_at_rest(grounds, resting, a.own(a.x0), a.own(a.v0), self.time, dt, 0.5 * dt, fall)
        return self._predicted

    def _predict_at_rest(self, core: Any, friction: SolveFriction, h: float, elastic_dt: float, rubs: bool = True) -> None:
        """Find the velocities that positions go with, where nodes rest; `rubs`: with friction after the solve."""
        a, c = self._arrays, friction.contacts
        own, loose = a.own(a.v), a.own(a.loose)
        given = own.copy()
        rise = np.einsum("kd,kd->k", c.velocities - own[c.nodes], c.normals)
        given[c.nodes] += rise[:, None] * c.normals
        for solves in range(self._friction_solves + 1):
            core.set_contacts(*friction.holds())
            core.set_drags(*friction.drags())
            core.hold_contacts(friction.held_velocities(given), own)
            self._solve(a.x0, friction.start(a.v0), h, elastic_dt, a.v, a.loose)
            if not friction.judge(own, loose, loose, self.surface.groups) or solves == self._friction_solves:
                break
            friction.go_on()
        c.press_only(own, loose)
        # Other nodes keep what they have found together: what is stiffly bound to a node would be torn.
        slides = c.nodes[(friction.drag == 0) & ~friction.sticking]
        friction.finish(loose)
        if rubs:
            own[slides] = loose[slides]
        core.set_contacts(*_NO_HOLDS)
        core.set_drags(*_NO_DRAGS)
        core.hold_mean_velocities(own)

    def _meet(self, core: Any, dt: float) -> SolidContacts:
        """Keep nodes out of solids at the end of a step, and return the contacts.

        Where much stands on the nodes that were stopped, or that should not have been held, the prediction is taken once more.
        """
        a = self._arrays
        x0, x1, nodes = a.own(a.x0), a.own(a.x1), self.surface.movable
        met = meet_solids(self._solids, x0, x1, dt, self.time + dt, nodes, self._solid_response)
        for _ in range(_MOST if self._holds_rest and self._may_settle else 0):
            changed = with_met(met, self._predicted, x0, x1, dt, self.surface.groups)
            if changed is None:
                break
            self._predict_anew(core, changed, dt)
            met = meet_solids(self._solids, x0, x1, dt, self.time + dt, nodes, self._solid_response)
        return met

    def _predict_anew(self, core: Any, friction: SolveFriction, dt: float) -> None:
        """Take the prediction once more with these contacts, and the positions that go with it, with the repulsion that was found."""
        a = self._arrays
        own, predicted = a.own(a.v), a.own(a.predicted)
        pushed = own - predicted
        self._predicted = friction
        own[...] = a.own(a.v0)
        core.hold_mean_velocities(own)
        self._predict_at_rest(core, friction, 0.5 * dt, self._elastic_part * dt, rubs=False)
        predicted[...] = own
        own += pushed
        core.hold_mean_velocities(own)
        core.advance_positions(own, a.own(a.x1))

    def _follow_pushed(self, core: Any, dt: float) -> None:
        """Take the prediction once more with the nodes held that repulsion has pushed, where that would store more than it has taken."""
        a = self._arrays
        own, predicted = a.own(a.v), a.own(a.predicted)
        pushed = np.flatnonzero((own != predicted).any(axis=1)).astype(np.int32)
        if not len(pushed) or self._elastic_part == 0.0:
            return
        x = a.own(a.x0)
        if stores_too_much(self.surface, self.bodies, x, x + dt * predicted, x + dt * own, dt) is None:
            return
        resting = self._predicted
        nodes, normals = resting.holds()
        single = ~np.isin(nodes, pushed)
        nodes = np.concatenate([nodes[single], np.repeat(pushed, 3)])
        normals = np.concatenate([normals[single], np.tile(np.eye(3), (len(pushed), 1))])
        order = np.argsort(nodes, kind="stable")
        core.set_contacts(np.ascontiguousarray(nodes[order]), np.ascontiguousarray(normals[order]))
        given = own.copy()
        core.hold_contacts(given, own)
        self._solve(a.x0, a.v0, 0.5 * dt, self._elastic_part * dt, a.v, None)
        core.set_contacts(*_NO_HOLDS)
        core.hold_mean_velocities(own)
        if stores_too_much(self.surface, self.bodies, x, x + dt * predicted, x + dt * own, dt) is not None:
            a.v[...] = a.predicted

    def _contacts_with(self, met: SolidContacts, dt: float) -> SolveFriction:
        """Return the contacts of a step, from those that nodes have met."""
        a, fall = self._arrays, self._fall(dt)
        if not self._holds_rest:
            return SolveFriction(met.sticking_at_rest(a.own(a.v0)) if self._friction_solves else met.sliding(), fall)
        grounds = Grounds(self._solids, self.loop.supports(a.x1, a.v))
        if (others := met_meshes(grounds.meshes, a.own(a.v0), fall)) is not None:
            met = met.joined(others)
        return with_resting(met, self._predicted, grounds, a.own(a.x1), self.time + dt, dt)

    def _remember_resting(self, h: float) -> None:
        """Keep the contacts that held nodes up in a solve over h seconds."""
        a = self._arrays
        held = resting_nodes(self._friction, h, a.own(a.x0), a.own(a.x1)) if self._holds_rest else NO_NODES
        self.resting_keys, self.resting_drag, self.resting_way, self.resting_speed = held

    def nodes_left(self, nodes: slice) -> None:
        """Forget contacts that last of nodes that have left, and number the others anew."""
        numbers = self.resting_keys[:, 0]
        kept = (numbers < nodes.start) | (numbers >= nodes.stop)
        keys = self.resting_keys[kept]
        keys[:, 0] -= (nodes.stop - nodes.start) * (keys[:, 0] >= nodes.stop).astype(np.int32)
        self.resting_keys = keys
        self.resting_drag, self.resting_way, self.resting_speed = (
            part[kept] for part in (self.resting_drag, self.resting_way, self.resting_speed)
        )

    def _fall(self, dt: float) -> float:
        """Return the speed (m/s) that gravity adds in a step; without it, that of 1 m/s^2."""
        return dt * (max((float(np.linalg.norm(body.gravity)) for body in self.bodies), default=0.0) or 1.0)

    def _keep_sliding(self, start: Floats, end: Floats) -> None:
        """Take from ways of nodes that slide in planes, in place, what contact has added across these."""
        first = 0
        for body in self.bodies:
            nodes, directions = body._core.sliding()
            if len(nodes):
                rows = nodes + first
                way = end[rows] - start[rows]
                for k in range(3):
                    way -= np.einsum("nd,nd->n", way, directions[:, k])[:, None] * directions[:, k]
                end[rows] = start[rows] + way
            first += len(body)

    def _impulses(self, changes: Floats) -> Floats:
        """Return the impulses (N s) that solids give with changes of velocities at their contacts; only the first of a node counts."""
        nodes = self.contacts.nodes
        first = np.concatenate([np.ones(min(len(nodes), 1), np.bool_), nodes[1:] != nodes[:-1]])
        result: Floats = np.where(first[:, None], changes, 0.0) / self.surface.inverse_masses[nodes, None]
        return result

    def _solve(self, x: Floats, v0: Floats, h: float, elastic_dt: float, v: Floats, loose: Floats | None) -> None:
        if not self.bodies:
            return
        own = self._arrays.own
        unprojected = None if loose is None else own(loose)
        raw, definite = self._core.solve_velocity(own(x), own(v0), h, elastic_dt, self._options, own(v), unprojected)
        info = SolveInfo(**facts(raw, 0.0))
        self._solves.append(info)
        self.running_report.used_definite_tangent |= bool(definite)
        if self._raises and not info.converged:
            raise ConvergenceError(
                f"the velocity solve reached a residual of {info.residual:.1e} in {info.iterations} iterations and ended because "
                f"{info.reason}; nothing has changed",
                info,
            )
