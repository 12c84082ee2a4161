"""Iterations in labyrinths and at large contrasts, with the residual computed anew from the definition of the matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support.fluids.labyrinths import Faces, cells_of, faces_of, rooms, solve, spiral, tree

MOST = 30
Problem = tuple[Faces, np.ndarray | None]


def corridor(n: int) -> Problem:
    """One cell wide, to and fro through a square of n x n cells."""
    faces = faces_of((n, n))
    faces[0][1:-1] = 0.0
    for i in range(n - 1):
        faces[0][i + 1, -1 if i % 2 == 0 else 0] = 1.0
    return faces, None


def percolation(shape: tuple[int, ...], share: float, seed: int) -> Problem:
    return cells_of(np.random.default_rng(seed).random(shape) < share)


def layers(n: int, thick: int, contrast: float) -> Problem:
    """Layers of two media, with the series of both between their cells."""
    inside = np.where(np.arange(n) // thick % 2 == 0, 1.0, contrast)
    faces = faces_of((n, n))
    faces[1][:, 1:-1] = inside[:, None]
    faces[0][1:-1] = (2 / (1 / inside[1:] + 1 / inside[:-1]))[:, None]
    return faces, None


def plates(n: int) -> Problem:
    """Thin plates, of faces, with a hole of one face each."""
    faces = faces_of((n, n, n))
    for k in range(1, 5):
        faces[0][k * n // 5] = 0.0
        faces[0][k * n // 5, (7 * k) % n, (11 * k) % n] = 1.0
    return faces, None


def walls_with_holes(n: int, cell: int, seed: int) -> Problem:
    """Square rooms with walls of faces, a hole of one face in each."""
    rng, faces = np.random.default_rng(seed), faces_of((n, n))
    for d in range(2):
        f = np.moveaxis(faces[d], d, 0)
        for i in range(cell, n, cell):
            f[i] = 0.0
            for j in range(0, n, cell):
                f[i, j + rng.integers(cell)] = 1.0
    return faces, None


def leaky_rooms(n: int, cell: int, leak: float) -> Problem:
    faces = faces_of((n, n))
    for d in range(2):
        np.moveaxis(faces[d], d, 0)[cell:-1:cell] *= leak
    return faces, None


CASES: dict[str, Callable[[], Problem]] = {
    "rooms, three cells": lambda: cells_of(rooms(40, 3, 2, 1)),
    "rooms, two cells": lambda: cells_of(rooms(30, 2, 2, 2)),
    "spiral": lambda: cells_of(spiral(20, 3, 2)),
    "corridor of one cell": lambda: corridor(70),
    "tree": lambda: (tree((128, 128), 1), None),
    "tree in space": lambda: (tree((20, 20, 20), 2), None),
    "percolation": lambda: percolation((150, 150), 0.62, 3),
    "percolation in space": lambda: percolation((32, 32, 32), 0.35, 4),
    "27 layers": lambda: layers(108, 4, 1e-5),
    "plates": lambda: plates(30),
    "walls with holes": lambda: walls_with_holes(120, 10, 5),
    "leaky rooms": lambda: leaky_rooms(200, 10, 1e-6),
}


@pytest.mark.parametrize("name", CASES)
def test_labyrinths(name: str) -> None:
    """Without coarsening that follows connections: from 139 iterations to none within 5000."""
    info, residual = solve(*CASES[name]())
    assert info.iterations <= MOST
    assert residual <= 1.02e-8
    assert info.residual == pytest.approx(residual, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300))
def test_random_labyrinths(seed: int) -> None:
    """300 of them, in two and three dimensions, of up to 10^5 cells."""
    rng = np.random.default_rng(seed)
    kinds: list[Callable[[], Problem]] = [
        lambda: cells_of(rooms(int(rng.integers(5, 50)), int(rng.integers(1, 6)), int(rng.integers(1, 3)), seed)),
        lambda: cells_of(spiral(int(rng.integers(3, 20)), int(rng.integers(1, 6)), int(rng.integers(1, 3)))),
        lambda: (tree(tuple(rng.integers(10, 150, 2)), seed), None),
        lambda: (tree(tuple(rng.integers(5, 30, 3)), seed), None),
        lambda: percolation(tuple(rng.integers(20, 250, 2)), rng.uniform(0.55, 0.9), seed),
        lambda: percolation(tuple(rng.integers(8, 45, 3)), rng.uniform(0.28, 0.8), seed),
        lambda: layers(int(rng.integers(40, 200)), int(rng.integers(1, 9)), 10 ** rng.uniform(-6, 6)),
        lambda: plates(int(rng.integers(10, 45))),
        lambda: walls_with_holes(int(rng.integers(2, 14)) * 12, 12, seed),
        lambda: leaky_rooms(int(rng.integers(2, 20)) * 10, 10, 10 ** rng.uniform(-7, -1)),
    ]
    info, residual = solve(*kinds[seed % len(kinds)](), seed=seed)
    assert info.iterations <= MOST
    assert residual <= 1.02e-8


@pytest.mark.slow
def test_a_million_cells() -> None:
    for problem in (percolation((1100, 1100), 0.62, 1), percolation((110, 110, 110), 0.4, 2)):
        info, residual = solve(*problem)
        assert info.iterations <= MOST
        assert residual <= 1.02e-8
