"""Plain time loop for a few forces, in NumPy, for tests of recovery."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import meniscus as ms


def symplectic(
    forces: Sequence[ms.solids.Force],
    x: np.ndarray,
    mass: float | np.ndarray,
    dt: float,
    steps: int,
    *,
    ether: float = 0.0,
    gravity: float = 0.0,
    fixed: Sequence[int] = (),
    watch: Callable[[np.ndarray, np.ndarray], None] | None = None,
) -> np.ndarray:
    """Positions after steps of symplectic Euler from rest; `ether` is a drag coefficient, N s/m."""
    x, v = x.copy(), np.zeros_like(x)
    m = np.broadcast_to(mass, len(x))[:, None]
    for _ in range(steps):
        f = -ether * v
        f[:, 2] -= gravity * m[:, 0]
        for force in forces:
            force.forces(x, out=f)
            if force.core.damped:
                f += force.damping_forces(x, v)
        v += dt * f / m
        v[list(fixed)] = 0
        x += dt * v
        if watch is not None:
            watch(x, v)
    return x


def volumes(x: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """Signed volumes of tetrahedra."""
    p = x[tets]
    return np.linalg.det(p[:, 1:] - p[:, :1]) / 6


def random_rotation(rng, axis=None):
    """A rotation as rows; about an axis, or any."""
    a = rng.normal(size=3) if axis is None else np.array(axis, float)
    a /= np.linalg.norm(a)
    angle = rng.uniform(-np.pi, np.pi)
    k = np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
    return (np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k).tolist()
