"""Tetrahedral meshes for tests, and plain references for point location."""

from __future__ import annotations

import itertools

import numpy as np

TetMesh = tuple[np.ndarray, np.ndarray]


def lattice(n: int) -> TetMesh:
    """The cube [0, n]^3, each unit cube cut into the 6 tetrahedra around its diagonal."""
    corners = np.array(list(itertools.product(range(n + 1), repeat=3)), float)
    number = np.arange((n + 1) ** 3).reshape((n + 1,) * 3)
    tets = []
    for cell in itertools.product(range(n), repeat=3):
        for order in itertools.permutations(range(3)):
            at, path = list(cell), [number[cell]]
            for axis in order:
                at[axis] += 1
                path.append(number[tuple(at)])
            tets.append(path)
    return corners, np.array(tets, np.int32)


def jittered(n: int, rng: np.random.Generator, bits: int = 6, amount: float = 0.2) -> TetMesh:
    """A lattice with vertices moved by multiples of 2^-bits, and tetrahedra in any order and orientation; no two overlap."""
    v, t = lattice(n)
    v = v + np.round(rng.uniform(-amount, amount, v.shape) * 2**bits) / 2**bits
    t = t[rng.permutation(len(t))]
    flip = rng.random(len(t)) < 0.5
    t[flip] = t[flip][:, [1, 0, 2, 3]]
    return v, np.ascontiguousarray(t)


def as_integers(bits: int, *arrays: np.ndarray) -> list[np.ndarray]:
    """Coordinates that are multiples of 2^-bits."""
    scaled = [a * 2.0**bits for a in arrays]
    assert all((s == np.round(s)).all() and np.abs(s).max(initial=0) < 2**19 for s in scaled)
    return [s.astype(np.int64) for s in scaled]


def orient(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Signs of the volumes, from integers below 2^19: determinants stay below 2^63."""
    x, y, z = b - a, c - a, d - a
    cross = x[..., [1, 2, 0]] * y[..., [2, 0, 1]] - x[..., [2, 0, 1]] * y[..., [1, 2, 0]]
    return np.sign((cross * z).sum(axis=-1))


def holders(mesh: TetMesh, points: np.ndarray, bits: int) -> np.ndarray:
    """(points, tets): whether each closed tetrahedron with volume holds each point, exactly."""
    v, p = as_integers(bits, mesh[0], points)
    c = v[mesh[1]]
    whole = orient(c[:, 0], c[:, 1], c[:, 2], c[:, 3])
    result = np.empty((len(p), len(c)), bool)
    for start in range(0, len(p), 2000):
        q = p[start : start + 2000, None]
        inside = np.broadcast_to(whole != 0, (len(q), len(c))).copy()
        for k in range(4):
            corners = [c[None, :, j] if j != k else q for j in range(4)]
            inside &= orient(*corners) * whole >= 0
        result[start : start + 2000] = inside
    return result


def special_points(mesh: TetMesh, n: int, rng: np.random.Generator) -> np.ndarray:
    """Points exactly on vertices, edges, faces and inside of tetrahedra, with weights that are multiples of 1/4 (1/8 inside)."""
    weights = np.array([w for w in itertools.product((0, 0.25, 0.5, 0.75, 1), repeat=4) if sum(w) == 1] + [(0.125, 0.125, 0.25, 0.5)])
    corners = mesh[0][mesh[1][rng.integers(0, len(mesh[1]), n)]]
    return np.einsum("nk,nkd->nd", weights[rng.integers(0, len(weights), n)], corners)
