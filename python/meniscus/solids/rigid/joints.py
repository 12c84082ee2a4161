"""Joints between rigid bodies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.solids.rigid.rigid_body import RigidBody
from meniscus.solids.rigid.rigid_options import JOINT_KIND, JointKind

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Vector = tuple[float, float, float]


@dataclass(frozen=True)
class JointSetup:
    """A joint as it was made, in axes of both bodies and from their centres."""

    kind: JointKind
    bodies: tuple[int, int]
    points: tuple[Vector, Vector]
    axes: tuple[Vector, Vector]
    relative: tuple[float, float, float, float]
    limits: tuple[float, float]
    spring: tuple[float, float, float]

    def add_to(self, core: Any, motor: Floats) -> None:
        """Add the joint to a system of the core."""
        kind = JOINT_KIND("kind", self.kind)
        core.add_joint(kind, self.bodies, self.points, self.axes, self.relative, self.limits, tuple(motor.tolist()), self.spring)


class HasJoints(Protocol):
    """What a joint asks of its system."""

    joints: list[JointSetup]
    motors: Floats
    quiet: Floats

    def core_now(self) -> tuple[Any, Floats]:
        """Return the system of the core, and the states (n, 13) of its parts."""


def held_motions(joints: Sequence[JointSetup], core: Any, states: Floats) -> tuple[Ints, Floats]:
    """Return the relative motions that joints keep from changing: pairs (k, 2) of parts, and rows (k, 12).

    A row times the linear and angular velocities (m/s, rad/s) of the first and of the second part is a relative speed: one for each
    equation of a joint, and one where it pushed at a limit in the last step.

    Args:
        joints: of a system.
        core: the system of the core.
        states: (n, 13) of its parts.
    """
    numbers, rows = core.held_motions(states)
    return np.array([joint.bodies for joint in joints], np.int32).reshape(-1, 2)[numbers], rows


class RigidJoint:
    """A joint of a system of rigid bodies, made by `join`. Places are in rad for hinges and in m for sliders.

    Attributes:
        number: among the joints of the system; -1 once it has gone with a body, after which nothing else may be asked.
    """

    def __init__(self, system: HasJoints, number: int) -> None:
        self._system = system
        self.number = number

    def _present(self) -> int:
        if self.number < 0:
            raise ValueError("the joint has gone with one of its bodies")
        return self.number

    @property
    def kind(self) -> JointKind:
        """Kind of the joint."""
        return self._system.joints[self._present()].kind

    @property
    def place(self) -> float:
        """Place of a hinge (rad, -pi to pi) or slider (m): 0 when it was made."""
        core, states = self._system.core_now()
        return float(core.place(self._present(), states))

    @property
    def motor(self) -> tuple[float, float]:
        """Speed (rad/s or m/s) and largest torque or force (N m or N) of the motor; assignable, and state. A limit of 0: no motor."""
        speed, limit = self._system.motors[self._present()].tolist()
        return speed, limit

    @motor.setter
    def motor(self, value: Sequence[float]) -> None:
        self._system.motors[self.number] = motor_of(value, self.kind)
        # What a motor held may have to move.
        self._system.quiet[list(self._system.joints[self.number].bodies)] = 0.0

    def __repr__(self) -> str:
        """One line."""
        return "<RigidJoint, gone with a body>" if self.number < 0 else f"<RigidJoint {self.number}, {self.kind}>"


def motor_of(value: Sequence[float] | None, kind: JointKind) -> tuple[float, float]:
    """Return speed and limit of a motor."""
    if value is None:
        return 0.0, 0.0
    if kind not in ("hinge", "slider"):
        raise ValueError(f"a {kind} joint has no motor; hinges and sliders have")
    speed, limit = _checks.vector("motor", value, 2)
    if limit < 0:
        raise ValueError(f"the largest force of a motor must not be negative, but is {limit:g}")
    return speed, limit


def joint_of(
    bodies: tuple[int, int],
    pair: tuple[RigidBody, RigidBody | None],
    kind: JointKind,
    point: Sequence[float] | None,
    axis: Sequence[float] | None,
    limits: Sequence[float] | None,
    spring: Sequence[float] | None,
) -> JointSetup:
    """Return a joint of two bodies as they are now; the second may be the world. See `RigidSystem.join`."""
    JOINT_KIND("kind", kind)
    moves = kind in ("hinge", "slider")
    if moves and axis is None:
        raise ValueError(f"a {kind} needs an axis")
    for name, given in (("an axis", axis), ("limits", limits), ("a spring", spring)):
        if given is not None and not moves:
            raise ValueError(f"a {kind} joint has no place for {name}; hinges and sliders have")
    if kind in ("ball", "hinge") and point is None:
        raise ValueError(f"a {kind} joint needs a point")
    x = np.array(_checks.vector("point", pair[0].center if point is None else point, 3))
    a = np.array(_checks.vector("axis", (0.0, 0.0, 1.0) if axis is None else axis, 3))
    if not a.any():
        raise ValueError("axis must not be zero")
    # Without overflow and underflow of squares.
    a = a / np.abs(a).max()
    a = a / np.linalg.norm(a)
    low, high = (-math.inf, math.inf) if limits is None else _limits_of(limits)
    if not (low <= high and low < math.inf and high > -math.inf):
        raise ValueError(f"limits must be a lower and an upper one, not {low:g} and {high:g}")
    if kind == "hinge" and limits is not None and not (-math.pi < low and high < math.pi):
        raise ValueError(f"limits of a hinge must be between -pi and pi, but are {low:g} and {high:g}")
    k, c, rest = (0.0, 0.0, 0.0) if spring is None else _checks.vector("spring", spring, 3)
    if k < 0 or c < 0:
        raise ValueError(f"stiffness and damping of a spring must not be negative, but are {k:g} and {c:g}")
    centers = [np.zeros(3) if b is None else b.center for b in pair]
    turns = [np.eye(3) if b is None else b.rotation for b in pair]
    points = _in_axes(turns[0], x - centers[0]), _in_axes(turns[1], x - centers[1])
    axes = _in_axes(turns[0], a), _in_axes(turns[1], a)
    q = [np.array([1.0, 0, 0, 0]) if b is None else b.state_row[3:7] for b in pair]
    relative = _product(q[0] * [1, -1, -1, -1], q[1])
    return JointSetup(kind, bodies, points, axes, tuple(relative.tolist()), (low, high), (k, c, rest))


def _limits_of(value: Any) -> tuple[float, float]:
    """Return a lower and an upper limit, which may be infinite."""
    given = _checks.numbers("limits", value)
    if given.shape != (2,):
        raise ValueError(f"limits must be a lower and an upper one, not of shape {given.shape}")
    return float(given[0]), float(given[1])


def _in_axes(turn: Floats, vector: Floats) -> Vector:
    x, y, z = (turn.T @ vector).tolist()
    return x, y, z


def _product(p: Floats, q: Floats) -> Floats:
    """Return the product of two quaternions (w, x, y, z)."""
    return np.array([p[0] * q[0] - p[1:] @ q[1:], *(p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:]))])
