"""Rigid bodies that touch each other and solids, and are joined, as one system."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.core.solver import OnStage
from meniscus.solids.interaction.budget import StepMeter
from meniscus.solids.rigid.guard import RigidGuard, stop
from meniscus.solids.rigid.rigid_body import RigidBody
from meniscus.solids.rigid.rigid_options import FRICTION_LAW, RIGID_SOLVER, RigidContacts, RigidInfo, RigidOptions
from meniscus.solids.rigid.rigid_setup import RigidPart, RigidSetup
from meniscus.solids.rigid.rotations import require_turns, rotations_of
from meniscus.solids.rigid.solid_points import points_in_solid
from meniscus.surface import KinematicSolid

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

RIGID_STEP = 0.01
"""s: steps of rigid bodies that `advance` takes are at most that long."""
# How much longer than the last one a step may be whose impulses are scaled with its length.
_MOST_GROWTH = 4.0
_NO_MOTION = np.zeros((1, 10))
_AT_ORIGIN = np.array([0.0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0])


class RigidSystem(RigidSetup):
    """Rigid bodies that touch each other and solids, and are joined.

    A step finds points of contact, which it matches with those of the step before, and impulses there by sweeps over all contacts and
    joints (Gauss-Seidel) that begin with the impulses of the step before; what these leave of narrow islands, as towers, or where masses
    differ, is solved directly (`RigidOptions.solver`). Results have the same bits on any number of threads. Its stages
    are methods, called in this order: `find_contacts`; `bounce`: impacts, before forces; `predict`: velocities with forces; `solve`:
    impulses of joints and contacts; `move`: positions. With substeps, all are called as often.

    `step` is transactional. The state is that of the bodies, the time, contacts and joints with their impulses, motors, and how long each
    body has been slow. What the system consists of is the set-up, which copies and pickles have too.

    Args:
        options: of contact.
        gravity: m/s^2, of all bodies that are added; None: each has its own.

    Attributes:
        forces, torques: (n, 3), N and N m, of all parts, about centres of mass; besides gravity. Written by the caller; not state.
        meter: says how many sweeps each solve of a step has; None: `RigidOptions.iterations`. Set for steps with a budget; not state.

    Source: Müller, Stam, James and Thürey 2008, chapter 6.
    """

    stages = ("find_contacts", "bounce", "predict", "solve", "move")

    def __init__(self, options: RigidOptions | None = None, gravity: Sequence[float] | Floats | None = None) -> None:
        super().__init__(options, gravity)
        self._guarantees = False
        # s, since the step has begun.
        self._gone = 0.0
        self._kept_apart: dict[tuple[int, int], float] = {}
        self._core: Any = None
        self._guard: RigidGuard | None = None
        self._certified: Floats | None = None
        self._pinched: set[tuple[int, int]] = set()
        self._gravity_now = np.zeros((0, 3))
        self._masses = np.zeros(0)
        # Numbers of the parts that are bodies, and which of these bodies a step moves.
        self._numbers, self._moved = np.zeros(0, np.int32), np.zeros(0, np.bool_)
        self._thickest = self._own_slop = 0.0
        self._moving: list[tuple[int, RigidPart]] = []
        self._ahead: dict[int, RigidBody] = {}
        self.meter: StepMeter | None = None

    def _set_up_changed(self) -> None:
        self._core = self._guard = None

    def _body_removed(self, part: int) -> None:
        def number(pair: tuple[int, int]) -> tuple[int, int]:
            return pair[0] - (pair[0] > part), pair[1] - (pair[1] > part)

        if self._certified is not None:
            self._certified = np.delete(self._certified, part, axis=0)
        self._pinched = {number(pair) for pair in self._pinched if part not in pair}
        if self.report is not None:
            self.report.unresolved = tuple(number(pair) for pair in self.report.unresolved if part not in pair)

    # --- steps ---------------------------------------------------------------------------------------------------------------

    def step(self, dt: float, on_stage: OnStage | None = None, *, guarantee: bool = False, **options: Any) -> RigidInfo:
        """Advance by dt seconds and return the report, which is also stored as `report`.

        Args:
            dt: s, positive.
            on_stage: called with the name of each stage and this system, after the stage.
            guarantee: end without intersections of meshes, by the exact test, nor any on the straight way of their vertices there, also
                of meshes that are not convex. Bodies whose way would lead into others go a part of it, or stop where they are; the report
                counts them. Rounded forms count with their triangles; solids that only have a distance, and pairs that are joined,
                are left out. Every body needs a mesh and a thickness.
            **options: none.

        Raises:
            TypeError, ValueError: dt is not positive, states that are not finite; with `guarantee` a body without mesh or thickness,
                meshes that intersect at the start. Nothing has changed.
        """
        return super().step(dt, on_stage, guarantee=_checks.flag("guarantee", guarantee), **options)

    def max_dt(self) -> float:
        """Return the longest step (s) that bodies which fall and collide should take."""
        return RIGID_STEP

    def begin(self, dt: float, guarantee: bool = False) -> None:
        """Begin a step of dt seconds whose stages somebody else calls; `end` ends it. With `guarantee`, see `step`."""
        if not self.bodies:
            raise ValueError("a system of rigid bodies needs a body: call add")
        if self.meter is not None:
            self.meter.plan("rigid", self.options.substeps)
        n = len(self.parts)
        for name, given_forces in (("forces", self.forces), ("torques", self.torques)):
            if np.shape(given_forces) != (n, 3):
                raise ValueError(f"{name} must have shape ({n}, 3), a row for each part, not {np.shape(given_forces)}")
        gravity = self._gravity_now = self._gravities()
        core = self._built(dt, float(np.sqrt((gravity**2).sum(axis=1).max())))
        states, given, forces = self._states(), np.zeros((n, 6)), self.forces.copy()
        forces += self._masses[:, None] * gravity
        self._ahead.clear()
        for i, part in self._moving:
            if part.body is None:
                solid: Any = part.solid
                t, arm = solid.twist(self.time, dt), -np.array(solid.pose(self.time).translation)
                omega = np.array(t.angular)
                given[i, :3], given[i, 3:] = t.linear + np.cross(omega, arm), omega
                continue
            ahead = self._ahead[i] = part.body.copy()
            ahead.step(dt)
            # Constant angular velocity and that of the centre lead to the next pose.
            given[i, :3] = (ahead.state_row[:3] - states[i, :3]) / dt
            given[i, 3:] = ahead.angular_velocity
        if not (np.isfinite(states).all() and np.isfinite(forces).all()):
            bad = int(np.flatnonzero(~np.isfinite(np.hstack([states, forces])).all(axis=1))[0])
            raise ValueError(f"the state of part {bad} of the system, or the force on it, is not finite")
        require_turns(states, lambda i: f"part {i} of the system")
        quiet = self.quiet.copy()
        moved = (states[:, :7] != self.last_poses).any(axis=1)
        quiet[moved | (gravity != self.last_gravity).any(axis=1) | self.forces.any(axis=1) | self.torques.any(axis=1)] = 0.0
        # Who touched what was moved may have lost its hold.
        if moved.any():
            lost = moved[self.contact_groups[:, :2]].any(axis=1)
            quiet[self.contact_groups[lost, :2]] = 0.0
        for joint, (speed, limit) in zip(self.joints, self.motors.tolist(), strict=True):
            if speed and limit:
                quiet[list(joint.bodies)] = 0.0
        if (moved & (self._masses == 0.0)).any():
            quiet[:] = 0.0
        self._arrays = (states, given, forces, self.torques.copy(), quiet)
        # Forces last from step to step, impulses change with its length.
        h = dt / self.options.substeps
        # What ended a motion would grow without bound.
        scale = h / self.last_step if self.last_step > 0 else 1.0
        if scale > _MOST_GROWTH:
            scale = 1.0
        points, memory = self.contact_points, self.joint_memory
        if scale != 1.0:
            points, memory = points.copy(), scale * memory
            points[:, 7:13] *= scale
        core.set_contacts(self.contact_groups, points)
        core.set_joint_memory(memory)
        for j, motor in enumerate(self.motors.tolist()):
            core.set_motor(j, *motor)
        if guarantee:
            self._require_apart()
        self._guarantees, self._kept_apart, self._gone = guarantee, {}, 0.0
        super().begin(dt)

    def find_contacts(self, dt: float) -> None:
        """Find the points at which bodies touch, or may touch within dt seconds, and the islands.

        Within a step, after the first time: again where bodies have moved along each other.
        """
        groups, points = points_in_solid(self.parts, self._arrays[0], self.time + self._gone, dt, self._slop())
        if self._gone > 0.0:
            self._core.follow_contacts(self._arrays, dt / self.options.substeps, groups, points)
            return
        self._core.find_contacts(self._arrays, dt, groups, points)
        if self._guarantees:
            self._kept_apart = self._distances()

    def bounce(self, h: float) -> None:
        """Let what meets within h seconds, fast enough, bounce off each other, one after the other until nothing approaches."""
        self._core.bounce(self._arrays, h)

    def predict(self, h: float) -> None:
        """Add what forces give in h seconds to the velocities."""
        self._core.predict(self._arrays, h)

    def solve(self, h: float) -> None:
        """Find the impulses of joints and contacts, with as many sweeps as the meter of the step allows, if there is one."""
        meter = self.meter
        if meter is None:
            self._core.solve(self._arrays, h)
            return
        self._core.begin_solve(h)
        meter.begin("rigid", self.options.iterations)
        while meter.more():
            if self._core.sweep(h):
                break
        meter.end()
        self._core.end_solve(self._arrays)

    def move(self, h: float) -> None:
        """Move the bodies with their velocities, and apart where they overlap."""
        self._core.advance(self._arrays, h)
        self._gone += h

    def _schedule(self, dt: float) -> Iterator[tuple[str, float]]:
        for _ in range(self.options.substeps):
            for name in self.stages:
                yield name, dt if name == "find_contacts" else dt / self.options.substeps

    def _written(self) -> list[str]:
        """Return nothing: nothing that a copy would have to bring back changes before the end of a step is sure of the result."""
        return []

    def _complete(self, report: RigidInfo) -> None:
        dt, states = report.dt, self._arrays[0]
        if not np.isfinite(states).all():
            raise ValueError("the step leads to values that are not finite; nothing has changed")
        for i, ahead in self._ahead.items():
            states[i] = ahead.state_row
        for name, value in self._core.report().items():
            setattr(report, name, value)
        start = self._states()
        self._keep_apart(start, report)
        after = np.where(self._moved[:, None], states, start)
        self._write(after, dt)
        self.contact_groups, self.contact_points = self._core.contacts()
        self.joint_memory = self._core.joint_memory()
        self.last_step = dt / self.options.substeps
        self.quiet, self.last_poses = self._arrays[4], after[:, :7].copy()
        self.last_gravity = self._gravity_now
        self._certified = after if report.certified else None

    def wake(self, body: RigidBody) -> None:
        """Let a body that may have been slow count as moved now."""
        for i, part in enumerate(self.parts):
            if part.body is body:
                self.quiet[i] = 0.0

    def _write(self, states: Floats, dt: float) -> None:
        """Give bodies their states, dt seconds later."""
        moving = [b for b in self.bodies if b.is_dynamic or b._path is not None]
        numbers = np.flatnonzero(self._moved).astype(np.int32)
        turns = rotations_of(states[:, 3:7]).reshape(-1, 9)
        _solids.scatter_rows(states, numbers, [b.state_row for b in moving])
        _solids.scatter_rows(turns, numbers, [b.matrix for b in moving])
        time = self.time + dt
        for body in self.bodies:
            body.time = time

    # --- guarantee -------------------------------------------------------------------------------------------------------------

    def audit(self) -> Ints:
        """Return the pairs (k, 2) of parts whose meshes intersect now, by the exact test. Joined pairs do not count."""
        guard = self._made_guard()
        guard.require(-1.0)
        return np.array(guard.intersecting(self._states()), np.int32).reshape(-1, 2)

    def _require_apart(self) -> None:
        guard = self._made_guard()
        guard.require(self._slop())
        states = self._states()
        self._pinched = set()
        if self._certified is not None and np.array_equal(states[:, :7], self._certified[:, :7]):
            return
        # What was pinched may stay so until it is free again.
        known = set() if self.report is None else set(self.report.unresolved)
        meeting = guard.intersecting(states)
        self._pinched = {p for p in meeting if p in known}
        found = [p for p in meeting if p not in known]
        if found:
            raise ValueError(
                f"meshes must not intersect at the start, but {len(found)} pairs do, the first of parts {found[0][0]} and {found[0][1]}"
            )

    def _distances(self) -> dict[tuple[int, int], float]:
        """Return lower bounds of the distances between meshes that are near each other."""
        groups, points = self._core.contacts()
        ends = np.cumsum(groups[:, 2])
        result = {}
        for (a, b, count), end in zip(groups.tolist(), ends.tolist(), strict=True):
            thickness = 0.5 * (self.parts[a].thickness + self.parts[b].thickness)
            result[min(a, b), max(a, b)] = float(points[end - count : end, 6].min()) + thickness
        return result

    def _keep_apart(self, start: Floats, report: RigidInfo) -> None:
        """Shorten the ways from `start` (n, 13) on which meshes meet: with `guarantee` all, else those that contact may not bring back."""
        states, guard = self._arrays[0], self._made_guard()
        if self._guarantees:

            def margin(i: int, j: int) -> float:
                return float(self._core.margin(i, j)) + 0.5 * (self.parts[i].thickness + self.parts[j].thickness)

            found = guard.keep_apart(start, states, guard.all, guard.meets(self._kept_apart, margin), apart=True)
        else:
            fast = guard.fast(start, states)
            if not fast:
                return
            found = guard.keep_apart(start, states, fast, guard.passing(start, states))
        stop(found, self.parts, start, states, self._arrays[1], report.dt)
        report.cut, report.blocked = int((found.parts < 1).sum()), int((found.parts == 0).sum())
        unresolved = set(found.unresolved)
        if self._guarantees and self._pinched:
            unresolved |= self._pinched & set(guard.intersecting(states))
        report.unresolved = tuple(sorted(unresolved))
        report.certified = self._guarantees and not unresolved

    def _made_guard(self) -> RigidGuard:
        if self._guard is None:
            self._guard = RigidGuard(self.parts, {(min(j.bodies), max(j.bodies)) for j in self.joints})
        return self._guard

    def _states(self) -> Floats:
        """Return the states (n, 13) of all parts."""
        self._made_core()
        states = np.tile(_AT_ORIGIN, (len(self.parts), 1))
        _solids.gather_rows([b.state_row for b in self.bodies], self._numbers, states)
        return states

    def _gravities(self) -> Floats:
        """Return the accelerations (n, 3) of all parts; 0 of obstacles."""
        self._made_core()
        result = np.zeros((len(self.parts), 3))
        of_bodies = [b._gravity for b in self.bodies]
        if len(set(map(id, of_bodies))) == 1:
            result[self._numbers] = of_bodies[0]
        else:
            result[self._numbers] = of_bodies
        return result

    def start_at(self, time: float) -> None:
        """Set the time (s) of the system and its bodies: of a state that comes from elsewhere."""
        self.time = _checks.number("time", time)
        for body in self.bodies:
            body.time = self.time

    def _made_core(self) -> Any:
        """Return the system of the core, made anew after changes of the set-up."""
        if self._core is None:
            core = _solids.RigidSystem()
            none = _solids.RigidForm()
            for part in self.parts:
                form = none if part.form is None else part.form.core
                inertia = _NO_MOTION if part.body is None else part.body._row
                surface: Any = None if part.form is None else part.form.surface
                core.add_part(form, surface, part.row, inertia)
            for joint, motor in zip(self.joints, self.motors, strict=True):
                joint.add_to(core, motor)
            self._masses = np.array([0.0 if p.body is None or not p.body.is_dynamic else p.body.mass for p in self.parts])
            self._numbers = np.array([i for i, p in enumerate(self.parts) if p.body is not None], np.int32)
            self._moved = np.array([p.body is not None and (p.body.is_dynamic or p.body._path is not None) for p in self.parts])
            self._thickest = max(p.thickness for p in self.parts)
            own = [_slop_of(p) for p, m in zip(self.parts, self._masses, strict=True) if p.form is not None and m > 0]
            self._own_slop = float(np.mean(own)) if own else 1e-3
            # Bodies and solids on paths.
            self._moving = [
                (i, p) for i, p in enumerate(self.parts) if isinstance(p.solid, KinematicSolid) or (p.body is not None and p.body._path)
            ]
            core.set_apart(sorted({(min(j.bodies), max(j.bodies)) for j in self.joints}))
            self._core = core
        return self._core

    def _built(self, dt: float, gravity: float) -> Any:
        """Return the system of the core with the options for a step of dt seconds."""
        core = self._made_core()
        o = self.options
        h = dt / o.substeps
        core.set_options(
            o.iterations,
            o.tolerance,
            2 * gravity * h if o.restitution_speed is None else o.restitution_speed,
            o.push,
            self._own_slop if o.slop is None else o.slop,
            FRICTION_LAW("friction", o.friction),
            o.holding_impulse,
            1.0 if o.warm_start else 0.0,
            RIGID_SOLVER("solver", o.solver),
            math.inf if o.sleep_after is None else o.sleep_after,
            self._thickest if o.mesh_reach is None else o.mesh_reach,
        )
        return core

    def _slop(self) -> float:
        if self.options.slop is not None:
            return self.options.slop
        self._made_core()
        return self._own_slop

    # --- what is ---------------------------------------------------------------------------------------------------------------

    @property
    def contacts(self) -> RigidContacts:
        """Contacts of the last step."""
        return RigidContacts.of_rows(self.contact_groups, self.contact_points)

    @property
    def contacts_now(self) -> RigidContacts:
        """Contacts of the step that goes on, after `find_contacts`."""
        return RigidContacts.of_rows(*self._core.contacts())

    @property
    def velocities(self) -> Floats:
        """Velocities of centres and angular velocities (n, 6) of all parts, m/s and rad/s, within a step after `predict`; a copy."""
        result: Floats = self._core.velocities()
        return result

    def core_now(self) -> tuple[Any, Floats]:
        """Return the system of the core, and the states (n, 13) of all parts, which questions about joints take."""
        return self._made_core(), self._states()

    @property
    def energy(self) -> float:
        """Kinetic energy and that in gravity, J, of the bodies that forces move."""
        return math.fsum(b.kinetic_energy - b.mass * float(b.gravity @ b.center) for b in self.bodies if b.is_dynamic)

    @property
    def momentum(self) -> Floats:
        """Momentum (3,) of the bodies that forces move, kg m/s."""
        return np.array([math.fsum(float(b.momentum[k]) for b in self.bodies if b.is_dynamic) for k in range(3)])

    def __len__(self) -> int:
        """Return the number of bodies."""
        return len(self.bodies)

    def __repr__(self) -> str:
        """One line: bodies, joints, contacts, time."""
        parts = f"{len(self.bodies)} bodies, {len(self.joints)} joints, {len(self.contact_points)} points of contact"
        return f"<RigidSystem of {parts}, t = {self.time:g} s>"


def _slop_of(part: RigidPart) -> float:
    """Return how deep a body may be in others, m: small against what it reaches, and against what it is thick."""
    form = part.form
    assert form is not None
    return float(min(form.core.reach / 500, max(form.core.thin, 0.5 * part.thickness) / 50))
