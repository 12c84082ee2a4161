"""Tetrahedral meshes in motion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import meniscus as ms

Motion = Callable[[float], np.ndarray]


def turned(seed: int) -> np.ndarray:
    """A rotation."""
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return np.asarray(q if np.linalg.det(q) > 0 else -q)


def about(axis: Any, angle: float) -> np.ndarray:
    """The rotation about an axis."""
    k = np.asarray(axis, float) / np.linalg.norm(axis)
    cross = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross)


def lattice(
    edge: float = 0.25, counts: tuple[int, int, int] = (4, 4, 4), seed: int | None = None, shear: float = 0.0, stir: float = 0.0
) -> ms.mesh.TetMesh:
    """A BCC lattice about the origin; with a seed turned, sheared, and its inner vertices moved by up to `stir` edges."""
    mesh = ms.mesh.bcc_lattice((0.0, 0.0, 0.0), edge, counts)
    x = mesh.vertices - mesh.vertices.mean(axis=0)
    if seed is None:
        return ms.mesh.TetMesh(np.ascontiguousarray(x), mesh.tets)
    rng = np.random.default_rng(seed)
    if stir:
        x = x + inner(mesh)[:, None] * rng.uniform(-stir * edge, stir * edge, x.shape)
    a = turned(seed) @ (np.eye(3) + shear * rng.uniform(-1, 1, (3, 3)))
    return ms.mesh.TetMesh(np.ascontiguousarray(x @ a.T), mesh.tets)


def inner(mesh: ms.mesh.TetMesh) -> np.ndarray:
    """Which vertices are not at the boundary."""
    free = np.ones(len(mesh.vertices), bool)
    free[np.unique(mesh.boundary.triangles)] = False
    return free


def still(mesh: ms.mesh.TetMesh, **options: Any) -> ms.mesh.MovingTetMesh:
    """A mesh at rest."""
    return ms.mesh.MovingTetMesh(mesh, lambda t: mesh.vertices, **options)


def sizes(x: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """Volumes of tetrahedra."""
    a = x[tets]
    return np.asarray(np.abs(np.einsum("ij,ij->i", a[:, 1] - a[:, 0], np.cross(a[:, 2] - a[:, 0], a[:, 3] - a[:, 0]))) / 6)


def centroids(vof: Any) -> np.ndarray:
    return np.asarray(vof.positions[vof.tets].mean(axis=1))


def centre(vof: Any) -> np.ndarray:
    """Centre of mass of the water."""
    return np.asarray((vof.volume[:, None] * centroids(vof)).sum(axis=0) / vof.volume.sum())


def momentum(vof: Any) -> np.ndarray:
    """Momentum of the water in the mesh, over density."""
    return np.asarray((vof.volume[:, None] * vof.velocity).sum(axis=0))


def rounded(vof: Any, volumes: np.ndarray) -> np.ndarray:
    """Volumes that are multiples of the quantum."""
    return np.asarray(np.floor(volumes / vof.quantum) * vof.quantum)


def overfull(vof: Any) -> float:
    """The largest excess over the capacity, in units of the capacity, of enabled tetrahedra with room."""
    some = (vof.capacity > 0) & (vof.rank >= 0)
    return float(np.max((vof.volume[some] - vof.capacity[some]) / vof.capacity[some], initial=0.0))


def face_neighbours(tets: np.ndarray) -> np.ndarray:
    """Neighbours (m, 4) across the faces opposite to the corners, -1: none."""
    keys: dict[tuple[int, ...], tuple[int, int]] = {}
    found = np.full((len(tets), 4), -1)
    for t, corners in enumerate(tets):
        for k in range(4):
            key = tuple(sorted(int(v) for j, v in enumerate(corners) if j != k))
            if key in keys:
                other, at = keys.pop(key)
                found[t, k], found[other, at] = other, t
            else:
                keys[key] = (t, k)
    return found
