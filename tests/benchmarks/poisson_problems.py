"""Poisson problems of the benchmark, as plain arrays: a box, a sphere in a closed box, a half-filled tank.

Spacing one: the equation of a cell is the sum over its faces of coefficient times (own value - value beyond) = right-hand side. Beyond a
side of the domain, and in cells that are no unknowns, the value is zero, so that a coefficient there is a Dirichlet condition, and
coefficient zero is a wall.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
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
        links[along(axis, 0, 1)] = 0.0
        if self.active is not None:
            links[~self.active] = 0.0
            links[along(axis, 1, None)][~self.active[along(axis, None, -1)]] = 0.0
        return links

    def residual(self, x: Array) -> float:
        """Norm of the right-hand side minus matrix times `x`, relative to that of the right-hand side."""
        r = self.rhs - self.diagonal() * x
        for axis in range(3):
            lower, upper = along(axis, None, -1), along(axis, 1, None)
            links = self.links(axis)[upper]
            r[upper] += links * x[lower]
            r[lower] += links * x[upper]
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


def box(n: int) -> Problem:
    """Every face has coefficient one, also those on the sides, beyond which the value is zero; right-hand side one."""
    faces = [np.ones(_face_shape(n, axis)) for axis in range(3)]
    return Problem("box", faces, None, np.ones((n, n, n)), closed=False)


def sphere(n: int) -> Problem:
    """A solid sphere in a closed box: coefficients are open fractions; the right-hand side is the divergence of a smooth velocity."""
    nodes = np.meshgrid(*[np.arange(n + 1) / n] * 3, indexing="ij", sparse=True)
    phi = np.sqrt(sum((x - 0.5) ** 2 for x in nodes)) - SPHERE_RADIUS
    faces, rhs = [], np.zeros((n, n, n))
    active = np.zeros((n, n, n), dtype=bool)
    for axis in range(3):
        fractions = open_fractions(phi, axis)
        fractions[along(axis, 0, 1)] = 0.0
        fractions[along(axis, -1, None)] = 0.0
        x, y, z = (_face_centers(n, axis) * 2)[axis : axis + 3]
        flux = fractions * (np.sin(2.0 * x + 5.0 * y) * np.cos(3.0 * z - 1.0))
        rhs += np.diff(flux, axis=axis)
        active |= (fractions[along(axis, None, -1)] > 0) | (fractions[along(axis, 1, None)] > 0)
        faces.append(fractions)
    return Problem("sphere", faces, active, rhs, closed=True)


def tank(n: int) -> Problem:
    """Walls all around and liquid below a wave: air cells are no unknowns, faces at the surface have ghost-fluid coefficients."""
    x, y, z = np.meshgrid(*[(np.arange(n) + 0.5) / n] * 3, indexing="ij", sparse=True)
    phi = z - 0.5 - WAVE_HEIGHT * np.cos(2.0 * np.pi * x) * np.cos(4.0 * np.pi * y)
    active = phi <= 0
    faces = []
    for axis in range(3):
        coefficients = np.zeros(_face_shape(n, axis))
        lower, upper = phi[along(axis, None, -1)], phi[along(axis, 1, None)]
        inner = coefficients[along(axis, 1, -1)]
        inner[(lower <= 0) & (upper <= 0)] = 1.0
        for liquid, air in ((lower, upper), (upper, lower)):
            surface = (liquid <= 0) & (air > 0)
            theta = liquid[surface] / (liquid[surface] - air[surface])
            inner[surface] = 1.0 / np.maximum(theta, LEAST_THETA)
        faces.append(coefficients)
    return Problem("tank", faces, active, active.astype(np.float64), closed=False)


PROBLEMS: dict[str, Callable[[int], Problem]] = {"box": box, "sphere": sphere, "tank": tank}
