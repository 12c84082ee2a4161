"""Dense NumPy references for distances: slow, and without the optimisations of the library."""

from typing import Any

import numpy as np

FAR = 1e18


def neighbours(a: np.ndarray, axis: int, periodic: bool, outside: Any) -> tuple[np.ndarray, np.ndarray]:
    """The samples below and above along an axis; `outside` beyond a side."""
    low, high = np.roll(a, 1, axis), np.roll(a, -1, axis)
    if not periodic:
        low[(slice(None),) * axis + (0,)] = outside
        high[(slice(None),) * axis + (-1,)] = outside
    return low, high


def axis_crossing_distances(phi: np.ndarray, periodic: tuple[bool, ...], hidden: np.ndarray | None = None) -> np.ndarray:
    """Distances (in spacings) beside changes of sign by 1 / d^2 = sum 1 / d_a^2; NaN elsewhere."""
    hidden = np.zeros(phi.shape, bool) if hidden is None else hidden
    p = np.where(hidden, np.nan, phi)
    total = np.zeros(phi.shape)
    for axis in range(phi.ndim):
        best = np.full(phi.shape, np.inf)
        for other in neighbours(p, axis, periodic[axis], np.nan):
            crosses = np.isfinite(other) & np.isfinite(p) & ((other > 0) != (p > 0))
            with np.errstate(all="ignore"):
                d = np.abs(p) / (np.abs(p) + np.abs(other))
            best = np.where(crosses, np.minimum(best, d), best)
        with np.errstate(divide="ignore"):
            total += 1 / best**2
    with np.errstate(divide="ignore"):
        return np.where(total > 0, 1 / np.sqrt(total), np.nan)


def godunov(u: np.ndarray, periodic: tuple[bool, ...]) -> np.ndarray:
    """The solution of sum_d max(x - a_d, 0)^2 = 1 at every sample, from its neighbours."""
    a = np.sort([np.minimum(*neighbours(u, d, periodic[d], FAR)) for d in range(u.ndim)], axis=0)
    x = a[0] + 1
    for m in range(2, u.ndim + 1):
        s, q = a[:m].sum(axis=0), (a[:m] ** 2).sum(axis=0)
        root = np.sqrt(np.maximum(s * s - m * (q - 1), 0))
        x = np.where(x > a[m - 1], (s + root) / m, x)
    return x


def fixed_point(seeds: np.ndarray, periodic: tuple[bool, ...], hidden: np.ndarray | None = None) -> np.ndarray:
    """Distances (in spacings) from the seeds, which are not NaN, by sweeping all samples until nothing changes; FAR if not reached."""
    known = np.isfinite(seeds)
    u = np.where(known, seeds, FAR)
    while True:
        x = np.where(known, u, np.minimum(u, godunov(u, periodic)))
        if hidden is not None:
            x[hidden] = FAR
        if (np.abs(x - u) <= 1e-14 * np.minimum(u, 1e3)).all():
            return x
        u = x


def edge_crossings(phi: np.ndarray) -> list[np.ndarray]:
    """Return the position along every edge of the grid at which the sign changes, in spacings by linear interpolation; NaN on edges where
    it does not."""
    result = []
    for axis in range(phi.ndim):
        a = np.moveaxis(np.asarray(phi, np.float64), axis, 0)
        crosses = (a[:-1] > 0) != (a[1:] > 0)
        result.append(np.where(crosses, a[:-1] / np.where(crosses, a[:-1] - a[1:], 1), np.nan))
    return result


def crossing_shift(before: np.ndarray, after: np.ndarray) -> float:
    """The largest change of a crossing, in spacings; all edges must cross before and after, or not at all."""
    largest = 0.0
    for a, b in zip(edge_crossings(before), edge_crossings(after), strict=True):
        np.testing.assert_array_equal(np.isfinite(a), np.isfinite(b))
        if np.isfinite(a).any():
            largest = max(largest, float(np.nanmax(np.abs(a - b))))
    return largest
