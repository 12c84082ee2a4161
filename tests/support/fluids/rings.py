"""Vortex rings in a periodic box, with what to measure of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import meniscus as ms
from meniscus.fluids import SmokeOptions, SmokeSolver

RADIUS, CORE, CIRCULATION = 0.2, 0.06, 1.0


def ring_solver(
    n: int, heights: tuple[float, ...] = (0.4,), **options: Any
) -> tuple[SmokeSolver, Callable[[], tuple[float, float, float]]]:
    """Return smoke with rings of Gaussian cores on one axis, in n x n x 1.5 n cells, and a function that measures its kinetic energy, the
    largest vorticity in a plane through the axis, and the impulse along the axis."""
    shape = (n, n, n * 3 // 2)
    k = np.meshgrid(*(2 * np.pi * np.fft.fftfreq(m, 1 / n) for m in shape), indexing="ij")
    x, y, z = np.meshgrid(*(np.arange(m) / n for m in shape), indexing="ij")
    r = np.hypot(x - 0.5, y - 0.5)
    w = sum(np.exp(-((r - RADIUS) ** 2 + (z - at) ** 2) / CORE**2) for at in heights) * CIRCULATION / (np.pi * CORE**2)
    angle = np.arctan2(y - 0.5, x - 0.5)
    curl = [np.fft.fftn(-w * np.sin(angle)), np.fft.fftn(w * np.cos(angle)), np.zeros(shape, complex)]
    squared = sum(a * a for a in k)
    squared[0, 0, 0] = 1
    solver = SmokeSolver(ms.Grid(shape, 1 / n, periodic=(True,) * 3), SmokeOptions(**options), dtype=np.float64)
    for d in range(3):
        e, f = (d + 1) % 3, (d + 2) % 3
        shift = np.exp(1j * (k[e] + k[f]) * 0.5 / n)
        part = np.real(np.fft.ifftn(1j * (k[e] * curl[f] - k[f] * curl[e]) / squared * shift))
        solver.velocity.component(d)[...] = np.concatenate([part, part.take([0], axis=d)], axis=d)
    solver.project(1.0)

    def measure() -> tuple[float, float, float]:
        u, w, j = np.array(solver.velocity.u), np.array(solver.velocity.w), n // 2
        across, along = (u[:, j - 1] + u[:, j]) / 2, (w[:, j - 1] + w[:, j]) / 2
        spin = ((across[1:-1, 1:] - across[1:-1, :-1]) - (along[1:, 1:-1] - along[:-1, 1:-1])) * n
        half = spin[n // 2 :]
        middle = (np.arange(n // 2, n // 2 + len(half)) + 1) / n - 0.5
        return ms.fluids.kinetic_energy(solver.velocity), float(np.abs(spin).max()), float((half * middle[:, None] ** 2).sum())

    return solver, measure
