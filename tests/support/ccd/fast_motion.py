"""Queries whose motion is many sizes of the elements, with a contact or a near miss constructed at a time within the step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from support.ccd.oracle import Kind

Queries = tuple[np.ndarray, np.ndarray]
FastFamily = Callable[[np.random.Generator, int, Kind, int], Queries]
"""(rng, n, kind, k) -> (start, end) for motions of 2^k sizes."""


def _first(kind: Kind) -> list[int]:
    return [0] if kind == "vertex-face" else [0, 1]


def _at_contact(rng: np.random.Generator, n: int, kind: Kind, rim: float = 0.25) -> np.ndarray:
    """Elements of about unit size that meet within both of them, or would if they were a part `rim` larger on every side."""
    x = rng.normal(size=(n, 4, 3))
    u, v = rng.uniform(0, 1, (2, n, 1))
    if kind == "vertex-face":
        u, v = np.where(u + v > 1, 1 - u, u), np.where(u + v > 1, 1 - v, v)
    u, v = ((1 + 2 * rim) * w - rim for w in (u, v))
    if kind == "vertex-face":
        x[:, 0] = (1 - u - v) * x[:, 1] + u * x[:, 2] + v * x[:, 3]
    else:
        gap = (1 - u) * x[:, 0] + u * x[:, 1] - (1 - v) * x[:, 2] - v * x[:, 3]
        x[:, :2] -= gap[:, None]
    return x


def _moved(rng: np.random.Generator, x: np.ndarray, motion: np.ndarray) -> Queries:
    t = rng.uniform(0, 1, (len(x), 1, 1))
    return x - t * motion, x + (1 - t) * motion


def one_moves(rng: np.random.Generator, n: int, kind: Kind, k: int) -> Queries:
    """The first element crosses the other one, which hardly moves."""
    motion = rng.normal(size=(n, 4, 3))
    motion[:, _first(kind)] += 2.0**k * rng.normal(size=(n, 1, 3))
    return _moved(rng, _at_contact(rng, n, kind), motion)


def both_move(rng: np.random.Generator, n: int, kind: Kind, k: int) -> Queries:
    motion = rng.normal(size=(n, 4, 3)) + 2.0**k * rng.normal(size=(n, 1, 3))
    motion[:, _first(kind)] += 2.0**k * rng.normal(size=(n, 1, 3))
    return _moved(rng, _at_contact(rng, n, kind), motion)


def both_move_together(rng: np.random.Generator, n: int, kind: Kind, k: int) -> Queries:
    """Almost the same motion of both elements; relative to each other they move by their size."""
    return _moved(rng, _at_contact(rng, n, kind), rng.normal(size=(n, 4, 3)) + 2.0**k * rng.normal(size=(n, 1, 3)))


def every_point_on_its_own(rng: np.random.Generator, n: int, kind: Kind, k: int) -> Queries:
    """The elements shrink to unit size and grow again; close to a triple root."""
    return _moved(rng, _at_contact(rng, n, kind), 2.0**k * rng.normal(size=(n, 4, 3)))


def along_an_edge(rng: np.random.Generator, n: int, kind: Kind, k: int) -> Queries:
    """Within the plane of both elements or along one of their edges, up to round-off, which decides about most contacts."""
    x = _at_contact(rng, n, kind)
    motion = np.zeros((n, 4, 3))
    a, b = (x[:, 2] - x[:, 1], x[:, 3] - x[:, 1]) if kind == "vertex-face" else (x[:, 1] - x[:, 0], x[:, 3] - x[:, 2])
    weights = rng.normal(size=(2, n, 1)) * (rng.random((2, n, 1)) < 0.7)
    motion[:, _first(kind)] = (2.0**k * (weights[0] * a + weights[1] * b))[:, None]
    return _moved(rng, x, motion)


def far_ends(rng: np.random.Generator, n: int, kind: Kind, k: int) -> Queries:
    """Long thin elements: one corner is 2^k away and moves as far; the contact is near the others."""
    x = _at_contact(rng, n, kind)
    motion = rng.normal(size=(n, 4, 3))
    motion[:, 3] *= 2.0**k
    start, end = _moved(rng, x, motion)
    away = 2.0**k * rng.normal(size=(n, 3))
    start[:, 3] += away
    end[:, 3] += away
    return start, end


def exact_on_the_rim(rng: np.random.Generator, n: int, kind: Kind, k: int) -> Queries:
    """Integers: the elements meet exactly on their rims, or in a common plane, at a quarter of the step."""
    x = 4.0 * rng.integers(-3, 4, (n, 4, 3))
    u, v = rng.integers(0, 5, (2, n, 1)) / 4
    u, v = (np.where(rng.random((n, 1)) < 0.5, rng.integers(0, 2, (n, 1)), w) for w in (u, v))
    if kind == "vertex-face":
        v = np.where(u + v > 1, 1 - u, v)
        x[:, 0] = (1 - u - v) * x[:, 1] + u * x[:, 2] + v * x[:, 3]
    else:
        x[:, :2] -= ((1 - u) * x[:, 0] + u * x[:, 1] - (1 - v) * x[:, 2] - v * x[:, 3])[:, None]
    motion = np.zeros((n, 4, 3))
    motion[:, _first(kind)] = 2.0**k * rng.integers(-2, 3, (n, 1, 3))
    motion += rng.integers(-1, 2, (n, 4, 3)) * (rng.random((n, 1, 1)) < 0.5) + 2.0**k * rng.integers(-2, 3, (n, 1, 3))
    return x - motion, x + 3 * motion


FAST: dict[str, FastFamily] = {
    f.__name__: f for f in (one_moves, both_move, both_move_together, every_point_on_its_own, along_an_edge, far_ends, exact_on_the_rim)
}
