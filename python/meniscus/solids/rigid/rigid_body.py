"""Rigid bodies: their state, flight, and answer to impulses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus._options import CoreOption
from meniscus.core.advancing import LONGEST, OnStep, advance_in_steps
from meniscus.core.stateful import Stateful, exclusively
from meniscus.mesh import SegmentMesh, TetMesh, TriangleMesh, delaunay, icosphere
from meniscus.mesh.any_mesh import own_mesh
from meniscus.solids.rigid.mass_properties import MassProperties
from meniscus.solids.rigid.rotations import quaternion_of, require_turns, rotation_of, skew_of, turn_of
from meniscus.surface import Box, KinematicSolid, Pose, Shape, Sphere, Twist
from meniscus.surface.shapes.pose import twist_between

Floats = npt.NDArray[np.float64]
RigidMethod = Literal["midpoint", "fourth-order", "explicit-euler"]
"""Integrators of rigid bodies."""
RIGID_METHOD = CoreOption(RigidMethod, _solids.RigidMethod)
Motion = Literal["dynamic", "fixed"]
"""What moves a rigid body: forces, or nothing. A function of time is the third possibility."""

_QUADS = ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (2, 3, 7, 6), (1, 2, 6, 5), (0, 4, 7, 3))
_SPHERE_LEVELS = 3
# How far from a rotation, or from length 1, counts as none.
_NO_ROTATION = 1e-6


class RigidBody(Stateful):
    """A body that keeps its form: dynamic, moved along a path, or fixed.

    The state is the time and, in one row (13,), the centre of mass (m), the orientation (a unit quaternion w, x, y, z), the momentum
    (kg m/s) and the angular momentum about the centre (kg m^2/s). Without torques the angular momentum does not change by a bit.

    Args:
        mesh: the body in its rest pose: a closed surface, with `shell` any surface, tetrahedra, or what these are made from. May be None
            where `properties` are given.
        density: kg/m^3, for shells kg/m^2; default 1000.
        mass: kg, in place of a density.
        shell: whether the surface has the mass, not the inside.
        properties: mass, centre and inertia in the rest pose, in place of those of the mesh.
        shape: the exact form in the rest pose, where it is known.
        pose: where the body is; default its rest pose.
        twist: its velocity; default at rest.
        gravity: m/s^2, default none.
        motion: "dynamic", "fixed", or a function of time (s) that returns a `Pose`: then forces have no effect, and in each step the
            velocity is the constant one that leads to the next pose.

    Attributes:
        is_dynamic: whether forces move it.

    Raises:
        TypeError, ValueError: wrong types or values; a surface that is not closed; no mass, or no inertia about some axis.

    Source: Müller, Stam, James and Thürey 2008, section 6.1.
    """

    settings = ("gravity",)

    def __init__(
        self,
        mesh: Any = None,
        *,
        density: float | None = None,
        mass: float | None = None,
        shell: bool = False,
        properties: MassProperties | None = None,
        shape: Shape | None = None,
        pose: Pose | None = None,
        twist: Twist | None = None,
        gravity: Sequence[float] | Floats | None = None,
        motion: Motion | Callable[[float], Pose] = "dynamic",
    ) -> None:
        self.mesh: TriangleMesh | TetMesh | SegmentMesh | None = None if mesh is None else own_mesh(mesh)
        self.shape = None if shape is None else _checks.one_of_type("shape", shape, Shape)
        if properties is not None:
            self.properties = _checks.one_of_type("properties", properties, MassProperties)
        elif self.mesh is None:
            raise ValueError("a rigid body needs a mesh, or its properties")
        else:
            self.properties = MassProperties.of_mesh(self.mesh, 1000.0 if density is None else density, shell=_checks.flag("shell", shell))
        if mass is not None:
            if density is not None:
                raise ValueError("a rigid body takes a density or a mass, not both")
            self.properties = self.properties.with_mass(mass)
        self._path = motion if callable(motion) else None
        self.is_dynamic = self._path is None and _checks.choice("motion", motion, Motion) == "dynamic"
        self._inverse_inertia = self.properties.inverse_inertia()
        self._row = np.zeros((1, 10))
        if self.is_dynamic:
            self._row[0] = [1 / self.properties.mass, *self._inverse_inertia.ravel()]
        self.gravity = np.zeros(3) if gravity is None else gravity
        self.time = self.declare("time", 0.0)
        self.state_row = self.declare("state_row", np.zeros(13))
        self.matrix = self.declare("matrix", np.eye(3))
        if self._path is not None:
            if pose is not None:
                raise ValueError("a body that moves along a path has no pose of its own")
            pose = _checks.one_of_type("the result of motion", self._path(0.0), Pose)
        self.pose = Pose((0.0, 0.0, 0.0)) if pose is None else pose
        if twist is not None:
            self.twist = twist

    @classmethod
    def box(cls, size: Sequence[float], density: float = 1000.0, **options: Any) -> RigidBody:
        """Return a box around the origin of its rest pose with sides `size` (m); `density` in kg/m^3, options as those of the class."""
        properties = MassProperties.box(size, density)
        a = 0.5 * np.array(_checks.vector("size", size, 3))
        corners = np.array([(x, y, z) for z in (-1, 1) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]) * a
        triangles = np.array([t for p, q, r, s in _QUADS for t in ((p, q, r), (p, r, s))], np.int32)
        shape = Box(tuple((-a).tolist()), tuple(a.tolist()))
        return cls(TriangleMesh(corners, triangles), properties=properties, shape=shape, **options)

    @classmethod
    def sphere(cls, radius: float, density: float = 1000.0, *, shell: bool = False, **options: Any) -> RigidBody:
        """Return a ball around the origin of its rest pose, with `shell` a thin sphere; `density` in kg/m^3 (or kg/m^2)."""
        properties = MassProperties.sphere(radius, density, shell=shell)
        return cls(icosphere(_SPHERE_LEVELS, radius), properties=properties, shape=Sphere((0.0, 0.0, 0.0), radius), **options)

    @classmethod
    def hull(cls, points: Any, density: float = 1000.0, **options: Any) -> RigidBody:
        """Return the convex hull of points (n, 3), m, or of a mesh's vertices; `density` in kg/m^3, options as those of the class.

        Raises:
            ValueError: points in one plane.
        """
        own = own_mesh(points)
        x = getattr(own, "vertices", own)
        x = _checks.points("points", np.ascontiguousarray(_checks.numbers("points", x)), np.dtype(np.float64), 3)
        return cls(hull_of(x), density=density, **options)

    # --- state ---------------------------------------------------------------------------------------------------------------

    @property
    def gravity(self) -> Floats:
        """Gravity (3,), m/s^2, of this body alone; writable, assignable."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: Sequence[float] | Floats) -> None:
        self._gravity = np.array(_checks.vector("gravity", value, 3))

    @property
    def mass(self) -> float:
        """Mass, kg."""
        return self.properties.mass

    @property
    def center(self) -> Floats:
        """Centre of mass (3,), m, a copy; assignable, as a move without turning."""
        result: Floats = self.state_row[:3].copy()
        return result

    @center.setter
    def center(self, value: Sequence[float] | Floats) -> None:
        self.state_row[:3] = _checks.vector("center", value, 3)

    @property
    def momentum(self) -> Floats:
        """Momentum (3,), kg m/s; writable view."""
        return self.state_row[7:10]

    @momentum.setter
    def momentum(self, value: Sequence[float] | Floats) -> None:
        self.state_row[7:10] = _checks.vector("momentum", value, 3)

    @property
    def angular_momentum(self) -> Floats:
        """Angular momentum (3,) about the centre of mass, kg m^2/s; writable view."""
        return self.state_row[10:]

    @angular_momentum.setter
    def angular_momentum(self, value: Sequence[float] | Floats) -> None:
        self.state_row[10:] = _checks.vector("angular_momentum", value, 3)

    @property
    def rotation(self) -> Floats:
        """Rotation (3, 3) from the rest pose."""
        return rotation_of(self.state_row[3:7])

    @property
    def velocity(self) -> Floats:
        """Velocity (3,) of the centre of mass, m/s."""
        result: Floats = self.momentum / self.mass
        return result

    @property
    def angular_velocity(self) -> Floats:
        """Angular velocity (3,), rad/s."""
        r = self.rotation
        omega: Floats = r @ (self._inverse_inertia @ (r.T @ self.angular_momentum))
        return omega

    @property
    def pose(self) -> Pose:
        """The pose: where the rest pose is carried to; assignable, which keeps the velocity of the centre and the angular velocity."""
        r = self.rotation
        return Pose(tuple((self.state_row[:3] - r @ self.properties.center).tolist()), r.tolist())

    @pose.setter
    def pose(self, value: Pose) -> None:
        p = _checks.one_of_type("pose", value, Pose)
        if p.dimension != 3:
            raise ValueError(f"pose must be 3-D, not {p.dimension}-D")
        omega = self.angular_velocity if self.state_row[3:7].any() else np.zeros(3)
        self.state_row[:3] = p.apply(self.properties.center[None])[0]
        self.state_row[3:7] = quaternion_of(np.array(p.rotation))
        self.matrix[...] = self.rotation
        self._turn_with(omega)

    @property
    def twist(self) -> Twist:
        """The velocity, of the point of the body that was the origin in the rest pose, m/s, and rad/s; assignable if forces move it."""
        omega = self.angular_velocity
        arm = np.array(self.pose.translation) - self.center
        return Twist(tuple((self.velocity + np.cross(omega, arm)).tolist()), tuple(omega.tolist()))

    @twist.setter
    def twist(self, value: Twist) -> None:
        t = _checks.one_of_type("twist", value, Twist)
        if t.dimension != 3:
            raise ValueError(f"twist must be 3-D, not {t.dimension}-D")
        if not self.is_dynamic:
            raise ValueError("a body that is fixed or moves along a path has no velocity of its own")
        self._move_with(t)

    def _move_with(self, t: Twist) -> None:
        omega = np.array(t.angular)
        self.momentum[...] = self.mass * (np.array(t.linear) + np.cross(omega, self.center - np.array(self.pose.translation)))
        self._turn_with(omega)

    @property
    def kinetic_energy(self) -> float:
        """Kinetic energy, J."""
        return float(0.5 * (self.momentum @ self.velocity + self.angular_momentum @ self.angular_velocity))

    def set_rotation(self, rotation: Floats) -> None:
        """Turn the body so that this is its rotation (3, 3) from the rest pose; both momenta stay.

        Raises:
            TypeError, ValueError: not an array of that shape, or no rotation to within 1e-6: it stretches or mirrors.
        """
        r = _checks.numbers("rotation", rotation)
        if r.shape != (3, 3):
            raise ValueError(f"rotation must have shape (3, 3), not {r.shape}")
        _checks.require_finite("rotation", r)
        if np.abs(r @ r.T - np.eye(3)).max() > _NO_ROTATION or np.linalg.det(r) < 0:
            raise ValueError("rotation must be a rotation matrix: its columns of length 1, at right angles, and not mirrored")
        self.state_row[3:7] = quaternion_of(r)
        self.matrix[...] = self.rotation

    def positions(self, points: Floats | None = None) -> Floats:
        """Return where points (n, 3) of the rest pose are, m; default the vertices of the mesh."""
        if points is None:
            if self.mesh is None:
                raise ValueError("the body has no mesh")
            points = self.mesh.vertices
        elif np.ndim(points) != 2 or np.shape(points)[1] != 3:
            raise ValueError(f"points must have shape (n, 3), not {np.shape(points)}")
        result: Floats = (points - self.properties.center) @ self.rotation.T + self.state_row[:3]
        return result

    def velocities(self, points: Floats) -> Floats:
        """Return the velocities (n, 3) of the body at points (n, 3) of space, m/s."""
        return self.velocity + np.cross(self.angular_velocity, points - self.state_row[:3])

    # --- impulses ------------------------------------------------------------------------------------------------------------

    def inverse_mass(self, points: Floats) -> Floats:
        """Return matrices (n, 3, 3), 1/kg: an impulse at a point (n, 3) of space, m, changes the velocity there by matrix @ impulse.

        Zeros for a body that forces do not move.

        Source: Müller, Stam, James and Thürey 2008, section 6.3 (w_A along a normal).
        """
        x = _checks.points("points", points, np.dtype(np.float64), 3)
        _checks.require_finite("points", x)
        if not self.is_dynamic:
            return np.zeros((len(x), 3, 3))
        skew = skew_of(x - self.state_row[:3])
        r = self.rotation
        inverse = r @ self._inverse_inertia @ r.T
        result: Floats = np.eye(3) / self.mass - skew @ inverse @ skew
        return result

    @exclusively
    def apply_impulses(self, points: Floats, impulses: Floats) -> None:
        """Let impulses (n, 3), kg m/s, act at points (n, 3) of space, m. No effect on a body that forces do not move."""
        x = _checks.points("points", points, np.dtype(np.float64), 3)
        p = _checks.points("impulses", impulses, np.dtype(np.float64), 3)
        if x.shape != p.shape:
            raise ValueError(f"points and impulses must be as many, not {len(x)} and {len(p)}")
        _checks.require_finite("points", x)
        _checks.require_finite("impulses", p)
        if self.is_dynamic:
            self.momentum[...] += p.sum(axis=0)
            self.angular_momentum[...] += np.cross(x - self.state_row[:3], p).sum(axis=0)

    # --- motion --------------------------------------------------------------------------------------------------------------

    @exclusively
    def step(
        self,
        dt: float,
        force: Sequence[float] | Floats | None = None,
        torque: Sequence[float] | Floats | None = None,
        *,
        steps: int = 1,
        method: RigidMethod = "midpoint",
    ) -> None:
        """Advance by `steps` steps of dt seconds each, with a constant force (N) and torque (N m) about the centre, besides gravity.

        Args:
            dt: s, positive.
            force, torque: (3,); default none.
            steps: their number.
            method: "midpoint": the orientation turns about the angular velocity in the middle of the step, of second order and symmetric
                in time; "fourth-order": three of these; "explicit-euler": as printed, with the mass that the printed line lacks:
                `matrix` is then no rotation, its columns grow.

        Raises:
            TypeError, ValueError: other arguments, a path that turns the body by half a turn in a step. Nothing has changed.

        Source: Müller, Stam, James and Thürey 2008, section 6.2.
        """
        dt = _checks.positive("dt", dt)
        count = _checks.integer("steps", steps, at_least=1)
        kind = RIGID_METHOD("method", method)
        f = np.zeros(3) if force is None else np.array(_checks.vector("force", force, 3))
        t = np.zeros(3) if torque is None else np.array(_checks.vector("torque", torque, 3))
        if self._path is not None:
            self._follow(dt, count)
        elif self.is_dynamic:
            require_turns(self.state_row[None], lambda _: "the body")
            row, matrix = self.state_row[None].copy(), self.matrix.reshape(1, 9).copy()
            forces = (f + self.mass * self.gravity)[None]
            _solids.move_rigid_bodies(row, self._row, forces, t[None], dt, count, kind, matrix)
            if not np.isfinite(row).all():
                raise ValueError("the step leads to values that are not finite; nothing has changed")
            self.state_row[...] = row[0]
            self.matrix[...] = matrix.reshape(3, 3) if method == "explicit-euler" else self.rotation
        self.time += count * dt

    def max_dt(self) -> float:
        """Return the step (s) that is advised: 1/60, for nothing limits it."""
        return LONGEST

    def advance(self, duration: float, on_step: OnStep | None = None, *, longest: float = LONGEST, **options: Any) -> list[None]:
        """Advance by a duration (s) in equal steps of at most `longest`, with options of `step`; return None for each."""
        most = _checks.positive("longest", longest)
        return advance_in_steps(self, duration, on_step, lambda: most, lambda h: self.step(h, **options))

    def predict(
        self, dt: float, force: Sequence[float] | Floats | None = None, torque: Sequence[float] | Floats | None = None
    ) -> tuple[Pose, Twist]:
        """Return pose and velocity after a step as by `step`, and leave the body as it is."""
        time, row, matrix = self.time, self.state_row.copy(), self.matrix.copy()
        try:
            self.step(dt, force, torque)
            return self.pose, self.twist
        finally:
            self.time = time
            self.state_row[...] = row
            self.matrix[...] = matrix

    def as_solid(self) -> KinematicSolid:
        """Return this body as an obstacle, which follows it: between steps it goes on with the velocity that it has.

        One that moves along a path is there at any time, whether the body takes steps or not.

        Raises:
            ValueError: the body has neither a shape nor a closed surface.
        """
        form: Any = self.shape
        if form is None:
            form = self.mesh.boundary if isinstance(self.mesh, TetMesh) else self.mesh
        if not isinstance(form, (Shape, TriangleMesh)) or (isinstance(form, TriangleMesh) and not form.check_watertight().watertight):
            raise ValueError("an obstacle needs a shape or a closed surface, which the body has not")
        if self._path is not None:
            return KinematicSolid(form, self._path)
        return KinematicSolid(form, self.pose_at, velocity=self.twist_at)

    def pose_at(self, time: float) -> Pose:
        """Return the pose at a time (s) near that of the body, with its present velocity; of a path, the pose that this gives."""
        if self._path is not None:
            return self._path(time)
        h = time - self.time
        omega = self.angular_velocity * h
        r = rotation_of(turn_of(omega)) @ self.rotation
        center = self.state_row[:3] + h * self.velocity
        return Pose(tuple((center - r @ self.properties.center).tolist()), r.tolist())

    def twist_at(self, time: float) -> Twist:
        """Return the velocity at a time (s) near that of the body: of the origin of the rest pose, as in `twist`."""
        omega = self.angular_velocity
        arm = np.array(self.pose_at(time).translation) - (self.state_row[:3] + (time - self.time) * self.velocity)
        return Twist(tuple((self.velocity + np.cross(omega, arm)).tolist()), tuple(omega.tolist()))

    def _follow(self, dt: float, count: int) -> None:
        path = self._path
        assert path is not None
        start = _checks.one_of_type("the result of motion", path(self.time + (count - 1) * dt), Pose)
        end = _checks.one_of_type("the result of motion", path(self.time + count * dt), Pose)
        twist = twist_between(start, end, dt)
        self.pose = end
        # The twist is that of the point where the origin was at the start.
        linear = np.array(twist.linear) + np.cross(np.array(twist.angular), np.array(end.translation) - np.array(start.translation))
        self._move_with(Twist(tuple(linear.tolist()), twist.angular))

    def _turn_with(self, omega: Floats) -> None:
        """Set the angular momentum that belongs to an angular velocity."""
        r = self.rotation
        self.angular_momentum[...] = r @ (self.properties.inertia @ (r.T @ omega))

    def __repr__(self) -> str:
        """One line: kind, mass, place, speed."""
        kind = "dynamic" if self.is_dynamic else "moving" if self._path is not None else "fixed"
        place = ", ".join(f"{x:.3g}" for x in self.state_row[:3])
        speed = math.hypot(*self.velocity)
        return f"<RigidBody, {kind}, {self.mass:.3g} kg at ({place}) m, {speed:.3g} m/s, t = {self.time:g} s>"


def hull_of(points: Any) -> TriangleMesh:
    """Return the convex hull of points (n, 3), with exact signs: the boundary of their Delaunay tetrahedra."""
    return delaunay(np.unique(np.asarray(points, np.float64), axis=0)).boundary
