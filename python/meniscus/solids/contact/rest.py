"""Rest: stages of a step with contacts that last."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from meniscus._meniscus import solids as _solids
from meniscus.numerics.solve import ConvergenceError, SolveInfo, facts
from meniscus.solids.contact.contact_solver import ContactSolver
from meniscus.solids.contact.contact_surface import Floats, Ints
from meniscus.solids.contact.energies import stores_too_much
from meniscus.solids.contact.solid_contacts import NO_CONTACTS, SOLID_RESPONSE, SolidResponse
from meniscus.solids.contact.stage_arrays import StageArrays
from meniscus.solids.options import FrictionOptions

# How often a prediction is taken once more in a step.
_MOST = 3


class RestingContacts(ContactSolver):
    """Base of a solver by impulses: contacts of nodes with solids, which last from step to step.

    Attributes:
        resting_keys, resting_drag, resting_way, resting_speed: contacts that held nodes up in the last step, ordered by node: (k, 3) int32,
            node, number of the solid, -1 for meshes, and whether the node sticks; (k,), drags of nodes that slip, 1/s, how far they have
            moved, m, and with which speed they slipped, m/s.
    """

    _arrays: StageArrays
    _options: Any
    _raises: bool
    _solid_response: SolidResponse
    _solves: list[SolveInfo]

    def _make_rest(self, holds: bool, friction_solves: int, friction: FrictionOptions, elastic_part: float) -> None:
        self._holds_rest = holds
        self._elastic_part = elastic_part
        self._may_settle = False
        self._friction_solves = friction_solves
        self._friction_rules = _solids.FrictionRules(**asdict(friction))
        # Contacts with solids: those of the first solve, and those of the second.
        self._predicted = self._rows = _solids.NodeRows()
        self.resting_keys = self.declare("resting_keys", np.empty((0, 3), np.int32), resizable=True)
        for name in ("resting_drag", "resting_way", "resting_speed"):
            setattr(self, name, self.declare(name, np.empty(0), resizable=True, rows_of="resting_keys"))

    def _find_resting(self, dt: float) -> _solids.NodeRows:
        """Return the rows of nodes that rest at the start of a step."""
        a = self._arrays
        self._predicted = _solids.NodeRows(self._fall(dt))
        if self._holds_rest and len(self.resting_keys):
            self.surface.set_obstacle_velocities(a.v, self.time, dt)
            resting = self.resting_keys, self.resting_drag, self.resting_way, self.resting_speed
            supports = self.loop.supports(a.x0, a.v)
            solids = [o.at(self.time, dt) for o in self._solids]
            self._predicted = _solids.rows_at_rest(solids, supports, resting, a.own(a.x0), a.own(a.v0), dt, 0.5 * dt, self._fall(dt))
        return self._predicted

    def _predict_at_rest(self, core: Any, rows: _solids.NodeRows, h: float, elastic_dt: float, rubs: bool = True) -> None:
        """Find the velocities that positions go with, where nodes rest; `rubs`: with friction after the solve."""
        a = self._arrays
        given = self._row_solve(h, elastic_dt), rows, self.surface.groups, self._friction_rules
        self._take_solves(*_solids.predict_with_rows(core, *given, a.own(a.x0), a.own(a.v0), rubs, a.own(a.v), a.own(a.loose)))

    def _solve_with_rows(self, core: Any, h: float, elastic_dt: float, backward: bool) -> None:
        """Find the velocities in the middle of the step, and remember the contacts that held nodes up."""
        a = self._arrays
        if not self.bodies:
            return
        given = self._row_solve(h, elastic_dt), self._rows, self.surface.groups, self._friction_rules
        at, start, v, loose = (a.own(array) for array in (a.middle, a.v_star, a.v, a.loose))
        self._take_solves(*_solids.solve_with_rows(core, *given, at, start, backward, self._holds_rest, v, loose))
        if self._holds_rest:
            held = _solids.resting_nodes(self._rows, h, a.own(a.x0), a.own(a.x1))
            self.resting_keys, self.resting_drag, self.resting_way, self.resting_speed = held

    def _meet(self, core: Any, dt: float) -> _solids.NodeRows:
        """Keep nodes out of solids at the end of a step, and return the rows of the step.

        Where much stands on the nodes that were stopped, or that should not have been held, the prediction is taken once more.
        """
        a = self._arrays
        x0, x1, nodes = a.own(a.x0), a.own(a.x1), self.surface.movable
        solids = [o.at(self.time + dt, -dt) for o in self._solids]
        how = SOLID_RESPONSE("solid_response", self._solid_response)
        met = _solids.meet_solids(solids, x0, x1, dt, nodes, how)
        if not self._holds_rest:
            met.begin(self._fall(dt), a.own(a.v0), bool(self._friction_solves))
            return met
        for _ in range(_MOST if self._may_settle else 0):
            changed = _solids.rows_with_met(met, self._predicted, self.surface.groups, self._friction_rules, x0, x1, dt)
            if changed is None:
                break
            self._predict_anew(core, changed, dt)
            met = _solids.meet_solids(solids, x0, x1, dt, nodes, how)
        return _solids.rows_with_resting(met, self._predicted, solids, self.loop.supports(a.x1, a.v), x1, a.own(a.v0))

    def _predict_anew(self, core: Any, rows: _solids.NodeRows, dt: float) -> None:
        """Take the prediction once more with these contacts, and the positions that go with it, with the repulsion that was found."""
        a = self._arrays
        own, predicted = a.own(a.v), a.own(a.predicted)
        pushed = own - predicted
        self._predicted = rows
        own[...] = a.own(a.v0)
        core.hold_mean_velocities(own)
        self._predict_at_rest(core, rows, 0.5 * dt, self._elastic_part * dt, rubs=False)
        predicted[...] = own
        own += pushed
        core.hold_mean_velocities(own)
        core.advance_positions(own, a.own(a.x1))

    def _follow_pushed(self, core: Any, dt: float) -> None:
        """Take the prediction once more with the nodes held that repulsion has pushed, where that would store more than it has taken."""
        a = self._arrays
        own, predicted, x = a.own(a.v), a.own(a.predicted), a.own(a.x0)
        if self._elastic_part == 0.0:
            return
        if stores_too_much(self.surface, self.bodies, x, x + dt * predicted, x + dt * own, dt) is None:
            return
        _solids.hold_pushed(core, self._predicted, predicted, own)
        self._solve(a.x0, a.v0, 0.5 * dt, self._elastic_part * dt, a.v, None)
        core.set_contacts(NO_CONTACTS.nodes, NO_CONTACTS.normals)
        core.hold_mean_velocities(own)
        if stores_too_much(self.surface, self.bodies, x, x + dt * predicted, x + dt * own, dt) is not None:
            a.v[...] = a.predicted

    def nodes_renumbered(self, numbers: Ints) -> None:
        """Forget contacts that last of nodes that have left, and number the others anew."""
        if not len(self.resting_keys):
            return
        keys = self.resting_keys.copy()
        keys[:, 0] = numbers[keys[:, 0]]
        kept = np.flatnonzero(keys[:, 0] >= 0)
        kept = kept[np.argsort(keys[kept, 0], kind="stable")]
        self.resting_keys = keys[kept]
        for name in ("resting_drag", "resting_way", "resting_speed"):
            setattr(self, name, getattr(self, name)[kept])

    def _fall(self, dt: float) -> float:
        """Return the speed (m/s) that gravity adds in a step; without it, that of 1 m/s^2."""
        return dt * (max((math.hypot(*body.gravity) for body in self.bodies), default=0.0) or 1.0)

    def _row_solve(self, h: float, elastic_dt: float) -> Any:
        return _solids.RowSolve(self._options, h, elastic_dt, self._friction_solves, self._raises)

    def _solve(self, x: Floats, v0: Floats, h: float, elastic_dt: float, v: Floats, loose: Floats | None) -> None:
        if not self.bodies:
            return
        own = self._arrays.own
        unprojected = None if loose is None else own(loose)
        raw, definite = self._core.solve_velocity(own(x), own(v0), h, elastic_dt, self._options, own(v), unprojected)
        self._take_solves([raw], definite)

    def _take_solves(self, solves: list[Any], definite: bool) -> None:
        self.running_report.used_definite_tangent |= bool(definite)
        for raw in solves:
            info = SolveInfo(**facts(raw, 0.0))
            self._solves.append(info)
            if self._raises and not info.converged:
                raise ConvergenceError(
                    f"the velocity solve reached a residual of {info.residual:.1e} in {info.iterations} iterations and ended because "
                    f"{info.reason}; nothing has changed",
                    info,
                )
