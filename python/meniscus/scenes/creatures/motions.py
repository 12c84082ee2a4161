"""Scripted motions of any surface: swim, nod, twist and hop."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh.triangle_mesh import triangle_mesh
from meniscus.numerics.axis_angle import rotation_about
from meniscus.scenes.creatures.skeleton import ramp

Floats = npt.NDArray[np.float64]


class Motion:
    """A surface whose vertices are a function of time; made by `motion`.

    Attributes:
        rest: the surface at time 0.
        duration: s; later the surface holds still, except for swimming.
    """

    def __init__(self, name: str, surface: Any, angle: float, seconds: float) -> None:
        self.name = name
        self.rest = triangle_mesh(surface)
        self.angle, self.duration = math.radians(angle), seconds
        x = self.rest.vertices
        used = x[self.rest.used_vertices]
        low, high = used.min(axis=0), used.max(axis=0)
        self._axis = int(np.argmax(high - low))
        self._length = float((high - low)[self._axis])
        self._center = 0.5 * (low + high)
        # 0 at the one end and 1 at the other.
        self._along = (x[:, self._axis] - low[self._axis]) / self._length

    def vertices(self, t: float) -> Floats:
        """Return the vertices (n, 3) at a time (s), m."""
        time = _checks.number("t", t)
        result: Floats = MOTIONS[self.name](self, time)
        return result

    def unit(self, offset: int) -> Floats:
        """Return the long axis (0) or one of the two across it (1, 2)."""
        result: Floats = np.eye(3)[(self._axis + offset) % 3]
        return result

    def bend(self, angles: Floats, offset: int) -> Floats:
        """Return the vertices where the line along the long axis is bent: its direction at each vertex turns by an angle (rad)."""
        x = self.rest.vertices - self._center
        s, order = x[:, self._axis], np.argsort(x[:, self._axis], kind="stable")
        # The line's position is the integral of its direction, by the trapezoidal rule over the vertices in their order.
        run = np.concatenate([[0.0], np.diff(s[order])])
        middle = np.concatenate([[angles[order[0]]], 0.5 * (angles[order][1:] + angles[order][:-1])])
        ahead, side = np.cumsum(run * np.cos(middle)), np.cumsum(run * np.sin(middle))
        middle_vertex = min(int(np.searchsorted(s[order], 0.0)), len(s) - 1)
        ahead, side = ahead - (ahead[middle_vertex] - s[order][middle_vertex]), side - side[middle_vertex]
        line = np.empty((len(x), 2))
        line[order] = np.stack([ahead, side], axis=1)
        along, across, third = self.unit(0), self.unit(offset), self.unit(3 - offset)
        height = x @ across
        u = line[:, 0] - height * np.sin(angles)
        w = line[:, 1] + height * np.cos(angles)
        result: Floats = self._center + u[:, None] * along + w[:, None] * across + (x @ third)[:, None] * third
        return result


def _swim(m: Motion, t: float) -> Floats:
    """Waves of bending run along the surface, larger towards the far end; one a `duration`."""
    phase = 2.0 * math.pi * t / m.duration
    angles = ramp(t, 0.0, 0.5 * m.duration) * m.angle * m._along * np.sin(phase - 4.0 * m._along)
    return m.bend(angles, 1)


def _bend(m: Motion, t: float) -> Floats:
    """The line along the surface is bent into a circle, by the angle from end to end."""
    return m.bend(ramp(t, 0.0, m.duration) * m.angle * (m._along - 0.5), 1)


def _nod(m: Motion, t: float) -> Floats:
    """The upper half turns about the middle and comes back."""
    share = np.clip((m._along - 0.4) / 0.4, 0.0, 1.0)
    amount = ramp(t, 0.0, m.duration) if t <= m.duration else 1.0 - ramp(t, m.duration, 2.0 * m.duration)
    return m.bend(amount * m.angle * share * share * (3.0 - 2.0 * share), 1)


def _twist(m: Motion, t: float) -> Floats:
    """The ends turn against each other about the long axis, by the angle in all."""
    angles = ramp(t, 0.0, m.duration) * m.angle * (m._along - 0.5)
    x = m.rest.vertices - m._center
    a, b = m.unit(1), m.unit(2)
    p, q = x @ a, x @ b
    c, s = np.cos(angles), np.sin(angles)
    result: Floats = m._center + (x @ m.unit(0))[:, None] * m.unit(0) + (c * p - s * q)[:, None] * a + (s * p + c * q)[:, None] * b
    return result


def _hop(m: Motion, t: float) -> Floats:
    """It crouches, leaps by half its length and lands, turned by the angle about the vertical axis."""
    s = t / m.duration
    crouch = 0.2 * (ramp(s, 0.0, 0.2) - ramp(s, 0.2, 0.35) + ramp(s, 0.8, 0.9) - ramp(s, 0.9, 1.0))
    flight = min(max((s - 0.25) / 0.6, 0.0), 1.0)
    x = m.rest.vertices - m._center
    floor = float(x[:, 1].min())
    y = floor + (x[:, 1] - floor) * (1.0 - crouch) + 2.0 * m._length * flight * (1.0 - flight)
    wide = 1.0 / math.sqrt(1.0 - crouch)
    moved = np.stack([wide * x[:, 0], y, wide * x[:, 2]], axis=1)
    result: Floats = m._center + moved @ rotation_about((0.0, 1.0, 0.0), m.angle * ramp(s, 0.25, 0.85)).T
    return result


MOTIONS: dict[str, Callable[[Motion, float], Floats]] = {"swim": _swim, "nod": _nod, "twist": _twist, "hop": _hop, "bend": _bend}
"""The motions, by name."""

_ANGLES = {"swim": 30.0, "nod": 52.0, "twist": 115.0, "hop": 40.0, "bend": 86.0}


def motion(name: str, surface: Any, *, angle: float | None = None, duration: float = 1.0) -> Motion:
    """Return a scripted motion of a surface along its longest side.

    Args:
        name: "swim": waves of bending, one per `duration`; "bend": into an arc; "nod": the far half turns and, later, comes back;
            "twist": the ends turn against each other; "hop": a leap along y.
        surface: a `mesh.TriangleMesh` or what it is made from.
        angle: of the largest turn, degrees; default: 30 (swim), 86 (bend), 52 (nod), 115 (twist), 40 (hop).
        duration: s.

    Raises:
        TypeError, ValueError: an unknown motion, no surface, a duration that is not positive.
    """
    if name not in MOTIONS:
        raise ValueError(f"there is no motion {name!r}; choose from {', '.join(MOTIONS)}")
    turn = _ANGLES[name] if angle is None else _checks.number("angle", angle)
    return Motion(name, surface, turn, _checks.positive("duration", duration))
