"""Interaction with a world: picking, dragging, attaching, wind, aims; and steps of bounded work."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core.solver import OnStage, Solver
from meniscus.core.stateful import exclusively
from meniscus.solids.contact.reports import WorldInfo
from meniscus.solids.interaction.applied_field import AppliedField
from meniscus.solids.interaction.attachment import Attachment
from meniscus.solids.interaction.budget import SYSTEM_CLOCK, Budget, Clock, Counts, StepMeter, budget_of
from meniscus.solids.interaction.fields import FieldFunction, ForceField, FunctionField
from meniscus.solids.interaction.grip import Grip, grip_type
from meniscus.solids.interaction.handle import MAX_SPEED, Handle, HandleKind, not_negative
from meniscus.solids.interaction.interaction import Interaction
from meniscus.solids.interaction.picking import cast_ray, nearest
from meniscus.solids.interaction.pose_target import KinematicPath, PoseTarget, matrix_of
from meniscus.solids.interaction.sanity import Sanity, sanity_of
from meniscus.solids.options import world_step
from meniscus.solids.rigid.rigid_body import RigidBody
from meniscus.solids.rigid.rigid_system import RigidSystem
from meniscus.surface import Pose

# s and m/s^2: time constant, and largest acceleration, of bodies that are aimed, where nothing else is given.
_TIME = 0.1
_ACCELERATION = 100.0


class InteractiveWorld(Solver[Any]):
    """Base of worlds of any kind: interaction. The world has `rigid`, `time`, and its bodies in lists (see `bodies_of_world`).

    Attributes:
        interaction: pulls and fields, and the account of what they have given to bodies; part of the state of the world.
        clock: for budgets: a function that returns seconds.
        meter: of the step that goes on, if it has a budget or given counts.
    """

    interaction: Interaction
    clock: Clock
    rigid: RigidSystem

    def _make_interaction(self) -> None:
        self.interaction = self.declare("interaction", Interaction(self))
        self.clock = SYSTEM_CLOCK
        self.meter: StepMeter | None = None
        self._tail = 0.0

    # --- picking -------------------------------------------------------------------------------------------------------------

    @exclusively
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
        only = None if body is None else self.interaction.name_of(body)
        names = list(self.interaction.bodies) if only is None else [only]
        surfaces = {name: (self.interaction.body(name), self.interaction.surface(name)) for name in names}
        if only is not None and surfaces[only][1] is None:
            raise ValueError("the body has no surface that a ray could meet")
        options: dict[str, Any] = {"kind": kind, "stiffness": stiffness, "damping": damping, "max_force": max_force, "max_speed": max_speed}
        hit = cast_ray(surfaces, start, way, longest, thick)
        if hit is None:
            return None
        handle = self.interaction.add(Handle.made(self.interaction, hit.name, hit.grip, **options))
        self.interaction.record(
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

    @exclusively
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
        names = [self.interaction.name_of(body) for body in (first, second) if body is not None]
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
        attachment = Attachment.made(self.interaction, ends[0], ends[1] if len(ends) == 2 else None, **numbers)
        self.interaction.add(attachment)
        given = {"first": names[0], "second": names[1] if len(names) == 2 else None, "points": x.tolist()}
        self.interaction.record("attach", number=attachment.number, **given, **numbers)
        return attachment

    def _held_at(self, name: str, points: Any) -> Grip:
        body = self.interaction.body(name)
        if isinstance(body, RigidBody):
            return grip_type(body)(body, {"local": body.pose.to_body(points)})
        surface = self.interaction.surface(name)
        if surface is None:
            raise ValueError(f"{name} has no surface that could be held")
        return nearest(body, surface, points)

    @exclusively
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
        name = self.interaction.name_of(body)
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
        for other in [p for p in self.interaction.pulls.values() if isinstance(p, PoseTarget) and p.name == name]:
            other.release()
        target = self.interaction.add(PoseTarget.made(self.interaction, name, body, pose, numbers))
        self.interaction.record("aim", number=target.number, body=name, pose=matrix_of(pose).tolist(), **numbers)
        return target

    @exclusively
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
        applied = self.interaction.add_field(field, self.time)
        self.interaction.record("field", number=applied.number, **field.data())
        return applied

    # --- steps ---------------------------------------------------------------------------------------------------------------

    def step(
        self,
        dt: float,
        on_stage: OnStage | None = None,
        *,
        budget: float | Budget | None = None,
        counts: Counts | None = None,
        **options: Any,
    ) -> Any:
        """Advance by dt seconds, and end the loop if it was its last step.

        What pulls and fields give acts on the velocities as the step begins; then come the stages.

        Args:
            dt: s, positive, at most 1e4.
            on_stage: called with the name of each stage and this world, after the stage.
            budget: s of `clock`, or a `Budget`: what iterates (sweeps over rigid bodies) does so until the time is used, but at least
                as often as `Budget.least` says. The report has the `counts`; a step with these has the same bits.
            counts: iterations of a step that was taken before, in place of a budget.
            **options: guarantee: of worlds of rigid bodies alone, as in `RigidSystem.step`; surfaces of deformable ones never intersect
                after a loop anyway.

        Returns:
            The report of the step; also stored as `report`.

        Raises:
            ConvergenceError: a velocity solve failed.
            ContactError: contacts at the end of a loop that nothing resolves.
            TypeError, ValueError: dt is not positive, absurd, or beyond the limit of stability; surfaces that intersect at the start of a
                loop, with their number and the first; values that are not finite. In all cases nothing has changed.

        Source: Selle 2008, section 6.2.
        """
        dt = world_step(dt)
        if budget is not None and counts is not None:
            raise ValueError("give either a budget or counts, not both")
        allowed = budget_of(budget)
        meter = None if allowed is None and counts is None else StepMeter(self.clock, allowed, counts, self._tail)
        acting = self.interaction
        with self.exclusive(), acting.undone(self.rigid.quiet):
            first = getattr(self, "inner_steps", 0) == 0
            acting.act(self.time, dt, self.rigid.wake)
            if first:
                acting.mark()
            self.meter = self.rigid.meter = meter
            try:
                info = self._take_step(dt, on_stage, **options)
            finally:
                self.meter = self.rigid.meter = None
            _take_back(acting, info)
        acting.steps += 1
        acting.counts = {} if meter is None else {name: tuple(values) for name, values in meter.used.items()}
        if isinstance(info, WorldInfo):
            info.pulls, info.counts = acting.report, acting.counts
        if meter is not None:
            self._tail = meter.tail
        acting.record("step", dt=dt, counts={name: list(values) for name, values in acting.counts.items()}, options=dict(options))
        return info

    def _arrive_at(self, time: float) -> None:
        """Set the time (s) that steps have come to but for rounding."""
        self.time = time
        self.interaction.record("time", time=time)

    def sanity(self, speed_limit: float = 1e3) -> Sanity:
        """Return whether everything is finite and no faster than a limit (m/s), and what is fastest and has not converged."""
        return sanity_of(self.interaction.bodies, getattr(self, "report", None), self.interaction.report, speed_limit)

    # --- copies --------------------------------------------------------------------------------------------------------------

    @property
    def _functions(self) -> dict[str, FieldFunction]:
        """Functions of fields, which copies and pickles take over before the state that names them."""
        return dict(self.interaction.functions)

    @_functions.setter
    def _functions(self, functions: dict[str, FieldFunction]) -> None:
        self.interaction.functions = dict(functions)

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "_functions": self._functions}

    def _within_step(self) -> bool:
        """Return whether a step has begun and not ended: some bodies are where they were, others have moved."""
        return False

    def _require_whole(self) -> None:
        if self._within_step():
            raise ValueError("in the middle of a step the state is not whole: make copies, snapshots and pickles between steps")

    def snapshot(self) -> dict[str, Any]:
        """Return copies of all parts of the state by name. Raises BusyError while another thread changes them, ValueError within a step."""
        self._require_whole()
        return super().snapshot()

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore the state of a snapshot, bit by bit. Raises ValueError or TypeError for one of another kind, and within a step."""
        self._require_whole()
        super().restore(snapshot)

    def _duplicate(self: Any, arguments: tuple[Any, ...], named: dict[str, Any], settings: dict[str, Any]) -> Any:
        self._require_whole()
        return super()._duplicate(arguments, named, {**settings, "_functions": self._functions})


def _take_back(acting: Interaction, info: Any) -> None:
    """Keep of the account what a loop that was cut or undone has kept of the velocities."""
    contact = getattr(info, "contact", None)
    if contact is not None and (contact.cuts or contact.rewound):
        acting.take_back(0.0 if contact.rewound else contact.fraction)
