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
