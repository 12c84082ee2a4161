"""Queries of continuous collision detection for tests: generic ones, and hard ones.

A family is a function (rng, n, kind) -> (start, end), both (n, 4, 3) float64. A query of kind "vertex-face" is the vertex, then the
corners of the face; of kind "edge-edge" the ends of one edge, then of the other. What is constructed from integers stays exact.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from support.ccd.degenerate import (
    Family,
    Queries,
    double_roots,
    duplicated_points,
    duplicated_reals,
    dyadic,
    far_away,
    flat_elements,
    grid_far_away,
    hair,
    huge_and_subnormal,
    in_plane,
    in_plane_reals,
    in_tilted_plane,
    largest_doubles,
    mixed_axes,
    mixed_magnitudes,
    near_double_roots,
    near_misses,
    near_triple_roots,
    on_a_line,
    parallel_edges,
    random_integers,
    real_translations,
    rim_at_irrational_times,
    scaled,
    shared_vertex,
    small_grid,
    static_pairs,
    tiny_grid,
    touching_at_end,
    touching_at_quarter,
    touching_at_start,
    touching_midway,
    translations,
    triple_roots,
)
from support.ccd.oracle import Kind


def uniform(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    return rng.uniform(-1, 1, (n, 4, 3)), rng.uniform(-1, 1, (n, 4, 3))


def gaussian(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    return rng.normal(size=(n, 4, 3)), rng.normal(size=(n, 4, 3))


def small_steps(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """Elements near each other that move by a part of their size, as in a simulation."""
    start = rng.normal(size=(n, 4, 3))
    return start, start + 0.3 * rng.normal(size=(n, 4, 3))


def wide_integers(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """Integers in a range in which two and three roots appear and almost nothing is degenerate."""
    return random_integers(rng, n, 20), random_integers(rng, n, 20)


GENERIC: Mapping[str, Family] = {f.__name__: f for f in (uniform, gaussian, small_steps, wide_integers)}
_INTEGER_FAMILIES = (
    small_grid,
    tiny_grid,
    in_plane,
    in_tilted_plane,
    on_a_line,
    parallel_edges,
    touching_at_start,
    touching_at_end,
    touching_midway,
    touching_at_quarter,
    flat_elements,
    duplicated_points,
    static_pairs,
    translations,
    double_roots,
    triple_roots,
    rim_at_irrational_times,
)
DEGENERATE: Mapping[str, Family] = {
    **{f.__name__: f for f in _INTEGER_FAMILIES},
    **{
        f.__name__: f
        for f in (
            near_misses,
            dyadic,
            in_plane_reals,
            duplicated_reals,
            real_translations,
            near_double_roots,
            near_triple_roots,
            shared_vertex,
            hair,
            far_away,
            grid_far_away,
            mixed_magnitudes,
            mixed_axes,
            huge_and_subnormal,
            largest_doubles,
        )
    },
    **{f"{f.__name__} * 2^{e}": scaled(f, e) for f in (small_grid, touching_midway, double_roots) for e in (-1074, -500, 900)},
    **{f"uniform * 2^{e}": scaled(uniform, e) for e in (-1022, -500, 900)},
}


def mixture(families: Mapping[str, Family], rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """n queries, about equally many of each family."""
    parts = [family(rng, n // len(families) + (i < n % len(families)), kind) for i, family in enumerate(families.values())]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _bits(seed: int, n: int) -> np.ndarray:
    """Random words from nothing but 64-bit integers (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014)."""
    z = np.uint64(seed) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def shared(name: str, seed: int, n: int, kind: Kind) -> Queries:
    """Queries that tests/cpp/collision/continuous/ccd_queries.cpp makes bit by bit equal: 24 random words for each."""
    words = _bits(seed, 24 * n).reshape(n, 2, 4, 3)

    def integers(largest: int) -> np.ndarray:
        return (words % np.uint64(2 * largest + 1)).astype(float) - largest

    if name == "grid":
        x = integers(2)
    elif name == "wide grid":
        x = integers(20)
    elif name == "fractions":
        x = (words >> np.uint64(11)).astype(float) * 2.0**-53 - 0.5
    elif name == "plane":
        x = integers(5)
        x[..., 2] = x[..., 0] - 2 * x[..., 1]
    elif name == "scales":
        x = np.ldexp(integers(2), np.array([-1074, 0, 900]))
    else:
        at, step = 4 * integers(3)[:, 0], integers(9)[:, 1]
        if kind == "vertex-face":
            at[:, 0] = (2 * at[:, 1] + at[:, 2] + at[:, 3]) / 4
        else:
            at[:, 3] = at[:, 0] + at[:, 1] - at[:, 2]
        return at - step, at + step
    return np.ascontiguousarray(x[:, 0]), np.ascontiguousarray(x[:, 1])
