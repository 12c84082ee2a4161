"""Checks of bitwise reproducibility over numbers of threads and vector widths."""

from collections.abc import Callable
from typing import Any

import numpy as np

import meniscus as ms
from support.build import random_scalar, random_velocity, same_bits

THREADS = (1, 2, 3, 5, 8)
LEVELS = ("baseline", "avx2", "avx512")
# Several chunks of rows, and rows that are no multiple of any vector or block length.
SHAPES = {2: (211, 173), 3: (37, 29, 41)}
MANY_CELLS = {2: (700, 500), 3: (80, 60, 70)}


def everywhere(run: Callable[[], Any], threads: tuple[int, ...] = THREADS) -> None:
    """Run with every number of threads, and with every instruction set at the default number."""
    best = LEVELS.index(ms.core.simd_supported())
    ms.core.set_simd_level("baseline")
    ms.set_num_threads(1)
    plain = run()
    settings = [(n, LEVELS[best]) for n in threads] + [(3, level) for level in LEVELS[:best]]
    for n, level in settings:
        ms.set_num_threads(n)
        ms.core.set_simd_level(level)
        assert same_bits(run(), plain), f"{n} threads, {level}"


def inflow(x: np.ndarray, t: float) -> np.ndarray:
    return np.sin(5 * x[:, 0]) + t


def problem(dimension: int, dtype: type, periodic: bool) -> tuple[Any, ms.MacField]:
    rng = np.random.default_rng(31)
    g = ms.Grid(SHAPES[dimension], 0.1, periodic=(periodic, False, periodic)[:dimension])
    moving = (0.5, -0.25, 0.125)[:dimension]
    scalar = {"y-": ms.Prescribed(0.5), "y+": ms.Open()}
    vector = {"y-": ms.Prescribed(moving), "y+": ms.Wall(moving, "no-slip")}
    return random_scalar("cell", g, dtype, rng, scalar), random_velocity(g, dtype, rng, vector)
