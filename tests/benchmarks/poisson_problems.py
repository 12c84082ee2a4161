"""Poisson problems of the benchmark, as plain arrays: five kinds of sides, and three kinds of insides.

Spacing one: the equation of a cell is the sum over its faces of coefficient times (own value - value beyond) = right-hand side. Beyond a
side of the domain, and in cells that are no unknowns, the value is zero, so that a coefficient there is a Dirichlet condition, and
coefficient zero is a wall. Around a periodic axis the first and the last face are one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray

SPHERE_RADIUS = 0.2
WAVE_HEIGHT = 0.03
# The surface is at least this far from the centre of a liquid cell, in cells, which bounds the ghost-fluid coefficients.
LEAST_THETA = 0.01


def along(axis: int, begin: int | None, end: int | None) -> tuple[slice, ...]:
    """A slice along one of the three axes."""
    return tuple(slice(begin, end) if d == axis else slice(None) for d in range(3))


@dataclass
class Problem:
    """Coefficients on all faces, the cells that are unknowns (None: all), and the right-hand side, which is zero elsewhere."""

    name: str
    faces: list[Array]
    active: Array | None
    rhs: Array
    closed: bool  # constants are in the null space
    periodic: bool = False  # along all axes

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells per axis."""
        return self.rhs.shape

    @cached_property
    def unknowns(self) -> int:
        """Number of unknowns."""
        return self.rhs.size if self.active is None else int(self.active.sum())

    def diagonal(self) -> Array:
        """Sum of the face coefficients of each cell; zero where it is no unknown."""
        total = np.zeros(self.shape)
        for axis, faces in enumerate(self.faces):
            total += faces[along(axis, None, -1)]
            total += faces[along(axis, 1, None)]
        if self.active is not None:
            total[~self.active] = 0.0
        return total

    def links(self, axis: int) -> Array:
        """Coefficient between each cell and its lower neighbour along an axis; zero where one of the two is no unknown."""
        links = self.faces[axis][along(axis, None, -1)].copy()
        if not self.periodic:
            links[along(axis, 0, 1)] = 0.0
        if self.active is not None:
            links[~self.active] = 0.0
            links[~np.roll(self.active, 1, axis)] = 0.0
        return links

    def residual(self, x: Array) -> float:
        """Norm of the right-hand side minus matrix times `x`, relative to that of the right-hand side."""
        r = self.rhs - self.diagonal() * x
        for axis in range(3):
            links = self.links(axis)
            r += links * np.roll(x, 1, axis)
            r += np.roll(links * x, -1, axis)
        return float(np.linalg.norm(r) / np.linalg.norm(self.rhs))


def _face_shape(n: int, axis: int) -> tuple[int, ...]:
    return tuple(n + 1 if d == axis else n for d in range(3))


def _face_centers(n: int, axis: int) -> list[Array]:
    """Coordinates of the face centres in the unit box, ready to be broadcast."""
    centers = []
    for d in range(3):
        x = np.arange(n + 1) / n if d == axis else (np.arange(n) + 0.5) / n
        centers.append(x.reshape([-1 if e == d else 1 for e in range(3)]))
    return centers


def open_triangle(a: Array, b: Array, c: Array) -> Array:
    """The part of a triangle on which the linear function with these values at the corners is positive."""
    low, middle, high = np.sort(np.stack([a, b, c]), axis=0)
    part = (low > 0).astype(np.float64)
    one = (middle <= 0) & (high > 0)
    part[one] = high[one] ** 2 / ((high[one] - low[one]) * (high[one] - middle[one]))
    two = (middle > 0) & (low <= 0)
    part[two] = 1.0 - low[two] ** 2 / ((middle[two] - low[two]) * (high[two] - low[two]))
    return part


def open_fractions(phi: Array, axis: int) -> Array:
    """The part of each face on which phi, given at the nodes, is positive; each face is two triangles."""
    first, second = (d for d in range(3) if d != axis)

    def corner(i: int, j: int) -> Array:
        return phi[along(first, i, None if i else -1)][along(second, j, None if j else -1)]

    a, b, c, d = (corner(i, j) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1)))
    least = np.minimum(np.minimum(a, b), np.minimum(c, d))
    largest = np.maximum(np.maximum(a, b), np.maximum(c, d))
    fractions = (least > 0).astype(np.float64)
    cut = (least <= 0) & (largest > 0)
    fractions[cut] = 0.5 * (open_triangle(a[cut], b[cut], c[cut]) + open_triangle(a[cut], c[cut], d[cut]))
    return fractions


# Coefficient on the sides: beyond them the value is zero one cell away, or half a cell away, which is on the faces; or there are walls.
SIDES = {"far": 1.0, "faces": 2.0, "closed": 0.0, "top": 0.0, "periodic": 1.0}
INSIDES = ("empty", "sphere", "half")
# With which the others are compared.
BOX = "far-empty"
# Cells that the sphere has moved along every axis when the set-up is timed again.
MOVED = 1.0


def _around_sphere(n: int, moved: float) -> list[Array]:
    """The open part of every face around a solid sphere."""
    nodes = np.meshgrid(*[(np.arange(n + 1) - moved) / n] * 3, indexing="ij", sparse=True)
    phi = np.sqrt(sum((x - 0.5) ** 2 for x in nodes)) - SPHERE_RADIUS
    return [open_fractions(phi, axis) for axis in range(3)]


def _below_waves(n: int, moved: float) -> tuple[list[Array], Array]:
    """Ghost-fluid coefficients of a liquid below a wave, one in it and zero in air, and the cells with liquid."""
    x, y, z = np.meshgrid(*[(np.arange(n) + 0.5 - moved * (axis < 2)) / n for axis in range(3)], indexing="ij", sparse=True)
    phi = z - 0.5 - WAVE_HEIGHT * np.cos(2.0 * np.pi * x) * np.cos(4.0 * np.pi * y)
    active = phi <= 0
    faces = []
    for axis in range(3):
        coefficients = np.zeros(_face_shape(n, axis))
        wrapped = np.concatenate([phi[along(axis, -1, None)], phi, phi[along(axis, 0, 1)]], axis)
        lower, upper = wrapped[along(axis, None, -1)], wrapped[along(axis, 1, None)]
        coefficients[(lower <= 0) & (upper <= 0)] = 1.0
        for liquid, air in ((lower, upper), (upper, lower)):
            surface = (liquid <= 0) & (air > 0)
            theta = liquid[surface] / (liquid[surface] - air[surface])
            coefficients[surface] = 1.0 / np.maximum(theta, LEAST_THETA)
        faces.append(coefficients)
    return faces, active


def _divergence(faces: list[Array], n: int) -> Array:
    """Of a smooth periodic velocity through the open parts of the faces."""
    rhs = np.zeros((n, n, n))
    for axis, open_part in enumerate(faces):
        x, y, z = (_face_centers(n, axis) * 2)[axis : axis + 3]
        velocity = np.sin(2.0 * np.pi * (x + 2.0 * y)) * np.cos(4.0 * np.pi * z - 1.0) + 0.5 * np.cos(2.0 * np.pi * (2.0 * x - z))
        rhs += np.diff(open_part * velocity, axis=axis)
    return rhs


def problem(sides: str, inside: str, n: int, moved: float = 0.0) -> Problem:
    """One of the kinds, with what is inside moved by so many cells along every axis (waves: along the horizontal ones).

    The sphere is solid and has the open fractions of the faces as coefficients (linear cuts, nothing rounded or left out). Half full: air
    is no unknown, and faces at the surface have ghost-fluid coefficients 1/theta. Where constants are in the null space, the right-hand
    side is the divergence of a smooth velocity through the open faces, else one.
    """
    active: Array | None = None
    if inside == "half":
        faces, active = _below_waves(n, moved)
    else:
        faces = _around_sphere(n, moved) if inside == "sphere" else [np.ones(_face_shape(n, axis)) for axis in range(3)]
    for axis in range(3):
        for upper in (False, True):
            if sides != "periodic":
                part = along(axis, -1, None) if upper else along(axis, 0, 1)
                open_top = sides == "top" and axis == 2 and upper
                inside_it = 1.0 if active is None else active[part]
                # What the waves do across a side of the domain does not count.
                faces[axis][part] = inside_it * (2.0 if open_top else SIDES[sides])
            elif inside == "half" and axis == 2:
                # Waves do not close around the vertical axis: a floor.
                faces[axis][along(axis, -1 if upper else 0, None if upper else 1)] = 0.0
    if inside == "sphere":
        active = sum((f[along(d, None, -1)] > 0) | (f[along(d, 1, None)] > 0) for d, f in enumerate(faces)) > 0
    closed = inside != "half" and sides in ("closed", "periodic")
    rhs = _divergence(faces, n) if closed else np.ones((n, n, n)) if active is None else active.astype(np.float64)
    return Problem(f"{sides}-{inside}", faces, active, rhs, closed, periodic=sides == "periodic")


PROBLEMS: dict[str, Callable[..., Problem]] = {f"{s}-{i}": partial(problem, s, i) for s in SIDES for i in INSIDES}
