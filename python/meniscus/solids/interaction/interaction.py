"""All that a person does to a world: picking, dragging, attaching, aiming, fields of force."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.solids.interaction.acting import Acting
from meniscus.solids.interaction.applied_field import AppliedField
from meniscus.solids.interaction.attachment import Attachment
from meniscus.solids.interaction.fields import FieldFunction, ForceField, FunctionField
from meniscus.solids.interaction.grip import Grip, grip_type
from meniscus.solids.interaction.handle import MAX_SPEED, Handle, HandleKind, not_negative
from meniscus.solids.interaction.picking import cast_ray, nearest
from meniscus.solids.interaction.pose_target import KinematicPath, PoseTarget, matrix_of
from meniscus.solids.interaction.sanity import Sanity, sanity_of
from meniscus.solids.rigid.rigid_body import RigidBody
from meniscus.surface import Pose

# s and m/s^2: time constant, and largest acceleration, of bodies that are aimed, where nothing else is given.
_TIME = 0.1
_ACCELERATION = 100.0

_P = ParamSpec("_P")
_T = TypeVar("_T")


def _of_world(method: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return a method of an `Interaction` that keeps other threads out of its world, see `Stateful.exclusive`."""

    @wraps(method)
    def alone(*arguments: _P.args, **named: _P.kwargs) -> _T:
        owner: Any = arguments[0]
        with owner._world.exclusive():
            return method(*arguments, **named)

    return alone


class Interaction(Acting):
    """Pulls and fields of a world, and an account of what they have given to its bodies: part of the state of the world.

    The snapshot holds all of it, also what was made or released since. Functions of fields are known by name and are not part of it.
    Arguments and attributes are those of `Acting`.
    """

    # --- picking -------------------------------------------------------------------------------------------------------------

    @_of_world
    def pick(
        self,
        origin: Sequence[float],
        direction: Sequence[float],
        *,
        body: Any = None,
        max_distance: float = math.inf,
        radius: float = 0.0,
        kind: HandleKind = "spring",
        stiffness: float | None = None,
        damping: float | None = None,
        max_force: float | None = None,
        max_speed: float | None = None,
    ) -> Handle | None:
        """Take hold of what a ray meets first on the surfaces of all bodies; return the handle, or None if it meets nothing.

        The handle pulls from now on, at first to where the point is. Obstacles do not hide bodies.

        Args:
            origin: m.
            direction: of any length but zero.
            body: pick this one alone.
            max_distance: along the ray, m.
            radius: m; what comes so near to the ray counts as met. Ropes want one.
            kind: "spring"; "attachment": infinitely stiff.
            stiffness: N/m; default 100 / s^2 times the mass of the body, which then follows with a time constant of 0.1 s.
            damping: N s/m; default the critical one for the whole body.
            max_force: N; default 100 m/s^2 times the mass.
            max_speed: m/s, at which the point is at most pulled; default 20.

        Raises:
            TypeError, ValueError: wrong types or values; a body of no world, or without a surface; positions that are not finite.

        Source: Müller, Stam, James and Thürey 2008, chapter 8 (which has a heading only).
        """
        start, way = np.array(_checks.vector("origin", origin, 3)), np.array(_checks.vector("direction", direction, 3))
        if not (way**2).sum() > 0:
            raise ValueError("direction must not be zero")
        longest = math.inf if max_distance == math.inf else _checks.positive("max_distance", max_distance)
        thick = not_negative("radius", _checks.number("radius", radius))
        only = None if body is None else self.name_of(body)
        names = list(self.bodies) if only is None else [only]
        surfaces = {name: (self.body(name), self.surface(name)) for name in names}
        if only is not None and surfaces[only][1] is None:
            raise ValueError("the body has no surface that a ray could meet")
        options: dict[str, Any] = {"kind": kind, "stiffness": stiffness, "damping": damping, "max_force": max_force, "max_speed": max_speed}
        hit = cast_ray(surfaces, start, way, longest, thick)
        if hit is None:
            return None
        handle = self.add(Handle.made(self, hit.name, hit.grip, **options))
        self.record(
            "pick",
            number=handle.number,
            origin=start.tolist(),
            direction=way.tolist(),
            body=only,
            max_distance=longest,
            radius=thick,
            **options,
        )
        return handle

    @_of_world
    def attach(
        self,
        first: Any,
        second: Any,
        points: npt.ArrayLike,
        *,
        compliance: float = 0.0,
        damping: float = 0.0,
        max_force: float = math.inf,
        max_speed: float = MAX_SPEED,
    ) -> Attachment:
        """Hold two bodies of any types together at points, as they are there now; return the attachment.

        Of rigid bodies it holds the points themselves, of others the closest ones of their surface. What is apart now stays as far apart.

        Args:
            first: a body of this world.
            second: another one, or None: places in the world, which may be moved (`Attachment.target`).
            points: (k, 3) or (3,), m.
            compliance: m/N, of each point; 0: as stiff as steps allow.
            damping: N s/m, of each point, with a compliance.
            max_force: N, on each point.
            max_speed: m/s, at which a gap is closed.

        Raises:
            TypeError, ValueError: wrong types or values; bodies without a surface; the same body twice.
        """
        x = np.atleast_2d(_checks.numbers("points", points))
        if x.ndim != 2 or x.shape[1] != 3 or not len(x):
            raise ValueError(f"points must have shape (k, 3) or (3,), not {np.shape(points)}")
        _checks.require_finite("points", x)
        x = np.ascontiguousarray(x)
        if first is second:
            raise ValueError("a body is attached to another one")
        names = [self.name_of(body) for body in (first, second) if body is not None]
        grips = [self._held_at(name, x) for name in names]
        if len(grips) == 2 and isinstance(second, RigidBody) != isinstance(first, RigidBody):
            # The rigid one is held where the other one can be.
            k = int(isinstance(second, RigidBody))
            grips[k] = self._held_at(names[k], np.ascontiguousarray(grips[1 - k].positions))
        numbers = {
            "compliance": not_negative("compliance", compliance),
            "damping": not_negative("damping", damping),
            "max_force": not_negative("max_force", max_force),
            "max_speed": not_negative("max_speed", max_speed),
        }
        ends = list(zip(names, grips, strict=True))
        attachment = Attachment.made(self, ends[0], ends[1] if len(ends) == 2 else None, **numbers)
        self.add(attachment)
        given = {"first": names[0], "second": names[1] if len(names) == 2 else None, "points": x.tolist()}
        self.record("attach", number=attachment.number, **given, **numbers)
        return attachment

    def _held_at(self, name: str, points: Any) -> Grip:
        body = self.body(name)
        if isinstance(body, RigidBody):
            return grip_type(body)(body, {"local": body.pose.to_body(points)})
        surface = self.surface(name)
        if surface is None:
            raise ValueError(f"{name} has no surface that could be held")
        return nearest(body, surface, points)

    @_of_world
    def aim(
        self,
        body: RigidBody,
        pose: Pose,
        *,
        stiffness: float | None = None,
        damping: float | None = None,
        torsion: float | None = None,
        torsion_damping: float | None = None,
        max_force: float | None = None,
        max_torque: float | None = None,
        max_speed: float = MAX_SPEED,
        max_spin: float = 20.0,
    ) -> PoseTarget:
        """Pull a rigid body to a pose by springs on its centre and turn, or lead one with a `KinematicPath` there; return the target.

        Args:
            body: a rigid body of this world. A target that it has had before is released.
            pose: where its rest pose shall be carried to.
            stiffness, damping: N/m and N s/m; default a time constant of 0.1 s, critically damped.
            torsion, torsion_damping: N m and N m s, about any axis; default likewise, for the largest moment of inertia.
            max_force, max_torque: N and N m; default 100 m/s^2 times the mass, and 1000 rad/s^2 times the largest moment.
            max_speed, max_spin: m/s and rad/s, at which it is at most pulled.

        Raises:
            TypeError, ValueError: wrong types or values; a body that is fixed, or follows another path.
        """
        _checks.one_of_type("body", body, RigidBody)
        _checks.one_of_type("pose", pose, Pose)
        name = self.name_of(body)
        if not body.is_dynamic and not isinstance(body._path, KinematicPath):
            raise ValueError("a body that is fixed or follows a path of its own has no target: make it with motion=KinematicPath(pose)")
        mass, moment = body.mass, float(np.linalg.eigvalsh(body.properties.inertia)[-1])
        k = mass / _TIME**2 if stiffness is None else not_negative("stiffness", stiffness)
        t = moment / _TIME**2 if torsion is None else not_negative("torsion", torsion)
        defaults = {
            "stiffness": (stiffness, k),
            "damping": (damping, 2 * math.sqrt(min(k, 1e300) * mass)),
            "torsion": (torsion, t),
            "torsion_damping": (torsion_damping, 2 * math.sqrt(min(t, 1e300) * moment)),
            "max_force": (max_force, _ACCELERATION * mass),
            "max_torque": (max_torque, 10 * _ACCELERATION * moment),
            "max_speed": (max_speed, MAX_SPEED),
            "max_spin": (max_spin, 20.0),
        }
        numbers = {key: not_negative(key, default if given is None else given) for key, (given, default) in defaults.items()}
        for other in [p for p in self.pulls.values() if isinstance(p, PoseTarget) and p.name == name]:
            other.release()
        target = self.add(PoseTarget.made(self, name, body, pose, numbers))
        self.record("aim", number=target.number, body=name, pose=matrix_of(pose).tolist(), **numbers)
        return target

    @_of_world
    def add_field(self, field: ForceField | FieldFunction, name: str | None = None, **limits: float) -> AppliedField:
        """Let a field of force act on all bodies from now on; return it as it acts.

        Args:
            field: `Wind`, `Fan`, `Explosion`, `Attractor`; or a function of positions (n, 3), velocities (n, 3) and time (s) that returns
                accelerations (n, 3), m/s^2.
            name: of a function, by which logs know it; default its own.
            **limits: `max_acceleration` and `max_speed` of a function.

        Raises:
            TypeError, ValueError: no field; another function with that name.
        """
        if not isinstance(field, ForceField):
            own = _checks.function("field", field)
            field = FunctionField(name=str(name or getattr(own, "__name__", "field")), function=own, **limits)
        elif name is not None or limits:
            raise TypeError("a name and limits belong to fields that are functions")
        applied = self.apply(field, self._world.time)
        self.record("field", number=applied.number, **field.data())
        return applied

    # --- what was reached -----------------------------------------------------------------------------------------------------

    def sanity(self, speed_limit: float = 1e3) -> Sanity:
        """Return whether everything is finite and no faster than a limit (m/s), and what is fastest and has not converged."""
        return sanity_of(self.bodies, getattr(self._world, "report", None), self.report, speed_limit)
