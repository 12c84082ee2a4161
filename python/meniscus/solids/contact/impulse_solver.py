"""Steps of a world whose surfaces answer to contact with impulses."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from meniscus._meniscus import solids as _solids
from meniscus.solids.contact.coupling.coupled_body import CoupledBody
from meniscus.solids.contact.loop.contact_loop import ContactLoop
from meniscus.solids.contact.reports import WorldInfo
from meniscus.solids.contact.rest import RestingContacts
from meniscus.solids.contact.solid_contacts import SolidResponse, contacts_of
from meniscus.solids.contact.stage_arrays import StageArrays
from meniscus.solids.contact.world_setup import WorldSetup
from meniscus.solids.options import FrictionOptions, step_options
from meniscus.solids.rigid.rigid_system import RIGID_STEP

Rest = Literal["held", "literal"]
"""Friction between surfaces in the velocities that positions go with."""

# How often a velocity solve is taken once more at most.
_SOLVES = 4
_FIRST = {"explicit": 0.0, "half-step": 0.5, "first-half-step": 0.5, "full-step": 1.0, "first-full-step": 1.0}
_SECOND = {**_FIRST, "first-half-step": 0.0, "first-full-step": 0.0}


@dataclass(frozen=True)
class ImpulseOptions:
    """Options of an `ImpulseSolver`.

    Attributes:
        solid_response, rest, sweeps, friction_solves, friction: as of `World`.
        step: those of the velocity solves, as of `DeformableBody.step` with "newmark".
    """

    solid_response: SolidResponse = "path"
    rest: Rest = "held"
    sweeps: int = 2
    friction_solves: int | None = None
    friction: FrictionOptions = field(default_factory=FrictionOptions)
    step: dict[str, Any] = field(default_factory=dict)

    @property
    def holds_rest(self) -> bool:
        """Whether contacts that last hold nodes from step to step."""
        return self.rest == "held" and self.solid_response == "path"

    @property
    def elasticity(self) -> str:
        """When elastic forces act, as of `DeformableBody.step`."""
        return str(self.step.get("elasticity", "explicit"))

    @property
    def finish(self) -> str:
        """How velocities at the end are found, as of `DeformableBody.step`."""
        return str(self.step.get("finish", "trapezoid"))


class NoBodies:
    """Stands in for the system of a world without deformable bodies: there is nothing to solve for."""

    def commit(self, *_: Any) -> float:
        """Return the speed of nothing."""
        return 0.0

    def solve_velocity(self, *_: Any) -> None:
        """Solve nothing."""

    def __getattr__(self, name: str) -> Any:
        """Return a call that does nothing."""
        return lambda *_: None


class ImpulseSolver(RestingContacts):
    """Stages of a Newmark step of all bodies, with contact by impulses; see `World`.

    Source: Selle 2008, section 6.2.
    """

    stages = ("predict", "repel", "advance_positions", "collide", "solve", "extrapolate", "slide", "rub")

    def __init__(self, setup: WorldSetup, loop: ContactLoop, options: ImpulseOptions) -> None:
        super().__init__(setup, loop)
        self.options = options
        self._arrays = StageArrays()
        self._options = step_options(**options.step)
        self._solid_response = options.solid_response
        self._raises = bool(options.step.get("raise_on_failure", True))
        again = options.friction_solves
        again = (_SOLVES if options.holds_rest else 0) if again is None else again
        self._make_rest(options.holds_rest, again, options.friction, _FIRST[options.elasticity])

    def _begin(self, dt: float, motions: list[Any]) -> None:
        self._may_settle = False
        self._solves = []
        self._rows = _solids.NodeRows()
        own = [body._core for body in self.bodies]
        self._core = _solids.SystemStep(own, motions, dt, self._workspace) if own else NoBodies()
        surface = self.surface
        a = self._arrays.of(surface)
        self._core.begin(a.own(a.x0), a.own(a.v0))
        surface.turn(dt)
        surface.place_others(a.x0)
        surface.move_obstacles(a.x0, self.time)
        if self.options.step.get("safeguard", True):
            self._core.require_stable(self._options)

    def complete(self, report: WorldInfo) -> None:
        """End the step, and the loop if it was its last."""
        a, others = self._arrays, self.setup.others
        report.max_speed = max(self._core.commit(a.own(a.x1), a.own(a.v1)), self._speed_of_others(a.v1))
        report.contact.impulse_of_others = sum((o.pressed() for o in others), np.zeros(3))
        report.solves = tuple(self._solves)
        report.rigid = self.setup.rigid.report if self.setup.rigid.bodies else None
        self.leave()
        self.loop.stepped(report.dt)
        if self.loop.inner_steps >= self.loop.loop_steps:
            self.loop.end(report.contact)

    def longest_step(self) -> float:
        """Return the longest step (s) that the bodies allow: 0.01 s where some have steps of their own."""
        named: Any = {"elasticity": self.options.elasticity, "finish": self.options.finish}
        longest = min((body.max_dt("newmark", **named) for body in self.bodies), default=math.inf)
        return min(longest, RIGID_STEP) if self.setup.rigid.bodies or self.setup.others else longest

    def _speed_of_others(self, velocities: Any) -> float:
        """Return the greatest speed of nodes of bodies with steps of their own, by velocities of all nodes (n, 3), m/s."""
        squares = [
            np.einsum("nd,nd->n", velocities[rows], velocities[rows]).max(initial=0.0)
            for other, rows in self.surface.others
            if isinstance(other, CoupledBody)
        ]
        return float(np.sqrt(max(squares, default=0.0)))

    # --- stages --------------------------------------------------------------------------------------------------------------

    def predict(self, dt: float) -> None:
        """Find the velocities that positions go with, by a solve over dt / 2 from the positions at the start."""
        core, a = self._in_step(dt)
        a.v[...] = a.v0
        core.hold_mean_velocities(a.own(a.v))
        h, elastic_dt = 0.5 * dt, _FIRST[self.options.elasticity] * dt
        resting = self._find_resting(dt)
        if len(resting):
            self._predict_at_rest(core, resting, h, elastic_dt)
        else:
            self._solve(a.x0, a.v0, h, elastic_dt, a.v, None)
        for other, rows in self.surface.others:
            other.predict(dt, a.v[rows])
            a.alone[rows] = a.v[rows]
        self.surface.set_obstacle_velocities(a.v, self.time, dt)
        a.predicted[...], self._may_settle = a.v, True

    def repel(self, dt: float) -> None:
        """Change these velocities by inelastic and elastic repulsion between surfaces, and by friction unless `rest` is "literal"."""
        core, a = self._in_step(dt)
        info, own = self.running_report.contact, a.own(a.v)
        a.sprung[...] = 0.0
        for sweep in range(self.options.sweeps):
            rubbed = self.options.rest == "held" and self.loop.rub(a.x0, a.v, info)
            # Each elastic impulse acts once, or springs would be stiffer with more sweeps.
            pushed = False
            if sweep == 0 or self.options.rest == "literal":
                a.sprung -= a.v
                pushed = self.loop.push(a.x0, a.v, dt, info)
                a.sprung += a.v
            if not (pushed or rubbed):
                break
            # What is pressed onto nodes that rest on solids goes into these.
            self._predicted.apply_solids(own)
            core.hold_mean_velocities(own)
        if info.repulsions:
            self._follow_pushed(core, dt)

    def advance_positions(self, dt: float) -> None:
        """Move the nodes with these velocities."""
        core, a = self._in_step(dt)
        core.advance_positions(a.own(a.v), a.own(a.x1))
        for other, rows in self.surface.others:
            other.advance(dt, a.v[rows] - a.alone[rows], a.sprung[rows])
        self.surface.moved_others(a.x1, dt)
        self.surface.move_obstacles(a.x1, self.time + dt)

    def collide(self, dt: float) -> None:
        """Keep nodes out of solids, see `_meet`; find the velocities after contact that the rest of the step starts from."""
        core, a = self._in_step(dt)
        self._rows = self._meet(core, dt)
        self.contacts = self.running_report.contact.solids = contacts_of(self._rows.of_solids())
        a.v_star[...] = a.v0
        if len(self._rows):
            _solids.collide_rows(core, self._rows, a.own(a.x0), a.own(a.v0), a.own(a.x1), a.own(a.v_star))
        if self.options.solid_response == "projection":
            core.set_contacts(self.contacts.nodes, self.contacts.normals)

    def solve(self, dt: float) -> None:
        """Find the velocities in the middle of the step, or at its end for `finish` "backward-euler".

        Contacts hold nodes along normals, and along the surface too where they stick.
        """
        core, a = self._in_step(dt)
        backward = self.options.finish == "backward-euler"
        when = _solids.StepTime.end if backward else _solids.StepTime.middle
        if backward:
            a.middle[...] = a.x1
        else:
            np.add(a.x0, a.x1, out=a.middle)
            a.middle *= 0.5
        core.hold_positions(when, a.own(a.middle))
        h, elastic_dt = dt if backward else 0.5 * dt, _SECOND[self.options.elasticity] * dt
        if self.options.solid_response == "projection":
            core.hold_velocities(when, a.own(a.v))
            core.hold_contacts(a.own(a.v_star), a.own(a.v))
            self._solve(a.middle, a.v_star, h, elastic_dt, a.v, None)
            return
        self._solve_with_rows(core, h, elastic_dt, backward)

    def extrapolate(self, dt: float) -> None:
        """Find the velocities at the end of the step, without the forces of contact."""
        core, a = self._in_step(dt)
        found = a.loose if self.options.solid_response == "path" else a.v
        if self.options.finish == "backward-euler":
            a.v1[...] = found
            return
        core.extrapolate_velocity(a.own(found), a.own(a.v_star), a.own(a.v1))

    def slide(self, dt: float) -> None:
        """Let solids act on the velocities at the end: they hold against what goes into them, and friction follows from that."""
        core, a = self._in_step(dt)
        if len(self._rows) and self.options.solid_response == "path":
            _solids.slide_rows(core, self._rows, self.surface.groups, a.own(a.v0), a.own(a.v_star), a.own(a.v1))
            self.running_report.contact.impulses_of_solids = self._rows.of_solids().impulses

    def rub(self, dt: float) -> None:
        """Change the velocities at the end by inelastic repulsion and friction between surfaces."""
        core, a = self._in_step(dt)
        self.surface.set_obstacle_velocities(a.v1, self.time, dt)
        for other, rows in self.surface.others:
            other.velocities(a.v1[rows])
            a.alone[rows] = a.v1[rows]
        own = a.own(a.v1)
        for _ in range(self.options.sweeps):
            if not self.loop.rub(a.x1, a.v1, self.running_report.contact):
                break
            core.hold_velocities(_solids.StepTime.end, own)
            for other, rows in self.surface.others:
                other.hold(a.v1[rows])
            if self._holds_rest and len(self.contacts):
                _solids.press_rows(core, self._rows, self.surface.groups, own)
                self.running_report.contact.impulses_of_solids = self._rows.of_solids().impulses
        for other, rows in self.surface.others:
            other.take(a.v1[rows] - a.alone[rows])

    def _in_step(self, dt: float) -> tuple[Any, StageArrays]:
        if self._core is None:
            raise RuntimeError("a stage is part of a step: call begin first")
        if dt != self.running_report.dt:
            raise ValueError(f"the step that has begun is of {self.running_report.dt:g} s, not of {dt!r}")
        return self._core, self._arrays
