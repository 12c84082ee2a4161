"""Elements of a moving mesh that are inverted or collapsed: found, repaired where possible, and told by cause."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus.collision import CollisionMesh
from meniscus.mesh import TetMesh

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int32]
Causes = npt.NDArray[np.uint8]

_HEALTHY = 0.05  # of the volume at rest: what a repaired element has
_SWEEPS = 60
_PATIENCE = 10  # sweeps without progress


class Cause(IntEnum):
    """Why an element is disabled: all its nodes are given by the inside of the creature; the skin crosses itself there; or else springs (or
    finite elements) let it collapse."""

    none = 0
    given_nodes = 1
    springs = 2
    animation = 3


class Degenerate(NamedTuple):
    """A disabled element: frame, element of the coarse mesh, layer (0 at the skin and inside, 1 next to it, ...) and cause."""

    frame: int
    element: int
    layer: int
    cause: str


def repaired(mesh: TetMesh, positions: Floats, movable: Bools, rounds: int) -> tuple[Floats, Bools]:
    """Return positions (n, 3) with fewer inverted and collapsed elements, and which elements (m,) still are.

    Elements with less than a twentieth of their volume at rest around a degenerate one are inflated to it by moving their movable nodes
    along the gradient of the volume, all at once; where that does not help, the nodes of degenerate elements go to the middle of
    their neighbours first. A round is kept if it leaves fewer degenerate elements.

    Source: Lee 2018, section 3.6, which iterates by hand; projection of volumes: Müller et al. 2007.
    """
    best, bad = positions, mesh.degenerate(positions)
    for _ in range(rounds):
        if not bad.any():
            break
        inflated, now = _inflated(mesh, best, bad, movable)
        if now.sum() >= bad.sum():
            inflated, now = _inflated(mesh, _smoothed(mesh, best, bad, movable), bad, movable)
        if now.sum() >= bad.sum():
            break
        best, bad = inflated, now
    return best, bad


def _smoothed(mesh: TetMesh, positions: Floats, bad: Bools, movable: Bools) -> Floats:
    """Return positions in which the movable nodes of degenerate elements lie in the middle of their neighbours."""
    x, rings = np.array(positions), mesh.one_rings
    nodes = np.unique(mesh.tets[bad])
    for node in nodes[movable[nodes]]:
        x[node] = x[rings.row(node)].mean(axis=0)
    return x


def _inflated(mesh: TetMesh, positions: Floats, bad: Bools, movable: Bools) -> tuple[Floats, Bools]:
    """Return positions where the elements around degenerate ones have been inflated, and which are degenerate there."""
    x = np.array(positions)
    touched = np.zeros(len(x), bool)
    touched[mesh.tets[bad]] = True
    around = np.flatnonzero(touched[mesh.tets].any(axis=1))
    tets, rest = mesh.tets[around], mesh.volumes[around]
    fewest, since = len(around) + 1, 0
    for _ in range(_SWEEPS):
        small = _inflate(tets, rest, x, movable)
        fewest, since = (small, 0) if small < fewest else (fewest, since + 1)
        if small == 0 or since == _PATIENCE:
            break
    return x, mesh.degenerate(x)


def _inflate(tets: Ints, rest: Floats, x: Floats, movable: Bools) -> int:
    """Move the nodes of all elements that are too small, each by the mean of what its elements ask for; return how many there are."""
    a, b, c, d = (x[tets[:, k]] for k in range(4))
    volumes = np.einsum("nd,nd->n", np.cross(b - a, c - a), d - a) / 6.0
    rows = np.flatnonzero(volumes < _HEALTHY * rest)
    if not len(rows):
        return 0
    a, b, c, d = a[rows], b[rows], c[rows], d[rows]
    gradient = np.stack([np.cross(d - b, c - b), np.cross(c - a, d - a), np.cross(d - a, b - a), np.cross(b - a, c - a)], axis=1) / 6.0
    nodes = tets[rows]
    gradient[~movable[nodes]] = 0.0
    square = (gradient**2).sum(axis=(1, 2))
    lack = 1.01 * _HEALTHY * rest[rows] - volumes[rows]
    steps = np.divide(lack, square, out=np.zeros_like(lack), where=square > 0)[:, None, None] * gradient
    longest = np.linalg.norm(steps, axis=2).max(axis=1)
    limit = 0.5 * np.cbrt(6.0 * rest[rows])
    steps *= np.minimum(1.0, np.divide(limit, longest, out=np.ones_like(limit), where=longest > 0))[:, None, None]
    total, count = np.zeros_like(x), np.zeros(len(x))
    np.add.at(total, nodes, steps)
    np.add.at(count, nodes, (np.linalg.norm(steps, axis=2) > 0).astype(float))
    x += total / np.maximum(count, 1.0)[:, None]
    return len(rows)


def causes_of(mesh: TetMesh, bad: Bools, given: Bools, positions: Floats, skin: CollisionMesh, skin_positions: Floats) -> Causes:
    """Return the cause (m,) for each degenerate element, `Cause.none` for the others."""
    result = np.zeros(len(bad), np.uint8)
    rows = np.flatnonzero(bad)
    if not len(rows):
        return result
    result[rows] = np.where(given[mesh.tets[rows]].all(axis=1), Cause.given_nodes, Cause.springs)
    crossings = skin.self_intersections(skin_positions)
    if len(crossings):
        corners = np.concatenate([skin_positions[skin.edges[crossings[:, 0]]], skin_positions[skin.triangles[crossings[:, 1]]]], axis=1)
        low, high = corners.min(axis=1), corners.max(axis=1)
        for row in rows:
            x = positions[mesh.tets[row]]
            if ((low <= x.max(axis=0)) & (high >= x.min(axis=0))).all(axis=1).any():
                result[row] = Cause.animation
    return result
