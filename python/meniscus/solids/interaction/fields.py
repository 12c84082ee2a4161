"""Fields of force that act on all bodies of a world: wind, fans, explosions, attractors and functions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.solids.interaction.field_points import points_of_body
from meniscus.solids.interaction.grip import BodyTriangles, Floats
from meniscus.solids.interaction.pull import limited
from meniscus.solids.interaction.rigid_group import RigidGroup
from meniscus.solids.interaction.wind_drag import push_rigid, push_triangles

FieldFunction = Callable[[Floats, Floats, float], Floats]
"""Accelerations (n, 3), m/s^2, at positions (n, 3), m, of nodes with velocities (n, 3), m/s, at a time, s."""

# s over the duration of an explosion after which nothing is left of it.
_OVER = 40.0
# What is larger counts as that, so that its square is a number.
_INFINITE = 1e150


@dataclass(frozen=True)
class ForceField(ABC):
    """Base of the fields of force. Their values do not change: `AppliedField.field` is assigned another one."""

    kind: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        """Register the subclass under its kind."""
        if cls.kind:
            FIELDS[cls.kind] = cls

    @abstractmethod
    def act(self, body: Any, surface: BodyTriangles | None, start: float, time: float, dt: float) -> Floats:
        """Change velocities of a body by what a step of dt seconds from `time` gives; return the impulse (3,) that it got, kg m/s.

        `start` is the time (s) at which the field was added. Rigid bodies are for `act_on_rigid`.
        """

    @abstractmethod
    def act_on_rigid(self, group: RigidGroup, start: float, time: float, dt: float) -> Floats:
        """Do the same to rigid bodies; return their impulses (n, 3), kg m/s."""

    def data(self) -> dict[str, Any]:
        """Return kind and values, as plain values and lists."""
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        return {"kind": self.kind} | {name: list(map(float, v)) if isinstance(v, (tuple, list)) else v for name, v in own.items()}


FIELDS: dict[str, type[ForceField]] = {}
"""Classes of fields by their kind."""


@dataclass(frozen=True)
class AccelerationField(ForceField):
    """Base of fields that accelerate all bodies alike, whatever their mass.

    Accelerations are shortened to `max_acceleration`; and no field makes anything faster than `max_speed`.

    Attributes:
        max_acceleration: m/s^2.
        max_speed: m/s.
    """

    _: KW_ONLY
    max_acceleration: float = 1e4
    max_speed: float = 50.0

    @abstractmethod
    def accelerations(self, positions: Floats, velocities: Floats, start: float, time: float, dt: float) -> Floats:
        """Return the mean accelerations (n, 3) over a step, m/s^2."""

    def act(self, body: Any, surface: BodyTriangles | None, start: float, time: float, dt: float) -> Floats:
        """Change velocities of a body; return the impulse (3,) that it got, kg m/s."""
        points = points_of_body(body)
        change = self._change(points.positions, points.velocities, start, time, dt)
        return np.zeros(3) if change is None else points.add(change)

    def act_on_rigid(self, group: RigidGroup, start: float, time: float, dt: float) -> Floats:
        """Change velocities of rigid bodies; return the impulses (n, 3) that they got, kg m/s."""
        change = self._change(*group.points(), start, time, dt) if group.bodies else None
        return np.zeros((len(group.bodies), 3)) if change is None else group.add(change)

    def _change(self, x: Floats, v: Floats, start: float, time: float, dt: float) -> Floats | None:
        """Return the changes of velocities (n, 3), m/s, within their bounds; None where there are none."""
        with np.errstate(over="ignore"):
            a = np.asarray(self.accelerations(x, v, start, time, dt), np.float64)
        if a.shape != v.shape:
            raise ValueError(f"accelerations must have shape {v.shape}, not {a.shape}")
        if np.isnan(a).any():
            raise ValueError("a field of force returned values that are no numbers; nothing has changed")
        if not a.any():
            return None
        bound = limited(np.clip(a, -_INFINITE, _INFINITE), self.max_acceleration)
        after = v + dt * bound
        fastest = np.maximum(self.max_speed, np.sqrt(np.einsum("nd,nd->n", v, v)))
        sizes = np.sqrt(np.einsum("nd,nd->n", after, after))
        after *= np.minimum(1.0, fastest / np.maximum(sizes, 1e-300))[:, None]
        result: Floats = after - v
        return result


@dataclass(frozen=True)
class Attractor(AccelerationField):
    """A place that pulls everything within reach: `strength` towards it, less within `core`, so that what is there stays.

    Attributes:
        position: m.
        strength: m/s^2; negative values push away.
        reach: m.
        core: m.
        damping: 1/s, of velocities within reach.
    """

    kind: ClassVar[str] = "attractor"
    position: Sequence[float] = (0.0, 0.0, 0.0)
    strength: float = 20.0
    reach: float = math.inf
    core: float = 0.1
    damping: float = 0.0

    def __post_init__(self) -> None:
        """Check the values."""
        object.__setattr__(self, "position", _checks.vector("position", self.position, 3))
        _checks.positive("core", self.core)

    def accelerations(self, positions: Floats, velocities: Floats, start: float, time: float, dt: float) -> Floats:
        """Return the accelerations (n, 3), m/s^2."""
        way = np.array(self.position) - positions
        r = np.sqrt(np.einsum("nd,nd->n", way, way))
        size = np.clip(np.where(r < self.reach, self.strength / np.maximum(r, self.core), 0.0), -_INFINITE, _INFINITE)
        drag = np.where(r < self.reach, self.damping / (1.0 + dt * self.damping), 0.0)
        result: Floats = size[:, None] * way - drag[:, None] * velocities
        return result


@dataclass(frozen=True)
class Explosion(AccelerationField):
    """A blow that leaves a place in all directions, and decays in time and with the distance.

    Attributes:
        position: m.
        speed: m/s, that it gives in all at the place itself; at `radius` nothing is left of it.
        radius: m.
        duration: s, after which it has fallen to 1/e.
    """

    kind: ClassVar[str] = "explosion"
    position: Sequence[float] = (0.0, 0.0, 0.0)
    speed: float = 10.0
    radius: float = 1.0
    duration: float = 0.02

    def __post_init__(self) -> None:
        """Check the values."""
        object.__setattr__(self, "position", _checks.vector("position", self.position, 3))
        _checks.positive("radius", self.radius)
        _checks.positive("duration", self.duration)

    def accelerations(self, positions: Floats, velocities: Floats, start: float, time: float, dt: float) -> Floats:
        """Return the mean accelerations (n, 3) over a step, m/s^2."""
        age = (time - start) / self.duration
        if age > _OVER:
            return np.zeros(positions.shape)
        part = math.exp(-age) * -math.expm1(-dt / self.duration)
        way = positions - np.array(self.position)
        r = np.sqrt(np.einsum("nd,nd->n", way, way))
        size = self.speed * part / dt * np.maximum(0.0, 1.0 - r / self.radius) / np.maximum(r, 1e-300)
        result: Floats = np.clip(size, -_INFINITE, _INFINITE)[:, None] * way
        return result


@dataclass(frozen=True)
class FunctionField(AccelerationField):
    """Accelerations by a function of positions (n, 3), velocities (n, 3) and time, under a name by which logs know it.

    Rigid bodies have four points with their mass and inertia; others their nodes.
    """

    kind: ClassVar[str] = "function"
    name: str = ""
    function: FieldFunction | None = None

    def accelerations(self, positions: Floats, velocities: Floats, start: float, time: float, dt: float) -> Floats:
        """Return the accelerations (n, 3), m/s^2."""
        assert self.function is not None
        return self.function(positions, velocities, time)

    def data(self) -> dict[str, Any]:
        """Return kind, name and limits."""
        return {name: value for name, value in super().data().items() if name != "function"}


@dataclass(frozen=True)
class Wind(ForceField):
    """Wind that pushes triangles along their normals, p = drag |u| u with the part u of wind minus velocity along the normal.

    The factor |u| is that of the start of the step; the rest is implicit, so that no wind carries anything beyond its own speed.

    Attributes:
        velocity: m/s.
        drag: kg/m^3.
        max_speed: m/s; faster winds count as that fast.
    """

    kind: ClassVar[str] = "wind"
    velocity: Sequence[float] = (0.0, 0.0, 0.0)
    drag: float = 1.2
    max_speed: float = 50.0

    def __post_init__(self) -> None:
        """Check the values."""
        object.__setattr__(self, "velocity", _checks.vector("velocity", self.velocity, 3))
        if _checks.number("drag", self.drag) < 0:
            raise ValueError(f"drag must not be negative, but is {self.drag:g}")

    def at(self, positions: Floats) -> Floats:
        """Return the velocities (n, 3) of the air at positions (n, 3), m/s."""
        return np.broadcast_to(np.array(self.velocity), positions.shape)

    def act(self, body: Any, surface: BodyTriangles | None, start: float, time: float, dt: float) -> Floats:
        """Change velocities of a body; return the impulse (3,) that it got, kg m/s."""
        return np.zeros(3) if surface is None else push_triangles(body, surface, self.at, self.drag, self.max_speed, dt)

    def act_on_rigid(self, group: RigidGroup, start: float, time: float, dt: float) -> Floats:
        """Change velocities of rigid bodies; return the impulses (n, 3) that they got, kg m/s."""
        return push_rigid(group, self.at, self.drag, self.max_speed, dt)


@dataclass(frozen=True)
class Fan(Wind):
    """A cone of wind from a place; outside of it the air is at rest.

    Attributes:
        velocity: at the fan, along its axis, m/s.
        position: m.
        angle: half of the opening, rad; wind falls to zero there.
        reach: m; wind falls to zero there.
        drag, max_speed: as of `Wind`.
    """

    kind: ClassVar[str] = "fan"
    position: Sequence[float] = (0.0, 0.0, 0.0)
    angle: float = 0.4
    reach: float = 2.0

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        object.__setattr__(self, "position", _checks.vector("position", self.position, 3))
        _checks.positive("reach", self.reach)
        if not 0 < _checks.number("angle", self.angle) <= math.pi / 2:
            raise ValueError(f"angle must be between 0 and a right angle, not {self.angle:g}")

    def at(self, positions: Floats) -> Floats:
        """Return the velocities (n, 3) of the air at positions (n, 3), m/s."""
        speed = math.hypot(*self.velocity)
        if speed == 0.0:
            return np.zeros(positions.shape)
        axis = np.array(self.velocity) / speed
        way = positions - np.array(self.position)
        r = np.sqrt(np.einsum("nd,nd->n", way, way))
        off = np.arccos(np.clip(np.einsum("nd,d->n", way, axis) / np.maximum(r, 1e-300), -1.0, 1.0))
        size = speed * np.maximum(0.0, 1.0 - off / self.angle) * np.maximum(0.0, 1.0 - r / self.reach)
        result: Floats = (size / np.maximum(r, 1e-300))[:, None] * way
        return result
