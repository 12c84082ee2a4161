"""Shapes and their constructive operations: signed distances, negative inside, in metres."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus._types import AnyShape
from meniscus.core import Workspace
from meniscus.grid.fields import ScalarField
from meniscus.grid.transport.advection import workspace_or_new
from meniscus.numerics.rotation_matrix import Rows, rotation_matrix
from meniscus.surface.shapes.pose import Pose

Floats = npt.NDArray[np.float64]
Vector = Sequence[float]


@dataclass(frozen=True, eq=False, repr=False)
class Shape:
    """A solid in 2-D or 3-D. Shapes do not change; they compare, hash and pickle by their parameters.

    Operators: `a | b` is the union, `a & b` the intersection, `a - b` the difference, `~a` everything outside of a.

    Primitives give the exact distance to their surface. A union is exact outside and an intersection inside; elsewhere near edges they
    give a bound: the sign is right and the size never above the distance.
    """

    _core: AnyShape = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Check the parameters and make the native shape."""
        self._make()

    @property
    def dimension(self) -> int:
        """2 or 3."""
        return self._core.dimension

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Lower and upper corner, m, of a box around the shape; infinite where it is not bounded."""
        lower, upper = self._box
        return np.array(lower), np.array(upper)

    @cached_property
    def _box(self) -> tuple[Vector, Vector]:
        lower, upper = self._core.bounds()
        return lower, upper

    def signed_distance(self, points: Floats) -> Floats:
        """Return phi (n,), m, at points (n, dim), m, float64. Raises TypeError or ValueError for other arrays."""
        x = _checks.points("points", points, np.dtype(np.float64), self.dimension)
        _checks.require_finite("points", x)
        out = np.empty(len(x))
        self._core.signed_distance(x, out)
        return out

    def normals(self, points: Floats) -> Floats:
        """Return the outward unit normals (n, dim), the gradients of phi, at points (n, dim), m, float64; errors as `signed_distance`.

        Where phi has no gradient, such as at edges and centres, any direction is returned.
        """
        x = _checks.points("points", points, np.dtype(np.float64), self.dimension)
        _checks.require_finite("points", x)
        out = np.empty(np.shape(x))
        self._core.normals(x, out)
        return out

    def sample(
        self,
        phi: ScalarField,
        *,
        pose: Pose | None = None,
        band: float = math.inf,
        periodic_images: bool = True,
        workspace: Workspace | None = None,
    ) -> None:
        """Set a cell or node field to the signed distance at its samples, m.

        Args:
            phi: of the shape's dimension, float64 or float32.
            pose: pose of the shape; default: as it was made.
            band: m; samples in blocks farther from the surface get a bound of the right sign, at least `band` in size and not above the
                distance, which is cheaper. Default: the shape's own values everywhere.
            periodic_images: repeat the shape along periodic axes of the grid (those on which it is bounded).
            workspace: scratch memory to reuse.

        Raises:
            TypeError, ValueError: not such a field, another dimension, a band that is not positive.
        """
        _checks.one_of_type("phi", phi, ScalarField)
        if phi.grid.dimension != self.dimension:
            raise ValueError(f"phi must be {self.dimension}-D like the shape, not {phi.grid.dimension}-D")
        pose = Pose((0.0,) * self.dimension) if pose is None else _checks.one_of_type("pose", pose, Pose)
        if pose.dimension != self.dimension:
            raise ValueError(f"pose must be {self.dimension}-D like the shape, not {pose.dimension}-D")
        _surface.sample_signed_distance(
            self._core,
            pose.rotation,
            pose.translation,
            checked_band(band),
            _checks.flag("periodic_images", periodic_images),
            phi._core,
            workspace_or_new(workspace),
        )

    def translated(self, translation: Vector) -> Transformed:
        """Return the shape moved by a vector (m)."""
        return Transformed(self, _identity(self.dimension), _checks.vector("translation", translation, self.dimension))

    def rotated(self, rotation: Any, about: Vector | None = None) -> Transformed:
        """Return the shape turned around a point.

        Args:
            rotation: an angle (rad, counter-clockwise; 2-D), a rotation matrix, or a unit quaternion (w, x, y, z).
            about: the point that stays, m; default: the origin.
        """
        matrix = np.array(rotation_matrix("rotation", rotation, self.dimension))
        center = np.zeros(self.dimension) if about is None else np.array(_checks.vector("about", about, self.dimension))
        return Transformed(self, _rows(matrix), tuple((center - matrix @ center).tolist()))

    def scaled(self, factor: float, about: Vector | None = None) -> Transformed:
        """Return the shape scaled by a factor > 0 from a point (m; default: the origin)."""
        s = _checks.positive("factor", factor)
        center = np.zeros(self.dimension) if about is None else np.array(_checks.vector("about", about, self.dimension))
        return Transformed(self, _identity(self.dimension), tuple(((1.0 - s) * center).tolist()), s)

    def offset(self, distance: float) -> Offset:
        """Return the shape grown by a distance (m) with rounded edges; shrunk by a negative one."""
        return Offset(self, distance)

    def shell(self, thickness: float) -> Shell:
        """Return a wall of this thickness (m), half of it on either side of the surface."""
        return Shell(self, thickness)

    def smooth_union(self, other: Shape, width: float) -> SmoothUnion:
        """Return the union with a fillet in the seam, where the two distances differ by less than `width` (m)."""
        return SmoothUnion(self, other, width)

    def __or__(self, other: Shape) -> Union:
        """Union."""
        return Union((self, other)) if isinstance(other, Shape) else NotImplemented

    def __and__(self, other: Shape) -> Intersection:
        """Intersection."""
        return Intersection((self, other)) if isinstance(other, Shape) else NotImplemented

    def __sub__(self, other: Shape) -> Intersection:
        """Difference."""
        return Intersection((self, Complement(other))) if isinstance(other, Shape) else NotImplemented

    def __invert__(self) -> Complement:
        """Everything outside."""
        return Complement(self)

    def __eq__(self, other: object) -> bool:
        """Equal shapes have the same kind and parameters."""
        return type(other) is type(self) and self._parameters() == other._parameters()

    def __hash__(self) -> int:
        """Hash of what equality compares."""
        return hash((type(self), self._parameters()))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by constructor arguments."""
        return type(self), self._parameters()

    def __repr__(self) -> str:
        """Constructor call."""
        names = [f.name for f in fields(self) if f.init]
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in zip(names, self._parameters(), strict=True))})"

    def _make(self) -> None:
        raise TypeError("Shape is what all shapes share; make one of them")

    def _parameters(self) -> tuple[Any, ...]:
        return tuple(getattr(self, f.name) for f in fields(self) if f.init)

    def _set(self, core: AnyShape, **checked: Any) -> None:
        """Set the native shape, and replace the arguments by checked parameters."""
        for name, value in {"_core": core, **checked}.items():
            object.__setattr__(self, name, value)


def checked_band(band: object) -> float:
    """Return a positive number, which may be infinite."""
    return math.inf if band == math.inf else _checks.positive("band", band)


def _identity(dimension: int) -> Rows:
    return _rows(np.eye(dimension))


def _rows(matrix: Floats) -> Rows:
    return tuple(tuple(row) for row in matrix.tolist())


def _shapes(value: object) -> tuple[Shape, ...]:
    if not isinstance(value, (tuple, list)) or not value:
        raise TypeError(f"shapes must be a sequence of at least one Shape, not {value!r}")
    shapes = tuple(_checks.one_of_type(f"shapes[{i}]", s, Shape) for i, s in enumerate(value))
    for i, s in enumerate(shapes):
        if s.dimension != shapes[0].dimension:
            raise ValueError(f"shapes[{i}] must be {shapes[0].dimension}-D like shapes[0], not {s.dimension}-D")
    return shapes


def _cores(shapes: Sequence[Shape]) -> list[Any]:
    """Return native shapes, all of one dimension."""
    return [s._core for s in shapes]


@dataclass(frozen=True, eq=False, repr=False)
class Union(Shape):
    """Points in any of the shapes: min of the distances. Exact outside; a bound where the shapes overlap."""

    shapes: Sequence[Shape]

    def _make(self) -> None:
        s = _shapes(self.shapes)
        self._set(_surface.union(_cores(s)), shapes=s)


@dataclass(frozen=True, eq=False, repr=False)
class Intersection(Shape):
    """Points in all of the shapes: max of the distances. Exact inside; a bound outside, beyond the edges."""

    shapes: Sequence[Shape]

    def _make(self) -> None:
        s = _shapes(self.shapes)
        self._set(_surface.intersection(_cores(s)), shapes=s)


@dataclass(frozen=True, eq=False, repr=False)
class Complement(Shape):
    """Everything outside of a shape. As exact as the shape."""

    shape: Shape

    def _make(self) -> None:
        self._set(_surface.complement(_checks.one_of_type("shape", self.shape, Shape)._core))


@dataclass(frozen=True, eq=False, repr=False)
class Offset(Shape):
    """A shape grown by `distance` (m), shrunk by a negative one: phi - distance. As exact as the shape."""

    shape: Shape
    distance: float

    def _make(self) -> None:
        core, d = _checks.one_of_type("shape", self.shape, Shape)._core, _checks.number("distance", self.distance)
        self._set(_surface.offset(core, d), distance=d)


@dataclass(frozen=True, eq=False, repr=False)
class Shell(Shape):
    """A wall of `thickness` (m) around the surface of a shape: |phi| - thickness / 2. As exact as the shape."""

    shape: Shape
    thickness: float

    def _make(self) -> None:
        core, t = _checks.one_of_type("shape", self.shape, Shape)._core, _checks.positive("thickness", self.thickness)
        self._set(_surface.shell(core, t), thickness=t)


@dataclass(frozen=True, eq=False, repr=False)
class SmoothUnion(Shape):
    """A union with a fillet: min(a, b) - (width - |a - b|)^2 / (4 width) where the distances differ by less than `width` (m)."""

    a: Shape
    b: Shape
    width: float

    def _make(self) -> None:
        a, b = _shapes((self.a, self.b))
        w = _checks.positive("width", self.width)
        self._set(_surface.smooth_union(a._core, b._core, w), width=w)


@dataclass(frozen=True, eq=False, repr=False)
class Transformed(Shape):
    """A shape scaled about the origin, then rotated (see `Shape.rotated`), then translated (m). As exact as the shape."""

    shape: Shape
    rotation: Any
    translation: Vector
    scale: float = 1.0

    def _make(self) -> None:
        n = _checks.one_of_type("shape", self.shape, Shape).dimension
        pose = Pose(_checks.vector("translation", self.translation, n), self.rotation)
        s = _checks.positive("scale", self.scale)
        core = _surface.transformed(self.shape._core, pose.rotation, pose.translation, s)
        self._set(core, rotation=pose.rotation, translation=pose.translation, scale=s)
