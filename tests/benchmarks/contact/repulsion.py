"""Cases of repulsion for the benchmark of collision: finding pairs, and sweeps over pairs that act and over pairs that moved apart."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from support.collision import Scene

from meniscus.collision import CollisionMesh, Repulsion

WHAT = ("repulsion-find", "repulsion-push", "repulsion-rub", "repulsion-pruned")
# Thickness over the median edge.
THICKNESS = 0.6


def cases(scene: Scene) -> Iterator[tuple[str, Callable[[], object], int]]:
    """Name, call and number of pairs. At rest, all elements are far from each other."""
    x = np.ascontiguousarray(scene.start)
    edge = float(np.median(np.linalg.norm(x[scene.edges[:, 1]] - x[scene.edges[:, 0]], axis=1)))
    repulsion = Repulsion(CollisionMesh(scene.edges, scene.triangles), 100 * x, np.full(len(x), 1e6), thickness=THICKNESS * edge)
    pairs = repulsion.find(x)
    velocities = np.random.default_rng(6).normal(0, edge, x.shape)
    used = velocities.copy()
    # Vertices that are far from all others: pairs are out of reach.
    apart = x + 1000 * edge * np.random.default_rng(7).standard_normal(x.shape)

    def sweep(positions: np.ndarray, friction: bool) -> int:
        np.copyto(used, velocities)
        if friction:
            return repulsion.rub(positions, used).active
        return repulsion.push(positions, used, 1 / 400).active

    yield "repulsion-find", lambda: repulsion.find(x), pairs
    yield "repulsion-push", lambda: sweep(x, False), pairs
    yield "repulsion-rub", lambda: sweep(x, True), pairs
    yield "repulsion-pruned", lambda: sweep(apart, False), pairs
