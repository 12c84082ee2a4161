"""Liquids at rest for tests: gravity, level fillings, and solids at any place and angle."""

from typing import Any

import numpy as np

import meniscus as ms
from meniscus.surface import Box, Complement, HalfSpace, LevelSet, Shape, Sphere

G = 9.81


def unit(vector: Any) -> np.ndarray:
    v = np.asarray(vector, float)
    return v / np.linalg.norm(v)


def solids(dimension: int, rng: np.random.Generator) -> dict[str, Shape]:
    """One of each kind, at a random place and angle."""
    near = 0.5 + 0.1 * rng.uniform(-1, 1, dimension)
    wall = HalfSpace(tuple(near - 0.2), tuple(unit(rng.normal(size=dimension))))
    return {
        "leaning wall": wall,
        "ball": Sphere(tuple(near), 0.2 + 0.05 * rng.uniform()),
        "bowl": Complement(Sphere(tuple(near), 0.36)),
        "wedge": wall & HalfSpace(tuple(near), tuple(unit(rng.normal(size=dimension)))),
        "block": Box(tuple(near - 0.21), tuple(near + 0.13)),
    }


def filled_to(grid: ms.Grid, down: np.ndarray, level: float) -> LevelSet:
    """Everything below a plane across gravity, at a height above the middle of a unit box."""
    return LevelSet.from_function(grid, lambda *x: -sum(d * (c - 0.5) for d, c in zip(down, x, strict=True)) - level, "cells")
