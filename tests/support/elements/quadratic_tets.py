"""Ten-node tetrahedra by the book, for tests: shape functions, stiffness and mass by a rule that is exact to degree 5."""

from __future__ import annotations

import itertools

import numpy as np

EDGES = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))


def shapes(at: np.ndarray) -> np.ndarray:
    """The shape functions (10,) at barycentric coordinates (4,)."""
    return np.concatenate([at * (2 * at - 1), [4 * at[i] * at[j] for i, j in EDGES]])


def shape_slopes(at: np.ndarray) -> np.ndarray:
    """Their derivatives (10, 3) by the last three barycentric coordinates, the first giving way."""
    by = np.zeros((10, 4))
    by[range(4), range(4)] = 4 * at - 1
    for k, (i, j) in enumerate(EDGES):
        by[4 + k, i], by[4 + k, j] = 4 * at[j], 4 * at[i]
    return by[:, 1:] - by[:, :1]


def gauss_rule(n: int = 4) -> list[tuple[np.ndarray, float]]:
    """Barycentric points and weights of sum 1: n points along each side of a cube that is collapsed into the tetrahedron."""
    s, w = np.polynomial.legendre.leggauss(n)
    s, w = (s + 1) / 2, w / 2
    rule = []
    for (a, u), (b, v), (c, t) in itertools.product(zip(s, w, strict=True), repeat=3):
        x, y, z = a, b * (1 - a), c * (1 - a) * (1 - b)
        rule.append((np.array([1 - x - y - z, x, y, z]), 6 * u * v * t * (1 - a) ** 2 * (1 - b)))
    return rule


def linear_stiffness(x: np.ndarray, elements: np.ndarray, lam: float, mu: float, rule: list[tuple[np.ndarray, float]]) -> np.ndarray:
    """The matrix (3n, 3n) of linear elasticity."""
    k = np.zeros((x.size, x.size))
    for e in elements:
        dof = (3 * e[:, None] + np.arange(3)).ravel()
        for at, weight in rule:
            j = x[e].T @ shape_slopes(at)
            g = shape_slopes(at) @ np.linalg.inv(j)
            b = np.zeros((6, 10, 3))
            for c in range(3):
                b[c, :, c] = g[:, c]
                d = (c + 1) % 3
                b[3 + c, :, c], b[3 + c, :, d] = g[:, d], g[:, c]
            law = np.diag([2 * mu] * 3 + [mu] * 3)
            law[:3, :3] += lam
            b = b.reshape(6, 30)
            k[np.ix_(dof, dof)] += weight * np.linalg.det(j) / 6 * b.T @ law @ b
    return k


def consistent_mass(x: np.ndarray, elements: np.ndarray, density: float) -> np.ndarray:
    """The mass matrix (n, n) of each direction."""
    m = np.zeros((len(x), len(x)))
    for e in elements:
        for at, weight in gauss_rule():
            n = shapes(at)
            m[np.ix_(e, e)] += density * weight * np.linalg.det(x[e].T @ shape_slopes(at)) / 6 * np.outer(n, n)
    return m
