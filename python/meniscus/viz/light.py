"""Sunlight and skylight in a volume of smoke: optical depth towards the sun, and visibility of the sky."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

# Extinction of a cell full of solid, 1 / cells.
_SOLID_TO_SUN = 6.0
_SOLID_TO_SKY = np.float32(1.0)
SKY_RADIUS = 5
"""Cells around a cell whose smoke dims its sky."""


def light_depth(extinction: Floats, toward: npt.NDArray[Any], solid: Floats | None = None) -> Floats:
    """Return the optical depth between each cell and a sun far away.

    One sweep over slices away from the sun: the depth accumulated behind the previous slice is shifted along the light and enters the next
    one. The interpolation of the shifts blurs it a little, like forward scattering.

    Args:
        extinction: (nx, ny, nz), 1 / cells.
        toward: unit vector towards the sun.
        solid: volume fraction of solid in each cell; it casts a shadow.
    """
    axis = int(np.argmax(np.abs(toward)))
    total = extinction if solid is None else extinction + _SOLID_TO_SUN * solid
    slices = np.moveaxis(total, axis, 0)
    depth = np.empty_like(slices)
    n = len(slices)
    order = range(n - 1, -1, -1) if toward[axis] > 0 else range(n)
    others = [d for d in range(3) if d != axis]
    shift = [float(toward[d] / abs(toward[axis])) for d in others]
    half_path = np.float32(0.5 / abs(toward[axis]))  # from the side of a slice to its middle, cells
    accumulated = np.zeros(slices.shape[1:], np.float32)
    for k in order:
        half_depth = half_path * slices[k]
        depth[k] = _shifted(accumulated, shift) + half_depth
        accumulated = depth[k] + half_depth
    return np.moveaxis(depth, 0, axis)


def ambient_visibility(extinction: Floats, solid: Floats | None = None, radius: int = SKY_RADIUS) -> Floats:
    """Return the fraction of ambient light that reaches each cell: exp of minus the optical depth of its surroundings.

    The depth is estimated as half of `radius` cells times the mean extinction: that of a box filter of this radius, applied twice.
    """
    total = extinction if solid is None else extinction + _SOLID_TO_SKY * solid
    mean = total
    for _ in range(2):
        for axis in range(3):
            mean = _box_mean(mean, axis, radius)
    visible: Floats = np.exp(-0.5 * radius * mean)
    return visible


def _shifted(image: Floats, shift: list[float]) -> Floats:
    """Return the image at positions + shift, interpolated linearly; zero outside."""
    for axis, s in enumerate(shift):
        offset = int(np.floor(s))
        fraction = np.float32(s - offset)
        image = (1 - fraction) * _moved(image, axis, offset) + fraction * _moved(image, axis, offset + 1)
    return image


def _moved(image: Floats, axis: int, by: int) -> Floats:
    """Return the image at positions + `by` pixels along an axis; zero outside."""
    result = np.zeros_like(image)
    n = image.shape[axis]
    source = slice(max(by, 0), min(n + by, n))
    target = slice(max(-by, 0), min(n - by, n))
    index = [slice(None)] * 2
    index[axis] = target
    other = [slice(None)] * 2
    other[axis] = source
    result[tuple(index)] = image[tuple(other)]
    return result


def _box_mean(values: Floats, axis: int, radius: int) -> Floats:
    """Return the mean over 2 radius + 1 cells along an axis; zero outside."""
    width = [(0, 0)] * 3
    width[axis] = (radius + 1, radius)
    total = np.cumsum(np.pad(values, width), axis=axis, dtype=np.float64)
    n = values.shape[axis]
    span = 2 * radius + 1
    result: Floats = ((total.take(range(span, span + n), axis) - total.take(range(n), axis)) / span).astype(np.float32)
    return result
