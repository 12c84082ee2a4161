"""Exact reference geometry in Python integers, by methods that the library does not use: linear feasibility, cofactors."""

from collections.abc import Sequence
from math import gcd, lcm

import numpy as np

Row = list[int]


def integers(values: np.ndarray) -> list:
    """The values as nested lists of integers, all multiplied by the same power of two."""
    flat = [float(x).as_integer_ratio() for x in values.ravel()]
    common = lcm(*(d for _, d in flat)) if flat else 1
    numbers = iter(n * (common // d) for n, d in flat)

    def nest(shape: tuple[int, ...]) -> list:
        return [next(numbers) if len(shape) == 1 else nest(shape[1:]) for _ in range(shape[0])]

    return nest(values.shape)


def determinant(m: Sequence[Sequence[int]]) -> int:
    """Determinant by cofactors of the first row."""
    if len(m) == 1:
        return m[0][0]
    return sum((-1) ** j * m[0][j] * determinant([[*row[:j], *row[j + 1 :]] for row in m[1:]]) for j in range(len(m)) if m[0][j])


def sign(x: int) -> int:
    """Sign of an integer."""
    return (x > 0) - (x < 0)


def _reduced(row: Row) -> Row:
    g = gcd(*row)
    return [x // g for x in row] if g > 1 else row


def _solve(equations: list[Row], unknowns: int) -> tuple[list[Row | None], bool]:
    """Gauss-Jordan elimination without division: for each unknown the row that determines it, or None; and whether it is solvable."""
    pivots: list[Row | None] = [None] * unknowns
    rows = [list(r) for r in equations]
    for k in range(unknowns):
        pivot = next((r for r in rows if r[k]), None)
        if pivot is None:
            continue
        rows = [r for r in rows if r is not pivot]
        if pivot[k] < 0:
            pivot = [-x for x in pivot]
        rows = [_reduced([pivot[k] * x - r[k] * y for x, y in zip(r, pivot, strict=True)]) if r[k] else r for r in rows]
        pivots = [
            _reduced([pivot[k] * x - p[k] * y for x, y in zip(p, pivot, strict=True)]) if p is not None and p[k] else p for p in pivots
        ]
        pivots[k] = pivot
    return pivots, not any(r[-1] for r in rows)


def _feasible(inequalities: list[Row], unknowns: int) -> bool:
    """Return whether all sum(row[i] x_i) <= row[-1] have a solution, by Fourier-Motzkin elimination."""
    rows = [_reduced(r) for r in inequalities]
    for k in range(unknowns):
        upper = [r for r in rows if r[k] > 0]
        lower = [r for r in rows if r[k] < 0]
        rows = [r for r in rows if r[k] == 0]
        rows += [_reduced([p[k] * y - q[k] * x for x, y in zip(p, q, strict=True)]) for p in upper for q in lower]
        rows = [list(t) for t in {tuple(r) for r in rows}]
    return all(r[-1] >= 0 for r in rows)


def hulls_meet(first: Sequence[Sequence[int]], second: Sequence[Sequence[int]]) -> bool:
    """Return whether the convex hulls of two sets of points have a common point, that is, whether non-negative weights make one."""
    m, n = len(first), len(second)
    dimension = len(first[0])
    equations = [[*(p[k] for p in first), *(-q[k] for q in second), 0] for k in range(dimension)]
    equations += [[1] * m + [0] * n + [1], [0] * m + [1] * n + [1]]
    pivots, solvable = _solve(equations, m + n)
    if not solvable:
        return False
    free = [k for k in range(m + n) if pivots[k] is None]
    inequalities = []
    for k, row in enumerate(pivots):
        if row is None:
            inequalities.append([-int(j == k) for j in free] + [0])
        else:  # row[k] x_k + sum of free = row[-1], x_k >= 0
            inequalities.append([row[j] for j in free] + [row[-1]])
    return _feasible(inequalities, len(free))


def crosses(edge: Sequence[Sequence[int]], triangle: Sequence[Sequence[int]]) -> bool:
    """Return whether there is one crossing point, strictly inside of the edge and of the triangle, by Cramer's rule."""
    (p, q), (a, b, c) = edge, triangle
    columns = [[x - y for x, y in zip(s, t, strict=True)] for s, t in ((q, p), (a, b), (a, c), (a, p))]
    u, v, w, rhs = columns
    d = determinant([u, v, w])
    if d == 0:
        return False
    t, beta, gamma = (x * sign(d) for x in (determinant([rhs, v, w]), determinant([u, rhs, w]), determinant([u, v, rhs])))
    return 0 < t < abs(d) and beta > 0 and gamma > 0 and beta + gamma < abs(d)
