"""Primitive shapes, each with the exact signed distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus.surface.shapes.constructive import Shape, Vector


@dataclass(frozen=True, eq=False, repr=False)
class Sphere(Shape):
    """A ball, in 2-D a disc: center (m), radius (m). The length of `center` decides the dimension."""

    center: Vector
    radius: float

    def _make(self) -> None:
        c, r = _checks.point("center", self.center), _checks.positive("radius", self.radius)
        self._set(_surface.sphere(c, r), center=c, radius=r)


@dataclass(frozen=True, eq=False, repr=False)
class Box(Shape):
    """An axis-aligned box from its lower to its upper corner (m), edges rounded by `rounding` (m) within; turn it with `rotated`."""

    lower: Vector
    upper: Vector
    rounding: float = 0.0

    def _make(self) -> None:
        a = _checks.point("lower", self.lower)
        b = _checks.vector("upper", self.upper, len(a))
        r = _checks.number("rounding", self.rounding)
        self._set(_surface.box(a, b, r), lower=a, upper=b, rounding=r)


@dataclass(frozen=True, eq=False, repr=False)
class HalfSpace(Shape):
    """Everything behind the plane through `point` (m); `normal`, of any length but zero, points out of the solid."""

    point: Vector
    normal: Vector

    def _make(self) -> None:
        p = _checks.point("point", self.point)
        v = _checks.vector("normal", self.normal, len(p))
        self._set(_surface.half_space(p, v), point=p, normal=v)


@dataclass(frozen=True, eq=False, repr=False)
class Capsule(Shape):
    """All points within `radius` (m) of the segment from `start` to `end` (m)."""

    start: Vector
    end: Vector
    radius: float

    def _make(self) -> None:
        a = _checks.point("start", self.start)
        b = _checks.vector("end", self.end, len(a))
        r = _checks.positive("radius", self.radius)
        self._set(_surface.capsule(a, b, r), start=a, end=b, radius=r)


@dataclass(frozen=True, eq=False, repr=False)
class Cylinder(Shape):
    """A cylinder (3-D) around the segment from `start` to `end` (m), with flat ends."""

    start: Vector
    end: Vector
    radius: float

    def _make(self) -> None:
        a, b = _checks.vector("start", self.start, 3), _checks.vector("end", self.end, 3)
        r = _checks.positive("radius", self.radius)
        self._set(_surface.cone(a, b, r, r), start=a, end=b, radius=r)


@dataclass(frozen=True, eq=False, repr=False)
class Cone(Shape):
    """A frustum (3-D) around the segment from `start` to `end` (m) with flat ends; one of the radii (m) may be zero."""

    start: Vector
    end: Vector
    start_radius: float
    end_radius: float = 0.0

    def _make(self) -> None:
        a, b = _checks.vector("start", self.start, 3), _checks.vector("end", self.end, 3)
        r, s = _checks.number("start_radius", self.start_radius), _checks.number("end_radius", self.end_radius)
        self._set(_surface.cone(a, b, r, s), start=a, end=b, start_radius=r, end_radius=s)


@dataclass(frozen=True, eq=False, repr=False)
class Torus(Shape):
    """A ring (3-D) of circular section: the circle of `major_radius` (m) around `axis`, thick by `minor_radius` (m)."""

    center: Vector
    axis: Vector
    major_radius: float
    minor_radius: float

    def _make(self) -> None:
        c, a = _checks.vector("center", self.center, 3), _checks.vector("axis", self.axis, 3)
        r, s = _checks.positive("major_radius", self.major_radius), _checks.positive("minor_radius", self.minor_radius)
        self._set(_surface.torus(c, a, r, s), center=c, axis=a, major_radius=r, minor_radius=s)


@dataclass(frozen=True, eq=False, repr=False)
class Ellipsoid(Shape):
    """An ellipsoid, in 2-D an ellipse, along the axes; one radius (m) per axis.

    Source of the distance: Eberly, "Distance from a point to an ellipse, an ellipsoid, or a hyperellipsoid".
    """

    center: Vector
    radii: Vector

    def _make(self) -> None:
        c = _checks.point("center", self.center)
        r = _checks.vector("radii", self.radii, len(c))
        for radius in r:
            _checks.positive("each of radii", radius)
        if not all(1e-100 <= radius <= 1e100 for radius in r):  # powers of them are divided
            raise ValueError(f"radii must be from 1e-100 to 1e100 m, not {r}")
        self._set(_surface.ellipsoid(c, r), center=c, radii=r)


@dataclass(frozen=True, eq=False, repr=False)
class Polygon(Shape):
    """A polygon (2-D): one loop of vertices (n, 2), m, or a sequence of loops; a point inside is surrounded by an odd number of them.

    Loops may run either way and may be holes; they should not cross themselves or each other (where they do, the even-odd rule holds).
    """

    loops: Any

    def _make(self) -> None:
        value = self.loops
        if isinstance(value, (str, bytes)) or not isinstance(value, (Sequence, np.ndarray)) or len(value) == 0:
            raise TypeError(f"loops must be an array of vertices (n, 2) or a sequence of such, not {value!r}")
        if np.ndim(value[0]) == 1:
            value = [value]
        if any(np.ndim(loop) != 2 for loop in value):
            raise TypeError(f"loops must be an array of vertices (n, 2) or a sequence of such, not {value!r}")
        loops = tuple(tuple(_checks.vector(f"loops[{i}][{j}]", v, 2) for j, v in enumerate(loop)) for i, loop in enumerate(value))
        self._set(_surface.polygon(loops), loops=loops)
