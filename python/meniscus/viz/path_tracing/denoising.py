"""Non-local means: removal of the noise of few samples from a rendered picture, without blurring edges.

Each pixel becomes a weighted mean of those around it whose surroundings look the same but for noise. How large noise is follows from the
spread of several renderings. Weights that come from one half of the renderings are applied to the other half, so that noise cannot
choose its own weights.

Source: Rousselle, Knaus and Zwicker 2012, "Adaptive rendering with non-local means filtering", section 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

FEWEST = 4
"""Renderings from which on the noise can be told from the picture."""
_WINDOW = 6  # pixels on each side that may contribute
_PATCH = 2  # pixels on each side that are compared
_STRENGTH = 0.5  # of the noise that two equal patches may differ by


class Renderings:
    """Sums over equally good renderings of one picture."""

    def __init__(self) -> None:
        self.count = 0
        self._halves: list[Any] = [0.0, 0.0]
        self._squares: Any = 0.0

    def add(self, picture: npt.NDArray[np.float64]) -> None:
        """Add a rendering (height, width, 3)."""
        self._halves[self.count % 2] = self._halves[self.count % 2] + picture
        self._squares = self._squares + picture**2
        self.count += 1

    def mean(self) -> npt.NDArray[np.float64]:
        """Return the picture."""
        result: npt.NDArray[np.float64] = (self._halves[0] + self._halves[1]) / self.count
        return result

    def denoised(self) -> npt.NDArray[np.float64]:
        """Return the picture without noise; the plain mean of fewer than `FEWEST` renderings."""
        if self.count < FEWEST:
            return self.mean()
        shares = ((self.count + 1) // 2, self.count // 2)
        halves = [(half / n).astype(np.float32) for half, n in zip(self._halves, shares, strict=True)]
        variance = np.maximum(self._squares / self.count - self.mean() ** 2, 0) * self.count / (self.count - 1)
        # That of few renderings is noisy itself.
        smooth = _box_mean(variance.astype(np.float32), 1)
        spreads = [smooth / np.float32(n) for n in shares]
        first = _filtered(halves[0], halves[1], spreads[1])
        second = _filtered(halves[1], halves[0], spreads[0])
        result: npt.NDArray[np.float64] = (shares[0] * first.astype(np.float64) + shares[1] * second) / self.count
        return result


def _filtered(picture: Floats, guide: Floats, variance: Floats) -> Floats:
    """Return the picture averaged with weights from a guide that has the same content and independent noise of a known variance."""
    height, width = picture.shape[:2]
    r = _WINDOW
    total = np.zeros_like(picture)
    weights = np.zeros((height, width, 1), np.float32)
    padding = ((r, r), (r, r), (0, 0))
    pictures, guides, variances = (np.pad(a, padding, mode="reflect") for a in (picture, guide, variance))
    floor = 1e-6 * float(np.square(guide).mean()) + 1e-12
    for di in range(2 * r + 1):
        for dj in range(2 * r + 1):
            window = (slice(di, di + height), slice(dj, dj + width))
            other = variances[window]
            difference = np.square(guide - guides[window]) - (variance + np.minimum(variance, other))
            difference /= floor + _STRENGTH**2 * (variance + other)
            distance = np.maximum(_box_mean(difference.mean(axis=2, keepdims=True), _PATCH), 0)
            weight = np.exp(-distance)
            total += weight * pictures[window]
            weights += weight
    total /= weights
    return total


def _box_mean(image: Floats, radius: int) -> Floats:
    """Return means (height, width, c) over squares of 2 radius + 1 pixels; at the edges, over the existing pixels."""
    result = image
    for axis in range(2):
        n = image.shape[axis]
        sums = np.cumsum(result, axis=axis, dtype=np.float64)
        zero = np.zeros_like(sums.take([0], axis))
        sums = np.concatenate([zero, sums], axis=axis)
        start = np.maximum(np.arange(n) - radius, 0)
        stop = np.minimum(np.arange(n) + radius + 1, n)
        shape = [1, 1, 1]
        shape[axis] = n
        result = ((sums.take(stop, axis) - sums.take(start, axis)) / (stop - start).reshape(shape)).astype(np.float32)
    return result
