"""Poses as targets: of bodies that forces move, and of bodies that are moved."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.solids.interaction.grip import Floats, Grip
from meniscus.solids.interaction.pull import End, Pull, PullPart, limited, spring_terms
from meniscus.solids.interaction.rigid_grips import RigidGrip, TurnGrip
from meniscus.solids.rigid.rotations import quaternion_of, turned
from meniscus.surface import Pose

# rad: a moved body turns in a step by less than half a turn, so that the direction is known.
_LONGEST_TURN = 2.5


class KinematicPath:
    """The motion of a rigid body that a program moves: `RigidBody(mesh, motion=KinematicPath(pose))`.

    `World.interaction.aim(body, pose)` says where it goes: in the next step, at the velocity that leads there, as far as
    `max_speed` and `max_spin` allow. What it meets on the way sees that velocity.

    Args:
        pose: where it is first.
        max_speed, max_spin: m/s, of the origin of its rest pose, and rad/s; a turn in one step is at most 2.5 rad anyway.
    """

    def __init__(self, pose: Pose | None = None, *, max_speed: float = math.inf, max_spin: float = math.inf) -> None:
        self.max_speed = math.inf if max_speed == math.inf else _checks.positive("max_speed", max_speed)
        self.max_spin = math.inf if max_spin == math.inf else _checks.positive("max_spin", max_spin)
        self._here = self._there = Pose((0.0, 0.0, 0.0)) if pose is None else _checks.one_of_type("pose", pose, Pose)
        self._middle = -math.inf

    def __call__(self, time: float) -> Pose:
        """Return the pose at a time (s): that at the start of the present step before its middle, else that at its end."""
        return self._here if time < self._middle else self._there

    def lead(self, body: Any, target: Pose | None, dt: float) -> None:
        """Go towards a target in the next step of a body; None: stay."""
        here = body.pose
        self._here, self._middle = here, body.time + 0.5 * dt
        if target is None:
            self._there = here
            return
        way = np.array(target.translation) - np.array(here.translation)
        turn = turn_between(np.array(here.rotation), np.array(target.rotation))
        short = limited(way[None], self.max_speed * dt)[0]
        turned_by = limited(turn[None], min(self.max_spin * dt, _LONGEST_TURN))[0]
        if short is way and np.array_equal(turned_by, turn):
            self._there = target
            return
        place = turned(np.concatenate([np.array(here.translation), quaternion_of(np.array(here.rotation))]), short, turned_by)
        self._there = Pose(tuple(place[:3].tolist()), tuple(place[3:].tolist()))


class PoseTarget(Pull):
    """A pose that a rigid body is pulled to, by a spring and a damper on its centre and on its turn: made by `World.aim`.

    Both are implicit, as those of a `Handle`, and their force and torque are limited.

    Attributes:
        target: the `Pose`; assignable.
        impulse: (3,), all that it has given to the body, kg m/s.
    """

    kind = "pose"
    _numbers = ("stiffness", "damping", "torsion", "torsion_damping", "max_force", "max_torque", "max_speed", "max_spin")
    _arrays: ClassVar[Mapping[str, Floats]] = {"impulses": np.zeros((2, 3)), "_target": np.zeros((4, 3))}
    _roles: ClassVar[Mapping[str, str]] = {"body": "name"}
    _rows_per_point = 2

    stiffness: float
    damping: float
    torsion: float
    torsion_damping: float
    max_force: float
    max_torque: float
    max_speed: float
    max_spin: float
    name: str
    _target: Floats

    @classmethod
    def made(cls, owner: Any, name: str, body: Any, pose: Pose, numbers: Mapping[str, float]) -> PoseTarget:
        """Return a target for the pose of a body."""
        self = cls()
        self.owner, self.name = owner, name
        for key in cls._numbers:
            setattr(self, key, numbers[key])
        self._target = matrix_of(pose)
        self._hold(body)
        self.impulse, self.impulses = np.zeros(3), np.zeros((2, 3))
        return self

    def _hold(self, body: Any) -> None:
        self._center = RigidGrip(body, {"local": body.properties.center[None]})
        self._turn = TurnGrip(body, {"local": body.properties.center[None]})

    @property
    def body(self) -> Any:
        """The body."""
        return self._center.body

    @property
    def target(self) -> Pose:
        """The pose; assignable."""
        return pose_of(self._target)

    @target.setter
    def target(self, value: Pose) -> None:
        place = matrix_of(_checks.one_of_type("target", value, Pose))
        self.owner.record("move", number=self.number, target=place.tolist())
        self._target = place

    def release(self) -> None:
        """Let go. A second call does nothing."""
        if self.active:
            self.owner.record("release", number=self.number)
            self.owner.remove(self)

    def parts(self, dt: float) -> Sequence[PullPart]:
        """Return the rows of a step of dt seconds: of the centre and of the turn. None for a body that is led."""
        if not self.body.is_dynamic:
            return ()
        body, target = self.body, self._target
        way = target[:3] @ body.properties.center + target[3] - body.state_row[:3]
        turn = turn_between(body.rotation, target[:3])
        begin = self.begin_impulses(dt)
        result = []
        for k, (grip, stretch, stiffness, damping, most, fastest) in enumerate(
            (
                (self._center, way, self.stiffness, self.damping, self.max_force, self.max_speed),
                (self._turn, turn, self.torsion, self.torsion_damping, self.max_torque, self.max_spin),
            )
        ):
            softness, rate = spring_terms(stiffness, damping, dt)
            free = softness == 0.0 and rate == 0.0
            bias = -limited(rate * stretch[None], fastest)
            end: tuple[End, ...] = (End(self.name, grip, 1.0),)
            result.append(PullPart(end, bias, softness, 0.0 if free else most * dt, begin[k : k + 1], True, k == 0))
        return result

    @property
    def grips(self) -> Mapping[str, tuple[str, Grip]]:
        """The grip of the centre with the name of the body."""
        return {"body": (self.name, self._center)}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore the state of a snapshot."""
        super().restore(snapshot)
        self._hold(self.owner.body(self.name))

    def __repr__(self) -> str:
        """One line: what it pulls to."""
        if not self.active:
            return "<PoseTarget, released>"
        return f"<PoseTarget at {tuple(np.round(self._target[3], 3).tolist())} m>"


def matrix_of(pose: Pose) -> Floats:
    """Return a pose as an array (4, 3): the rows of the rotation, and the translation."""
    if pose.dimension != 3:
        raise ValueError(f"a pose must be 3-D, not {pose.dimension}-D")
    return np.vstack([np.array(pose.rotation), np.array(pose.translation)])


def pose_of(matrix: Any) -> Pose:
    """Return the pose of an array (4, 3)."""
    rows = np.asarray(matrix, np.float64)
    return Pose(tuple(rows[3].tolist()), rows[:3].tolist())


def turn_between(start: Floats, end: Floats) -> Floats:
    """Return the vector (3,), rad, about which a turn carries one rotation (3, 3) to another: at most half a turn."""
    q = quaternion_of(end @ start.T)
    size = math.sqrt(float(q[1:] @ q[1:]))
    if size < 1e-12:
        return np.array(2.0 * q[1:])
    return np.array(2.0 * math.atan2(size, float(q[0])) / size * q[1:])
