"""Kinematic solids: a shape or a mesh with a motion given as a function of time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus.mesh.triangle_mesh import triangle_mesh
from meniscus.surface.shapes.mesh_distance import MeshDistance
from meniscus.surface.shapes.pose import Pose, Twist, derivative, twist_at, twist_between
from meniscus.surface.shapes.rest_distance import MeshSolid, ShapeDistance, distance_of, posed_bounds
from meniscus.surface.shapes.solid import Sampling, Solid, SolidSample, checked_step

Floats = npt.NDArray[np.float64]
Motion = Callable[[float], Pose | Sequence[float]]
GivenTwist = Twist | Sequence[float]


class KinematicSolid(Solid):
    """A rigid solid that moves in a given way.

    Args:
        shape: the solid at rest: a `Shape`; a closed surface: a `TriangleMesh` or what it is made from (a mesh of trimesh, meshio or
            PyVista, a tuple of arrays), or an object with the methods of `MeshDistance`; a `LevelSet`; or a function
            phi(points (n, dim)) -> (n,), m, negative inside.
        motion: a function of time (s) that returns a `Pose` or a translation (m); None: at rest. It is also called shortly before and after
            the requested times, to differentiate.
        velocity: in place of the derivative of the motion: a `Twist` or a linear velocity (m/s), or a function of time that returns one.
            Without a motion, a surface that moves along itself (a belt, a spinning cylinder). With a step `dt`, it is taken at the middle.
        difference_step: s; the largest time difference for the derivative of the motion. Half of it should be short compared with the
            motion.
        dimension: 2 or 3; needed only where the shape is a function.

    Raises:
        TypeError, ValueError: an argument of another kind, or different dimensions.
    """

    def __init__(
        self,
        shape: Any,
        motion: Motion | None = None,
        *,
        velocity: GivenTwist | Callable[[float], GivenTwist] | None = None,
        difference_step: float = 0.02,
        dimension: int | None = None,
    ) -> None:
        if motion is not None and not callable(motion):
            raise TypeError(f"motion must be a function of time or None, not {motion!r}")
        self._arguments = (shape, motion, velocity, difference_step, dimension)
        self._distance = distance_of(shape, dimension)
        self._motion = motion
        self._still: _surface.SolidAt | None = None
        self._step = _checks.positive("difference_step", difference_step)
        self._velocity: Any = velocity
        if velocity is not None and not callable(velocity):
            self._velocity = self._twist("velocity", velocity)

    @staticmethod
    def deforming(
        vertices: Callable[[float], Floats],
        triangles: npt.ArrayLike,
        velocity: Callable[[float], Floats] | None = None,
        *,
        difference_step: float = 0.02,
    ) -> DeformingSolid:
        """Return a closed triangle mesh whose vertices are a function of time; arguments as for `DeformingSolid`."""
        return DeformingSolid(vertices, triangles, velocity, difference_step=difference_step)

    @property
    def shape(self) -> object:
        """The solid at rest, as it was given."""
        return self._arguments[0]

    @property
    def moves(self) -> bool:
        """Whether a motion or a velocity was given."""
        return self._motion is not None or self._velocity is not None

    @property
    def dimension(self) -> int:
        """2 or 3."""
        return self._distance.dimension

    def pose(self, time: float = 0.0) -> Pose:
        """Return the pose of the solid at a time (s). Raises TypeError or ValueError for invalid results of the motion."""
        t = _checks.number("time", time)
        if self._motion is None:
            return Pose((0.0,) * self.dimension)
        value = self._motion(t)
        if not isinstance(value, Pose):
            if isinstance(value, (str, bytes)) or not isinstance(value, (Sequence, np.ndarray)):
                raise TypeError(f"motion must return a Pose or a translation, not {value!r}")
            value = Pose(_checks.vector("the translation that motion returns", value, self.dimension))
        if value.dimension != self.dimension:
            raise ValueError(f"motion must return a {self.dimension}-D pose like the shape, not a {value.dimension}-D one")
        return value

    def twist(self, time: float = 0.0, dt: float | None = None) -> Twist:
        """Return the velocity of the body at a time (s), or its mean over [time, time + dt] (see `sample`) as it is at `time`."""
        return self._frame(_checks.number("time", time), None if dt is None else checked_step(dt))[0]

    def signed_distance(self, points: Floats, time: float = 0.0) -> Floats:
        """Return phi (n,), m, at points (n, dim), m, float64, at a time in seconds; without periodic images."""
        return self._distance.signed_distance(self.pose(time).to_body(self._points(points)))

    def normals(self, points: Floats, time: float = 0.0) -> Floats:
        """Return the outward unit normals (n, dim) at points (n, dim), m, float64, at a time in seconds."""
        pose = self.pose(time)
        own = self._distance.normals(pose.to_body(self._points(points)))
        return np.ascontiguousarray(own @ np.array(pose.rotation).T)

    def velocity(self, points: Floats, time: float = 0.0, dt: float | None = None) -> Floats:
        """Return v + W (x - c) (n, dim), m/s, at points (n, dim), m; with `dt` (s) as for `sample`."""
        twist, reference = self._frame(_checks.number("time", time), None if dt is None else checked_step(dt))
        result: Floats = np.array(twist.linear) + (self._points(points) - reference) @ twist.gradient.T
        return result

    def bounds(self, time: float = 0.0) -> tuple[Floats, Floats]:
        """Return the lower and upper corner, m, of a box around the solid at a time; infinite where it is not bounded or not known."""
        box = self._distance.bounds()
        if box is None:
            return np.full(self.dimension, -math.inf), np.full(self.dimension, math.inf)
        return posed_bounds(box, self.pose(time))

    def core_at(self, time: float, dt: float | None) -> _surface.SolidAt:
        """Return the 3-D solid at a time (s) as the core asks it; a shape that does not move is made once."""
        if self._still is not None:
            return self._still
        shape = self._distance.core()
        if shape is None:
            return super().core_at(time, dt)
        pose, (twist, reference) = self.pose(time), self._frame(time, dt)
        motion = self.moves, twist.linear, twist.gradient.tolist(), reference.tolist()
        made = _surface.rigid_solid_at(shape, pose.rotation, pose.translation, *motion)
        if not self.moves and isinstance(self._distance, ShapeDistance):
            self._still = made
        return made

    def _frame(self, time: float, dt: float | None) -> tuple[Twist, Floats]:
        """Return the twist and the reference point of its linear velocity."""
        if self._velocity is not None:
            when = time if dt is None else time + 0.5 * dt
            twist = self._velocity
            if not isinstance(twist, Twist):
                twist = self._twist("what velocity returns", twist(when))
            return twist, np.array(self.pose(when).translation)
        if self._motion is None:
            return Twist((0.0,) * self.dimension), np.zeros(self.dimension)
        pose = self.pose(time)
        if dt is None:
            return twist_at(self.pose, time, self._step), np.array(pose.translation)
        return twist_between(pose, self.pose(time + dt), dt), np.array(pose.translation)

    def _twist(self, name: str, value: Any) -> Twist:
        twist = value if isinstance(value, Twist) else Twist(_checks.vector(name, value, self.dimension))
        if twist.dimension != self.dimension:
            raise ValueError(f"{name} must be {self.dimension}-D like the shape, not {twist.dimension}-D")
        return twist

    def _sample_into(self, target: SolidSample, sampling: Sampling) -> None:
        twist, reference = self._frame(sampling.time, sampling.dt)
        pose = self.pose(sampling.time)
        self._distance.sample(pose, target.levelset, sampling.band, sampling.periodic_images, target._workspace)
        unknown = np.full(self.dimension, math.inf)
        lower, upper = self._distance.bounds() or (-unknown, unknown)
        _surface.sample_affine_velocity(
            twist.linear,
            twist.gradient.tolist(),
            reference.tolist(),
            lower.tolist(),
            upper.tolist(),
            pose.rotation,
            pose.translation,
            sampling.periodic_images and bool(twist.gradient.any()),
            target.velocity._core,
            target._workspace,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by constructor arguments; functions must be picklable (not lambdas)."""
        return _rebuild, (type(self), *self._arguments)

    def __repr__(self) -> str:
        """Shape and motion."""
        shape, motion, velocity, _, _ = self._arguments
        if isinstance(shape, tuple):
            shape = f"<mesh of {len(shape[0])} vertices and {len(shape[1])} triangles>"
        return f"KinematicSolid({shape}, motion={motion}, velocity={velocity})"


def _rebuild(kind: type[KinematicSolid], shape: Any, motion: Any, velocity: Any, step: float, dimension: Any) -> KinematicSolid:
    return kind(shape, motion, velocity=velocity, difference_step=step, dimension=dimension)


class DeformingSolid(Solid):
    """A closed triangle mesh whose vertices are a given function of time. It stores one mesh distance and updates it.

    Args:
        vertices: a function of time (s) that returns (n, 3) float64, m.
        triangles: (m, 3) integers, oriented outward.
        velocity: a function of time that returns the vertices' velocities (n, 3), m/s; default: the derivative of `vertices`, and with a
            step `dt` their mean velocity over it.
        difference_step: s; as for `KinematicSolid`.

    The velocity of the solid at a point is that of the closest point of the surface, interpolated in its triangle.
    """

    def __init__(
        self,
        vertices: Callable[[float], Floats],
        triangles: npt.ArrayLike,
        velocity: Callable[[float], Floats] | None = None,
        *,
        difference_step: float = 0.02,
    ) -> None:
        if not callable(vertices):
            raise TypeError(f"vertices must be a function of time, not {type(vertices).__name__}")
        if velocity is not None and not callable(velocity):
            raise TypeError(f"velocity must be a function of time or None, not {velocity!r}")
        self._vertices = vertices
        self._velocity = velocity
        self._step = _checks.positive("difference_step", difference_step)
        start, self._triangles = triangle_mesh(self._evaluate("vertices", vertices, 0.0, None), triangles)
        self._count = len(start)
        self._queries = MeshDistance(start, self._triangles)
        self._placed_at = math.nan  # the time that the queries are at

    @property
    def moves(self) -> bool:
        """True: its vertices are a function of time."""
        return True

    @property
    def dimension(self) -> int:
        """Always 3."""
        return 3

    def signed_distance(self, points: Floats, time: float = 0.0) -> Floats:
        """Return phi (n,), m, at points (n, 3), m, float64, at a time in seconds; without periodic images."""
        return self._mesh(_checks.number("time", time)).signed_distance(self._points(points))

    def normals(self, points: Floats, time: float = 0.0) -> Floats:
        """Return the outward unit normals (n, 3) at points (n, 3), m, float64, at a time in seconds."""
        return self._mesh(_checks.number("time", time)).normals(self._points(points))

    def velocity(self, points: Floats, time: float = 0.0, dt: float | None = None) -> Floats:
        """Return the velocity (n, 3), m/s, of the closest points of the surface; with `dt` (s) as for `sample`."""
        t = _checks.number("time", time)
        x = self._points(points)
        self._mesh(t)
        return self._closest_velocity(x, self._vertex_velocity(t, None if dt is None else checked_step(dt)))

    def bounds(self, time: float = 0.0) -> tuple[Floats, Floats]:
        """Return the lower and upper corner, m, of the box of the vertices at a time."""
        v = self._at(_checks.number("time", time))
        return v.min(axis=0), v.max(axis=0)

    def mesh_at(self, time: float = 0.0) -> tuple[Floats, npt.NDArray[np.int32]]:
        """Return the vertices (n, 3), m, and the triangles (m, 3) of the surface at a time."""
        return self._at(_checks.number("time", time)), self._triangles

    def _evaluate(self, name: str, function: Callable[[float], Floats], time: float, count: int | None) -> Floats:
        value = np.asarray(function(time), np.float64)
        if value.ndim != 2 or value.shape[1] != 3 or count not in (None, len(value)):
            raise ValueError(f"{name} must return an array of shape ({'n' if count is None else count}, 3), not {value.shape}")
        _checks.require_finite(f"the result of {name}", value)
        return np.ascontiguousarray(value)

    def _at(self, time: float) -> Floats:
        return self._evaluate("vertices", self._vertices, time, self._count)

    def _mesh(self, time: float) -> MeshSolid:
        self._placed_at = math.nan
        self._queries.update(self._at(time))
        self._placed_at = time
        return MeshSolid(self._queries)

    def _vertex_velocity(self, time: float, dt: float | None) -> Floats:
        if self._velocity is not None:
            return self._evaluate("velocity", self._velocity, time if dt is None else time + 0.5 * dt, self._count)
        if dt is not None:
            return (self._at(time + dt) - self._at(time)) / dt
        return derivative(self._at, time, self._step)

    def _closest_velocity(self, points: Floats, velocity: Floats) -> Floats:
        closest = self._queries.closest(points)
        result: Floats = np.einsum("nk,nkd->nd", closest.barycentric, velocity[self._triangles[closest.triangles]])
        return result

    def _sample_into(self, target: SolidSample, sampling: Sampling) -> None:
        mesh = self._mesh(sampling.time)
        velocity = self._vertex_velocity(sampling.time, sampling.dt)
        mesh.sample(Pose((0.0, 0.0, 0.0)), target.levelset, sampling.band, sampling.periodic_images, target._workspace)
        lower, upper = mesh.bounds()
        _surface.sample_mesh_velocity(
            self._queries._core,
            velocity,
            target.levelset._core,
            sampling.band,
            lower.tolist(),
            upper.tolist(),
            sampling.periodic_images,
            target.velocity._core,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by constructor arguments; functions must be picklable (not lambdas)."""
        return _rebuild_deforming, (self._vertices, self._triangles, self._velocity, self._step)

    def __repr__(self) -> str:
        """Size and motion."""
        return f"DeformingSolid({self._vertices}, <{len(self._triangles)} triangles>, velocity={self._velocity})"


def _rebuild_deforming(vertices: Any, triangles: Any, velocity: Any, step: float) -> DeformingSolid:
    return DeformingSolid(vertices, triangles, velocity, difference_step=step)
