"""Tetrahedral meshes for tests of flows on them, and plain sums over their elements."""

from __future__ import annotations

import numpy as np

import meniscus as ms

FACES = ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1))


def turned(seed: int) -> np.ndarray:
    """A rotation."""
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return np.asarray(q if np.linalg.det(q) > 0 else -q)


def graded() -> ms.mesh.TetMesh:
    """Red and green tetrahedra, edges from 1/4 to 1/32."""
    coarse = ms.mesh.bcc_lattice((0.0, 0.0, 0.0), 0.25, (4, 4, 4))
    return ms.mesh.red_green(coarse, lambda p: 0.03 + 0.3 * np.linalg.norm(p - [0.3, 0.4, 0.8], axis=1))


def lattice(n: int) -> ms.mesh.TetMesh:
    return ms.mesh.bcc_lattice((0.0, 0.0, 0.0), 1 / n, (n, n, n))


def block(n: int) -> ms.mesh.TetMesh:
    return ms.mesh.tet_block(n, n, n)


MESHES = {"lattice": lambda: lattice(8), "graded": graded, "block": lambda: block(8)}


def on(mesh: ms.mesh.TetMesh, values: np.ndarray) -> np.ndarray:
    """Values of all tetrahedra."""
    return np.ascontiguousarray(np.broadcast_to(values, (len(mesh.tets), *np.shape(values)))).copy()


def everything(mesh: ms.mesh.TetMesh, value: bool = True) -> np.ndarray:
    return np.full(len(mesh.tets), value)


def weighted_gradients(mesh: ms.mesh.TetMesh, x: np.ndarray) -> np.ndarray:
    """V grad N of the four corners of each tetrahedron."""
    p = x[mesh.tets]
    return np.stack([-np.cross(p[:, b] - p[:, a], p[:, c] - p[:, a]) / 6 for a, b, c in FACES], axis=1)


def fluxes(mesh: ms.mesh.TetMesh, x: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """The sum of V grad N_i . velocity at each vertex."""
    values = np.einsum("mkd,md->mk", weighted_gradients(mesh, x), velocity)
    return np.bincount(mesh.tets.ravel(), values.ravel(), len(x))


def gradient(mesh: ms.mesh.TetMesh, x: np.ndarray, p: np.ndarray) -> np.ndarray:
    g = weighted_gradients(mesh, x)
    return np.einsum("mkd,mk->md", g, p[mesh.tets]) / volumes(mesh, x)[:, None]


def volumes(mesh: ms.mesh.TetMesh, x: np.ndarray) -> np.ndarray:
    a = x[mesh.tets]
    return np.linalg.det(a[:, 1:] - a[:, :1]) / 6


def boundary_vertices(mesh: ms.mesh.TetMesh) -> np.ndarray:
    inside = np.zeros(len(mesh.vertices), bool)
    inside[np.unique(mesh.faces[mesh.boundary_faces])] = True
    return inside


def touched(mesh: ms.mesh.TetMesh, tets: np.ndarray) -> np.ndarray:
    result = np.zeros(len(mesh.vertices), bool)
    result[np.unique(mesh.tets[tets])] = True
    return result
