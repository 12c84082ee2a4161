"""Rigid motions: poses, their velocities, and both as functions of time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.numerics.rotation_matrix import rotation_matrix

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Pose:
    """Position and orientation of a body: x = rotation X + translation for the point X of the body at rest.

    Args:
        translation: m; its length decides the dimension.
        rotation: None, an angle in rad (2-D), a rotation matrix, or a unit quaternion (w, x, y, z); kept as the rows of a matrix.

    Raises:
        TypeError, ValueError: NaN, infinity, or no rotation.
    """

    translation: Sequence[float]
    rotation: Any = None

    def __post_init__(self) -> None:
        """Check the arguments and bring them to one form."""
        t = _checks.point("translation", self.translation)
        object.__setattr__(self, "translation", t)
        object.__setattr__(self, "rotation", rotation_matrix("rotation", self.rotation, len(t)))

    @property
    def dimension(self) -> int:
        """2 or 3."""
        return len(self.translation)

    def apply(self, points: Floats) -> Floats:
        """Return the positions of points (n, dim) of the body at rest, m."""
        result: Floats = points @ np.array(self.rotation).T + np.array(self.translation)
        return result

    def to_body(self, points: Floats) -> Floats:
        """Return the points of the body at rest that are at points (n, dim), m."""
        return np.ascontiguousarray((points - np.array(self.translation)) @ np.array(self.rotation))


@dataclass(frozen=True)
class Twist:
    """The velocity of a rigid body.

    Args:
        linear: velocity (m/s) of the origin of the body at rest, which is at `Pose.translation`.
        angular: rad/s; a number, counter-clockwise, in 2-D, a vector in 3-D; default none.
    """

    linear: Sequence[float]
    angular: float | Sequence[float] | None = None

    def __post_init__(self) -> None:
        """Check the arguments and bring them to one form."""
        v = _checks.point("linear", self.linear)
        angular: Any = self.angular
        if len(v) == 2:
            angular = 0.0 if angular is None else _checks.number("angular", angular)
        else:
            angular = (0.0, 0.0, 0.0) if angular is None else _checks.vector("angular", angular, 3)
        object.__setattr__(self, "linear", v)
        object.__setattr__(self, "angular", angular)

    @property
    def dimension(self) -> int:
        """2 or 3."""
        return len(self.linear)

    @property
    def gradient(self) -> Floats:
        """The skew matrix W of v(x) = linear + W (x - translation), 1/s."""
        w: Any = self.angular
        if self.dimension == 2:
            return np.array([[0.0, -w], [w, 0.0]])
        return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def _twist_of(linear: Floats, gradient: Floats) -> Twist:
    skew = 0.5 * (gradient - gradient.T)
    if len(linear) == 2:
        return Twist(linear.tolist(), float(skew[1, 0]))
    return Twist(linear.tolist(), [float(skew[2, 1]), float(skew[0, 2]), float(skew[1, 0])])


def derivative(f: Callable[[float], Floats], time: float, step: float) -> Floats:
    """Return df/dt by symmetric differences of decreasing step, extrapolated to step zero: the entry that changed least.

    Small steps suffer from rounding, and large ones from kinks of f within reach; the best entries lie between.

    Source: Ridders, "Accurate computation of F'(x) and F'(x) F''(x)", Advances in Engineering Software 4, 1982.
    """

    def difference(h: float) -> Floats:
        late, early = time + h, time - h  # their true distance, after rounding
        return (f(late) - f(early)) / (late - early)

    row = [difference(step)]
    best, error = row[0], math.inf
    for _ in range(9):
        step *= 0.5
        new = [difference(step)]
        for order, old in enumerate(row, start=1):
            new.append(new[-1] + (new[-1] - old) / (4.0**order - 1.0))
            change = float(max(np.abs(new[-1] - new[-2]).max(), np.abs(new[-1] - old).max()))
            if change < error:
                best, error = new[-1], change
        row = new
        if error <= 1e-12 * float(np.abs(best).max()):
            break
    return best


def twist_at(motion: Callable[[float], Pose], time: float, step: float) -> Twist:
    """Return the velocity of a motion at `time` (s), from poses at up to `step` seconds before and after."""
    n = motion(time).dimension

    def numbers(t: float) -> Floats:
        pose = motion(t)
        return np.concatenate([np.array(pose.translation), np.array(pose.rotation).ravel()])

    rate = derivative(numbers, time, step)
    rotation = np.array(motion(time).rotation)
    return _twist_of(rate[:n], rate[n:].reshape(n, n) @ rotation.T)


def twist_between(start: Pose, end: Pose, dt: float) -> Twist:
    """Return the constant twist (a screw motion) that carries `start` to `end` in dt seconds of either sign, expressed at `start`.

    A rigid motion has no divergence, unlike the difference quotient of positions, so a closed body displaces no volume.

    Raises:
        ValueError: half a turn or more between the two, so that the direction is unknown.
    """
    n = start.dimension
    turn = np.array(end.rotation) @ np.array(start.rotation).T
    shift = np.array(end.translation) - np.array(start.translation)
    skew = 0.5 * (turn - turn.T)
    sine = abs(skew[1, 0]) if n == 2 else math.sqrt(0.5) * float(np.linalg.norm(skew))
    cosine = 0.5 * (float(np.trace(turn)) - (n - 2))
    angle = math.atan2(sine, cosine)
    if angle > math.pi - 1e-6:
        raise ValueError("motion must turn by less than half a turn within dt")
    # sin x / x and the like by their series where they are 0 / 0.
    small = angle < 1e-4
    log = skew * (1.0 + angle**2 / 6.0 if small else angle / sine)
    first = 0.5 - angle**2 / 24.0 if small else (1.0 - cosine) / angle**2
    second = 1.0 / 6.0 - angle**2 / 120.0 if small else (angle - sine) / angle**3
    travel = np.eye(n) + first * log + second * (log @ log)
    return _twist_of(np.linalg.solve(travel, shift) / dt, log / dt)
