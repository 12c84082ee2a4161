"""Worlds: bodies and obstacles that touch, in one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.collision import CollisionPairs
from meniscus.core import Workspace
from meniscus.core.solver import OnStage
from meniscus.numerics.solve import SolveInfo
from meniscus.solids.advancing import AdvanceInLoops
from meniscus.solids.contact.barrier_options import BarrierOptions
from meniscus.solids.contact.barrier_stages import BARRIER_STAGES, BarrierStages
from meniscus.solids.contact.contact_surface import ContactSurface, Floats, Ints
from meniscus.solids.contact.coupling.coupled_world import NoBodies
from meniscus.solids.contact.loop_lengths import StepsPerLoop
from meniscus.solids.contact.reports import WorldInfo
from meniscus.solids.contact.rest import RestingContacts
from meniscus.solids.contact.rewinding import OuterLoop
from meniscus.solids.contact.soft_ends import SoftLoop
from meniscus.solids.contact.solid_contacts import NO_CONTACTS, SolidContacts, SolidResponse, contacts_of
from meniscus.solids.contact.stage_arrays import StageArrays
from meniscus.solids.options import FrictionOptions, step_options, world_step
from meniscus.solids.positions_world.positions_world import PositionsWorld
from meniscus.solids.rigid.rigid_options import RigidOptions

Response = Literal["impulses", "barrier"]
"""How surfaces answer to contact with each other; "positions" makes a `PositionsWorld`."""
Rest = Literal["held", "literal"]
"""Friction between surfaces in the velocities that positions go with."""
OnPinch = Literal["error", "release"]
"""What happens to contacts that nothing resolves."""

# How often a velocity solve is taken once more at most.
_SOLVES = 8
_FIRST = {"explicit": 0.0, "half-step": 0.5, "first-half-step": 0.5, "full-step": 1.0, "first-full-step": 1.0}
_SECOND = {**_FIRST, "first-half-step": 0.0, "first-full-step": 0.0}


class World(AdvanceInLoops, RestingContacts, BarrierStages, SoftLoop):
    """Deformable bodies and obstacles that touch each other and themselves, as one system.

    A step is one Newmark step of all bodies. Its stages are methods, called in this order, of which each may be replaced or be followed by
    code of your own (`on_stage`):

    1. `predict`: velocities in the middle of the step, for the positions;
    2. `repel`: repulsion between surfaces changes these;
    3. `advance_positions`: positions at the end;
    4. `collide`: contact with solids changes them, and the velocities that the rest of the step starts from;
    5. `solve`: velocities in the middle of the step; those along normals of contacts are given;
    6. `extrapolate`: velocities at the end, without the forces of contact;
    7. `slide`: contact and friction with solids;
    8. `rub`: repulsion and friction between surfaces.

    After every `steps_per_loop` steps, `finish_loop` looks at the straight way from the positions at which the loop began, and changes it
    until by the exact test nothing touches on it. So surfaces that do not intersect at the start never do at the end of a loop. As a loop
    begins, `find_pairs` stores which side of each other surfaces are on. `step` calls both.

    `step` is transactional: an error or Ctrl-C leaves everything as after the last completed step. The state is that of the bodies, the
    time, and the loop: the number of its steps, its length so far, positions and velocities at its start, deactivated pairs. What the world
    consists of is the set-up, which copies and pickles have too.

    Args:
        gravity: m/s^2, of all bodies that are added; None: each has its own.
        steps_per_loop: steps from one certified state to the next; "auto": 4 to 16, fewer where much is to be resolved, found from the
            counts of the loops before (`loop_steps` of the present one).
        response: "impulses"; "barrier" or `BarrierOptions`: an energy that keeps surfaces apart, in steps of implicit Euler with
            stages of their own (`BarrierStages`), for stiff stacks and steps of a whole frame, up to about 100,000 triangles. Every step
            is a loop then. Only `gravity` goes with it.
        solid_response: "path": nodes that meet a solid turn along it there, and friction is that of the forces that the solid holds
            against; "projection": the older method, for comparison, which loses friction in the solve.
        on_pinch: "error": contacts that nothing resolves, such as of cloth between obstacles that meet, raise ContactError; "release":
            they are deactivated, and taken back once they are apart.
        rest: "held": what rests stays where it is. Contacts with solids that hold nodes up last from step to step, hold these in
            `predict` too, and their friction is part of the solves; friction between surfaces acts on the velocities
            that positions go with too. "literal": as printed. Then friction acts on velocities at the end of the step only: what rests
            on a slope creeps by half of what it would fall along it in each step, from rest.
        cut: whether a loop may be ended before a contact that only this resolves; the rest is taken anew.
        sweeps: how often repulsion goes over all pairs of surfaces and then over the contacts of nodes with solids in a stage, so that
            what is pressed onto nodes on solids goes into these. None: twice, or once for `rest` "literal". Stacks that should not sink
            into their thickness take about three for each layer.
        friction_solves: how often a velocity solve is taken once more at most, until nodes on solids stick and slip as friction says. None:
            8 times, or 0 for `rest` "literal". What one solve has found, the next begins with, so that few are taken once more.
        loop: "fixed", or, for comparison, "rewind" (Bridson et al. 2002): surfaces repel each other once per loop; where something
            collides, the state goes back to the start of the loop, which is taken again with half as many steps, down to 1. Loops grow
            again.
        rigid: options of contact between rigid bodies.
        history: False, for comparison: repulsion takes the sides of surfaces from where they are now, not from the start of the loop.
        **options: `friction`: `FrictionOptions`; `elasticity`, `finish`, `tangent`, `tolerance`, `max_iterations`, `preconditioner`,
            `safeguard`, `raise_on_failure` as in `DeformableBody.step` with "newmark". `safeguard` refuses steps beyond the limit of
            stability; no step is taken once more.

    Raises:
        TypeError, ValueError: wrong types or values.

    Source: Selle 2008, section 6.2.
    """

    report_type = WorldInfo
    stages: tuple[str, ...] = ("predict", "repel", "advance_positions", "collide", "solve", "extrapolate", "slide", "rub")

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        """Make a world; with response="positions" one in real time, a `PositionsWorld`, which takes the other arguments."""
        if named.get("response") == "positions":
            return PositionsWorld(*arguments, **{name: value for name, value in named.items() if name != "response"})
        return super().__new__(cls, *arguments, **named)

    def __init__(
        self,
        *,
        gravity: Sequence[float] | Floats | None = None,
        steps_per_loop: StepsPerLoop = 16,
        response: Response | BarrierOptions = "impulses",
        solid_response: SolidResponse = "path",
        on_pinch: OnPinch = "error",
        rest: Rest = "held",
        sweeps: int | None = None,
        friction_solves: int | None = None,
        cut: bool = True,
        loop: OuterLoop = "fixed",
        history: bool = True,
        rigid: RigidOptions | None = None,
        **options: Any,
    ) -> None:
        self.gravity = None if gravity is None else np.array(_checks.vector("gravity", gravity, 3))
        barrier = response if isinstance(response, BarrierOptions) else None
        self._response = "barrier" if barrier is not None else _checks.choice("response", response, Response)
        self._solid_response: Any = _checks.choice("solid_response", solid_response, SolidResponse)
        self._rest = _checks.choice("rest", rest, Rest)
        self._sweeps = (2 if self._rest == "held" else 1) if sweeps is None else _checks.integer("sweeps", sweeps, 1)
        self._make_loop(
            steps_per_loop if steps_per_loop == "auto" else _checks.integer("steps_per_loop", steps_per_loop, 1),
            _checks.choice("on_pinch", on_pinch, OnPinch) == "release",
            _checks.flag("cut", cut),
            _checks.flag("history", history),
        )
        friction = _checks.one_of_type("friction", options.pop("friction", FrictionOptions()), FrictionOptions)
        refused = set(options) - {
            *("elasticity", "finish", "tangent", "tolerance", "max_iterations"),
            *("preconditioner", "safeguard", "raise_on_failure"),
        }
        if refused:
            raise TypeError(f"a world has no option {sorted(refused)[0]!r}")
        if self._response == "barrier":
            others = (solid_response, on_pinch, rest, sweeps, friction_solves, cut, loop, history)
            if options or others != ("path", "error", "held", None, None, True, "fixed", True):
                raise ValueError('with response="barrier", `gravity` is the only other option')
            self.stages, self.steps_per_loop = BARRIER_STAGES, 1
            self._make_barrier(BarrierOptions() if barrier is None else barrier)
        self._options = step_options(**options)
        self._safeguard = bool(options.get("safeguard", True))
        self._raises = bool(options.get("raise_on_failure", True))
        self._elasticity = str(options.get("elasticity", "explicit"))
        self._finish = str(options.get("finish", "trapezoid"))
        self._workspace = Workspace()
        self._core: Any = None
        self._arrays = StageArrays()
        self._contacts = NO_CONTACTS
        held = self._rest == "held" and self._solid_response == "path"
        again = (_SOLVES if held else 0) if friction_solves is None else _checks.integer("friction_solves", friction_solves, 0)
        self._make_rest(held, again, friction, _FIRST[self._elasticity])
        self._make_rewinding(_checks.choice("loop", loop, OuterLoop) == "rewind")
        self._make_rigid(rigid)
        self._make_interaction()
        self._solves: list[SolveInfo] = []

    # --- steps ---------------------------------------------------------------------------------------------------------------

    def _take_step(self, dt: float, on_stage: OnStage | None = None, *, guarantee: bool = False, **others: Any) -> WorldInfo:
        """Advance by dt seconds; see `step`."""
        if others:
            raise TypeError(f"a step has no option {sorted(others)[0]!r}")
        if self._only_rigid:
            self.report = self._step_rigid(dt, on_stage, guarantee)
            return self.report
        if guarantee and self.rigid.bodies:
            raise ValueError("guarantee=True is for rigid bodies alone: where deformable ones push them, it does not hold")
        report: WorldInfo = super()._take_step(dt, on_stage)
        for body in self.bodies:
            body._targets.clear()
        return report

    def _leave_step(self) -> None:
        super()._leave_step()
        self._core = self._problem = None

    def begin(self, dt: float) -> None:
        """Begin a step of dt seconds whose stages somebody else calls; `end` ends it, and whoever calls undoes it after an error."""
        self._begin_others()
        self.running_report = WorldInfo(dt=world_step(dt))
        self._core = None
        surface = self.surface
        self._refuse_targets()
        self._enter_loop(dt)
        motions: list[Any] = []
        for body in self.bodies:
            for force in body.forces:
                # Some forces, such as wind, ask for the state at the start of the step.
                if hasattr(force, "prepare"):
                    force.prepare(body.positions, body.velocities, body.time)
            motions.append(body._motion(dt))
        self._contacts, self._may_settle = NO_CONTACTS, False
        self._solves = []
        self._rows = _solids.NodeRows()
        if self._response == "barrier":
            self._begin_barrier(self.running_report.dt, motions)
            return
        own = [body._core for body in self.bodies]
        self._core = _solids.SystemStep(own, motions, dt, self._workspace) if own else NoBodies()
        a = self._arrays.of(surface)
        self._core.begin(a.own(a.x0), a.own(a.v0))
        surface.turn(dt)
        surface.place_others(a.x0)
        surface.move_obstacles(a.x0, self.time)
        if self._safeguard:
            self._core.require_stable(self._options)

    def _complete(self, report: WorldInfo) -> None:
        """End the step, and the loop if it was its last."""
        if self._response == "barrier":
            self._end_barrier(report)
            return
        a = self._arrays
        report.max_speed = max(self._core.commit(a.own(a.x1), a.own(a.v1)), self._speed_of_others(a.v1))
        report.contact.impulse_of_others = sum((o.pressed() for o in self.others), np.zeros(3))
        report.solves = tuple(self._solves)
        report.rigid = self.rigid.report if self.rigid.bodies else None
        self._core = None
        self._stepped(report.dt)
        if self.inner_steps >= self.loop_steps:
            self._end_loop(report.contact)

    # --- stages --------------------------------------------------------------------------------------------------------------

    def predict(self, dt: float) -> None:
        """Find the velocities that positions go with, by a solve over dt / 2 from the positions at the start."""
        core, a = self._stage(dt)
        a.v[...] = a.v0
        core.hold_mean_velocities(a.own(a.v))
        h, elastic_dt = 0.5 * dt, _FIRST[self._elasticity] * dt
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
        core, a = self._stage(dt)
        info, own = self.running_report.contact, a.own(a.v)
        for sweep in range(self._sweeps):
            rubbed = self._rest == "held" and self._rub(a.x0, a.v, info)
            # Each elastic impulse acts once, or springs would be stiffer with more sweeps.
            pushed = (sweep == 0 or self._rest == "literal") and self._push(a.x0, a.v, dt, info)
            if not (pushed or rubbed):
                break
            # What is pressed onto nodes that rest on solids goes into these.
            self._predicted.apply_solids(own)
            core.hold_mean_velocities(own)
        if info.repulsions:
            self._follow_pushed(core, dt)

    def advance_positions(self, dt: float) -> None:
        """Move the nodes with these velocities."""
        core, a = self._stage(dt)
        core.advance_positions(a.own(a.v), a.own(a.x1))
        for other, rows in self.surface.others:
            other.advance(dt, a.v[rows] - a.alone[rows])
        self.surface.moved_others(a.x1, dt)
        self.surface.move_obstacles(a.x1, self.time + dt)

    def collide(self, dt: float) -> None:
        """Keep nodes out of solids, see `_meet`; find the velocities after contact that the rest of the step starts from."""
        core, a = self._stage(dt)
        self._rows = self._meet(core, dt)
        self._contacts = self.running_report.contact.solids = contacts_of(self._rows.of_solids())
        a.v_star[...] = a.v0
        if len(self._rows):
            _solids.collide_rows(core, self._rows, a.own(a.x0), a.own(a.v0), a.own(a.x1), a.own(a.v_star))
        if self._solid_response == "projection":
            core.set_contacts(self._contacts.nodes, self._contacts.normals)

    def solve(self, dt: float) -> None:
        """Find the velocities in the middle of the step, or at its end for `finish` "backward-euler".

        Contacts hold nodes along normals, and along the surface too where they stick.
        """
        core, a = self._stage(dt)
        backward = self._finish == "backward-euler"
        when = _solids.StepTime.end if backward else _solids.StepTime.middle
        if backward:
            a.middle[...] = a.x1
        else:
            np.add(a.x0, a.x1, out=a.middle)
            a.middle *= 0.5
        core.hold_positions(when, a.own(a.middle))
        h, elastic_dt = dt if backward else 0.5 * dt, _SECOND[self._elasticity] * dt
        if self._solid_response == "projection":
            core.hold_velocities(when, a.own(a.v))
            core.hold_contacts(a.own(a.v_star), a.own(a.v))
            self._solve(a.middle, a.v_star, h, elastic_dt, a.v, None)
            return
        self._solve_with_rows(core, h, elastic_dt, backward)

    def extrapolate(self, dt: float) -> None:
        """Find the velocities at the end of the step, without the forces of contact."""
        core, a = self._stage(dt)
        found = a.loose if self._solid_response == "path" else a.v
        if self._finish == "backward-euler":
            a.v1[...] = found
            return
        core.extrapolate_velocity(a.own(found), a.own(a.v_star), a.own(a.v1))

    def slide(self, dt: float) -> None:
        """Let solids act on the velocities at the end: they hold against what goes into them, and friction follows from that."""
        core, a = self._stage(dt)
        if len(self._rows) and self._solid_response == "path":
            _solids.slide_rows(core, self._rows, self.surface.groups, a.own(a.v0), a.own(a.v_star), a.own(a.v1))
            self.running_report.contact.impulses_of_solids = self._rows.of_solids().impulses

    def rub(self, dt: float) -> None:
        """Change the velocities at the end by inelastic repulsion and friction between surfaces."""
        core, a = self._stage(dt)
        self.surface.set_obstacle_velocities(a.v1, self.time, dt)
        for other, rows in self.surface.others:
            other.velocities(a.v1[rows])
            a.alone[rows] = a.v1[rows]
        own = a.own(a.v1)
        for _ in range(self._sweeps):
            if not self._rub(a.x1, a.v1, self.running_report.contact):
                break
            core.hold_velocities(_solids.StepTime.end, own)
            for other, rows in self.surface.others:
                other.hold(a.v1[rows])
            if self._holds_rest and len(self._contacts):
                _solids.press_rows(core, self._rows, self.surface.groups, own)
                self.running_report.contact.impulses_of_solids = self._rows.of_solids().impulses
        for other, rows in self.surface.others:
            other.take(a.v1[rows] - a.alone[rows])

    def _stage(self, dt: float) -> tuple[Any, StageArrays]:
        if self._core is None:
            raise RuntimeError("a stage is part of a step: call begin first")
        if dt != self.running_report.dt:
            raise ValueError(f"the step that has begun is of {self.running_report.dt:g} s, not of {dt!r}")
        return self._core, self._arrays

    def _within_step(self) -> bool:
        return self._core is not None

    def _state_replaced(self) -> None:
        super()._state_replaced()
        # Also of a step that somebody else had begun, and that failed.
        self._core = self._problem = None

    @property
    def surface(self) -> ContactSurface:
        """All surfaces as one, with the nodes behind their vertices as they are held now, or were as the present step began."""
        # Whether it still fits is a question to all nodes.
        return self._joined if self._core is not None and self._joined is not None else super().surface

    @property
    def contacts(self) -> SolidContacts:
        """Contacts with solids of the last step, or of the one that goes on."""
        return self._contacts

    def __repr__(self) -> str:
        """One line: bodies, obstacles, time."""
        nodes = sum(map(len, self.bodies))
        obstacles = len(self._solids) + len(self._meshes)
        if self._only_rigid:
            return f"<World of {len(self.rigid)} rigid bodies, {len(self.rigid.joints)} joints, t = {self.time:g} s>"
        rigid = f"{len(self.rigid)} rigid bodies, " if self.rigid.bodies else ""
        others = f"{len(self.others)} with steps of their own, " if self.others else ""
        return f"<World of {len(self.bodies)} bodies with {nodes} nodes, {rigid}{others}{obstacles} obstacles, t = {self.time:g} s>"

    def audit(self) -> Ints:
        """Return the pairs (k, 2) of an edge and a triangle of `surface.mesh` that intersect now, by the exact test."""
        return self._intersections()

    def deactivated_pairs(self) -> CollisionPairs:
        """Return the pairs that may pass through each other, by elements of `surface.mesh`."""
        return self._deactivated
