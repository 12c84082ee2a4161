"""Labyrinths and media of large contrast for pressure solves, with a matrix of their own for residuals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import meniscus as ms
from meniscus.grid import PoissonSolver
from meniscus.numerics.solve import SolveInfo

Faces = list[np.ndarray]


def faces_of(shape: tuple[int, ...], value: float = 1.0) -> Faces:
    """Coefficients of a closed box."""
    faces = []
    for d in range(len(shape)):
        f = np.full(tuple(n + (k == d) for k, n in enumerate(shape)), value)
        np.moveaxis(f, d, 0)[[0, -1]] = 0.0
        faces.append(f)
    return faces


def tree(shape: tuple[int, ...], seed: int) -> Faces:
    """A maze without loops whose corridors are one cell wide, and whose walls faces without coefficient."""
    rng, faces = np.random.default_rng(seed), faces_of(shape, 0.0)
    seen, way = np.zeros(shape, bool), [(0,) * len(shape)]
    seen[way[0]] = True
    while way:
        at = way[-1]
        steps = []
        for d in range(len(shape)):
            for side in (-1, 1):
                to = (*at[:d], at[d] + side, *at[d + 1 :])
                if 0 <= to[d] < shape[d] and not seen[to]:
                    steps.append((d, to))
        if not steps:
            way.pop()
            continue
        d, to = steps[rng.integers(len(steps))]
        seen[to] = True
        faces[d][(*to[:d], max(at[d], to[d]), *to[d + 1 :])] = 1.0
        way.append(to)
    return faces


def rooms(n: int, width: int, wall: int, seed: int) -> np.ndarray:
    """Cells of a maze of n x n rooms, with mouths at two sides."""
    faces, step = tree((n, n), seed), width + wall
    active = np.zeros((n * step + wall,) * 2, bool)
    for i, j in np.ndindex(n, n):
        a, b = i * step + wall, j * step + wall
        active[a : a + width, b : b + width] = True
        if faces[0][i + 1, j]:
            active[a : a + step + width, b : b + width] = True
        if faces[1][i, j + 1]:
            active[a : a + width, b : b + step + width] = True
    active[:wall, wall : wall + width] = active[-wall:, -step:-wall] = True
    return active


def spiral(turns: int, width: int, wall: int) -> np.ndarray:
    """Cells of a corridor that winds inwards."""
    step = width + wall
    n = 2 * turns * step + width + 2 * wall
    active = np.zeros((n, n), bool)
    place, heading, length = np.array([wall, wall]), 0, n - 2 * wall
    active[:wall, wall : wall + width] = True
    for leg in range(4 * turns):
        along = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)][heading])
        far = place + along * (length - width)
        low, high = np.minimum(place, far), np.maximum(place, far) + width
        active[low[0] : high[0], low[1] : high[1]] = True
        place, heading = far, (heading + 1) % 4
        if leg == 2 or (leg > 2 and leg % 2 == 0):
            length -= step
        if length <= width:
            break
    return active


def multiply(faces: Faces, active: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The matrix of closed sides, written from its definition: the flux out of each cell."""
    out = np.zeros_like(x)
    for d, f in enumerate(faces):
        f, v, on, to = (np.moveaxis(a, d, 0) for a in (f, x, active, out))
        flux = f[1:-1] * (v[:-1] - v[1:])
        to[:-1] += flux * on[:-1]
        to[1:] -= flux * on[1:]
        to[0] += f[0] * v[0] * on[0]
        to[-1] += f[-1] * v[-1] * on[-1]
    return np.where(active, out, 0.0)


def solve(faces: Faces, active: np.ndarray | None = None, *, tolerance: float = 1e-8, seed: int = 0) -> tuple[SolveInfo, float]:
    """Solve for a random right-hand side that the matrix can produce; return the report and the residual recomputed."""
    shape = tuple(n - (d == 0) for d, n in enumerate(faces[0].shape))
    active = np.ones(shape, bool) if active is None else active
    solver = PoissonSolver(ms.Grid(shape, 1.0))
    solver.set_coefficients(faces, active)
    rhs = np.where(active, np.random.default_rng(seed).normal(size=shape), 0.0)
    x, info = solver.solve(rhs, tolerance=tolerance)
    # Closed regions lose their means: what the solver says it has solved for.
    b = rhs - means(faces, active, rhs)
    return info, float(np.linalg.norm(multiply(faces, active, x) - b) / np.linalg.norm(b))


def regions(faces: Faces, active: np.ndarray) -> np.ndarray:
    """The number of the region of each cell, by union of neighbours."""
    cells = np.arange(active.size).reshape(active.shape)
    parent = np.arange(active.size)
    for d, f in enumerate(faces):
        c, on, w = (np.moveaxis(a, d, 0) for a in (cells, active, f))
        joined = (w[1:-1] > 0) & on[:-1] & on[1:]
        for a, b in zip(c[:-1][joined].tolist(), c[1:][joined].tolist(), strict=True):
            while parent[a] != a:
                parent[a] = a = parent[parent[a]]
            while parent[b] != b:
                parent[b] = b = parent[parent[b]]
            parent[max(a, b)] = min(a, b)
    while not np.array_equal(parent, up := parent[parent]):
        parent = up
    return parent.reshape(active.shape)


def means(faces: Faces, active: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """The mean of a right-hand side over each closed region; its value where a cell has no coefficient."""
    number = regions(faces, active)
    fixed = multiply(faces, active, active.astype(float)) > 0
    for d, f in enumerate(faces):
        f, on, to = (np.moveaxis(a, d, 0) for a in (f, active, fixed))
        to[:-1] |= (f[1:-1] > 0) & on[:-1] & ~on[1:]
        to[1:] |= (f[1:-1] > 0) & on[1:] & ~on[:-1]
    labels, inverse = np.unique(number, return_inverse=True)
    inverse = inverse.reshape(rhs.shape)
    closed = np.bincount(inverse.ravel(), fixed.ravel(), len(labels)) == 0
    mean = np.bincount(inverse.ravel(), rhs.ravel(), len(labels)) / np.bincount(inverse.ravel(), minlength=len(labels))
    return np.where(active & closed[inverse], mean[inverse], 0.0)


Case = Callable[[], tuple[Faces, np.ndarray | None]]


def cells_of(active: np.ndarray) -> tuple[Faces, np.ndarray]:
    """A medium in some cells, with closed walls between these and the others."""
    faces = faces_of(active.shape)
    for d, f in enumerate(faces):
        np.moveaxis(f, d, 0)[1:-1] *= np.moveaxis(active, d, 0)[:-1] & np.moveaxis(active, d, 0)[1:]
    return faces, active
