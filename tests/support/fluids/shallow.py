"""Exact solutions of shallow water."""

from __future__ import annotations

import numpy as np

import meniscus as ms

G = 9.81


def channel(cells: int, length: float, start: float = 0.0, periodic: bool = False) -> ms.Grid:
    """A channel along x, one cell wide."""
    return ms.Grid((cells, 1), length / cells, (start, 0.0), (periodic, True))


def stoker(high: float, low: float) -> tuple[float, float, float]:
    """Depth and speed between the waves of a broken dam, and the speed of the shock; Stoker 1957."""
    a, b = low, high
    for _ in range(200):
        h = 0.5 * (a + b)
        excess = 2 * (np.sqrt(G * high) - np.sqrt(G * h)) - (h - low) * np.sqrt(0.5 * G * (h + low) / (h * low))
        a, b = (h, b) if excess > 0 else (a, h)
    u = 2 * (np.sqrt(G * high) - np.sqrt(G * h))
    return h, u, h * u / (h - low)


def ritter(x: np.ndarray, t: float, depth: float = 1.0) -> np.ndarray:
    """Depth of a dam broken over dry ground."""
    c = np.sqrt(G * depth)
    return np.where(x < -c * t, depth, np.where(x < 2 * c * t, (2 * c - x / t) ** 2 / (9 * G), 0.0))


def swing(x: np.ndarray, t: float, a: float = 1.0, d0: float = 0.1, amplitude: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Ground and depth of the plane surface that swings in a parabola; Thacker 1981."""
    ground = d0 * (x**2 / a**2 - 1)
    centre = amplitude * np.cos(np.sqrt(2 * G * d0) / a * t)
    return ground, np.maximum(2 * d0 * centre / a**2 * (x - centre / 2) - ground, 0.0)


def bowl(x: np.ndarray, y: np.ndarray, t: float, d0: float = 0.1, start: float = 0.8) -> tuple[np.ndarray, np.ndarray]:
    """Ground and depth of the round surface that rises and falls in a paraboloid whose edge at rest is 1; Thacker 1981."""
    r2 = x**2 + y**2
    ground = d0 * (r2 - 1)
    a = (1 - start**4) / (1 + start**4)
    w = 1 - a * np.cos(np.sqrt(8 * G * d0) * t)
    return ground, np.maximum(d0 * (np.sqrt(1 - a * a) / w - r2 * (1 - a * a) / w**2), 0.0)


def crossing(x: np.ndarray, h: np.ndarray, value: float) -> float:
    """The last place where h falls through a value."""
    k = int(np.nonzero(h > value)[0][-1])
    return float(x[k] + (h[k] - value) / (h[k] - h[k + 1]) * (x[k + 1] - x[k]))
