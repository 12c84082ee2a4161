"""Checks of extracted surfaces: closedness, fans at vertices, volumes; and level sets to try."""

from typing import Any

import numpy as np

import meniscus as ms
from meniscus.surface import LevelSet

LOCATIONS = ("nodes", "cells")


def level_set(values: np.ndarray, location: str = "nodes", periodic: Any = False, spacing: float = 0.5) -> LevelSet:
    """A level set of given samples on the grid that they fit on, away from the origin."""
    shape = tuple(n - (location == "nodes") for n in values.shape)
    phi = LevelSet(ms.Grid(shape, spacing, (1.0, 2.0, 3.0)[: values.ndim], periodic=periodic), location, values.dtype)  # type: ignore[arg-type]
    phi.array = values
    return phi


def noise(rng: np.random.Generator, shape: tuple[int, ...], dtype: type = np.float64) -> np.ndarray:
    """Samples without order: some are exactly zero, some tiny, some huge."""
    values = rng.standard_normal(shape)
    kind = rng.random(shape)
    values[kind < 0.08] = 0
    values[(kind > 0.08) & (kind < 0.14)] *= 1e-30
    values[(kind > 0.14) & (kind < 0.2)] *= 1e30
    return values.astype(dtype)


def directed_edges(elements: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The edges of triangles in their direction and in the other, as numbers."""
    pairs = np.concatenate([elements[:, [0, 1]], elements[:, [1, 2]], elements[:, [2, 0]]]).astype(np.int64)
    return pairs[:, 0] << 32 | pairs[:, 1], pairs[:, 1] << 32 | pairs[:, 0]


def open_edges(triangles: np.ndarray) -> np.ndarray:
    """The edges (n, 2) of one triangle only."""
    there, back = directed_edges(triangles)
    alone = np.setdiff1d(there, back)
    return np.stack([alone >> 32, alone & 0xFFFFFFFF], axis=1)


def check_manifold(vertices: np.ndarray, triangles: np.ndarray, *, closed: bool = True) -> None:
    """Every edge in two triangles, in opposite directions; the triangles at a vertex form one fan; no vertex is alone."""
    assert vertices.dtype == np.float64
    assert triangles.dtype == np.int32
    assert np.isfinite(vertices).all()
    there, back = directed_edges(triangles)
    assert len(np.unique(there)) == len(there), "two triangles have an edge in the same direction"
    if closed:
        assert np.array_equal(np.sort(there), np.sort(back)), "an edge belongs to one triangle only"
    assert np.array_equal(np.unique(triangles), np.arange(len(vertices))), "a vertex belongs to no triangle"
    # Where the triangles at a vertex form several fans, some corner (vertex, triangle) cannot be reached from another one.
    following: dict[int, dict[int, int]] = {}
    for triangle in triangles.tolist():
        for i in range(3):
            following.setdefault(triangle[i], {})[triangle[(i + 1) % 3]] = triangle[(i + 2) % 3]
    for star in following.values():
        starts = set(star) - set(star.values())
        at = first = starts.pop() if starts else next(iter(star))
        assert not starts, "several fans of triangles at a vertex"
        seen = 0
        while at in star:
            at = star[at]
            seen += 1
            if at == first:
                break
        assert seen == len(star), "several fans of triangles at a vertex"


def check_curves(segments: np.ndarray, count: int) -> None:
    """Every vertex of closed curves ends one segment and starts one."""
    assert segments.dtype == np.int32
    for end in range(2):
        assert np.array_equal(np.sort(segments[:, end]), np.arange(count))


def enclosed(vertices: np.ndarray, elements: np.ndarray) -> float:
    """The volume (area) within a closed surface (curve)."""
    if not len(elements):
        return 0.0
    x = vertices - vertices.mean(axis=0)
    if elements.shape[1] == 2:
        a, b = x[elements[:, 0]], x[elements[:, 1]]
        return float(np.sum(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])) / 2
    a, b, c = (x[elements[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6


def measures(vertices: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """Areas of triangles or lengths of segments."""
    x = [vertices[elements[:, i]] for i in range(elements.shape[1])]
    if len(x) == 2:
        return np.linalg.norm(x[1] - x[0], axis=1)
    return np.linalg.norm(np.cross(x[1] - x[0], x[2] - x[0]), axis=1) / 2


def euler(triangles: np.ndarray) -> int:
    """Vertices minus edges plus triangles."""
    return len(np.unique(triangles)) - len(np.unique(np.maximum(*directed_edges(triangles)))) + len(triangles)


def parts(elements: np.ndarray, count: int) -> np.ndarray:
    """A number for every vertex, the same for those that elements connect."""
    number = np.arange(count)
    while True:
        lowest = number[elements].min(axis=1)
        new = number.copy()
        for i in range(elements.shape[1]):
            np.minimum.at(new, elements[:, i], lowest)
        new = new[new]
        if np.array_equal(new, number):
            return number
        number = new


def ball(n: int, location: str, dtype: type = np.float64, dimension: int = 3, radius: float = 0.31) -> tuple[LevelSet, np.ndarray]:
    """The distance to a ball that is not in the middle of anything, on n cells a side of the unit cube; and its centre."""
    center = np.array([0.5123, 0.4912, 0.5034])[:dimension]
    phi = LevelSet.from_function(
        ms.Grid((n,) * dimension, 1 / n),
        lambda *x: np.sqrt(sum((a - c) ** 2 for a, c in zip(x, center, strict=True))) - radius,
        location,  # type: ignore[arg-type]
        dtype=dtype,
    )
    return phi, center
