"""Set-up of a system of rigid bodies: bodies, obstacles, joints."""

from __future__ import annotations

import weakref
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core.solver import Solver
from meniscus.core.stateful import exclusively
from meniscus.mesh import TriangleMesh
from meniscus.mesh.any_mesh import own_mesh
from meniscus.solids.ownership import claim, require_free
from meniscus.solids.rigid.forms import ContactForm, form_of_body, form_of_mesh, form_of_shape
from meniscus.solids.rigid.joints import JointSetup, RigidJoint, joint_of, motor_of
from meniscus.solids.rigid.rigid_body import RigidBody
from meniscus.solids.rigid.rigid_options import JointKind, RigidFormKind, RigidFriction, RigidInfo, RigidOptions, friction_of
from meniscus.surface import KinematicSolid, Shape, Solid

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


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


class RigidSetup(Solver[RigidInfo]):
    """Base of a system: its bodies, obstacles and joints, and its state."""

    report_type = RigidInfo
    settings = ("setup",)

    def __init__(self, options: RigidOptions | None = None, gravity: Sequence[float] | Floats | None = None) -> None:
        self.options = RigidOptions() if options is None else _checks.one_of_type("options", options, RigidOptions)
        self.gravity = None if gravity is None else np.array(_checks.vector("gravity", gravity, 3))
        self.parts: list[RigidPart] = []
        self.joints: list[JointSetup] = []
        self.bodies: list[RigidBody] = self.declare("bodies", [])
        self.time = self.declare("time", 0.0)
        self.contact_groups = self.declare("contact_groups", np.zeros((0, 3), np.int32), resizable=True)
        self.contact_points = self.declare("contact_points", np.zeros((0, 17)), resizable=True)
        self.joint_memory = self.declare("joint_memory", np.zeros((0, 11)))
        self.motors = self.declare("motors", np.zeros((0, 2)))
        self.quiet = self.declare("quiet", np.zeros(0))
        # Poses at the end of the last step: who was moved since then is awake.
        self.last_poses = self.declare("last_poses", np.zeros((0, 7)))
        # s, of the last substep.
        self.last_step = self.declare("last_step", 0.0)
        self.last_gravity = self.declare("last_gravity", np.zeros((0, 3)))
        self.forces = self.torques = np.zeros((0, 3))
        # A state from before a body was removed is not one of these bodies, though there may be as many.
        self.removals = self.declare("removals", 0)
        self._removals = 0
        self._made_joints: weakref.WeakSet[RigidJoint] = weakref.WeakSet()

    def _set_up_changed(self) -> None:
        """Discard what was made from the set-up."""

    @abstractmethod
    def core_now(self) -> tuple[Any, Floats]:
        """Return the system of the core, and the states (n, 13) of all parts."""

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
                mesh; "convex": not the mesh; "hull": the convex hull of its mesh; "mesh": only the mesh.
            thickness: m; surfaces of two bodies keep the mean of theirs. None: 0, of a mesh a tenth of the mean edge.
            friction: coefficient, or a `RigidFriction`.
            restitution: from 0 to 1; of two surfaces the larger one counts.

        Raises:
            TypeError, ValueError: no rigid body, or one that this or another system has; neither a shape nor a surface; values out
                of range.
        """
        _checks.one_of_type("body", body, RigidBody)
        require_free(body, self, "system")
        row = surface_row(friction, restitution, thickness)
        _checks.choice("form", form, RigidFormKind)
        own = form_of_body(body, form, thickness)
        row[0, 6] = own.thickness
        if self.gravity is not None:
            body.gravity = self.gravity
        body.time = self.time
        claim(body, self)
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
        row = surface_row(friction, restitution, thickness)
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
        self.last_poses = np.vstack([self.last_poses, np.zeros((1, 7))])
        self.last_gravity = np.vstack([self.last_gravity, np.zeros((1, 3))])
        self.forces, self.torques = (np.vstack([old, np.zeros((1, 3))]) for old in (self.forces, self.torques))
        self._set_up_changed()

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
        if not any(b is not None and b.is_dynamic for b in (first, second)):
            raise ValueError("a joint needs at least one body that forces move")
        speed = motor_of(motor, kind)
        if second is None:
            numbers[1] = self._anchor()
        joint = joint_of((numbers[0], numbers[1]), (first, second), kind, point, axis, limits, spring)
        self.joints.append(joint)
        self.motors = np.vstack([self.motors, [speed]])
        self.joint_memory = np.vstack([self.joint_memory, np.zeros((1, 11))])
        self._set_up_changed()
        made = RigidJoint(self, len(self.joints) - 1)
        self._made_joints.add(made)
        return made

    def has(self, body: Any) -> bool:
        """Return whether a body is one of the system's."""
        return any(b is body for b in self.bodies)

    @exclusively
    def remove(self, body: RigidBody) -> None:
        """Take a body out, with its joints and contacts. It stays as it is, and so does the state of all others.

        Snapshots of before do not fit any more. Raises ValueError for a body that the system has not.
        """
        if not self.has(body):
            raise ValueError("the system has not this body")
        gone = next(i for i, part in enumerate(self.parts) if part.body is body)
        kept = np.arange(len(self.parts)) != gone
        # Numbers of parts as they become.
        number = np.cumsum(kept) - 1
        lasting = np.array([gone not in joint.bodies for joint in self.joints], np.bool_)
        for joint in list(self._made_joints):
            joint.number = int(lasting[: joint.number].sum()) if joint.number >= 0 and lasting[joint.number] else -1
        first, second = (number[[joint.bodies[k] for joint in self.joints]] if self.joints else number[:0] for k in range(2))
        self.joints[:] = [
            replace(joint, bodies=(int(a), int(b))) for joint, a, b, stays in zip(self.joints, first, second, lasting, strict=True) if stays
        ]
        self.motors, self.joint_memory = self.motors[lasting], self.joint_memory[lasting]
        touching = (self.contact_groups[:, :2] == gone).any(axis=1)
        self.contact_points = self.contact_points[~np.repeat(touching, self.contact_groups[:, 2])]
        self.contact_groups = self.contact_groups[~touching]
        self.contact_groups[:, :2] = number[self.contact_groups[:, :2]]
        del self.parts[gone]
        self.bodies[:] = [b for b in self.bodies if b is not body]
        for name in ("quiet", "last_poses", "last_gravity", "forces", "torques"):
            setattr(self, name, getattr(self, name)[kept])
        self.removals += 1
        self._removals = self.removals
        self._body_removed(int(gone))
        self._set_up_changed()

    def _forget_contacts(self) -> None:
        """Forget what the last steps have found: the system is about to begin anew."""
        self.contact_groups, self.contact_points = np.zeros((0, 3), np.int32), np.zeros((0, 17))
        self.last_step = 0.0

    def _body_removed(self, part: int) -> None:
        """Forget what is known of a part."""

    def _state_replaced(self) -> None:
        super()._state_replaced()
        if self.removals != self._removals:
            raise ValueError(f"the state is that of a system that {self.removals} bodies were taken out of, not {self._removals}")

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

    def copy(self: Any) -> Any:
        """Return an independent system in the same state, with copies of the bodies; obstacles are shared."""
        arguments, named = self._arguments()
        return self._duplicate(arguments, named, {"setup": self.setup_with_copies()})

    def setup_with_copies(self) -> dict[str, Any]:
        """Return the set-up with copies of the bodies."""
        made = {id(b): b.copy() for b in self.bodies}
        parts = [p if p.body is None else RigidPart(made[id(p.body)], p.solid, p.form, p.row) for p in self.parts]
        return {"parts": parts, "joints": list(self.joints), "removals": self._removals}

    @property
    def setup(self) -> dict[str, Any]:
        """Bodies, obstacles and joints, which copies and pickles take over before the state."""
        return {"parts": list(self.parts), "joints": list(self.joints), "removals": self._removals}

    @setup.setter
    def setup(self, setup: Mapping[str, Any]) -> None:
        self.parts[:] = setup["parts"]
        self.joints[:] = setup["joints"]
        self.bodies[:] = [p.body for p in self.parts if p.body is not None]
        for body in self.bodies:
            claim(body, self)
        self.removals = self._removals = setup["removals"]
        self.quiet, self.last_poses = np.zeros(len(self.parts)), np.zeros((len(self.parts), 7))
        self.forces, self.torques = np.zeros((len(self.parts), 3)), np.zeros((len(self.parts), 3))
        self.last_gravity = np.zeros((len(self.parts), 3))
        self.motors, self.joint_memory = np.zeros((len(self.joints), 2)), np.zeros((len(self.joints), 11))
        self._set_up_changed()


def surface_row(friction: Any, restitution: float, thickness: float | None) -> Floats:
    """Return what surfaces do as the core takes it, with a thickness of 0; check the values."""
    e = _checks.number("restitution", restitution)
    if not 0 <= e <= 1:
        raise ValueError(f"restitution must be from 0 to 1, but is {e:g}")
    if thickness is not None and _checks.number("thickness", thickness) < 0:
        raise ValueError(f"thickness must not be negative, but is {thickness:g}")
    return friction_of(friction).row(e, 0.0)
