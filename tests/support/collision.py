"""Scenes for collision, plain references for candidates, and the public set of collision queries."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest


class Scene(NamedTuple):
    """Positions at both ends of a step, edges and triangles."""

    start: np.ndarray
    end: np.ndarray
    edges: np.ndarray
    triangles: np.ndarray


class Frames(NamedTuple):
    """A pair of frames of the public set, with its edges in the order of its box numbers, and the pairs listed with it.

    `listed` and `collides` have one array per kind: pairs of elements, and whether they collide.
    """

    scene: Scene
    listed: dict[str, np.ndarray]
    collides: dict[str, np.ndarray]


FRAMES = {"cloth-funnel": ("227.ply", "228.ply", "227"), "cloth-ball": ("cloth_ball92.ply", "cloth_ball93.ply", "92")}


def read_ply(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Positions and triangles of a binary PLY file with triangles only."""
    raw = path.read_bytes()
    begin = raw.index(b"end_header\n") + len(b"end_header\n")
    header = raw[:begin].decode("ascii")
    order = ">" if "binary_big_endian" in header else "<"
    vertices = int(header.split("element vertex ")[1].split()[0])
    faces = int(header.split("element face ")[1].split()[0])
    scalar = "f8" if "property double x" in header else "f4"
    positions = np.frombuffer(raw, order + scalar, 3 * vertices, begin)
    begin += positions.nbytes
    rows = np.frombuffer(raw, np.dtype([("n", "u1"), ("corners", order + "i4", 3)]), faces, begin)
    return positions.reshape(-1, 3).astype(float), rows["corners"].astype(np.int32)


def edges_of(triangles: np.ndarray) -> np.ndarray:
    """Undirected edges in ascending order, lower vertex first; triangles with a repeated corner have fewer."""
    sides = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    return np.unique(sides[sides[:, 0] != sides[:, 1]], axis=0).astype(np.int32).reshape(-1, 2)


def public_frames(name: str) -> Frames:
    """One pair of frames; skips the test where the data are absent."""
    folder = os.environ.get("MENISCUS_TEST_DATA")
    if not folder:
        pytest.skip("MENISCUS_TEST_DATA does not name the folder of collision queries")
    path = Path(folder) / "ccd" / name
    if not path.exists():
        pytest.skip(f"there is no ccd/{name} in MENISCUS_TEST_DATA")
    first, second, number = FRAMES[name]
    start, triangles = read_ply(path / first)
    end, _ = read_ply(path / second)
    edges = edges_of(triangles)
    edges = np.ascontiguousarray(edges[np.lexsort((edges[:, 0], edges[:, 1]))])
    listed, collides = {}, {}
    for kind, key in (("vertex_face", "vf"), ("edge_edge", "ee")):
        pairs = np.sort(np.array(json.loads((path / f"{number}{key}.json").read_text(encoding="ascii"))), axis=1)
        truth = np.array(json.loads((path / f"{number}{key}_mma_bool.json").read_text(encoding="ascii")), bool)
        pairs -= [0, len(start) + len(edges)] if kind == "vertex_face" else [len(start), len(start)]
        listed[kind], collides[kind] = pairs, truth.ravel()
    return Frames(Scene(start, end, edges, triangles), listed, collides)


def swept_boxes(scene: Scene, elements: np.ndarray, inflation: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper corners of the boxes around elements at both ends of the step, grown as `candidates` says."""
    points = np.concatenate([scene.start[elements], scene.end[elements]], axis=1)
    low, high = points.min(axis=1), points.max(axis=1)
    if inflation > 0:
        with np.errstate(over="ignore"):
            low, high = np.nextafter(low - inflation, -np.inf), np.nextafter(high + inflation, np.inf)
    return low, high


def brute_force(scene: Scene, inflation: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of overlapping boxes without a common vertex: vertex and face, edge and edge; sorted."""
    vertices = np.arange(len(scene.start))[:, None]

    def pairs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        low_a, high_a = swept_boxes(scene, first, inflation)
        low_b, high_b = swept_boxes(scene, second, inflation)
        overlap = ((low_a[:, None] <= high_b) & (low_b <= high_a[:, None])).all(axis=2)
        for i in range(first.shape[1]):
            for j in range(second.shape[1]):
                overlap &= first[:, None, i] != second[:, j]
        return np.argwhere(overlap)

    edge_edge = pairs(scene.edges, scene.edges)
    return pairs(vertices, scene.triangles), edge_edge[edge_edge[:, 0] < edge_edge[:, 1]]


def soup(n: int, rng: np.random.Generator, size: float = 0.2, motion: float = 0.1) -> Scene:
    """Triangles at random places that move at random, some vertices shared, some without a triangle."""
    vertices = max(3, 2 * n)
    centers = rng.random((vertices, 3))
    start = centers + rng.uniform(-size, size, (vertices, 3))
    # Corners are near each other in the order of x.
    start = start[np.argsort(start[:, 0])]
    first = rng.integers(0, vertices - 2, n)
    triangles = np.stack([first, first + 1, np.minimum(first + rng.integers(2, 6, n), vertices - 1)], axis=1).astype(np.int32)
    return Scene(start, start + rng.uniform(-motion, motion, start.shape), edges_of(triangles), triangles)


def cloth(n: int, layers: int = 1, gap: float = 0.1) -> Scene:
    """Square sheets of n x n vertices above each other that wave and fall."""
    x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n), indexing="ij")
    starts, triangles = [], []
    i, j = (a.ravel() for a in np.meshgrid(np.arange(n - 1), np.arange(n - 1), indexing="ij"))
    a, b, c, d = i * n + j, (i + 1) * n + j, (i + 1) * n + j + 1, i * n + j + 1
    for layer in range(layers):
        z = layer * gap + 0.05 * np.sin(9 * x + layer) * np.cos(7 * y)
        starts.append(np.stack([x, y, z], axis=-1).reshape(-1, 3))
        triangles += [np.stack([a, b, c], 1) + layer * n * n, np.stack([a, c, d], 1) + layer * n * n]
    start = np.concatenate(starts)
    faces = np.concatenate(triangles).astype(np.int32)
    end = start * [1, 1, 0.5] + [0, 0, -0.02]
    return Scene(start, end, edges_of(faces), faces)
