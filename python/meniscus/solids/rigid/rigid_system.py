"""Rigid bodies that touch each other and solids, and are joined, as one system."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.core.stateful import Stateful, exclusively
from meniscus.mesh import TriangleMesh
from meniscus.mesh.any_mesh import own_mesh
from meniscus.solids.rigid.forms import ContactForm, form_of_body, form_of_mesh, form_of_shape
from meniscus.solids.rigid.joints import JointSetup, RigidJoint, joint_of, motor_of
from meniscus.solids.rigid.rigid_body import RigidBody
from meniscus.solids.rigid.rigid_options import (
    FRICTION_LAW,
    JointKind,
    RigidContacts,
    RigidFormKind,
    RigidFriction,
    RigidInfo,
    RigidOptions,
    friction_of,
)
from meniscus.solids.rigid.solid_points import points_in_solid
from meniscus.surface import KinematicSolid, Shape, Solid

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

_NO_MOTION = np.zeros((1, 10))


@dataclass(frozen=True)
class RigidPart:
    """A body or an obstacle of a system.

    Attributes:
        body: None for an obstacle.
        solid: of an obstacle without a form of its own, which touches points of bodies.
        form: None for such a solid.
        row: (1, 10), friction, restitution and thickness as the core takes them.
    """

    body: RigidBody | None
    solid: Solid | None
    form: ContactForm | None
    row: Floats

    @property
    def thickness(self) -> float:
        """Distance that surfaces keep from each other: half of it from each side, m."""
        return float(self.row[0, 6])


class RigidSystem(Stateful):
    """Rigid bodies that touch each other and solids, and are joined.

    A step finds points of contact, which it matches with those of the step before, and impulses there by sweeps over all contacts and
    joints (Gauss-Seidel) that begin with the impulses of the step before. Results have the same bits on any number of threads. Its stages
    are methods, called in this order: `find_contacts`; `bounce`: impacts, before forces; `predict`: velocities with forces; `solve`:
    impulses of joints and contacts; `advance`: positions. With substeps, the last four are called as often.

    `step` is transactional. The state is that of the bodies, the time, contacts and joints with their impulses, motors, and how long each
    body has been slow. What the system consists of is the set-up, which copies and pickles have too.

    Args:
        options: of contact.
        gravity: m/s^2, of all bodies that are added; None: each has its own.

    Attributes:
        forces, torques: (n, 3), N and N m, of all parts, about centres of mass; besides gravity. Written by the caller; not state.

    Source: Müller, Stam, James and Thürey 2008, chapter 6.
    """

    settings = ("_setup",)

    def __init__(self, options: RigidOptions | None = None, gravity: Sequence[float] | Floats | None = None) -> None:
        self.options = RigidOptions() if options is None else _checks.one_of_type("options", options, RigidOptions)
        self.gravity = None if gravity is None else np.array(_checks.vector("gravity", gravity, 3))
        self.parts: list[RigidPart] = []
        self.joints: list[JointSetup] = []
        self.bodies: list[RigidBody] = self.declare("bodies", [])
        self.time = self.declare("time", 0.0)
        self.contact_groups = self.declare("contact_groups", np.zeros((0, 3), np.int32), resizable=True)
        self.contact_points = self.declare("contact_points", np.zeros((0, 17)), resizable=True)
        self.joint_memory = self.declare("joint_memory", np.zeros((0, 10)), resizable=True)
        self.motors = self.declare("motors", np.zeros((0, 2)), resizable=True)
        self.quiet = self.declare("quiet", np.zeros(0), resizable=True)
        self.report: RigidInfo | None = None
        self.forces = self.torques = np.zeros((0, 3))
        self._core: Any = None

    # --- set-up --------------------------------------------------------------------------------------------------------------

    @exclusively
    def add(
        self,
        body: RigidBody,
        *,
        form: RigidFormKind = "auto",
        thickness: float | None = None,
        friction: float | RigidFriction = 0.4,
        restitution: float = 0.0,
    ) -> RigidBody:
        """Add a body and return it. Its time becomes that of the system, and its gravity too, if the system has one.

        Args:
            body: dynamic, fixed, or on a path. Between steps its state may be changed.
            form: "auto": spheres, capsules and boxes where the body's shape is one, a convex polyhedron where its mesh is convex, else the
                mesh; "convex": not the mesh; "mesh": only the mesh.
            thickness: m; surfaces of two bodies keep the mean of theirs. None: 0, of a mesh a tenth of the mean edge.
            friction: coefficient, or a `RigidFriction`.
            restitution: from 0 to 1; of two surfaces the larger one counts.

        Raises:
            TypeError, ValueError: no rigid body, or one that the system has; neither a shape nor a surface; values out of range.
        """
        _checks.one_of_type("body", body, RigidBody)
        if any(b is body for b in self.bodies):
            raise ValueError("the system has this body already")
        row = _surface_row(friction, restitution, thickness)
        own = form_of_body(body, _checks.choice("form", form, RigidFormKind), thickness)
        row[0, 6] = own.thickness
        if self.gravity is not None:
            body.gravity = self.gravity
        body.time = self.time
        self.bodies.append(body)
        self._add_part(RigidPart(body, None, own, row))
        return body

    @exclusively
    def add_obstacle(
        self, obstacle: Any, *, thickness: float | None = None, friction: float | RigidFriction = 0.4, restitution: float = 0.0
    ) -> None:
        """Add an obstacle that nothing moves, or a solid on a path; obstacles that turn and touch well are bodies with `motion`.

        Args:
            obstacle: a half-space, sphere, box or capsule; a mesh; or any other `surface.Solid`, shape or level set, which points of
                bodies (corners, vertices, centres of spheres) stay out of.
            thickness, friction, restitution: as in `add`.

        Raises:
            TypeError, ValueError: no such obstacle; values out of range.
        """
        row = _surface_row(friction, restitution, thickness)
        zero = np.zeros(3)
        form: ContactForm | None = None
        solid: Solid | None = None
        if isinstance(obstacle, Shape):
            form = form_of_shape(obstacle, zero, 0.0 if thickness is None else thickness)
        if form is None:
            mesh = own_mesh(obstacle) if not isinstance(obstacle, Solid) else None
            if isinstance(mesh, TriangleMesh):
                form = form_of_mesh(mesh, zero, thickness, "auto", "the obstacle")
            else:
                solid = obstacle if isinstance(obstacle, Solid) else KinematicSolid(obstacle)
                if solid.dimension != 3:
                    raise ValueError(f"obstacles of rigid bodies are 3-D, not {solid.dimension}-D")
        row[0, 6] = (0.0 if thickness is None else thickness) if form is None else form.thickness
        self._add_part(RigidPart(None, solid, form, row))

    def _add_part(self, part: RigidPart) -> None:
        self.parts.append(part)
        self.quiet = np.append(self.quiet, 0.0)
        self.forces, self.torques = (np.vstack([old, np.zeros((1, 3))]) for old in (self.forces, self.torques))
        self._core = None

    @exclusively
    def join(
        self,
        first: RigidBody,
        second: RigidBody | None,
        kind: JointKind,
        *,
        point: Sequence[float] | None = None,
        axis: Sequence[float] | None = None,
        limits: Sequence[float] | None = None,
        motor: Sequence[float] | None = None,
        spring: Sequence[float] | None = None,
    ) -> RigidJoint:
        """Join two bodies as they are now, at the place 0; they no longer touch each other.

        Args:
            first, second: bodies of the system; None for the second one: the world.
            kind: "ball": points stay together; "hinge": and bodies turn about one axis; "slider": bodies keep their orientation to each
                other and move along one axis; "fixed".
            point: of space, m; of sliders and fixed joints by default the first body's centre.
            axis: direction, of hinges and sliders.
            limits: lowest and highest place: rad, or m.
            motor: speed (rad/s or m/s) and largest torque or force (N m or N).
            spring: stiffness (N m/rad or N/m), damping (N m s/rad or N s/m), and its place without force.

        Raises:
            TypeError, ValueError: bodies that the system has not, or that nothing moves; options that the kind has not.
        """
        numbers = [self._number(first), -1 if second is None else self._number(second)]
        if first is second:
            raise ValueError("a body cannot be joined to itself")
        if not any(b is not None and b._dynamic for b in (first, second)):
            raise ValueError("a joint needs at least one body that forces move")
        speed = motor_of(motor, kind)
        if second is None:
            numbers[1] = self._anchor()
        joint = joint_of((numbers[0], numbers[1]), (first, second), kind, point, axis, limits, spring)
        self.joints.append(joint)
        self.motors = np.vstack([self.motors, [speed]])
        self.joint_memory = np.vstack([self.joint_memory, np.zeros((1, 10))])
        self._core = None
        return RigidJoint(self, len(self.joints) - 1)

    def _number(self, body: RigidBody) -> int:
        for i, part in enumerate(self.parts):
            if part.body is body:
                return i
        raise ValueError("a joint is between bodies of the system: add them first")

    def _anchor(self) -> int:
        """Return the number of the part that stands for the world in joints."""
        for i, part in enumerate(self.parts):
            if part.body is None and part.form is None and part.solid is None:
                return i
        self._add_part(RigidPart(None, None, None, RigidFriction().row(0.0, 0.0)))
        return len(self.parts) - 1

    # --- steps ---------------------------------------------------------------------------------------------------------------

    @exclusively
    def step(self, dt: float) -> RigidInfo:
        """Advance by dt seconds and return the report, which is also stored as `report`.

        Raises:
            TypeError, ValueError: dt is not positive, states that are not finite. Nothing has changed.
        """
        dt = _checks.positive("dt", dt)
        with self.transaction():
            self.begin(dt)
            self.find_contacts(dt)
            h = dt / self.options.substeps
            for _ in range(self.options.substeps):
                self.bounce(h)
                self.predict(h)
                self.solve(h)
                self.advance(h)
            return self.end(dt)

    def begin(self, dt: float) -> None:
        """Begin a step of dt seconds whose stages somebody else calls; `end` ends it."""
        if not self.bodies:
            raise ValueError("a system of rigid bodies needs a body: call add")
        core = self._built(dt)
        n = len(self.parts)
        states, given, forces = np.zeros((n, 13)), np.zeros((n, 6)), self.forces.copy()
        states[:, 3] = 1.0
        for i, part in enumerate(self.parts):
            body = part.body
            if body is None:
                if isinstance(part.solid, KinematicSolid):
                    t, arm = part.solid.twist(self.time, dt), -np.array(part.solid.pose(self.time).translation)
                    given[i, :3], given[i, 3:] = t.linear + np.cross(t.angular, arm), t.angular
                continue
            states[i] = body.state_row
            if body._dynamic:
                forces[i] += body.mass * body.gravity
            elif body._path is not None:
                ahead = body.copy()
                ahead._follow(dt, 1)
                given[i, :3], given[i, 3:] = ahead.velocity, ahead.angular_velocity
                # Constant angular velocity and that of the centre lead to the next pose.
                given[i, :3] = (ahead.state_row[:3] - body.state_row[:3]) / dt
        if not (np.isfinite(states).all() and np.isfinite(forces).all()):
            bad = int(np.flatnonzero(~np.isfinite(np.hstack([states, forces])).all(axis=1))[0])
            raise ValueError(f"the state of part {bad} of the system, or the force on it, is not finite")
        self._arrays = (states, given, forces, self.torques.copy(), self.quiet.copy())
        core.set_contacts(self.contact_groups, self.contact_points)
        core.set_joint_memory(self.joint_memory)
        for j, (speed, limit) in enumerate(self.motors.tolist()):
            core.set_motor(j, speed, limit)

    def find_contacts(self, dt: float) -> None:
        """Find the points at which bodies touch, or may touch within dt seconds, and the islands."""
        groups, points = points_in_solid(self.parts, self._arrays[0], self.time, dt, self._slop())
        self._core.find_contacts(self._arrays, dt, groups, points)

    def bounce(self, h: float) -> None:
        """Let what meets within h seconds, fast enough, bounce off each other, one after the other until nothing approaches."""
        self._core.bounce(self._arrays, h)

    def predict(self, h: float) -> None:
        """Add what forces give in h seconds to the velocities."""
        self._core.predict(self._arrays, h)

    def solve(self, h: float) -> None:
        """Find the impulses of joints and contacts."""
        self._core.solve(self._arrays, h)

    def advance(self, h: float) -> None:
        """Move the bodies with their velocities, and apart where they overlap."""
        self._core.advance(self._arrays, h)

    def end(self, dt: float) -> RigidInfo:
        """End the step that `begin` has begun; return the report."""
        states = self._arrays[0]
        if not np.isfinite(states).all():
            raise ValueError("the step leads to values that are not finite; nothing has changed")
        for i, part in enumerate(self.parts):
            body = part.body
            if body is None:
                continue
            if body._dynamic:
                body.state_row[...] = states[i]
                body.matrix[...] = body.rotation
                body.time += dt
            else:
                body.step(dt)
        self.contact_groups, self.contact_points = self._core.contacts()
        self.joint_memory = self._core.joint_memory()
        self.quiet = self._arrays[4]
        self.time += dt
        self.report = RigidInfo(dt=dt, **self._core.report())
        return self.report

    def _built(self, dt: float) -> Any:
        """Return the system of the core, made anew after changes of the set-up."""
        if self._core is None:
            core = _solids.RigidSystem()
            none = _solids.RigidForm()
            for part in self.parts:
                form = none if part.form is None else part.form.core
                inertia = _NO_MOTION if part.body is None else part.body._row
                core.add_part(form, None if part.form is None else part.form.surface, part.row, inertia)
            for joint, motor in zip(self.joints, self.motors, strict=True):
                joint.add_to(core, motor)
            core.set_apart(sorted({(min(j.bodies), max(j.bodies)) for j in self.joints}))
            self._core = core
        o = self.options
        h = dt / o.substeps
        g = max((float(np.linalg.norm(b.gravity)) for b in self.bodies), default=0.0)
        self._core.set_options(
            o.iterations,
            o.tolerance,
            2 * g * h if o.restitution_speed is None else o.restitution_speed,
            o.push,
            self._slop(),
            FRICTION_LAW("friction", o.friction),
            o.holding_impulse,
            1.0 if o.warm_start else 0.0,
            o.solver == "exact",
            math.inf if o.sleep_after is None else o.sleep_after,
            max((p.thickness for p in self.parts), default=0.0) if o.mesh_reach is None else o.mesh_reach,
        )
        return self._core

    def _slop(self) -> float:
        if self.options.slop is not None:
            return self.options.slop
        reach = [p.form.core.reach for p in self.parts if p.form is not None and p.body is not None and p.body._dynamic]
        return float(np.mean(reach)) / 500 if reach else 1e-3

    # --- what is ---------------------------------------------------------------------------------------------------------------

    @property
    def contacts(self) -> RigidContacts:
        """Contacts of the last step."""
        return _contacts_of(self.contact_groups, self.contact_points)

    @property
    def contacts_now(self) -> RigidContacts:
        """Contacts of the step that goes on, after `find_contacts`."""
        return _contacts_of(*self._core.contacts())

    @property
    def velocities(self) -> Floats:
        """Velocities of centres and angular velocities (n, 6) of all parts, m/s and rad/s, within a step after `predict`; a copy."""
        result: Floats = self._core.velocities()
        return result

    def joint_place(self, joint: int) -> float:
        """Return the place of a hinge (rad) or slider (m), by its number in `joints`."""
        states = np.zeros((len(self.parts), 13))
        states[:, 3] = 1.0
        for i, part in enumerate(self.parts):
            if part.body is not None:
                states[i] = part.body.state_row
        return float(self._built(1.0).place(joint, states))

    @property
    def energy(self) -> float:
        """Kinetic energy and that in gravity, J, of the bodies that forces move."""
        return math.fsum(b.kinetic_energy - b.mass * float(b.gravity @ b.center) for b in self.bodies if b._dynamic)

    @property
    def momentum(self) -> Floats:
        """Momentum (3,) of the bodies that forces move, kg m/s."""
        return np.array([math.fsum(float(b.momentum[k]) for b in self.bodies if b._dynamic) for k in range(3)])

    def copy(self: Any) -> Any:
        """Return an independent system in the same state, with copies of the bodies; obstacles are shared."""
        arguments, named = self._arguments()
        return self._duplicate(arguments, named, {"_setup": self.setup_with_copies()})

    def setup_with_copies(self) -> dict[str, Any]:
        """Return the set-up with copies of the bodies."""
        made = {id(b): b.copy() for b in self.bodies}
        parts = [p if p.body is None else RigidPart(made[id(p.body)], p.solid, p.form, p.row) for p in self.parts]
        return {"parts": parts, "joints": list(self.joints)}

    @property
    def _setup(self) -> dict[str, Any]:
        return {"parts": list(self.parts), "joints": list(self.joints)}

    @_setup.setter
    def _setup(self, setup: Mapping[str, Any]) -> None:
        self.parts[:] = setup["parts"]
        self.joints[:] = setup["joints"]
        self.bodies[:] = [p.body for p in self.parts if p.body is not None]
        self.quiet = np.zeros(len(self.parts))
        self.forces, self.torques = np.zeros((len(self.parts), 3)), np.zeros((len(self.parts), 3))
        self.motors, self.joint_memory = np.zeros((len(self.joints), 2)), np.zeros((len(self.joints), 10))
        self._core = None

    def __len__(self) -> int:
        """Return the number of bodies."""
        return len(self.bodies)

    def __repr__(self) -> str:
        """One line: bodies, joints, contacts, time."""
        parts = f"{len(self.bodies)} bodies, {len(self.joints)} joints, {len(self.contact_points)} points of contact"
        return f"<RigidSystem of {parts}, t = {self.time:g} s>"


def _surface_row(friction: Any, restitution: float, thickness: float | None) -> Floats:
    e = _checks.number("restitution", restitution)
    if not 0 <= e <= 1:
        raise ValueError(f"restitution must be from 0 to 1, but is {e:g}")
    if thickness is not None and _checks.number("thickness", thickness) < 0:
        raise ValueError(f"thickness must not be negative, but is {thickness:g}")
    return friction_of(friction).row(e, 0.0)


def _contacts_of(groups: Ints, points: Floats) -> RigidContacts:
    bodies = np.repeat(groups[:, :2], groups[:, 2], axis=0)
    n, t = points[:, 3:6], points[:, 13:16]
    impulses = points[:, 7:8] * n + points[:, 8:9] * t + points[:, 9:10] * np.cross(n, t)
    return RigidContacts(bodies, points[:, :3].copy(), n.copy(), points[:, 6].copy(), impulses)
